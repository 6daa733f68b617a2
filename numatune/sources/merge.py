"""Several readings of one machine joined: each fact from the source that states it.

A contradiction names both values and stops: two outputs that disagree are two machines, or one
machine at two times, and no answer about either would be right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from numatune.errors import MachineError
from numatune.machine import (
    Core,
    Cpu,
    CpuSet,
    Distances,
    Limits,
    Machine,
    Memory,
    Node,
    Package,
    Settings,
    Warning,
)

T = TypeVar("T")

MIB = 1 << 20


def merged(readings: Sequence[Machine]) -> Machine:
    """Join readings of one machine, the first first. Raises MachineError at a contradiction."""
    machine = readings[0]
    for other in readings[1:]:
        machine = joined(machine, other)
    return machine


def joined(a: Machine, b: Machine) -> Machine:
    """Join two readings."""
    both = Pair(a, b)
    offline = both.same("offline CPUs", a.offline_cpus, b.offline_cpus)
    nodes = join_nodes(both, offline)
    packages = join_packages(both)
    machine = Machine(
        source=f"{a.source} + {b.source}",
        cpu=join_cpu(both),
        nodes=nodes,
        packages=packages,
        distances=join_distances(both),
        online_cpus=both.same("online CPUs", a.online_cpus, b.online_cpus),
        offline_cpus=offline,
        core_count=both.same("number of cores", *map(core_count, (a, b))),
        package_count=both.same("number of packages", *map(package_count, (a, b))),
        smt=both.same("threads a core", a.threads_per_core, b.threads_per_core),
        is_guest=both.same("virtual machine", a.is_guest, b.is_guest),
        gpus=a.gpus if a.gpus is not None else b.gpus,
        dimms=a.dimms if a.dimms is not None else b.dimms,
        memory=join_memory(both),
        limits=Limits(*map(first, a.limits, b.limits)),
        settings=Settings(*map(first, a.settings, b.settings)),
        origins=join_origins(both),
    )
    machine = machine._replace(cores=join_cores(both, machine))
    known = {part for part in machine.origins if part not in a.gaps or part not in b.gaps}
    gaps = tuple(gap for gap in dict.fromkeys((*a.gaps, *b.gaps)) if gap not in known)
    return machine._replace(gaps=gaps, warnings=join_warnings(both, machine))


class Pair:
    """Two readings, and how a difference between them is told."""

    def __init__(self, a: Machine, b: Machine) -> None:
        self.a, self.b = a, b

    def same(self, what: str, one: T | None, other: T | None) -> T | None:
        """Return the value that either states. Raises MachineError where they differ."""
        if one is not None and other is not None and one != other:
            raise self.contradiction(what, one, other)
        return other if one is None else one

    def wholly(self, part: str, one: T | None, other: T | None) -> tuple[T | None, T | None]:
        """Return both values, without the one that its source states in part only."""
        if one is None or other is None:
            return one, other
        is_whole = [part not in machine.gaps for machine in (self.a, self.b)]
        return (
            (one, other)
            if is_whole[0] == is_whole[1]
            else ((one, None) if is_whole[0] else (None, other))
        )

    def contradiction(self, what: str, one: object, other: object) -> MachineError:
        """Return the error that names both values and both sources."""
        return MachineError(
            f"{what}: {one} in {self.a.source}, {other} in {self.b.source};"
            " give outputs of one machine only"
        )


def core_count(machine: Machine) -> int | None:
    """Return the number of cores, None where the source shows a part of them."""
    is_part = machine.cores is not None and "cores" in machine.gaps
    return None if is_part else machine.cores_known


def package_count(machine: Machine) -> int | None:
    """Return the number of packages, None where the source shows a part of them."""
    is_part = machine.packages is not None and "packages" in machine.gaps
    return None if is_part else machine.packages_known


def first(one: Any, other: Any) -> Any:
    """Return the first value that is known."""
    return other if one is None else one


def join_nodes(both: Pair, offline: CpuSet | None) -> tuple[Node, ...]:
    """Join the nodes by id; a node may be missing where a format hides its kind."""
    ours, theirs = ({n.id: n for n in m.nodes} for m in (both.a, both.b))
    nodes = []
    for node_id in sorted({*ours, *theirs}):
        one, other = ours.get(node_id), theirs.get(node_id)
        if one is None or other is None:
            node = first(one, other)
            check_missing(both.a if one is None else both.b, node)
            nodes.append(node)
            continue
        nodes.append(
            Node(
                node_id,
                join_node_cpus(both, node_id, one.cpus, other.cpus, offline),
                join_sizes(both, node_id, one.memory_total_bytes, other.memory_total_bytes),
                first(one.memory_free_bytes, other.memory_free_bytes),
                one.kind if one.kind != "unknown" else other.kind,
            )
        )
    return tuple(nodes)


def check_missing(machine: Machine, node: Node) -> None:
    """Raise MachineError where a source lists nodes with their CPUs, and should list this one."""
    if node.cpus and node.memory_total_bytes and states_wholly(machine, "nodes"):
        raise MachineError(
            f"node {node.id} is missing in {machine.source} but not in the other;"
            " give outputs of one machine only"
        )


def states_wholly(machine: Machine, part: str) -> bool:
    """Tell whether a source states a part, and leaves nothing of it out or in doubt."""
    if part not in machine.origins or part in machine.gaps:
        return False
    if any(LACKS.get(w.code) == part for w in machine.warnings):
        return False
    return part != "nodes" or any(n.cpus for n in machine.nodes)


def join_node_cpus(
    both: Pair, node_id: int, one: CpuSet | None, other: CpuSet | None, offline: CpuSet | None
) -> CpuSet | None:
    """Join a node's CPUs; a source may still list those offline, or only think them likely."""
    if one is None or other is None:
        return first(one, other)  # type: ignore[no-any-return]
    if offline:
        one, other = one - offline, other - offline
    for machine, mine, others in ((both.a, one, other), (both.b, other, one)):
        codes = {w.code for w in machine.warnings}
        if "node-cpus-likely" in codes or ("cpus-left-out" in codes and mine <= others):
            return others
    return both.same(f"CPUs of node {node_id}", one, other)


