"""NUMA nodes, their memory and distances, from sys/devices/system/node.

Format: https://docs.kernel.org/admin-guide/abi-stable.html (sys/devices/system/node).
"""

from __future__ import annotations

from typing import NamedTuple

from numatune.machine import CpuSet, Distances, Node, Warning
from numatune.sources.procfs import memory_bytes
from numatune.sources.tree import Tree, is_number, numbered, printable

NODE = "sys/devices/system/node"
#: Linux has at most 1024 nodes (NODES_SHIFT 10).
NODE_LIMIT = 1024


class NodeReading(NamedTuple):
    """What the kernel says of its nodes; no nodes at all is a fact."""

    nodes: tuple[Node, ...] = ()
    distances: Distances | None = None
    warnings: tuple[Warning, ...] = ()


def read_nodes(tree: Tree, online: CpuSet | None) -> NodeReading:
    """Read the nodes of a tree; `online` are its online CPUs, None where they are unknown."""
    warnings: list[Warning] = []
    ids = node_ids(tree, warnings)
    if not ids:
        return NodeReading(warnings=tuple(warnings))
    nodes = tuple(read_node(tree, number, online) for number in ids)
    if len(nodes) == 1 and nodes[0].memory_total_bytes is None:
        # All memory is that of the only node.
        size = memory_bytes(tree.text("proc/meminfo") or "", "MemTotal")
        nodes = (nodes[0]._replace(memory_total_bytes=size),)
    if any(node.cpus is not None and not node.cpus for node in nodes):
        nodes = with_kinds(tree, nodes)
    warnings += node_warnings(nodes, online)
    distances = read_distances(tree, ids, warnings)
    return NodeReading(nodes, distances, tuple(warnings))


def node_ids(tree: Tree, warnings: list[Warning]) -> CpuSet:
    """Return the ids of the nodeN folders, of which only online nodes have one."""
    names = [name for name in tree.folders(NODE) if name.startswith("node")]
    ids = numbered(names, "node", NODE_LIMIT)
    known = {f"node{n}" for n in ids}
    odd = sorted(name for name in names if name not in known and name[4:].lstrip("+-").isdigit())
    if odd:
        shown = ", ".join(printable(name, 20) for name in odd[:3])
        more = f" and {len(odd) - 3} more" if len(odd) > 3 else ""
        warnings.append(
            Warning(
                "odd-node-folder",
                f"{shown}{more} in {NODE} is no name that Linux gives to a node, and is left out. "
                "`numactl --hardware` lists the nodes",
            )
        )
    return ids


def read_node(tree: Tree, number: int, online: CpuSet | None) -> Node:
    """Read one node.

    lscpu, hwloc and numactl all follow cpumap where cpulist differs. Old kernels list offline CPUs
    in either.
    """
    folder = f"{NODE}/node{number}"
    cpus = tree.mask(f"{folder}/cpumap")
    if cpus is None:
        cpus = tree.ids(f"{folder}/cpulist")
    if cpus is not None and online is not None:
        cpus &= online
    sizes = tree.text(f"{folder}/meminfo") or ""
    total, free = memory_bytes(sizes, "MemTotal"), memory_bytes(sizes, "MemFree")
    return Node(number, cpus, total, free, "dram" if cpus else "unknown")


