"""What libgomp 12.2 did with its variables, against what is computed; and what it cannot know."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError, UsageError
from numatune.machine import CpuSet, Machine
from numatune.runtimes import libgomp
from numatune.runtimes.omp_variables import CLOSE, PRIMARY, SPREAD, TRUE
from tests.runtimes.machines import machine, two_sockets

LAUNCHES = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "truth" / "openmp.json").read_text()
)["launches"]


def built(launch: dict[str, Any]) -> Machine:
    described = dict(launch["machine"])
    nodes = {int(i): cpus for i, cpus in described.pop("nodes").items()}
    return machine(nodes, **described)


@pytest.mark.parametrize("launch", LAUNCHES)
def test_threads_get_the_cpus_that_libgomp_gave_them(launch: dict[str, Any]) -> None:
    here, env = built(launch), launch["request"].get("env", {})
    team = libgomp.team_size(here, env, launch["request"]["threads"])
    bound = libgomp.bound_threads(here, env, team)
    if bound is None:
        assert launch["cpus"] is None
    else:
        assert [[k, len(list(g))] for k, g in groupby(map(str, bound))] == launch["cpus"]


@pytest.mark.parametrize("launch", [launch for launch in LAUNCHES if "warns" in launch])
def test_there_is_a_complaint_where_libgomp_warns(launch: dict[str, Any]) -> None:
    said = libgomp.complaints(built(launch), launch["request"].get("env", {}))
    assert any("libgomp warns" in text for text in said) == launch["warns"]


def test_the_launches_cover_every_kind() -> None:
    envs = [launch["request"].get("env", {}) for launch in LAUNCHES]
    binds = {env.get("OMP_PROC_BIND") for env in envs}
    assert binds >= {None, "true", "close", "spread", "master", "primary", "false"}
    places = " ".join(env.get("OMP_PLACES", "") for env in envs)
    assert all(kind in places for kind in ("threads", "cores", "sockets", "numa_domains", "!{"))
    assert sum("GOMP_CPU_AFFINITY" in env for env in envs) > 10
    assert sum(launch.get("warns", False) for launch in LAUNCHES) > 15


@given(
    st.sampled_from([TRUE, CLOSE, SPREAD, PRIMARY]),
    st.integers(1, 40),
    st.integers(1, 150),
)
def test_every_thread_gets_a_place_and_places_are_dealt_evenly(
    policy: str, places: int, threads: int
) -> None:
    order = list(libgomp.indices(policy, places, threads))
    assert len(order) == threads
    counts = [order.count(i) for i in range(places)]
    if policy == PRIMARY:
        assert order == [0] * threads
    elif threads >= places:
        assert max(counts) - min(counts) <= 1
        assert order[0] == 0
    elif policy == SPREAD:
        gaps = [b - a for a, b in zip(order, [*order[1:], places], strict=True)]
        assert gaps == sorted(gaps, reverse=True)
        assert gaps[0] - gaps[-1] <= 1
    else:
        assert order == list(range(threads))


def test_what_a_place_of_each_kind_holds_under_taskset() -> None:
    here = two_sockets(4, siblings=8, packages=["0-3,8-11", "4-7,12-15"], affinity="1-5,9")

    def places(kind: str) -> list[str]:
        bound = libgomp.binding(here, {"OMP_PLACES": kind}).places
        return [str(place) for place in bound]

    assert places("threads") == ["1", "9", "2", "3", "4", "5"]
    assert places("cores") == ["1,9", "2", "3", "4", "5"]
    assert places("sockets") == places("numa_domains") == ["1-3,9", "4-5"]


def test_nodes_are_taken_by_id_and_packages_by_their_lowest_cpu() -> None:
    here = machine({0: "4-7", 1: "0-3", 2: ""}, packages=["4-7", "0-3"])
    for kind, first in (("numa_domains", "4-7"), ("sockets", "0-3")):
        bound = libgomp.bound_threads(here, {"OMP_PLACES": kind}, 1)
        assert bound == (CpuSet.parse(first),)


@pytest.mark.parametrize(
    ("env", "missing"),
    [
        ({"OMP_PLACES": "cores"}, "form a core.*lscpu -e.*threads_per_core=2"),
        ({"OMP_PROC_BIND": "close"}, "form a core"),
        ({"OMP_PLACES": "sockets"}, "form a package.*packages=2"),
        ({"OMP_PLACES": "ll_caches"}, "last-level cache"),
    ],
)
def test_what_the_machine_does_not_say_is_not_guessed(env: dict[str, str], missing: str) -> None:
    here = two_sockets(cores_known=False)
    with pytest.raises(MachineError, match=missing):
        libgomp.bound_threads(here, env, 4)
    assert libgomp.complaints(here, env) == ()


def test_places_that_need_no_cores_are_known_without_them() -> None:
    here = two_sockets(cores_known=False)
    assert libgomp.bound_threads(here, {"OMP_PLACES": "numa_domains"}, 3) is not None
    assert libgomp.bound_threads(here, {"OMP_PLACES": "{0:4}"}, 3) is not None
    assert libgomp.bound_threads(here, {"OMP_PROC_BIND": "false", "OMP_PLACES": "cores"}, 3) is None
    single = here._replace(smt=1)
    assert libgomp.bound_threads(single, {"OMP_PLACES": "cores(2)"}, 2) == (
        CpuSet([0]),
        CpuSet([1]),
    )


def test_nodes_or_cpus_that_are_unknown_are_named() -> None:
    with pytest.raises(MachineError, match=r"each NUMA node.*numactl --hardware"):
        libgomp.bound_threads(
            machine({0: "0-3", 1: None}, affinity="0-3"), {"OMP_PLACES": "numa_domains"}, 1
        )
    with pytest.raises(MachineError, match="which CPUs there are"):
        libgomp.bound_threads(machine({0: None}), {"OMP_PLACES": "{0}"}, 1)


def test_a_cpu_that_the_cpuset_forbids_ends_the_process() -> None:
    here = two_sockets(cpuset_cpus="0-11,24-35")
    env = {"GOMP_CPU_AFFINITY": "12 0 13"}
    assert libgomp.failure(here, env, 1) is None  # thread 0 exists and stays where it is
    assert libgomp.failure(here, env, 2) is None
    refused = libgomp.failure(here, env, 3)
    assert refused is not None
    assert "CPUs 13," in refused.reason
    assert any("12-13" in text for text in libgomp.complaints(here, env))
    assert libgomp.failure(two_sockets(affinity="0-11"), env, 3) is None
    assert libgomp.failure(here, {}, 3) is None
    assert libgomp.failure(here, {"OMP_PLACES": "cores"}, 3) is None


def test_the_size_of_a_team() -> None:
    here = two_sockets(affinity="0-9")
    sizes = {
        8: {},
        3: {"OMP_THREAD_LIMIT": " 3 "},
        4: {"OMP_DYNAMIC": "TRUE", "OMP_NUM_THREADS": "4,2"},
    }
    for size, env in sizes.items():
        assert libgomp.team_size(here, env, 8) == size
    assert libgomp.team_size(here, {"OMP_DYNAMIC": "true"}, 64) == 10
    assert libgomp.team_size(here, {"OMP_DYNAMIC": "yes"}, 64) == 64
    assert libgomp.default_team(here, {}) == 10
    assert libgomp.default_team(here, {"OMP_NUM_THREADS": "6,2"}) == 6
    assert libgomp.default_team(here, {"OMP_NUM_THREADS": "6,"}) == 10
    assert libgomp.default_team(machine({0: None}), {}) is None
    assert "load average" in libgomp.complaints(here, {"OMP_DYNAMIC": "true"})[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OMP_NUM_THREADS", "0"),
        ("OMP_THREAD_LIMIT", "4,2"),
        ("OMP_DYNAMIC", "1"),
        ("OMP_WAIT_POLICY", "activ"),
        ("GOMP_SPINCOUNT", "10x"),
        ("OMP_PROC_BIND", "closed"),
        ("GOMP_CPU_AFFINITY", "3-1"),
    ],
)
def test_each_variable_that_is_not_valid_is_named(name: str, value: str) -> None:
    (said,) = libgomp.complaints(two_sockets(), {name: value})
    assert name in said


TEXTS = st.one_of(
    st.text("0123456789{}!:,-() ", max_size=40),
    st.text(max_size=20),
    st.sampled_from(["threads", "cores(4)", "spread", "{0}:65535:0", "0-65535," * 30, "9" * 5000]),
)


@settings(max_examples=200)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(libgomp.BINDING, TEXTS)))
def test_no_text_breaks_anything(env: dict[str, str]) -> None:
    here = two_sockets(4, siblings=8)
    try:
        bound = libgomp.bound_threads(here, env, 5)
    except (MachineError, UsageError):
        return
    assert bound is None or (len(bound) == 5 and all(bound))
    assert libgomp.complaints(here, env) == libgomp.complaints(here, dict(env))
