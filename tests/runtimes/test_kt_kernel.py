from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.errors import LaunchRefused, UsageError
from numatune.machine import CpuSet, Machine
from numatune.placement.placement import Placement, Worker, tally
from numatune.placement.request import Model, Request
from numatune.runtimes import kt_kernel
from numatune.runtimes.runtime import Runtime
from tests.runtimes.machines import any_machine, machine, two_sockets

RUNTIME: Runtime = kt_kernel


def placed(box: Machine, threads: int, **options: Any) -> Placement:
    model = options.pop("model", None)
    request = Request("kt-kernel", threads=threads, options=options, model=model)
    return kt_kernel.simulate(box, request, kt_kernel.release(None, None, None))


def brief(worker: Worker) -> tuple[int | None, str | None, str, str]:
    cpus = None if worker.cpus is None else str(worker.cpus)
    return worker.node, cpus, worker.binding, worker.memory


@pytest.mark.parametrize(
    "version", ["0.4.1", "0.5.2", "0.5.2.post1", "v0.6.4", "0.7.0", "0.7.2", "0.7.0.post4"]
)
def test_known_versions(version: str) -> None:
    release = kt_kernel.release(version, None, None)
    assert (release.version, release.versions) == (version.lstrip("v"), "0.4.1 - 0.7.x")
    assert release.numa_build is None


def test_commits() -> None:
    assert kt_kernel.release(None, "95009ea6", None).version == "95009ea6"
    assert kt_kernel.release("95009ea6", None, None).version == "95009ea6"
    assert kt_kernel.release("0.7.0", "1234567", None).version == "0.7.0"
    assert [r.version for r in kt_kernel.releases(False)] == ["0.7.0"]


