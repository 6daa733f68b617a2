from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.errors import MachineError, UsageError
from numatune.machine import Machine
from numatune.placement.placement import Placement, tally
from numatune.placement.request import Request
from numatune.placement.sweep import sweep
from numatune.runtimes import libgomp, openmp
from numatune.sources.synthetic import build
from tests.runtimes.machines import any_machine, machine, two_sockets

NEWEST = openmp.release(None, None, None)


def asked(threads: int | None, env: Mapping[str, str] | None = None, **options: str) -> Request:
    return Request("openmp", threads=threads, env=env or {}, options=options)


def placed(here: Machine, threads: int | None, env: Mapping[str, str] | None = None) -> Placement:
    return openmp.simulate(here, asked(threads, env), NEWEST)


def test_without_variables_all_threads_float_where_they_were_started() -> None:
    here = two_sockets(affinity="0-11")
    placement = placed(here, 30)
    assert {(w.node, str(w.cpus), w.binding) for w in placement.workers} == {(None, "0-11", "none")}
    assert len(placement.workers) == placement.threads == 30
    assert {worker.memory for worker in placement.workers} == {"default"}


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ("threads", (0, "0", "cpu")),
        ("cores", (0, "0,48", "mask")),
        ("sockets", (0, "0-23,48-71", "node")),
        ("numa_domains", (0, "0-23,48-71", "node")),
        ("{0:4}", (0, "0-3", "mask")),
        ("{20:8}", (None, "20-27", "mask")),
    ],
)
def test_what_a_thread_is_tied_to(places: str, expected: tuple[int | None, str, str]) -> None:
    here = two_sockets(siblings=48, packages=["0-23,48-71", "24-47,72-95"])
    worker = placed(here, 2, {"OMP_PLACES": places}).workers[0]
    assert (worker.node, str(worker.cpus), worker.binding) == expected


def test_a_node_is_bound_to_where_its_place_is_all_that_a_cpuset_leaves_of_it() -> None:
    env = {"OMP_PLACES": "numa_domains"}
    within = placed(two_sockets(cpuset_cpus="0-11,24-35"), 2, env).workers
    assert [worker.binding for worker in within] == ["node", "node"]
    started = placed(two_sockets(affinity="0-11,24-35"), 2, env).workers
    assert [worker.binding for worker in started] == ["mask", "mask"]


def test_close_fills_one_node_where_spread_balances() -> None:
    here = two_sockets()
    close = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}
    assert tally(placed(here, 24, close)).nodes == {0: 24}
    spread = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"}
    assert tally(placed(here, 24, spread)).nodes == {0: 12, 1: 12}


def test_the_limit_on_threads_counts() -> None:
    placement = placed(two_sockets(), 40, {"OMP_THREAD_LIMIT": "12"})
    assert (placement.threads, len(placement.workers)) == (40, 12)


ENVIRONMENTS = st.fixed_dictionaries(
    {},
    optional={
        "OMP_PLACES": st.sampled_from(
            ["threads", "cores", "numa_domains", "cores(3)", "{0:3},{2:2},5", "{0:2}:6:2", "bad"]
        ),
        "OMP_PROC_BIND": st.sampled_from(["true", "close", "spread", "master", "false"]),
        "GOMP_CPU_AFFINITY": st.sampled_from(["0-8", "7 3 0-2", "40"]),
        "OMP_THREAD_LIMIT": st.sampled_from(["2", "9"]),
    },
)


@given(any_machine(), ENVIRONMENTS, st.integers(1, 70))
def test_the_closed_form_counts_what_is_simulated(
    here: Machine, env: dict[str, str], threads: int
) -> None:
    request = asked(threads, env)
    try:
        expected = tally(openmp.simulate(here, request, NEWEST))
    except (MachineError, UsageError) as error:
        with pytest.raises(type(error)):
            openmp.tally(here, request, NEWEST)
        return
    assert openmp.tally(here, request, NEWEST) == expected


@pytest.mark.parametrize("kind", ["compact", "scatter", "compact,1,5", "none"])
@pytest.mark.parametrize("threads", [1, 7, 96, 250])
def test_the_closed_form_for_intel(kind: str, threads: int) -> None:
    here = two_sockets(siblings=48, packages=["0-23,48-71", "24-47,72-95"])
    env = {"KMP_AFFINITY": f"granularity=fine,{kind}"}
    request = asked(threads, env, implementation="intel")
    expected = tally(openmp.simulate(here, request, NEWEST))
    assert openmp.tally(here, request, NEWEST) == expected


@pytest.mark.usefixtures("untraced")
def test_a_sweep_of_a_large_machine_is_quick() -> None:
    nodes = {i: ",".join(str(c) for c in range(i, 4096, 64)) for i in range(64)}
    here = machine(nodes)
    start = time.process_time()
    for bind in ("close", "spread"):
        env = {"OMP_PLACES": "cores", "OMP_PROC_BIND": bind}
        for threads in range(1, 4097):
            openmp.tally(here, asked(threads, env), NEWEST)
    assert time.process_time() - start < 4


