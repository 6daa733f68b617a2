"""Nodes, their memory and distances, and every oddity that real machines show."""

from __future__ import annotations

from pathlib import Path

import pytest

from numatune.machine import CpuSet, Distances, Limits, Node
from tests.sources.trees import (
    CPU,
    NODE,
    codes,
    read,
    remove,
    small_machine,
    without_notes,
    write_files,
    write_tree,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the tree of the small machine, to be damaged."""
    return write_tree(small_machine(), tmp_path / "tree")


def test_cpumap_wins_over_cpulist(root: Path) -> None:
    write_files(root, {f"{NODE}/node0/cpulist": "0-7\n"})
    assert str(read(root).nodes[0].cpus) == "0-1,4-5"


def test_a_list_serves_where_there_is_no_mask(root: Path) -> None:
    remove(root, f"{NODE}/node*/cpumap")
    assert without_notes(read(root)) == small_machine()._replace(origins={})


def test_a_memoryless_a_cpuless_and_an_empty_node_are_facts(tmp_path: Path) -> None:
    machine = small_machine()
    nodes = (
        machine.nodes[0]._replace(memory_total_bytes=0, memory_free_bytes=0),
        machine.nodes[1],
        Node(2, CpuSet(), 256 << 30, 256 << 30),
        Node(250, CpuSet(), 0, 0),
    )
    table = tuple(tuple(10 if i == j else 21 for j in range(4)) for i in range(4))
    found = read(
        write_tree(
            machine._replace(nodes=nodes, distances=Distances((0, 1, 2, 250), table)), tmp_path
        )
    )
    assert found.warnings == ()
    assert [n.is_memoryless for n in found.nodes] == [True, False, False, False]
    assert [n.is_cpuless for n in found.nodes] == [False, False, True, False]
    assert [n.is_empty for n in found.nodes] == [False, False, False, True]
    assert [n.kind for n in found.nodes] == ["dram", "dram", "unknown", "unknown"]
    assert found.distances is not None
    assert found.distances.between(250, 2) == 21


def test_the_memory_of_gpus_is_named_by_their_driver(root: Path) -> None:
    write_files(
        root,
        {
            f"{NODE}/node255/cpumap": "00000000\n",
            f"{NODE}/node255/meminfo": "Node 255 MemTotal: 16515072 kB\n",
            "proc/driver/nvidia/gpus/0004:04:00.0/numa_status": "Node:      255\nStatus: online\n",
        },
    )
    assert [n.kind for n in read(root).nodes] == ["dram", "dram", "device"]


def test_cxl_memory_is_named_by_the_device_it_came_from(root: Path) -> None:
    device = "devices/platform/ACPI0017:00/root0/decoder0.0/region0/dax_region0/dax0.0"
    write_files(
        root,
        {
            f"{NODE}/node2/cpulist": "\n",
            f"{NODE}/node2/meminfo": "Node 2 MemTotal: 16515072 kB\n",
            f"sys/{device}/target_node": "2\n",
            "sys/devices/platform/hmem.0/dax1.0/target_node": "0\n",
        },
    )
    bus = root / "sys/bus/dax/devices"
    bus.mkdir(parents=True)
    (bus / "dax0.0").symlink_to(f"../../../{device}")
    (bus / "dax1.0").symlink_to("../../../devices/platform/hmem.0/dax1.0")
    assert [n.kind for n in read(root).nodes] == ["dram", "dram", "cxl"]


def test_node_ids_are_numbers_not_places_or_texts(tmp_path: Path) -> None:
    ids = (2, 10, 33)
    cpus = [CpuSet.parse(text) for text in ("0-1,4-5", "2,6", "3,7")]
    table = ((10, 12, 14), (16, 10, 18), (20, 22, 10))
    machine = small_machine()._replace(
        nodes=tuple(Node(i, c, 1 << 30, 0, "dram") for i, c in zip(ids, cpus, strict=True)),
        cores=None,
        distances=Distances(ids, table),
        limits=Limits(cpuset_mems=CpuSet(ids)),
    )
    found = read(write_tree(machine, tmp_path))
    assert [n.id for n in found.nodes] == [2, 10, 33]
    assert found.distances is not None
    assert found.distances.between(33, 10) == 22
    assert found.distances.between(10, 33) == 18


def test_a_row_may_begin_with_a_blank(root: Path) -> None:
    """The kernel prints one where node 0 is not online."""
    write_files(root, {f"{NODE}/node0/distance": " 10 21\n"})
    assert read(root).warnings == ()


@pytest.mark.parametrize("row", ["21 10 30\n", "10\n", "ten 21\n", "-10 21\n", "\n"])
def test_a_row_of_another_length_is_no_distance(root: Path, row: str) -> None:
    write_files(root, {f"{NODE}/node0/distance": row})
    machine = read(root)
    assert machine.distances is None
    assert codes(machine) == ["distances-wrong-length"]
    assert "node 0 are not as many as there are online nodes (2)" in machine.warnings[0].message
    assert "numactl --hardware" in machine.warnings[0].message
    assert "distances" in machine.gaps


def test_a_single_node_with_two_distances(tmp_path: Path) -> None:
    files = {f"{CPU}/online": "0\n", f"{CPU}/present": "0\n", f"{NODE}/node1/cpumap": "1\n"}
    machine = read(write_files(tmp_path, {**files, f"{NODE}/node1/distance": "21 10\n"}))
    assert machine.distances is None
    assert "distances-wrong-length" in codes(machine)


def test_missing_distances(root: Path) -> None:
    remove(root, f"{NODE}/node*/distance")
    machine = read(root)
    assert machine.distances is None
    assert codes(machine) == ["distances-missing"]


def test_a_single_node_needs_no_distance(tmp_path: Path) -> None:
    files = {f"{NODE}/node0/cpulist": "0-3\n", f"{CPU}/online": "0-3\n", f"{CPU}/present": "0-3\n"}
    machine = read(write_files(tmp_path, files))
    assert machine.distances is None
    assert "distances-missing" not in codes(machine)
    assert "distances" in machine.gaps


def test_uniform_distances_are_kept_and_named(root: Path) -> None:
    write_files(root, {f"{NODE}/node{n}/distance": "10 10\n" for n in (0, 1)})
    machine = read(root)
    assert machine.distances == Distances((0, 1), ((10, 10), (10, 10)))
    assert codes(machine) == ["distances-uniform"]


@pytest.mark.parametrize("rows", [("0 21", "21 0"), ("10 28", "23 10"), ("10 255", "255 10")])
def test_odd_distances_are_the_machines_own(root: Path, rows: tuple[str, str]) -> None:
    write_files(root, {f"{NODE}/node{n}/distance": f"{row}\n" for n, row in enumerate(rows)})
    machine = read(root)
    assert machine.warnings == ()
    assert machine.distances is not None
    assert machine.distances.values == tuple(tuple(map(int, row.split())) for row in rows)


def test_distances_follow_the_online_nodes(root: Path) -> None:
    """A node that is online without a folder still has its column."""
    write_files(root, {f"{NODE}/online": "0-2\n"})
    write_files(root, {f"{NODE}/node0/distance": "10 21 31", f"{NODE}/node1/distance": "21 10 41"})
    machine = read(root)
    assert machine.distances == Distances((0, 1), ((10, 21), (21, 10)))
    assert codes(machine) == ["node-folder-missing"]
    assert "node 2" in machine.warnings[0].message


def test_overlapping_nodes_are_named(root: Path) -> None:
    write_files(root, {f"{NODE}/node{n}/cpumap": "000000ff\n" for n in (0, 1)})
    machine = read(root)
    assert [str(n.cpus) for n in machine.nodes] == ["0-7", "0-7"]
    assert codes(machine) == ["nodes-overlap"]
    assert {core.node_id for core in machine.cores or ()} == {None}


def test_cpus_of_no_node_are_named(root: Path) -> None:
    write_files(root, {f"{NODE}/node1/cpumap": "00000044\n"})
    machine = read(root)
    assert codes(machine) == ["cpus-without-node"]
    assert "3,7" in machine.warnings[0].message
    assert [core.node_id for core in machine.cores or ()] == [0, 0, 1, None]


def test_memory_that_is_missing_is_unknown_not_zero(root: Path) -> None:
    (root / NODE / "node1/meminfo").unlink()
    machine = read(root)
    assert machine.nodes[1].memory_total_bytes is None
    assert codes(machine) == ["memory-unknown"]
    assert "node 1" in machine.warnings[0].message
    assert "memory" in machine.gaps


def test_the_whole_memory_is_that_of_an_only_node(tmp_path: Path) -> None:
    files = {f"{NODE}/node0/cpulist": "0\n", f"{CPU}/online": "0\n", f"{CPU}/present": "0\n"}
    files["proc/meminfo"] = "MemTotal:       16384 kB\nMemFree:        1 kB\n"
    machine = read(write_files(tmp_path, files))
    assert machine.nodes[0].memory_total_bytes == 16 << 20
    assert machine.nodes[0].memory_free_bytes is None
    assert "memory-unknown" not in codes(machine)


def test_folders_that_are_no_nodes(root: Path) -> None:
    names = ("node999999999", "node-1", "node01", "node1024", "nodes", "node")
    for name in names:
        (root / NODE / name).mkdir()
    (root / NODE / "node7").write_text("a file\n")
    machine = read(root)
    assert [n.id for n in machine.nodes] == [0, 1]
    assert codes(machine) == ["odd-node-folder"]
    assert "node-1, node01, node1024 and 1 more" in machine.warnings[0].message
