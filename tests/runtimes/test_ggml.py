"""Where the pages of the weights come to lie under llama.cpp and ik_llama.cpp."""

from __future__ import annotations

from typing import Any

import pytest

from numatune.errors import UsageError
from numatune.placement.request import Request
from numatune.runtimes.ggml import page_placement


def pages(runtime: str = "llama.cpp", **options: Any) -> str:
    return page_placement(Request(runtime, env=options.pop("env", {}), options=options))


def test_without_numa_the_loader_populates_the_mapping() -> None:
    assert pages() == "loader"
    assert pages("ik_llama.cpp") == "loader"
    assert pages(numa="none") == "loader"


def test_under_numa_the_first_reader_decides_unless_tensors_are_repacked() -> None:
    assert pages(numa="distribute") == "first-touch-or-repacked"
    assert pages(numa="distribute", no_repack=True) == "first-touch"
    assert pages(numa="distribute", repack=False) == "first-touch"
    assert pages(numa="numactl", no_repack=False) == "first-touch-or-repacked"
    assert pages("ik_llama.cpp", numa="distribute") == "first-touch"
    assert pages(env={"LLAMA_ARG_NUMA": "isolate"}, no_repack=True) == "first-touch"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("no_mmap", True),
        ("mmap", "off"),
        ("mlock", True),
        ("mlock", ""),
        ("load_mode", "none"),
        ("load_mode", "dio"),
        ("load_mode", "mmap+mlock"),
    ],
)
def test_what_brings_the_pages_to_the_loader(option: str, value: Any) -> None:
    assert pages(numa="distribute", no_repack=True, **{option: value}) == "loader"


@pytest.mark.parametrize("option", ["run_time_repack", "huge_pages", "no_mmap", "mlock"])
def test_what_brings_the_pages_to_the_loader_of_ik(option: str) -> None:
    assert pages("ik_llama.cpp", **{"numa": "distribute", option: True}) == "loader"
    assert pages("ik_llama.cpp", **{"numa": "distribute", option: False}) == "first-touch"


def test_wrong_values() -> None:
    with pytest.raises(UsageError, match="mlock must be on or off"):
        pages(numa="distribute", mlock="perhaps")
    with pytest.raises(UsageError, match="refuses --numa banana"):
        pages(numa="banana")
