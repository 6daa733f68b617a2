"""What workers are tied to."""

from numatune.machine import CpuSet
from tests.rules.cases import (
    LAPTOP,
    ONE,
    TWO,
    TWO_SMT,
    built,
    is_good,
    judged,
    numactl,
    skip_of,
    the,
)

PLAIN = {"runtime": "ktransformers", "version": "0.2.1", "numa_build": False}


def test_a_build_without_numa_wanders_over_two_nodes() -> None:
    one = the(judged(built(TWO_SMT), **PLAIN, cpu_infer=65), "workers-unbound")
    assert one.numbers["workers"] == 64
    assert "nodes 0 and 1" in one.message
    assert "numactl -N 0 -m 0" in one.fix


def test_nothing_is_unbound_where_there_is_one_node_to_be_on() -> None:
    assert is_good(judged(built(ONE), **PLAIN, cpu_infer=9), "workers-unbound")
    confined = built(TWO, affinity="24-47")
    assert is_good(judged(confined, **PLAIN, cpu_infer=9), "workers-unbound")
    inside = built(TWO, allowed_cpus="24-47", allowed_mems="1")
    assert is_good(judged(inside, **PLAIN, cpu_infer=9), "workers-unbound")


def test_a_binding_that_was_meant_and_failed_matters_on_one_node_too() -> None:
    one = the(judged(built(ONE), runtime="kt-kernel", threads=8), "workers-unbound")
    assert one.numbers["workers"] == 4
    assert one.fix.startswith("use --kt-threadpool-count 1")


def test_sparse_ids_leave_half_of_the_workers_unbound() -> None:
    machine = numactl((0, "0-23", 515000), (2, "24-47", 515000), threads_per_core=1)
    request = {"runtime": "ktransformers", "version": "0.2.2", "cpu_infer": 9}
    assert the(judged(machine, **request), "workers-unbound").numbers["workers"] == 4
    assert is_good(judged(machine, runtime="kt-kernel", threads=8), "workers-unbound")


def test_workers_of_undefined_place_are_not_called_unbound() -> None:
    request = {"--kt-threadpool-count": 1, "--kt-numa-nodes": [1]}
    diagnosis = judged(built(TWO), runtime="kt-kernel", threads=8, flags=request)
    assert is_good(diagnosis, "workers-unbound")


def test_both_threads_of_a_core_in_one_mask() -> None:
    request = {"runtime": "ktransformers", "version": "0.2.3", "cpu_infer": 36}
    diagnosis = judged(built(TWO_SMT), **request)
    assert the(diagnosis, "smt-siblings-in-mask").numbers["nodes"] == [0, 1]
    assert is_good(judged(built(TWO), **request), "smt-siblings-in-mask")
    first_threads = built(TWO_SMT, allowed_cpus="0-63", allowed_mems="0-1")
    assert is_good(judged(first_threads, **request), "smt-siblings-in-mask")
    assert is_good(judged(built(TWO_SMT), runtime="kt-kernel", threads=36), "smt-siblings-in-mask")


def test_masks_are_not_judged_without_the_cores() -> None:
    machine = numactl((0, "0-23", 515000), (1, "24-47", 515000))
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.3", cpu_infer=36)
    assert "lscpu -e" in skip_of(diagnosis, "smt-siblings-in-mask").reason


def test_instances_pin_to_the_same_first_cores() -> None:
    request = {"runtime": "kt-kernel", "threads": 16}
    diagnosis = judged(built(TWO), **request, instances=2)
    assert the(diagnosis, "instances-share-cores").numbers["cores"] == {0: 8, 1: 8}
    assert is_good(judged(built(TWO), **request), "instances-share-cores")


def test_instances_that_pin_nothing_do_not_collide() -> None:
    diagnosis = judged(built(TWO), runtime="ktransformers", cpu_infer=9, instances=2)
    assert is_good(diagnosis, "instances-share-cores")


def test_instances_collide_where_the_cores_are_not_known_either() -> None:
    machine = numactl((0, "0-23", 515000), (1, "24-47", 515000))
    diagnosis = judged(machine, runtime="kt-kernel", threads=4, instances=2)
    assert the(diagnosis, "instances-share-cores").numbers["cores"] == {0: 2, 1: 2}


def test_unknown_runtimes_are_skipped() -> None:
    diagnosis = judged(built(LAPTOP), runtime="mystery", threads=4, instances=2)
    for name in ("workers-unbound", "smt-siblings-in-mask", "instances-share-cores"):
        assert "mystery" in skip_of(diagnosis, name).reason


def test_an_unknown_machine_leaves_the_workers_unbound_as_far_as_one_knows() -> None:
    machine = built(TWO)._replace(
        online_cpus=None, nodes=tuple(n._replace(cpus=CpuSet()) for n in built(TWO).nodes)
    )
    diagnosis = judged(machine, runtime="ktransformers", numa_build=False, cpu_infer=9)
    assert is_good(diagnosis, "workers-unbound")
