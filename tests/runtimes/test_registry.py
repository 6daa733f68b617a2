from __future__ import annotations

import subprocess
import sys

import pytest

from numatune.errors import UsageError
from numatune.runtimes import NAMES, canonical, named


@pytest.mark.parametrize("name", NAMES)
def test_each_name_leads_to_a_runtime_of_that_name(name: str) -> None:
    runtime = named(name)
    assert name == runtime.NAME
    assert runtime.THREADS_OPTION in runtime.OPTIONS["threads"]
    releases = runtime.releases(None)
    assert releases
    for release in releases:
        assert release.runtime == name
        assert runtime.release(release.version, None, release.numa_build) == release


@pytest.mark.parametrize("name", ["KT-Kernel", "kt_kernel", " kt-kernel "])
def test_other_spellings_of_a_name(name: str) -> None:
    assert canonical(name) == "kt-kernel"
    assert named(name).NAME == "kt-kernel"


def test_an_unknown_name_is_refused_with_the_near_and_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"did you mean ktransformers.*known are.*kt-kernel"):
        named("ktransformer")
    with pytest.raises(UsageError, match=r"no runtime 'zz\?'; known are"):
        named("zz\x00")


def test_naming_runtimes_imports_none() -> None:
    code = (
        "import sys, numatune.runtimes as r; r.canonical('kt-kernel');"
        "print(sorted(m for m in sys.modules if m.startswith('numatune.runtimes.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