@pytest.mark.parametrize(
    ("version", "hint"),
    [
        ("0.8.0", r"newest 0\.7\.0"),
        ("0.6.5", r"known are 0\.4\.1, "),
        ("0.3.2", "ask for --runtime ktransformers"),
        ("1234567", "commit 1234567"),
        ("x", "x is not known"),
    ],
)
def test_unknown_versions(version: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        kt_kernel.release(version, None, None)


def test_one_worker_a_core_pool_by_pool() -> None:
    placement = placed(two_sockets(3, siblings=6), 5)
    assert [(w.index, w.name, w.pool, *brief(w)) for w in placement.workers] == [
        (0, "numa_0_m_0", 0, 0, "0", "cpu", "bind:0"),
        (1, "numa_0_t_1", 0, 0, "1", "cpu", "bind:0"),
        (2, "numa_0_t_2", 0, 0, "2", "cpu", "bind:0"),
        (3, "numa_1_m_0", 1, 1, "3", "cpu", "bind:1"),
        (4, "numa_1_t_1", 1, 1, "4", "cpu", "bind:1"),
    ]
    assert (placement.pool_nodes, placement.pool_threads) == ((0, 1), (3, 2))
    assert placement.weight_copies == 1


def test_workers_beyond_the_cores_float_over_the_whole_node() -> None:
    workers = placed(two_sockets(3, siblings=6), 9).workers
    assert [brief(w) for w in workers[3:5]] == [(0, "0-2,6-8", "node", "bind:0")] * 2


def test_pools_on_one_node_take_its_cores_one_after_the_other() -> None:
    workers = placed(two_sockets(), 24, numa_nodes=[0, 0]).workers
    assert [str(w.cpus) for w in workers] == [str(i) for i in range(24)]
    # The distributor's memory follows the number of its pool, not its node.
    assert [w.memory for w in workers] == ["bind:0"] * 12 + ["bind:1"] + ["bind:0"] * 11


def test_a_distributor_without_a_core_is_tied_to_nothing() -> None:
    workers = placed(two_sockets(3), 8, numa_nodes=[0, 0]).workers
    assert [brief(w) for w in workers] == [
        (0, "0", "cpu", "bind:0"),
        (0, "1", "cpu", "bind:0"),
        (0, "2", "cpu", "bind:0"),
        (0, "0-2", "node", "bind:0"),
        (None, "0-5", "none", "bind:1"),
        (0, "0-2", "node", "bind:0"),
        (0, "0-2", "node", "bind:0"),
        (0, "0-2", "node", "bind:0"),
    ]


def test_a_later_distributor_starts_where_the_last_one_with_a_core_ended() -> None:
    workers = placed(two_sockets(5), 12, threadpool_count=3, numa_nodes=[0, 0, 0]).workers
    leads = [w for w in workers if "_m_" in w.name]
    assert [(w.name, str(w.cpus)) for w in leads] == [
        ("numa_0_m_0", "0"),
        ("numa_0_m_4", "4"),
        ("numa_0_m_8", "0-9"),
    ]


def test_a_crossed_map_binds_the_distributors_memory_elsewhere() -> None:
    workers = placed(two_sockets(), 8, numa_nodes=[1, 0]).workers
    assert Counter((w.pool, w.node, w.memory) for w in workers) == {
        (0, 1, "bind:0"): 1,
        (0, 1, "bind:1"): 3,
        (1, 0, "bind:1"): 1,
        (1, 0, "bind:0"): 3,
    }


def test_two_pools_are_the_default_also_on_one_node() -> None:
    workers = placed(machine({0: "0-31"}), 16).workers
    assert Counter(map(brief, workers[8:])) == {(None, "0-31", "none", "default"): 8}


def test_a_cpuset_leaves_its_cores_only() -> None:
    workers = placed(two_sockets(cpuset_cpus="0-11,24-35", cpuset_mems="0-1"), 40).workers
    assert [str(w.cpus) for w in workers[:12]] == [str(i) for i in range(12)]
    assert {str(w.cpus) for w in workers[12:20]} == {"0-11"}


def test_a_cpuset_with_the_memory_of_a_node_but_none_of_its_cpus() -> None:
    workers = placed(two_sockets(cpuset_cpus="0-11", cpuset_mems="0-1"), 8).workers
    assert Counter(map(brief, workers[4:])) == {(None, "0-11", "none", "bind:1"): 4}


def test_a_cpuset_of_the_second_node_is_hwlocs_first() -> None:
    box = two_sockets(cpuset_cpus="24-47", cpuset_mems="1")
    assert [brief(w) for w in placed(box, 2, threadpool_count=1).workers] == [
        (1, "24", "cpu", "bind:1"),
        (1, "25", "cpu", "bind:1"),
    ]
    # hwloc has no second node there; libnuma, which counts otherwise, ties the workers all the same.
    second = placed(box, 6).workers[3:]
    assert [brief(w) for w in second] == [
        (None, "24-47", "none", "default"),
        (1, "24-47", "node", "bind:1"),
        (1, "24-47", "node", "bind:1"),
    ]


def test_sparse_ids_are_logical_for_cores_and_the_kernels_for_the_rest() -> None:
    box = machine({0: "0-1", 2: "2-3", 3: "4-5"})
    workers = placed(box, 9, threadpool_count=3).workers
    assert [brief(w) for w in workers] == [
        (0, "0", "cpu", "bind:0"),
        (0, "1", "cpu", "bind:0"),
        (0, "0-1", "node", "bind:0"),
        (2, "2", "cpu", "bind:2"),
        (2, "3", "cpu", "bind:2"),
        (None, "0-5", "none", "bind:2"),
        (3, "4", "cpu", "bind:3"),
        (3, "5", "cpu", "bind:3"),
        (2, "2-3", "node", "bind:3"),
    ]


def test_a_pool_of_a_cpuless_node_floats_with_its_memory_bound() -> None:
    box = machine({0: "0-3", 1: "4-7", 2: ""})
    workers = placed(box, 6, threadpool_count=3).workers
    assert [brief(w) for w in workers[4:]] == [(None, "0-7", "none", "bind:2")] * 2


def test_a_cpuless_node_near_the_first_makes_two_pools_share_its_cores() -> None:
    box = machine({0: "0-3", 1: "4-7", 2: ""}, distances=[[10, 21, 14], [21, 10, 24], [14, 24, 10]])
    workers = placed(box, 4).workers
    assert [brief(w) for w in workers] == [
        (0, "0", "cpu", "bind:0"),
        (0, "1", "cpu", "bind:0"),
        (0, "0", "cpu", "bind:2"),
        (0, "1", "cpu", "bind:2"),
    ]
    request = Request("kt-kernel", threads=4)
    assert kt_kernel.pinned_twice(box, request)
    assert kt_kernel.pinned_twice(box._replace(cores=None), request)
    assert not kt_kernel.pinned_twice(box, request._replace(threads=1))
    assert not kt_kernel.pinned_twice(two_sockets(), request)


def test_a_memoryless_node_that_hwloc_shows_is_pinned_and_takes_memory_elsewhere() -> None:
    box = two_sockets(2, memoryless=[1])
    assert [brief(w) for w in placed(box, 4).workers[2:]] == [
        (1, "2", "cpu", "default"),
        (1, "3", "cpu", "default"),
    ]


def test_a_memoryless_node_that_hwloc_hides_leaves_its_pool_loose() -> None:
    box = two_sockets(2, memoryless=[1], cpuset_cpus="0-3", cpuset_mems="0")
    assert [brief(w) for w in placed(box, 4).workers[2:]] == [(None, "0-3", "none", "default")] * 2


def test_a_node_beyond_the_pools_is_undefined() -> None:
    placement = placed(two_sockets(), 4, threadpool_count=1, numa_nodes=[1])
    assert [(w.name, *brief(w)) for w in placement.workers] == [
        ("numa_1_m_?", None, None, "none", "bind:0"),
        ("numa_1_t_?", 1, None, "node", "bind:1"),
        ("numa_1_t_?", 1, None, "node", "bind:1"),
        ("numa_1_t_?", 1, None, "node", "bind:1"),
    ]
    assert placement.pool_nodes == (1,)


def test_fewer_threads_than_pools_leave_pools_empty() -> None:
    placement = placed(two_sockets(), 1)
    assert placement.pool_threads == (1, 0)
    assert len(placement.workers) == 1
    counts = kt_kernel.tally(two_sockets(), Request("k", threads=1), kt_kernel.releases(None)[0])
    assert counts.empty_pools == (1,)


def test_without_known_cores_the_node_is_known_all_the_same() -> None:
    workers = placed(two_sockets(24, cores_known=False), 60).workers
    assert Counter(w.node for w in workers) == {0: 30, 1: 30}
    first = workers[:30]
    assert [brief(w) for w in first[:3]] == [(0, None, "cpu", "bind:0")] * 3
    # With 8 threads a core there are 3 cores, with one there are 24.
    assert [brief(w) for w in first[3:24]] == [(0, None, "node", "bind:0")] * 21
    assert [brief(w) for w in first[24:]] == [(0, "0-23", "node", "bind:0")] * 6


def test_without_node_folders_it_ends() -> None:
    with pytest.raises(LaunchRefused) as caught:
        placed(Machine(source="test", online_cpus=CpuSet(range(8))), 8)
    assert caught.value.rule == "no-numa-information"


def test_a_map_of_another_length_is_refused() -> None:
    with pytest.raises(LaunchRefused, match=r"3 entries.*2 \(the default\).*count 3"):
        placed(two_sockets(), 8, numa_nodes=[0, 1, 0])
    with pytest.raises(LaunchRefused, match="1 entry with a threadpool_count of 2; give"):
        placed(two_sockets(), 8, threadpool_count=2, numa_nodes="1")


def test_a_model_that_the_pools_do_not_divide_is_refused() -> None:
    model = Model("m", moe_intermediate_size=2048)
    with pytest.raises(LaunchRefused, match="2048 is no multiple of 3"):
        placed(two_sockets(), 9, threadpool_count=3, model=model)
    assert len(placed(two_sockets(), 9, threadpool_count=2, model=model).workers) == 9
    assert len(placed(two_sockets(), 9, threadpool_count=3, model=Model("?")).workers) == 9


@pytest.mark.parametrize(
    ("threads", "options", "word"),
    [
        (0, {}, "--kt-cpuinfer"),
        (-5, {}, "--kt-cpuinfer"),
        (8, {"threadpool_count": 0}, "threadpool_count"),
        (8, {"threadpool_count": "two"}, "threadpool_count"),
        (8, {"threadpool_count": True}, "threadpool_count"),
        (8, {"numa_nodes": [0, -1]}, "numa_nodes"),
        (8, {"numa_nodes": "0,x"}, "numa_nodes"),
        (8, {"numa_nodes": {"0": 1}}, "numa_nodes"),
    ],
)
def test_wrong_values(threads: int, options: dict[str, object], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        placed(two_sockets(), threads, **options)


@pytest.mark.usefixtures("untraced")
def test_very_large_counts_are_simulated_at_once() -> None:
    started = time.process_time()
    assert len(placed(two_sockets(), 99999).workers) == 99999
    assert len(placed(two_sockets(), 99999, threadpool_count=99999).workers) == 99999
    assert time.process_time() - started < 8


@given(any_machine(), st.integers(1, 40), st.integers(1, 5), st.data())
def test_counting_agrees_with_placing(
    box: Machine, threads: int, count: int, data: st.DataObject
) -> None:
    nodes = st.lists(st.integers(0, 6), min_size=count, max_size=count)
    listed = data.draw(st.one_of(st.none(), nodes))
    options: dict[str, object] = {"threadpool_count": count}
    if listed is not None:
        options["numa_nodes"] = listed
    request = Request("kt-kernel", threads=threads, options=options)
    release = kt_kernel.releases(None)[0]
    counts = kt_kernel.tally(box, request, release)
    if counts.refused is not None:
        with pytest.raises(LaunchRefused) as caught:
            kt_kernel.simulate(box, request, release)
        assert caught.value.reason == counts.refused
        return
    placement = kt_kernel.simulate(box, request, release)
    assert counts == tally(placement)
    assert len(placement.workers) == threads == sum(placement.pool_threads)
    assert [worker.index for worker in placement.workers] == list(range(threads))
    usable = box.limits.cpuset_cpus
    for worker in placement.workers:
        if worker.binding == "cpu" and worker.cpus is not None:
            assert len(worker.cpus) == 1
            assert usable is None or worker.cpus <= usable
            assert worker.node is not None or box.node_cpus(box.nodes[0].id) is None
