"""Pools of kt-kernel."""

import pytest

from numatune.machine import Machine
from tests.rules.cases import ONE, TWO, built, found, is_good, judged, numactl, skip_of, the


def test_fewer_threads_than_pools() -> None:
    one = the(judged(built(TWO), runtime="kt-kernel", threads=1), "no-workers")
    assert dict(one.numbers) == {"pool": 1}
    assert one.severity == "critical"
    assert is_good(judged(built(TWO), runtime="kt-kernel", threads=2), "no-workers")


def test_no_workers_needs_a_thread_count() -> None:
    blind = Machine("text")
    assert "--threads" in skip_of(judged(blind, runtime="kt-kernel"), "no-workers").reason


def test_the_default_of_two_pools_on_one_node() -> None:
    one = the(judged(built(ONE), runtime="kt-kernel", threads=8), "pool-without-node")
    assert dict(one.numbers) == {"pool": 1, "node": 1}
    assert one.fix == "use --kt-threadpool-count 1"
    request = {"--kt-threadpool-count": 1}
    diagnosis = judged(built(ONE), runtime="kt-kernel", threads=8, flags=request)
    assert is_good(diagnosis, "pool-without-node")


def test_the_map_is_judged_without_a_thread_count() -> None:
    assert the(judged(built(ONE), runtime="kt-kernel"), "pool-without-node").numbers["pool"] == 1
    assert skip_of(judged(built(ONE)), "pool-without-node")


def test_sparse_ids_have_a_node_for_the_second_pool() -> None:
    machine = numactl((0, "0-23", 515000), (2, "24-47", 515000), threads_per_core=1)
    assert is_good(judged(machine, runtime="kt-kernel", threads=8), "pool-without-node")


def test_other_runtimes_have_no_pools() -> None:
    diagnosis = judged(built(ONE), runtime="ktransformers", cpu_infer=9)
    for name in ("pool-without-node", "pool-map-out-of-range", "idle-workers-spin"):
        assert is_good(diagnosis, name)


def test_a_map_entry_that_is_not_below_the_pools() -> None:
    request = {"--kt-threadpool-count": 1, "--kt-numa-nodes": [1]}
    diagnosis = judged(built(TWO), runtime="kt-kernel", version="0.7.0", threads=8, flags=request)
    assert dict(the(diagnosis, "pool-map-out-of-range").numbers) == {
        "pool": 0, "node": 1, "pools": 1,
    }  # fmt: skip
    assert is_good(diagnosis, "pool-without-node")


@pytest.mark.parametrize("nodes", [[0, 1], [1, 0], [0, 0], "0 1"])
def test_a_map_within_the_pools_is_fine(nodes: object) -> None:
    request = {"--kt-threadpool-count": 2, "--kt-numa-nodes": nodes}
    diagnosis = judged(built(TWO), runtime="kt-kernel", threads=8, flags=request)
    assert is_good(diagnosis, "pool-map-out-of-range")
    assert found(judged(built(ONE), runtime="kt-kernel", threads=8), "pool-without-node")


def test_the_default_map_is_never_out_of_range() -> None:
    request = {"--kt-threadpool-count": 4}
    diagnosis = judged(built(TWO), runtime="kt-kernel", threads=8, flags=request)
    assert is_good(diagnosis, "pool-map-out-of-range")
    assert [f.numbers["pool"] for f in found(diagnosis, "pool-without-node")] == [2, 3]


@pytest.mark.parametrize(
    ("launch", "spins"),
    [
        ({"version": "0.5.2"}, True),
        ({"version": "0.4.1"}, True),
        ({"version": "0.5.3"}, False),
        ({"version": "0.7.0"}, False),
        ({"commit": "4c5fcf97"}, True),
        ({"commit": "7a02daa6"}, False),
        ({"commit": "95009ea6"}, False),
    ],
)
def test_the_task_queue_slept_from_0_5_3_on(launch: dict[str, object], spins: bool) -> None:
    diagnosis = judged(built(TWO), runtime="kt-kernel", threads=40, **launch)
    assert bool(found(diagnosis, "idle-workers-spin")) is spins
    assert is_good(diagnosis, "idle-workers-spin") is not spins


def test_spinning_is_not_judged_for_an_unknown_runtime() -> None:
    assert skip_of(judged(built(TWO), runtime="mystery", threads=4), "idle-workers-spin")
