from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import LaunchRefused, UsageError
from numatune.machine import CpuSet, Machine
from numatune.machine.assume import assumed
from numatune.placement.load import floating_home, node_loads, whole_load
from numatune.placement.placement import tally
from numatune.placement.request import Request
from numatune.placement.sweep import Sweep, sweep
from numatune.runtimes import kt_kernel, ktransformers, named
from numatune.sources.synthetic import build
from tests.runtimes.machines import any_machine, machine, two_sockets


def swept(box: Machine, runtime: str, version: str | None = None, **more: Any) -> Sweep:
    module = named(runtime)
    built, highest = more.pop("numa_build", None), more.pop("highest", None)
    request = Request(runtime, options=more)
    return sweep(box, request, module, module.release(version, None, built), highest)


def cliffs(found: Sweep) -> list[tuple[object, ...]]:
    return [tuple(cliff) for cliff in found.cliffs]


def test_the_machine_of_pull_request_685_before_the_fix() -> None:
    found = swept(two_sockets(), "ktransformers", "0.2.1")
    assert str(found.safe) == "2-41"
    assert cliffs(found) == [
        (41, 42, 1, 25, 24, "oversubscribed"),
        (81, 82, 0, 25, 24, "oversubscribed"),
    ]
    # 16 + 17 workers; all safe counts above leave node 0 behind.
    assert (found.recommended, found.lacks) == (34, ())


def test_the_machine_of_pull_request_685_after_the_fix() -> None:
    found = swept(two_sockets(), "ktransformers", "0.2.2")
    assert str(found.safe) == "2-49"
    assert cliffs(found) == [
        (49, 50, 0, 25, 24, "oversubscribed"),
        (50, 51, 1, 25, 24, "oversubscribed"),
    ]
    assert (found.recommended, found.lacks, found.highest) == (47, (), 51)


def test_the_machine_of_pull_request_685_with_kt_kernel() -> None:
    found = swept(two_sockets(), "kt-kernel")
    assert str(found.safe) == "2-48"
    assert cliffs(found)[0] == (48, 49, 0, 25, 24, "oversubscribed")
    assert (found.recommended, found.lacks) == (46, ())


def test_unbound_workers_are_judged_by_all_cpus_together() -> None:
    found = swept(two_sockets(), "ktransformers", "0.1.4")
    assert str(found.safe) == "2-49"
    assert cliffs(found) == [(49, 50, None, 49, 48, "oversubscribed")]
    assert (found.recommended, found.lacks) == (48, ())


def test_siblings_make_two_cliffs_a_node() -> None:
    found = swept(two_sockets(2, siblings=4), "kt-kernel")
    assert str(found.safe) == "2-4"
    assert cliffs(found) == [
        (4, 5, 0, 3, 2, "sharing"),
        (5, 6, 1, 3, 2, "sharing"),
        (8, 9, 0, 5, 4, "oversubscribed"),
        (9, 10, 1, 5, 4, "oversubscribed"),
    ]
    assert (found.recommended, found.lacks) == (2, ())


def test_where_cores_are_unknown_cpus_count() -> None:
    found = swept(two_sockets(2, siblings=4, cores_known=False), "ktransformers", "0.2.2")
    assert str(found.safe) == "2-9"
    assert found.recommended == 7


def test_a_count_that_cannot_be_judged_is_not_safe() -> None:
    found = swept(machine({0: "0-3", 1: None}), "ktransformers", "0.2.2", highest=9)
    assert str(found.safe) == "2"
    assert found.recommended == 2


def test_the_smaller_node_sets_the_limit() -> None:
    found = swept(machine({0: "0-23", 1: "24-39"}), "ktransformers", "0.2.2")
    assert str(found.safe) == "2-34"
    assert cliffs(found)[0] == (34, 35, 1, 17, 16, "oversubscribed")
    assert found.recommended == 32


def test_what_the_recommended_count_lacks() -> None:
    tight = swept(machine({0: "0", 1: "1"}), "kt-kernel")
    assert (str(tight.safe), tight.recommended) == ("2", 2)
    assert tight.lacks == ("a free core on node 0", "a free core on node 1")
    unknown = swept(machine({0: "0"}, cores_known=False), "ktransformers", "0.2.2")
    assert unknown.lacks == ("a free CPU on node 0",)
    uneven = swept(machine({0: "0", 1: "1-9"}), "ktransformers", "0.2.1", task_counts=(2, 99))
    assert (str(uneven.safe), uneven.recommended) == ("2-5", 5)  # 1 + 3 workers
    assert uneven.lacks == ("balanced nodes", "a free core on node 0")


