"""How ktransformers was built."""

import pytest

from tests.rules.cases import TWO, built, is_good, judged, skip_of, the

KT = {"runtime": "ktransformers", "version": "0.2.4"}
WANTED, NOT_WANTED = "numa-build-inactive", "numa-build-unintended"


@pytest.mark.parametrize(
    ("launch", "inactive", "unintended"),
    [
        ({"numa_build": False, "numa_requested": True}, True, False),
        ({"numa_build": False, "env": {"USE_NUMA": "1"}}, True, False),
        ({"numa_build": True, "env": {"USE_NUMA": "1"}, "numa_requested": True}, False, False),
        ({"numa_build": False}, False, False),
        ({"numa_build": False, "env": {"USE_NUMA": "0"}}, False, False),
        ({"numa_build": True, "env": {"USE_NUMA": "0"}}, False, True),
        ({"numa_build": True, "env": {"USE_NUMA": "OFF"}}, False, True),
        ({"numa_build": True, "env": {"USE_NUMA": ""}}, False, True),
        ({"env": {"USE_NUMA": "0"}}, False, True),
        ({"numa_build": True, "numa_requested": False}, False, True),
        ({"numa_build": True, "env": {"USE_NUMA": "0"}, "numa_requested": True}, False, False),
        ({"numa_build": False, "numa_requested": False}, False, False),
    ],
)
def test_what_was_asked_for_and_what_was_built(
    launch: dict[str, object], inactive: bool, unintended: bool
) -> None:
    diagnosis = judged(built(TWO), **KT, **launch)
    assert is_good(diagnosis, WANTED) is not inactive
    assert is_good(diagnosis, NOT_WANTED) is not unintended


def test_the_variable_is_shown_as_evidence() -> None:
    one = the(judged(built(TWO), **KT, numa_build=True, env={"USE_NUMA": "0"}), NOT_WANTED)
    assert [(e.source, e.path, e.text) for e in one.evidence] == [("environment", "USE_NUMA", "0")]
    assert "USE_NUMA=0 switches NUMA support on" in one.message


def test_an_unknown_build_is_not_judged() -> None:
    assert "--numa-build" in skip_of(judged(built(TWO), **KT, numa_requested=True), WANTED).reason
    assert "ldd" in skip_of(judged(built(TWO), **KT, numa_requested=False), NOT_WANTED).reason
    assert skip_of(judged(built(TWO)), WANTED)
    assert skip_of(judged(built(TWO)), NOT_WANTED)


def test_kt_kernel_has_no_such_switch() -> None:
    diagnosis = judged(built(TWO), runtime="kt-kernel", threads=8, env={"USE_NUMA": "1"})
    assert is_good(diagnosis, WANTED)
    assert is_good(diagnosis, NOT_WANTED)