def with_kinds(tree: Tree, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Name the kind of memory of CPU-less nodes where a driver states it."""
    kinds = dict.fromkeys(cxl_nodes(tree), "cxl")
    kinds.update(dict.fromkeys(gpu_nodes(tree), "device"))
    return tuple(n if n.cpus else n._replace(kind=kinds.get(n.id, n.kind)) for n in nodes)


def gpu_nodes(tree: Tree) -> list[int]:
    """Return the nodes that hold the memory of NVIDIA GPUs, as their driver states them."""
    folder = "proc/driver/nvidia/gpus"
    texts = (tree.text(f"{folder}/{name}/numa_status") for name in tree.folders(folder))
    words = [text.split() for text in texts if text]
    return [int(w[1]) for w in words if len(w) > 1 and w[0] == "Node:" and is_number(w[1])]


def cxl_nodes(tree: Tree) -> list[int]:
    """Return the nodes whose memory was onlined from a DAX device below the CXL root (ACPI0017)."""
    folder = "sys/bus/dax/devices"
    numbers = []
    for name in tree.names(folder):
        number = tree.number(f"{folder}/{name}/target_node")
        if number is not None and "/ACPI0017:" in (tree.target(f"{folder}/{name}") or ""):
            numbers.append(number)
    return numbers


def node_warnings(nodes: tuple[Node, ...], online: CpuSet | None) -> list[Warning]:
    """Name what is odd or missing in the nodes themselves."""
    warnings = []
    blind = CpuSet(n.id for n in nodes if n.cpus is None)
    if blind:
        text = f"the CPUs of {named(blind)} are not known. `numactl --hardware` tells"
        warnings.append(Warning("node-cpus-unknown", text))
    sizeless = CpuSet(n.id for n in nodes if n.memory_total_bytes is None)
    if sizeless:
        text = f"the memory of {named(sizeless)} is not known. `numactl --hardware` tells"
        warnings.append(Warning("memory-unknown", text))
    seen, shared = CpuSet(), CpuSet()
    for node in nodes:
        if node.cpus is not None:
            shared |= seen & node.cpus
            seen |= node.cpus
    if shared:
        text = (
            f"several nodes claim the CPUs {shared}: the firmware's tables are wrong, or the nodes "
            "are made up (numa=fake). `lstopo` shows how hwloc resolves it"
        )
        warnings.append(Warning("nodes-overlap", text))
    if online is not None and not blind and online - seen:
        text = f"the online CPUs {online - seen} belong to no node. `lscpu -e=CPU,NODE` shows it"
        warnings.append(Warning("cpus-without-node", text))
    return warnings


def named(ids: CpuSet) -> str:
    """Return "node 0" or "nodes 0-3"."""
    return f"node{'s' if len(ids) > 1 else ''} {ids}"


def read_distances(tree: Tree, ids: CpuSet, warnings: list[Warning]) -> Distances | None:
    """Read the distance table: one row a node, one value for each *online* node, by id."""
    stated = tree.ids(f"{NODE}/online") or ids
    lost = stated - ids
    if lost:
        text = (
            f"{named(lost)}: online, but without a folder in {NODE}. `numactl --hardware` lists it"
        )
        warnings.append(Warning("node-folder-missing", text))
    columns = tuple(stated if ids <= stated else ids)
    rows = [tree.text(f"{NODE}/node{n}/distance") for n in ids]
    values = [distance_row(row, len(columns)) for row in rows]
    bad = [n for n, row in zip(ids, values, strict=True) if row is None]
    if bad:
        if len(ids) > 1 or rows[0] is not None:
            missing = any(row is None for row in rows)
            warnings.append(distance_warning(bad, len(columns), missing))
        return None
    places = [columns.index(n) for n in ids]
    table = tuple(tuple(row[place] for place in places) for row in values if row is not None)
    if len(table) > 1 and all(
        value == 10 for i, row in enumerate(table) for j, value in enumerate(row) if i != j
    ):
        text = (
            "all distances are 10, as if every node were local to every other: the firmware gives "
            "none, or the nodes are made up (numa=fake). They say nothing about the machine; "
            "`lstopo` or a measurement with `mlc --latency_matrix` tells"
        )
        warnings.append(Warning("distances-uniform", text))
    return Distances(tuple(ids), table)


def distance_row(text: str | None, length: int) -> list[int] | None:
    """Return the numbers of one row, None where it is no row of that length."""
    words = (text or "").split()
    if len(words) != length or not all(w.isascii() and w.isdigit() and len(w) < 10 for w in words):
        return None
    return [int(word) for word in words]


def distance_warning(bad: list[int], length: int, missing: bool) -> Warning:
    """Say which rows of the distance table cannot be used."""
    which = named(CpuSet(bad))
    if missing:
        text = f"the distances from {which} are missing. `numactl --hardware` tells"
        return Warning("distances-missing", text)
    text = (
        f"the distances from {which} are not as many as there are online nodes ({length}), and "
        "are left out. `numactl --hardware` tells"
    )
    return Warning("distances-wrong-length", text)