def join_sizes(both: Pair, node_id: int, one: int | None, other: int | None) -> int | None:
    """Join a node's memory sizes; formats round to a MiB, and the finer value is kept."""
    if one is None or other is None:
        return first(one, other)  # type: ignore[no-any-return]
    if abs(one - other) > MIB:
        raise both.contradiction(f"memory of node {node_id} in bytes", one, other)
    return other if one % MIB == 0 else one


def join_packages(both: Pair) -> tuple[Package, ...] | None:
    """Join the packages: their sets of CPUs must agree."""
    one, other = both.wholly("packages", both.a.packages, both.b.packages)
    if one is not None and other is not None:
        sets = [{p.cpus for p in packages} for packages in (one, other)]
        if sets[0] != sets[1]:
            raise both.contradiction("packages", texts(sets[0]), texts(sets[1]))
    return first(one, other)  # type: ignore[no-any-return]


def join_cores(both: Pair, machine: Machine) -> tuple[Core, ...] | None:
    """Join the cores, and say of each in which node and package it lies."""
    one, other = both.wholly("cores", both.a.cores, both.b.cores)
    if one is not None and other is not None:
        sets = [{c.cpus for c in cores} for cores in (one, other)]
        if sets[0] != sets[1]:
            raise both.contradiction("cores", texts(sets[0] - sets[1]), texts(sets[1] - sets[0]))
    cores: tuple[Core, ...] | None = first(one, other)
    if cores is None:
        return None
    node_of = {cpu: n.id for n in reversed(machine.nodes) for cpu in n.cpus or ()}
    package_of = {cpu: p.id for p in machine.packages or () for cpu in p.cpus}
    return tuple(
        core._replace(
            node_id=first(core.node_id, node_of.get(core.cpus.first())),
            package_id=first(core.package_id, package_of.get(core.cpus.first())),
        )
        for core in cores
    )


def texts(sets: set[CpuSet]) -> str:
    """Return some CPU sets in words, the first few of them."""
    words = [str(s) for s in sorted(sets, key=lambda s: s.mask)]
    return "; ".join(words[:4]) + ("; ..." if len(words) > 4 else "")


def join_distances(both: Pair) -> Distances | None:
    """Join the distances: where both state one it must be the same, and the larger table stays."""
    one, other = both.a.distances, both.b.distances
    if one is None or other is None:
        return first(one, other)  # type: ignore[no-any-return]
    for start in one.node_ids:
        for end in one.node_ids:
            value = one.between(start, end)
            both.same(f"distance from node {start} to {end}", value, other.between(start, end))
    return one if len(one.node_ids) >= len(other.node_ids) else other


def join_memory(both: Pair) -> Memory | None:
    """Join what is stated of memory; a rating that both state must be the same."""
    one, other = both.a.memory, both.b.memory
    if one is None or other is None:
        return first(one, other)  # type: ignore[no-any-return]

    def stated(what: str, mine: T, others: T) -> T:
        return both.same(what, mine or None, others or None) or mine

    return Memory(
        stated("ratings of memory", one.accesses, other.accesses),
        stated("memory-side caches", one.caches, other.caches),
        stated("memory tiers", one.tiers, other.tiers),
        stated("generic initiators", one.generic_initiators, other.generic_initiators),
    )


def join_cpu(both: Pair) -> Cpu:
    """Join what is known of the CPU."""
    one, other = both.a.cpu, both.b.cpu
    models = [None if m is None else " ".join(m.split()) for m in (one.model, other.model)]
    return Cpu(
        both.same("architecture", one.architecture, other.architecture),
        first(one.vendor, other.vendor),
        both.same("CPU model", *models),
        first(one.features, other.features),
        both.same("efficiency CPUs", one.efficiency_cpus, other.efficiency_cpus),
    )


def join_origins(both: Pair) -> dict[str, str]:
    """Name for each part the source that stated it first."""
    return {
        part: f"{name} ({machine.source})" if not name.endswith(")") else name
        for machine in (both.b, both.a)
        for part, name in machine.origins.items()
    }


#: Warning codes that say that a source lacks a part -> the part.
LACKS = {
    "nodes-incomplete": "nodes",
    "node-cpus-unknown": "nodes",
    "node-cpus-likely": "nodes",
    "nodes-hidden": "nodes",
    "cpus-left-out": "nodes",
    "distances-missing": "distances",
    "memory-unknown": "memory",
    "cores-unknown": "cores",
    "packages-unknown": "packages",
}


def join_warnings(both: Pair, machine: Machine) -> tuple[Warning, ...]:
    """Keep every warning, but those of a part that the other source states wholly."""

    def kept(warning: Warning, other: Machine) -> bool:
        if warning.code == "no-numa-information":
            return not machine.nodes
        part = LACKS.get(warning.code)
        return part is None or not states_wholly(other, part)

    mine = [w for w in both.a.warnings if kept(w, both.b)]
    return tuple(dict.fromkeys(mine + [w for w in both.b.warnings if kept(w, both.a)]))
