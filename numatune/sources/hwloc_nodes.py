"""Which NUMA node owns the CPUs beside which hwloc places it.

hwloc places a node at CPUs: its own, or, where the kernel gives it none, those of the nodes that
are nearest to it (`look_sysfsnode` in hwloc/topology-linux.c, https://github.com/open-mpi/hwloc,
by HMAT initiators or by distance). A CPU belongs to one node, so of several nodes at the same CPUs
one owns them, and the others are CPU-less memory: HBM, CXL, a GPU's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numatune.machine import CpuSet, Node, Warning

#: Linux has at most 1024 nodes (CONFIG_NODES_SHIFT is at most 10).
NODE_LIMIT = 1024

SUPPLY = "`numactl --hardware` tells"


class Spot(NamedTuple):
    """A NUMA node as hwloc shows it.

    `local` are the CPUs beside which it is placed, None where that is not known; `is_added` says
    that its memory is a DAX device's, which a driver adds to a node of its own.
    """

    id: int
    local: CpuSet | None = None
    memory_total_bytes: int | None = None
    kind: str = "unknown"
    is_added: bool = False


def is_dax(subtype: str | None) -> bool:
    """Tell whether hwloc's subtype of a node is one that it takes from a DAX device."""
    return (subtype or "").upper() in ("NVM", "SPM")


def kind_of(subtype: str | None) -> str:
    """Return the kind of memory that hwloc's subtype of a node stands for.

    The names are those of `hwloc_memory_tier_type_snprintf` in hwloc/memattrs.c, and MCDRAM.
    """
    name = (subtype or "").lower()
    if name.startswith("cxl"):
        return "cxl"
    return {"dram": "dram", "hbm": "hbm", "mcdram": "hbm", "gpumemory": "device"}.get(
        name, "unknown"
    )


def owned(spots: Sequence[Spot]) -> tuple[tuple[Node, ...], list[Warning]]:
    """Return the nodes by id with the CPUs that each owns, and what of it is not certain."""
    warnings: list[Warning] = []
    places: dict[CpuSet, list[Spot]] = {}
    for spot in spots:
        if spot.local:
            places.setdefault(spot.local, []).append(spot)
    owner = {place: owner_of(place, there, places, warnings) for place, there in places.items()}
    nodes = []
    for spot in sorted(spots, key=lambda s: s.id):
        cpus = spot.local
        if spot.kind == "device" and cpus is not None:
            cpus = CpuSet()
        elif spot.local:
            chosen = owner[spot.local]
            if chosen is None:
                cpus = None
            elif chosen != spot.id:
                cpus = CpuSet()
        nodes.append(Node(spot.id, cpus, spot.memory_total_bytes, None, spot.kind))
    overlap = shared_cpus(nodes)
    if overlap:
        text = (
            f"several nodes have the CPUs {overlap}: the firmware's tables are wrong, or the nodes "
            f"are made up (numa=fake). {SUPPLY}"
        )
        warnings.append(Warning("nodes-overlap", text))
    return tuple(nodes), warnings


NOBODY = -1


def owner_of(
    place: CpuSet,
    there: list[Spot],
    places: dict[CpuSet, list[Spot]],
    warnings: list[Warning],
) -> int | None:
    """Return the id of the node that owns a place's CPUs, NOBODY, or None where it is not known.

    CPU-less nodes are placed beside whole nodes with CPUs, so where smaller places fill a larger
    one the CPUs belong to those. Among the nodes of one place, what is known as memory added to
    the machine owns no CPUs. For the rest, Linux numbers the nodes of CPUs before those of memory
    alone (`acpi_numa_init` in drivers/acpi/numa/srat.c reads the CPUs' entries first), so that
    the lowest id owns them: likely, and told.
    """
    inner = CpuSet()
    for other in places:
        if other != place and other <= place:
            inner |= other
    if inner == place:
        return NOBODY
    if inner:
        text = (
            f"whether {named(there)} has CPUs of its own among {place} is not known: hwloc "
            f"places it there, and other nodes at {inner}. {SUPPLY}"
        )
        warnings.append(Warning("node-cpus-unknown", text))
        return None
    able = [s for s in there if s.kind != "device"]
    plain = [s for s in able if s.kind not in ("hbm", "cxl") and not s.is_added] or able
    if len(plain) > 1:
        lowest = min(s.id for s in plain)
        text = (
            f"hwloc places {named(plain)} at the same CPUs {place} and does not say which of them "
            f"has these. Taken for it is node {lowest}, since Linux numbers nodes with CPUs first; "
            f"the rest count as memory without CPUs. {SUPPLY}"
        )
        warnings.append(Warning("node-cpus-likely", text))
        return lowest
    return plain[0].id if plain else NOBODY


def shared_cpus(nodes: Sequence[Node]) -> CpuSet:
    """Return the CPUs that are in several nodes."""
    seen = shared = CpuSet()
    for node in nodes:
        if node.cpus:
            shared |= seen & node.cpus
            seen |= node.cpus
    return shared


def named(spots: Sequence[Spot]) -> str:
    """Return "node 0" or "nodes 0-3"."""
    ids = CpuSet(s.id for s in spots)
    return f"node{'s' if len(ids) > 1 else ''} {ids}"


def cpus_without_node(nodes: Sequence[Node], cpus: CpuSet) -> list[Warning]:
    """Warn of CPUs that are in no node shown: hwloc 2 hides the nodes that have no memory."""
    if not nodes or any(node.cpus is None for node in nodes):
        return []
    lost = cpus
    for node in nodes:
        lost -= node.cpus or CpuSet()
    if not lost:
        return []
    text = (
        f"the CPUs {lost} are in no node that hwloc shows; it hides nodes without memory, and "
        f"those that a cgroup forbids. {SUPPLY}"
    )
    return [Warning("nodes-hidden", text)]