def test_the_default_is_what_was_inherited() -> None:
    here = two_sockets(cpuset_cpus="0-11,24-35", affinity="0-15")
    count = openmp.default_threads(here, asked(None), NEWEST)
    assert count is not None
    assert (count.threads, count.ignores) == (12, ("quota",))
    assert len(placed(here, None).workers) == 12
    stated = openmp.default_threads(here, asked(None, {"OMP_NUM_THREADS": "6,2"}), NEWEST)
    assert stated is not None
    assert (stated.threads, stated.counted[:9]) == (6, "the first")
    assert len(placed(here, None, {"OMP_NUM_THREADS": "6,2"}).workers) == 6
    with pytest.raises(UsageError, match=r"the default is not known.*OMP_NUM_THREADS"):
        placed(machine({0: None}), None)


def test_the_default_of_intel_is_known_only_for_a_whole_machine() -> None:
    intel = openmp.release("libiomp", None, None)
    whole = openmp.default_threads(two_sockets(), asked(None), intel)
    part = openmp.default_threads(two_sockets(affinity="0-3"), asked(None), intel)
    assert whole is not None
    assert part is not None
    assert (whole.threads, part.threads) == (48, None)


@pytest.mark.parametrize(
    ("version", "shown", "behaviour"),
    [
        (None, "libgomp 12.2", "gnu"),
        ("libgomp 12.2", "libgomp 12.2", "gnu"),
        ("GCC 13.1", "libgomp 13.1", "gnu"),
        ("14", "libgomp 14", "gnu"),
        ("libgomp", "libgomp 12.2", "gnu"),
        ("libiomp5", "libiomp", "intel"),
        ("llvm 17", "libiomp", "intel"),
    ],
)
def test_versions(version: str | None, shown: str, behaviour: str) -> None:
    release = openmp.release(version, None, None)
    assert (release.version, release.behaviour) == (shown, behaviour)


@pytest.mark.parametrize("version", ["libgomp 9", "15", "libgomp x", "0", "zz\x00", "0.0"])
def test_unknown_versions_are_refused(version: str) -> None:
    with pytest.raises(UsageError, match="known are libgomp 12 - 14"):
        openmp.release(version, None, None)


def test_commits_are_refused() -> None:
    with pytest.raises(UsageError, match="by version"):
        openmp.release(None, "abcdef1", None)


def test_the_implementation_is_an_option_and_is_said() -> None:
    here = two_sockets(packages=["0-23", "24-47"])
    request = asked(2, {"KMP_AFFINITY": "scatter"}, implementation="Intel")
    placement = openmp.simulate(here, request, NEWEST)
    assert "documented" in placement.release.versions
    assert [worker.node for worker in placement.workers] == [0, 1]
    back = openmp.release("libiomp", None, None)
    assert openmp.simulate(here, asked(2, {}, implementation="gnu"), back).version == "libgomp 12.2"
    with pytest.raises(UsageError, match="known are gnu and intel"):
        openmp.simulate(here, asked(2, {}, implementation="msvc"), NEWEST)
    with pytest.raises(UsageError, match="not one of the intel library"):
        openmp.simulate(
            here, request._replace(version="libgomp 12.2"), openmp.release("12.2", None, None)
        )


@pytest.mark.parametrize(
    ("env", "implementation", "expected"),
    [
        ({}, "gnu", None),
        ({"OMP_WAIT_POLICY": "Active"}, "gnu", True),
        ({"OMP_WAIT_POLICY": "passive"}, "gnu", False),
        ({"OMP_WAIT_POLICY": "eager"}, "gnu", None),
        ({"GOMP_SPINCOUNT": "infinite", "OMP_WAIT_POLICY": "passive"}, "gnu", True),
        ({"GOMP_SPINCOUNT": "0", "OMP_WAIT_POLICY": "active"}, "gnu", False),
        ({"GOMP_SPINCOUNT": "30g"}, "gnu", True),
        ({"GOMP_SPINCOUNT": "300k", "OMP_WAIT_POLICY": "active"}, "gnu", None),
        ({"GOMP_SPINCOUNT": "many", "OMP_WAIT_POLICY": "active"}, "gnu", True),
        ({"KMP_BLOCKTIME": "0"}, "gnu", None),
        ({"KMP_BLOCKTIME": "infinite"}, "intel", True),
        ({"KMP_BLOCKTIME": "0", "OMP_WAIT_POLICY": "active"}, "intel", False),
        ({"KMP_BLOCKTIME": "200"}, "intel", None),
        ({"GOMP_SPINCOUNT": "0", "OMP_WAIT_POLICY": "active"}, "intel", True),
    ],
)
def test_whether_threads_spin(
    env: dict[str, str], implementation: str, expected: bool | None
) -> None:
    assert openmp.spins(env, implementation) is expected


def test_how_threads_wait_moves_none_of_them() -> None:
    here = two_sockets()
    env = {"OMP_PLACES": "cores"}
    more = {**env, "OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
    assert placed(here, 9, env) == placed(here, 9, more)
    assert libgomp.complaints(here, more) == ()


def test_siblings_of_one_core_are_not_safe_in_a_sweep() -> None:
    machine = build("pack:2 [numa(memory=64GB)] core:4 pu:2")
    for policy, safe in (("close", "1"), ("spread", "1-8")):
        request = asked(4, {"OMP_PROC_BIND": policy})
        assert str(sweep(machine, request, openmp, NEWEST).safe) == safe
        placed = openmp.simulate(machine, request, NEWEST)
        cores = {next(c.cpus for c in machine.cores or () if w.cpus and w.cpus <= c.cpus)
                 for w in placed.workers}  # fmt: skip
        assert (len(cores) < 4) == openmp.pinned_twice(machine, request)