def test_pools_that_share_a_node_fill_it_together() -> None:
    found = swept(two_sockets(), "kt-kernel", numa_nodes=[1, 1])
    assert str(found.safe) == "2-24"
    # From 48 on the second pool's distributor finds no core and is not tied to the node either.
    assert cliffs(found) == [
        (24, 25, 1, 25, 24, "oversubscribed"),
        (48, 49, None, 49, 48, "oversubscribed"),
    ]


def test_workers_on_one_core_are_never_safe_though_cores_would_do() -> None:
    box = machine(
        {0: "0-7", 1: "8-15", 2: ""}, distances=[[10, 21, 14], [21, 10, 24], [14, 24, 10]]
    )
    for found in (swept(box, "kt-kernel"), swept(box._replace(cores=None), "kt-kernel")):
        assert (str(found.safe), found.recommended, found.lacks) == ("", None, ())


def test_workers_loose_in_a_cpuset_of_one_node_fill_that_node() -> None:
    found = swept(two_sockets(cpuset_cpus="0-23", cpuset_mems="0"), "ktransformers", "0.2.2")
    assert str(found.safe) == "2-25"
    assert cliffs(found) == [(25, 26, 0, 25, 24, "oversubscribed")]


def test_a_launch_that_is_always_refused_is_never_safe() -> None:
    bare = Machine(source="test", online_cpus=CpuSet(range(4)))
    found = swept(bare, "kt-kernel")
    assert (str(found.safe), found.cliffs, found.recommended) == ("", (), None)


def test_bounds_of_a_sweep() -> None:
    assert swept(two_sockets(), "kt-kernel", highest=7).highest == 7
    for highest in (0, -1, 1 << 16):
        with pytest.raises(UsageError, match="a sweep goes from 1"):
            swept(two_sockets(), "kt-kernel", highest=highest)


@pytest.mark.usefixtures("untraced")
def test_all_eras_up_to_1024_on_sixteen_nodes_take_no_time() -> None:
    nodes: dict[int, str | None] = {i: f"{32 * i}-{32 * i + 31}" for i in range(16)}
    box = machine(nodes)
    started = time.process_time()
    found = [
        sweep(box, Request("ktransformers"), ktransformers, release, 1024)
        for release in ktransformers.releases(None)
    ]
    assert time.process_time() - started < 3  # 0.3 s where nothing else runs
    assert [str(s.safe) for s in found] == ["2-513", "2-370", "2-513"]


@settings(max_examples=40)
@given(any_machine(), st.sampled_from(["0.1.4", "0.2.1", "0.2.2", "kt-kernel"]))
def test_each_safe_count_is_safe_when_placed_worker_by_worker(box: Machine, which: str) -> None:
    module = kt_kernel if which == "kt-kernel" else ktransformers
    release = module.release(None if which == "kt-kernel" else which, None, None)
    request = Request(module.NAME)
    found = sweep(box, request, module, release, 24)
    for threads in range(1, 25):
        try:
            placement = module.simulate(box, request._replace(threads=threads), release)
        except LaunchRefused:
            assert threads not in found.safe
            continue
        counts = tally(placement)
        loads = [load for load in node_loads(box, counts) if load.workers]
        if counts.unbound and (floating_home(box) is None or not counts.nodes):
            loads.append(whole_load(box, counts))
        rooms = [load.cpus if load.cores is None else load.cores for load in loads]
        fits = all(
            room is not None and load.workers <= room
            for load, room in zip(loads, rooms, strict=True)
        )
        pinned = [w.cpus for w in placement.workers if w.binding == "cpu" and w.cpus is not None]
        safe = fits and not counts.empty_pools and len(set(pinned)) == len(pinned)
        assert safe or threads not in found.safe
        if box.cores is not None:
            assert safe == (threads in found.safe)
    assert found.recommended is None or found.recommended in found.safe
    assert (found.recommended is None) == (not found.safe)


def test_floating_workers_count_for_the_part_of_a_node_that_an_affinity_leaves() -> None:
    machine = build("pack:2 [numa(memory=64GB)] core:24 pu:1")
    narrow = assumed(machine, {"affinity": "0-11"})
    for name in ("llama.cpp", "ktransformers"):
        runtime = named(name)
        release = runtime.releases(None)[0]
        swept = sweep(narrow, Request(name, version=release.version), runtime, release)
        most = max(swept.safe)
        tally = runtime.tally(narrow, Request(name, threads=most), release)
        assert tally.unbound == 12, name
        assert {(c.node, c.cpus) for c in swept.cliffs} == {(None, 12)}
