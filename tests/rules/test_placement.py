"""Too many workers on a node, unevenly many, or none."""

import pytest

from numatune.machine import CpuSet
from numatune.placement.placement import Placement, Release, Worker
from numatune.rules.loads import node_loads
from numatune.rules.rule import Case
from tests.rules.cases import (
    LAPTOP,
    ONE,
    TWO,
    TWO_SMT,
    built,
    found,
    is_good,
    judged,
    numactl,
    skip_of,
    the,
)


def test_the_cliff_of_pull_request_685() -> None:
    at_41 = judged(built(TWO), runtime="ktransformers", version="0.2.1", cpu_infer=41)
    assert is_good(at_41, "node-oversubscribed")
    one = the(
        judged(built(TWO), runtime="ktransformers", version="0.2.1", cpu_infer=42),
        "node-oversubscribed",
    )
    assert dict(one.numbers) == {"node": 1, "workers": 25, "cpus": 24, "by": 1}
    assert one.message == "node 1: 25 workers for 24 CPUs (ktransformers 0.2.1, cpu_infer 42)"
    assert one.fix == "use --cpu_infer 41, or upgrade to ktransformers 0.2.2"
    assert one.severity == "critical"
    assert [(e.path, e.text) for e in one.evidence] == [("node 1 cpus", "24-47")]
    fixed = judged(built(TWO), runtime="ktransformers", version="0.2.2", cpu_infer=42)
    assert is_good(fixed, "node-oversubscribed")


def test_the_cliff_shows_in_numactl_text_alone() -> None:
    machine = numactl((0, "0-23", 515000), (1, "24-47", 515000))
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.1", cpu_infer=42)
    assert the(diagnosis, "node-oversubscribed").numbers["workers"] == 25


def test_kt_kernel_names_the_workers_without_a_core() -> None:
    diagnosis = judged(built(TWO), runtime="kt-kernel", version="0.7.0", threads=60)
    for node, one in enumerate(found(diagnosis, "node-oversubscribed")):
        assert dict(one.numbers) == {
            "node": node, "workers": 30, "cpus": 24, "by": 6, "unpinned": 6,
        }  # fmt: skip
        assert one.fix == "use --kt-cpuinfer 46"


def test_only_cpus_that_the_cpuset_allows_count() -> None:
    machine = built(TWO, allowed_cpus="0-11,24-35", allowed_mems="0-1")
    diagnosis = judged(machine, runtime="kt-kernel", version="0.7.0", threads=40)
    assert [one.numbers["cpus"] for one in found(diagnosis, "node-oversubscribed")] == [12, 12]


def test_floating_workers_are_measured_against_all_they_may_use() -> None:
    plain = {"runtime": "ktransformers", "version": "0.2.2", "numa_build": False}
    one = the(judged(built(TWO), **plain, cpu_infer=60), "node-oversubscribed")
    assert dict(one.numbers) == {"workers": 59, "cpus": 48, "by": 11}
    assert is_good(judged(built(TWO), **plain, cpu_infer=49), "node-oversubscribed")
    confined = judged(built(TWO, affinity="0-11"), **plain, cpu_infer=20)
    one = the(confined, "node-oversubscribed")
    assert dict(one.numbers) == {"node": 0, "workers": 19, "cpus": 12, "by": 7}
    assert one.message.startswith("CPUs 0-11 of node 0: 19 workers for 12 CPUs")
    assert one.fix == "use --cpu_infer 12"


def test_the_threads_of_an_unknown_runtime_count_as_floating() -> None:
    one = the(judged(built(TWO), runtime="mystery", threads=50), "node-oversubscribed")
    assert dict(one.numbers) == {"workers": 50, "cpus": 48, "by": 2}
    assert one.fix == "use at most 48 threads"
    one = the(judged(built(ONE), runtime="mystery", threads=50), "node-oversubscribed")
    assert one.numbers["node"] == 0


def test_a_mask_inside_of_a_node_can_be_too_small_where_the_node_is_not() -> None:
    release = Release("some", "1", "1", "masks", None, "https://example.org")
    masks = [CpuSet(range(8))] * 12 + [CpuSet(range(24))] * 4
    workers = tuple(Worker(i, f"w{i}", 0, 0, mask, "mask") for i, mask in enumerate(masks))
    case = Case(built(TWO), placement=Placement(release, 16, workers))
    (load,) = node_loads(case)
    assert (load.node, load.workers, load.over) == (0, 12, 4)
    assert load.place(case.machine) == "CPUs 0-7 of node 0"


def test_without_cpus_nothing_is_judged() -> None:
    machine = numactl()
    diagnosis = judged(machine, runtime="ktransformers", numa_build=False, cpu_infer=9)
    assert "numactl" in skip_of(diagnosis, "node-oversubscribed").reason
    assert "launch" in skip_of(judged(built(TWO)), "node-oversubscribed").reason


def test_smt_siblings_are_shared_above_the_cores() -> None:
    diagnosis = judged(built(TWO_SMT), runtime="ktransformers", version="0.2.1", cpu_infer=65)
    one = the(diagnosis, "workers-share-core")
    assert dict(one.numbers) == {"node": 1, "workers": 48, "cores": 32, "by": 16}
    assert is_good(diagnosis, "node-oversubscribed")
    few = judged(built(TWO_SMT), runtime="ktransformers", version="0.2.2", cpu_infer=65)
    assert is_good(few, "workers-share-core")


