"""Logical order of nodes and cores. The expected values are what lstopo 2.9.0 prints."""

from __future__ import annotations

import pytest

from numatune.machine import Core, CpuSet, Machine
from numatune.runtimes.hwloc import Spot, numa_objects
from tests.runtimes.machines import machine, two_sockets


def seen(box: Machine) -> list[tuple[int, list[int]]]:
    """Return the id of each object and the first CPUs of its cores."""
    return [(found.id, [cpu for cpu, _ in found.cores or ()]) for found in numa_objects(box)]


def test_sparse_ids_become_logical_indexes() -> None:
    assert seen(machine({0: "0-1", 2: "2-3", 3: "4-5"})) == [
        (0, [0, 1]),
        (2, [2, 3]),
        (3, [4, 5]),
    ]


def test_nodes_are_ordered_by_their_first_cpu() -> None:
    assert seen(machine({0: "4-5", 1: "0-1", 2: "2-3"})) == [
        (1, [0, 1]),
        (2, [2, 3]),
        (0, [4, 5]),
    ]


def test_packages_come_before_nodes() -> None:
    box = machine({0: "0,4", 1: "1,5", 2: "2,6", 3: "3,7"}, packages=["0,2,4,6", "1,3,5,7"])
    assert [node for node, _ in seen(box)] == [0, 2, 1, 3]


def test_a_cpuless_node_follows_the_node_whose_memory_it_is_near() -> None:
    box = machine({0: "0-3", 1: "4-7", 2: ""}, distances=[[10, 21, 14], [21, 10, 24], [14, 24, 10]])
    assert seen(box) == [(0, [0, 1, 2, 3]), (2, [0, 1, 2, 3]), (1, [4, 5, 6, 7])]


@pytest.mark.parametrize("distances", [None, [[10, 21, 21], [21, 10, 21], [21, 21, 10]]])
def test_a_cpuless_node_near_to_none_comes_last(distances: list[list[int]] | None) -> None:
    box = machine({0: "", 1: "0-3", 2: "4-7"}, distances=distances)
    assert seen(box) == [(1, [0, 1, 2, 3]), (2, [4, 5, 6, 7]), (0, [])]


def test_a_cpuless_node_near_to_two_holds_the_cores_of_both_node_by_node() -> None:
    rows = [[10, 21, 12, 21, 12], [21, 10, 21, 12, 21], [12, 21, 10, 21, 12],
            [21, 12, 21, 10, 21], [12, 21, 12, 21, 10]]  # fmt: skip
    box = machine({0: "0,4", 1: "1,5", 2: "2,6", 3: "3,7", 4: ""}, distances=rows)
    assert seen(box) == [
        (0, [0, 4]),
        (2, [2, 6]),
        (4, [0, 4, 2, 6]),
        (1, [1, 5]),
        (3, [3, 7]),
    ]
    assert numa_objects(box)[2].core(2) == Spot(2, 2)


def test_a_locality_that_cuts_through_a_package_becomes_the_whole_machine() -> None:
    rows = [[10, 14, 14, 11, 21, 12], [21, 10, 14, 21, 11, 11], [12, 14, 10, 11, 14, 14],
            [21, 14, 11, 10, 12, 12], [21, 21, 12, 11, 10, 14], [14, 14, 12, 12, 12, 10]]  # fmt: skip
    box = machine(
        {0: "12-15", 1: "8-11", 2: "4-7", 3: "3", 4: "0-2", 5: ""},
        packages=["8-11", "0-2", "3-7,12-15"],
        distances=rows,
        cpuset_cpus="1-5,8-15",
        cpuset_mems="1,3-5",
    )
    assert seen(box) == [
        (4, [1, 2]),
        (3, [3]),
        (1, [8, 9, 10, 11]),
        (5, [1, 2, 3, 4, 5, 12, 13, 14, 15, 8, 9, 10, 11]),
    ]


def test_cores_are_ordered_by_all_their_cpus_also_those_not_allowed() -> None:
    box = two_sockets(3, siblings=6, cpuset_cpus="1-2,6", cpuset_mems="0")
    assert seen(box) == [(0, [6, 1, 2])]


def test_a_cpuset_without_cpus_of_a_node_leaves_it_without_cores() -> None:
    box = two_sockets(2, cpuset_cpus="0-1", cpuset_mems="0-1")
    assert seen(box) == [(0, [0, 1]), (1, [])]


def test_a_memoryless_node_is_hidden_by_the_group_that_lacks_it() -> None:
    grouped = two_sockets(2, memoryless=[0], cpuset_cpus="0-3", cpuset_mems="1")
    assert [node for node, _ in seen(grouped)] == [1]
    told_nothing = two_sockets(2, memoryless=[0], gaps=["limits"])
    assert [node for node, _ in seen(told_nothing)] == [1]


def test_a_memoryless_node_is_shown_where_no_group_can_be_read() -> None:
    assert [node for node, _ in seen(two_sockets(2, memoryless=[0], cpuset_mems="1"))] == [0, 1]


def test_unknown_cores_leave_bounds() -> None:
    found = numa_objects(two_sockets(24, cores_known=False))[0]
    assert (found.least, found.most) == (3, 24)
    assert found.core(2) == Spot(None, 0, True)
    assert found.core(3) == Spot(None, 0, False)
    assert found.core(24) is None
    smt = numa_objects(two_sockets(24, cores_known=False)._replace(smt=2))[0]
    assert (smt.least, smt.most) == (12, 12)


def test_without_smt_each_cpu_is_a_core_though_cores_are_not_listed() -> None:
    box = two_sockets(2, cores_known=False)._replace(smt=1)
    assert seen(box) == [(0, [0, 1]), (1, [2, 3])]


def test_cores_of_a_part_only_are_taken_as_unknown() -> None:
    box = two_sockets(2)._replace(cores=(Core(CpuSet([0])),))
    assert numa_objects(box)[0].cores is None


def test_each_machine_has_its_own_objects() -> None:
    one, two = two_sockets(2), two_sockets(3)
    assert len(seen(one)[0][1]) == 2
    assert len(seen(two)[0][1]) == 3
    assert len(seen(one)[0][1]) == 2
