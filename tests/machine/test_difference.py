"""What differs between two machines, what is not comparable, and what it means."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numatune.machine import (
    Core,
    CpuSet,
    Distances,
    Limits,
    Machine,
    Node,
    Package,
)
from numatune.machine.difference import Comparison, compare, differences
from tests.sources.drawn import machines
from tests.sources.trees import small_machine

FAST = settings(
    max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
GIB = 1 << 30
LIVE = {"limits": "this host", "nodes": "this host"}


def found(before: Machine, after: Machine, **more: Any) -> list[tuple[str, str, Any, Any]]:
    return [(d.what, d.subject, d.before, d.after) for d in differences(before, after, **more)]


def meaning(before: Machine, after: Machine, what: str) -> str:
    (one,) = [d for d in differences(before, after) if d.what == what]
    return one.meaning


def one_sided(result: Comparison) -> set[tuple[str, str]]:
    return {(d.what, d.subject) for d in result.not_comparable}


def with_settings(machine: Machine, **changes: Any) -> Machine:
    return machine._replace(settings=machine.settings._replace(**changes))


def node_change(machine: Machine, number: int, **changes: Any) -> Machine:
    nodes = tuple(n._replace(**changes) if n.id == number else n for n in machine.nodes)
    return machine._replace(nodes=nodes)


def interleaved() -> Machine:
    """The small machine after its firmware interleaved the nodes."""
    machine = small_machine()
    (one, other) = machine.nodes
    node = Node(0, machine.online_cpus, 129 * GIB, None, "dram")
    assert one.memory_total_bytes is not None
    assert other.memory_total_bytes is not None
    assert node.memory_total_bytes == one.memory_total_bytes + other.memory_total_bytes
    return machine._replace(
        nodes=(node,),
        distances=Distances((0,), ((10,),)),
        cores=tuple(core._replace(node_id=0) for core in machine.cores or ()),
        limits=Limits(cpuset_mems=CpuSet([0])),
    )


# Laws ---------------------------------------------------------------------------------------------


@FAST
@given(machines())
def test_a_machine_does_not_differ_from_itself(machine: Machine) -> None:
    result = compare(machine, machine)
    assert result.differences == ()
    assert result.not_comparable == ()


@FAST
@given(machines(), machines(), st.sampled_from([0.0, 0.02, 0.5]))
def test_the_way_back_is_the_way_there_turned_round(
    one: Machine, other: Machine, tolerance: float
) -> None:
    there, back = compare(one, other, tolerance), compare(other, one, tolerance)
    for ours, theirs in (
        (there.differences, back.differences),
        (there.not_comparable, back.not_comparable),
    ):
        turned = {(d.what, d.subject, d.after, d.before) for d in theirs}
        assert {(d.what, d.subject, d.before, d.after) for d in ours} == turned
    assert there.equal == back.equal
    assert all(None not in (d.before, d.after) for d in there.differences)
    assert all(d.before != d.after for d in there.differences)
    assert all((d.before is None) != (d.after is None) for d in there.not_comparable)
    assert not any(d.meaning for d in there.not_comparable)


def test_nothing_but_a_name_in_common() -> None:
    assert compare(Machine("a", gaps=("nodes",)), Machine("b", gaps=("nodes",))) == ((), (), 0)


def test_what_moves_by_itself_is_no_difference() -> None:
    machine = small_machine()
    after = node_change(machine, 0, memory_free_bytes=1).warned("odd", "something")
    after = after._replace(source="other", origins={"nodes": "x"}, gaps=())
    assert found(machine, after) == []


def test_the_gravest_comes_first() -> None:
    machine = small_machine()
    after = with_settings(interleaved(), numa_balancing=0)
    after = after._replace(cpu=machine.cpu._replace(model="Another"), is_guest=True)
    assert [d.what for d in differences(machine, after)] == [
        "nodes", "node-cpus", "node-memory", "cpu-model", "guest", "setting",
    ]  # fmt: skip


# Nodes --------------------------------------------------------------------------------------------


def test_the_firmware_interleaves_now() -> None:
    assert found(small_machine(), interleaved()) == [
        ("nodes", "the machine", "0-1", "0"),
        ("node-cpus", "node 0", "0-1,4-5", "0-7"),
        ("node-memory", "node 0", 64 * GIB, 129 * GIB),
    ]
    assert meaning(small_machine(), interleaved(), "nodes") == (
        "2 nodes became 1 over 2 packages: the firmware now interleaves the memory of the packages"
    )
    assert meaning(interleaved(), small_machine(), "nodes") == (
        "1 node became 2 over 2 packages:"
        " the firmware no longer interleaves the memory of the packages"
    )


def test_the_packages_are_split_into_clusters_now() -> None:
    machine = small_machine()
    parts = [CpuSet((i, i + 4)) for i in range(4)]
    clustered = machine._replace(
        nodes=tuple(Node(i, part, 32 * GIB) for i, part in enumerate(parts)), distances=None
    )
    assert meaning(machine, clustered, "nodes") == (
        "2 nodes became 4 over 2 packages:"
        " the packages are split into clusters now (SNC, NPS2, NPS4 or dies)"
    )
    assert meaning(clustered, machine, "nodes").endswith("no longer split into clusters")


@pytest.mark.parametrize(
    "doubt",
    [
        lambda m: m._replace(is_guest=True),
        lambda m: m._replace(is_guest=None),
        lambda m: with_settings(m, cmdline="ro numa=off"),
        lambda m: with_settings(m, cmdline=None),
        lambda m: m._replace(packages=None),
        lambda m: m._replace(packages=(Package(0, CpuSet(range(8))),)),
    ],
)
def test_of_the_firmware_nothing_is_said_in_doubt(doubt: Any) -> None:
    assert meaning(small_machine(), doubt(interleaved()), "nodes") == ""


def test_no_nodes_any_more() -> None:
    after = small_machine()._replace(nodes=(), distances=None).warned("no-numa-information", "none")
    assert ("nodes", "the machine", "0-1", "") in found(small_machine(), after)
    assert "exit at their start" in meaning(small_machine(), after, "nodes")


def test_nodes_that_a_text_does_not_show_whole_are_not_comparable() -> None:
    machine = small_machine()
    cut = machine._replace(nodes=machine.nodes[:1], gaps=("nodes",), distances=None)
    silent = machine._replace(nodes=(), gaps=("nodes",), distances=None)
    for other in (cut, silent):
        result = compare(machine, other)
        assert result.differences == ()
        assert ("nodes", "the machine") in one_sided(result)


def with_memory_node(machine: Machine) -> Machine:
    return machine._replace(
        nodes=(*machine.nodes, Node(2, CpuSet(), 256 * GIB, None, "cxl")),
        limits=Limits(cpuset_mems=CpuSet([0, 1, 2])),
    )


def test_memory_without_cpus_came() -> None:
    machine, after = small_machine(), with_memory_node(small_machine())
    assert found(machine, after) == [
        ("nodes", "the machine", "0-1", "0-2"),
        ("memory", "the machine", 129 * GIB, 385 * GIB),
    ]
    assert meaning(machine, after, "nodes") == (
        "memory without CPUs came: leave 2 out of --interleave lists"
    )


def test_a_format_may_not_show_nodes_without_cpus() -> None:
    machine = small_machine()._replace(origins={"nodes": "lscpu -e"})
    after = with_memory_node(small_machine())._replace(origins={"nodes": "numactl --hardware"})
    result = compare(machine, after)
    assert "nodes" not in [d.what for d in result.differences]
    assert ("node", "node 2") in one_sided(result)
    assert "memory" not in [d.what for d in result.differences]
    tree, live = after._replace(origins={"nodes": "tree"}), machine._replace(origins=LIVE)
    assert ("nodes", "the machine", "0-1", "0-2") in found(live, tree)


def test_cpus_of_a_node() -> None:
    after = node_change(small_machine(), 1, cpus=CpuSet.parse("2-3,6"))
    assert found(small_machine(), after) == [("node-cpus", "node 1", "2-3,6-7", "2-3,6")]


@pytest.mark.parametrize(
    ("size", "tolerance", "differs"),
    [
        (64 * GIB, 0.0, False),
        (64 * GIB - 1, 0.0, True),
        (63 * GIB, 0.02, False),
        (65 * GIB, 0.02, False),
        (62 * GIB, 0.02, True),
        (66 * GIB, 0.02, True),
        (48 * GIB, 0.25, False),
        (47 * GIB, 0.25, True),
        (0, 0.99, True),
    ],
)
def test_memory_of_a_node_may_move_within_the_tolerance(
    size: int, tolerance: float, differs: bool
) -> None:
    after = node_change(small_machine(), 0, memory_total_bytes=size)
    expected = [("node-memory", "node 0", 64 * GIB, size)] if differs else []
    assert found(small_machine(), after, tolerance=tolerance) == expected
    assert bool(found(after, small_machine(), tolerance=tolerance)) == differs


def test_a_node_that_lost_its_memory() -> None:
    after = node_change(small_machine(), 1, memory_total_bytes=0)
    assert meaning(small_machine(), after, "node-memory") == (
        "its workers read everything from other nodes"
    )


def test_the_kind_of_memory() -> None:
    after = node_change(small_machine(), 0, kind="hbm")
    assert found(small_machine(), after) == [("node-kind", "node 0", "dram", "hbm")]
    unknown = node_change(small_machine(), 0, kind="unknown")
    assert one_sided(compare(small_machine(), unknown)) == {("node-kind", "node 0")}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (((10, 32), (32, 10)), [("distance", "nodes 0 and 1", 21, 32)]),
        (((10, 32), (21, 10)), [("distance", "node 0 to node 1", 21, 32)]),
        (
            ((11, 32), (31, 11)),
            [
                ("distance", "2 ways, as node 0 to node 0", 10, 11),
                ("distance", "node 0 to node 1", 21, 32),
                ("distance", "node 1 to node 0", 21, 31),
            ],
        ),
    ],
)
def test_distances(values: Any, expected: Any) -> None:
    after = small_machine()._replace(distances=Distances((0, 1), values))
    assert found(small_machine(), after) == expected


def test_the_order_of_a_table_of_distances_does_not_matter() -> None:
    turned = Distances((1, 0), ((10, 22), (21, 10)))
    after = small_machine()._replace(distances=turned)
    assert found(small_machine(), after) == [("distance", "node 1 to node 0", 21, 22)]


def test_distances_that_one_side_lacks() -> None:
    none = small_machine()._replace(distances=None)
    hole = small_machine()._replace(distances=Distances((0, 1), ((10, None), (21, 10))))
    assert one_sided(compare(small_machine(), none)) == {("distances", "the machine")}
    assert one_sided(compare(small_machine(), hole)) == {("distance", "node 0 to node 1")}


# Packages, cores, CPUs ----------------------------------------------------------------------------


def test_the_number_of_packages() -> None:
    after = small_machine()._replace(packages=(Package(0, CpuSet(range(8))),))
    assert found(small_machine(), after)[0] == ("packages", "the machine", 2, 1)
    stated = small_machine()._replace(packages=None, package_count=3)
    assert found(small_machine(), stated) == [("packages", "the machine", 2, 3)]


def test_ids_of_packages_alone_do_not_matter() -> None:
    packages = tuple(p._replace(id=p.id * 36) for p in small_machine().packages or ())
    assert found(small_machine(), small_machine()._replace(packages=packages)) == []


def test_smt_off() -> None:
    before = small_machine()
    after = before._replace(
        nodes=tuple(n._replace(cpus=(n.cpus or CpuSet()) & CpuSet(range(4))) for n in before.nodes),
        cores=tuple(c._replace(cpus=CpuSet([c.cpus.first()])) for c in before.cores or ()),
        packages=tuple(p._replace(cpus=p.cpus & CpuSet(range(4))) for p in before.packages or ()),
        online_cpus=CpuSet.parse("0-3"),
        offline_cpus=CpuSet.parse("4-7"),
        settings=before.settings._replace(smt_control="off"),
    )
    assert found(before, after) == [
        ("node-cpus", "node 0", "0-1,4-5", "0-1"),
        ("node-cpus", "node 1", "2-3,6-7", "2-3"),
        ("threads-per-core", "the machine", 2, 1),
        ("online-cpus", "the machine", "0-7", "0-3"),
        ("offline-cpus", "the machine", "", "4-7"),
        ("setting", "smt_control", "on", "off"),
    ]
    assert meaning(before, after, "threads-per-core") == (
        "SMT is off: each CPU is a core of its own"
    )
    assert "count workers by cores" in meaning(after, before, "threads-per-core")


def test_cpus_that_are_numbered_otherwise() -> None:
    before = small_machine()
    halves = CpuSet.parse("0-3"), CpuSet.parse("4-7")
    after = before._replace(
        nodes=tuple(n._replace(cpus=half) for n, half in zip(before.nodes, halves, strict=True)),
        packages=tuple(Package(i, half) for i, half in enumerate(halves)),
        cores=tuple(Core(CpuSet((i, i + 1)), i // 4, i // 4) for i in range(0, 8, 2)),
    )
    assert found(before, after)[2:] == [
        ("package-cpus", "packages", "0-1,4-5; 2-3,6-7", "0-3; 4-7"),
        ("core-cpus", "cores", "0,4; 1,5; 2,6; 3,7", "0-1; 2-3; 4-5; 6-7"),
    ]
    assert meaning(before, after, "core-cpus") == (
        "a list of CPUs in a launch command means other cores now"
    )


def test_cores_of_different_sizes_and_a_core_that_is_gone() -> None:
    before = small_machine()
    uneven = before._replace(cores=(*(before.cores or ())[:3], Core(CpuSet([3]), 1, 1)))
    assert found(before, uneven) == [("threads-per-core", "the machine", 2, "1-2")]
    fewer = before._replace(cores=(before.cores or ())[:3])
    assert found(before, fewer) == [("cores", "the machine", 4, 3)]


def test_cores_of_a_damaged_text_are_not_counted() -> None:
    part = small_machine()._replace(
        cores=(small_machine().cores or ())[:2],
        packages=(small_machine().packages or ())[:1],
        gaps=("cores", "packages"),
    )
    result = compare(small_machine(), part)
    assert result.differences == ()
    assert one_sided(result) == {("packages", "the machine"), ("cores", "the machine")}