def test_one_node_too_full_and_the_other_sharing_are_two_findings() -> None:
    diagnosis = judged(built(TWO_SMT), runtime="ktransformers", version="0.2.1", cpu_infer=126)
    full = the(diagnosis, "node-oversubscribed")
    assert dict(full.numbers) == {"node": 1, "workers": 85, "cpus": 64, "by": 21}
    assert full.fix == "use --cpu_infer 49, or upgrade to ktransformers 0.2.2 with --cpu_infer 65"
    assert dict(the(diagnosis, "workers-share-core").numbers) == {
        "node": 0, "workers": 40, "cores": 32, "by": 8,
    }  # fmt: skip


def test_sharing_on_the_whole_machine_names_no_node() -> None:
    one = the(judged(built(TWO_SMT), runtime="mystery", threads=128), "workers-share-core")
    assert dict(one.numbers) == {"workers": 128, "cores": 64, "by": 64}


def test_sharing_needs_to_know_the_cores() -> None:
    machine = numactl((0, "0-23", 515000), (1, "24-47", 515000))
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.2", cpu_infer=42)
    assert "threads_per_core" in skip_of(diagnosis, "workers-share-core").reason
    known = numactl((0, "0-23", 515000), (1, "24-47", 515000), threads_per_core=1)
    diagnosis = judged(known, runtime="ktransformers", version="0.2.2", cpu_infer=42)
    assert is_good(diagnosis, "workers-share-core")


@pytest.mark.parametrize(
    ("version", "cpu_infer", "workers"),
    [("0.2.1", 41, {0: 16, 1: 24}), ("0.2.1", 112, {0: 40, 1: 71}), ("0.2.1", 24, None),
     ("0.2.2", 42, None), ("0.3.2", 112, None)],
)  # fmt: skip
def test_an_uneven_split(version: str, cpu_infer: int, workers: dict[int, int] | None) -> None:
    machine = built("pack:2 [numa(memory=512GB)] core:56 pu:2")
    diagnosis = judged(machine, runtime="ktransformers", version=version, cpu_infer=cpu_infer)
    got = [one.numbers["workers"] for one in found(diagnosis, "uneven-worker-split")]
    assert got == ([] if workers is None else [workers])


def test_an_uneven_map_of_pools_is_named() -> None:
    request = {"--kt-threadpool-count": 3, "--kt-numa-nodes": [0, 0, 1]}
    diagnosis = judged(built(TWO), runtime="kt-kernel", threads=30, flags=request)
    assert the(diagnosis, "uneven-worker-split").numbers["workers"] == {0: 20, 1: 10}


def test_unequal_nodes_get_equal_shares() -> None:
    machine = numactl((0, "0-23", 515000), (1, "24-39", 515000), threads_per_core=1)
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.2", cpu_infer=35)
    one = the(diagnosis, "uneven-nodes")
    assert one.numbers["cores"] == {0: 24, 1: 16}
    assert "--cpu_infer 33" in one.fix
    assert the(diagnosis, "node-oversubscribed").numbers["workers"] == 17
    even = judged(built(TWO), runtime="ktransformers", version="0.2.2", cpu_infer=35)
    assert is_good(even, "uneven-nodes")


def test_a_cpuset_makes_nodes_unequal() -> None:
    machine = built(TWO, allowed_cpus="0-23,24-31", allowed_mems="0-1")
    diagnosis = judged(machine, runtime="kt-kernel", threads=14)
    assert the(diagnosis, "uneven-nodes").numbers["cores"] == {0: 24, 1: 8}


def test_unequal_nodes_need_to_know_the_cores() -> None:
    machine = numactl((0, "0-23", 515000), (1, "24-39", 515000))
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.2", cpu_infer=21)
    assert "lscpu" in skip_of(diagnosis, "uneven-nodes").reason


def test_a_memoryless_node_is_left_idle_by_libnuma() -> None:
    machine = numactl((0, "0-23", 515000), (1, "24-47", 0), threads_per_core=1)
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.2", cpu_infer=9)
    one = the(diagnosis, "node-left-idle")
    assert one.numbers["nodes"] == [1]
    assert "memory" in one.fix
    both = judged(built(TWO), runtime="ktransformers", version="0.2.2", cpu_infer=9)
    assert is_good(both, "node-left-idle")


def test_pools_for_a_part_of_the_nodes_leave_the_others_idle() -> None:
    machine = built("pack:2 group:2 [numa(memory=256GB)] core:12 pu:1")
    one = the(judged(machine, runtime="kt-kernel", threads=8), "node-left-idle")
    assert one.numbers["nodes"] == [2, 3]
    assert one.message.startswith("nodes 2 and 3 with 24 CPUs get no worker")
    assert one.fix.startswith("use --kt-threadpool-count 4")


def test_a_node_outside_of_the_cpuset_is_not_idle() -> None:
    machine = built(TWO, allowed_cpus="24-47", allowed_mems="1")
    request = {"--kt-threadpool-count": 1}
    diagnosis = judged(machine, runtime="kt-kernel", threads=8, flags=request)
    assert is_good(diagnosis, "node-left-idle")


def test_floating_workers_leave_idle_what_taskset_took_away() -> None:
    plain = {"runtime": "ktransformers", "numa_build": False, "cpu_infer": 9}
    assert is_good(judged(built(TWO), **plain), "node-left-idle")
    diagnosis = judged(built(TWO, affinity="24-47"), **plain)
    assert the(diagnosis, "node-left-idle").numbers["nodes"] == [0]


@pytest.mark.parametrize("name", ["uneven-worker-split", "uneven-nodes", "node-left-idle"])
def test_an_unknown_runtime_is_not_judged_by_node(name: str) -> None:
    assert "mystery" in skip_of(judged(built(LAPTOP), runtime="mystery", threads=4), name).reason
