"""libiomp as Intel documents it: nothing here was compared with a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.errors import MachineError, UsageError
from numatune.runtimes import libiomp
from tests.runtimes.machines import machine, two_sockets

#: Two packages of two cores of two threads: the machine of Intel's diagrams.
SMALL = two_sockets(2, siblings=4, packages=["0-1,4-5", "2-3,6-7"])


def cpus(affinity: str, threads: int = 8, **more: str) -> list[str]:
    bound = libiomp.bound_threads(SMALL, {"KMP_AFFINITY": affinity, **more}, threads)
    return [] if bound is None else [str(place) for place in bound]


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        ("granularity=fine,compact", "0 4 1 5 2 6 3 7"),
        ("granularity=thread,compact,0,3", "5 2 6 3 7 0 4 1"),
        ("granularity=fine,compact,1,0", "0 1 2 3 4 5 6 7"),
        ("granularity=fine,scatter", "0 2 1 3 4 6 5 7"),
        ("Verbose, granularity=fine, respect, scatter", "0 2 1 3 4 6 5 7"),
        ("compact", "0,4 0,4 1,5 1,5 2,6 2,6 3,7 3,7"),
        ("granularity=socket,scatter", "0-1,4-5 2-3,6-7 0-1,4-5 2-3,6-7 " * 2),
        ("granularity=numa,compact", "0-1,4-5 " * 4 + "2-3,6-7 " * 4),
        ("granularity=fine,proclist=[3,0-2:2,{4,5}],explicit", "3 0 2 4-5 3 0 2 4-5"),
        ("none", ""),
        ("disabled", ""),
        ("granularity=fine,none", ""),
    ],
)
def test_the_order_of_each_type(affinity: str, expected: str) -> None:
    assert cpus(affinity) == expected.split()


def test_more_threads_than_places_begin_again() -> None:
    assert cpus("granularity=fine,compact,0,6", 5) == ["3", "7", "0", "4", "1"]


@pytest.mark.parametrize(
    ("subset", "expected"),
    [
        ("1t", "0 1 2 3"),
        ("2s,1c,1t", "0 2"),
        ("1S@1,2c,1T", "2 3"),
        ("1c@1", "1 5 3 7"),
        ("*s,1c,1t@1", "4 6"),
        ("1n,2c,1t", "0 1 2 3"),
    ],
)
def test_a_subset_of_the_hardware(subset: str, expected: str) -> None:
    found = cpus("granularity=fine,compact", len(expected.split()), KMP_HW_SUBSET=subset)
    assert found == expected.split()


def test_the_inherited_affinity_is_respected_unless_told_otherwise() -> None:
    here = SMALL._replace(limits=SMALL.limits._replace(affinity=SMALL.nodes[1].cpus))
    for word, first in (("respect", "2"), ("norespect", "0")):
        bound = libiomp.bound_threads(here, {"KMP_AFFINITY": f"granularity=fine,{word},compact"}, 1)
        assert bound is not None
        assert str(bound[0]) == first


@pytest.mark.parametrize(
    "env",
    [
        {"KMP_AFFINITY": "balanced"},
        {"KMP_AFFINITY": "compact,1,0,0"},
        {"KMP_AFFINITY": "none,1"},
        {"KMP_AFFINITY": "explicit"},
        {"KMP_AFFINITY": "proclist=[0],compact"},
        {"KMP_AFFINITY": "explicit,proclist=[5-3]"},
        {"KMP_AFFINITY": "explicit,proclist=[0-3:0]"},
        {"KMP_AFFINITY": "explicit,proclist=0"},
        {"KMP_AFFINITY": "explicit,proclist=[x]"},
        {"KMP_AFFINITY": "explicit,proclist=[{4]]"},
        {"KMP_AFFINITY": "explicit,proclist=[" + "0-60000," * 9 + "1]"},
        {"KMP_AFFINITY": "explicit,proclist=[99]"},
        {"KMP_AFFINITY": "granularity=fine"},
        {"KMP_AFFINITY": "granularity=dust,compact"},
        {"KMP_AFFINITY": "compact", "KMP_HW_SUBSET": "3s"},
        {"KMP_AFFINITY": "compact", "KMP_HW_SUBSET": "2s@1"},
        {"KMP_AFFINITY": "compact", "KMP_HW_SUBSET": ":4c"},
        {"KMP_AFFINITY": "compact", "KMP_HW_SUBSET": "4x"},
        {"KMP_HW_SUBSET": "1s"},
        {"OMP_PLACES": "cores"},
        {"GOMP_CPU_AFFINITY": "0-3"},
    ],
)
def test_what_is_not_documented_or_not_simulated_is_refused(env: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=next(reversed(env)).split("=")[0]):
        libiomp.bound_threads(SMALL, env, 4)


def test_an_unknown_topology_is_named() -> None:
    env = {"KMP_AFFINITY": "compact"}
    with pytest.raises(MachineError, match="form a package"):
        libiomp.bound_threads(two_sockets(), env, 4)
    here = two_sockets(cores_known=False, packages=["0-23", "24-47"])
    with pytest.raises(MachineError, match="form a core"):
        libiomp.bound_threads(here, env, 4)
    with pytest.raises(MachineError, match="which CPUs there are"):
        libiomp.bound_threads(machine({0: None}), env, 4)
    assert libiomp.bound_threads(machine({0: None}), {}, 4) is None


@given(st.text("compactexplicitproclist=[]{},-:0123456789 ", max_size=60), st.text(max_size=20))
def test_no_text_breaks_anything(affinity: str, subset: str) -> None:
    env = {"KMP_AFFINITY": affinity, "KMP_HW_SUBSET": subset}
    try:
        bound = libiomp.bound_threads(SMALL, env, 3)
    except (MachineError, UsageError):
        return
    assert bound is None or len(bound) == 3
