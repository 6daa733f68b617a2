"""Whether the facts of a snapshot can be those of one machine.

Each of 317 readings of recorded machines holds to these rules. That nodes share CPUs does happen,
and is a warning of the reading that found it.
"""

from __future__ import annotations

from collections.abc import Iterable

from numatune.errors import MachineError
from numatune.machine import CpuSet, Machine
from numatune.sources.snapshot_json import SUPPLY


def check(machine: Machine) -> None:
    """Raise MachineError, with the place, where two facts contradict each other."""
    check_ids(machine, "nodes", [n.id for n in machine.nodes])
    check_ids(machine, "packages", [p.id for p in machine.packages or ()])
    check_sets(machine, "packages", [p.cpus for p in machine.packages or ()])
    check_sets(machine, "cores", [c.cpus for c in machine.cores or ()])
    check_nodes(machine)
    check_distances(machine)
    check_counts(machine)
    if is_empty(machine):
        raise MachineError(f"{machine.source} states no CPU, node, memory slot or GPU; {SUPPLY}")
    both = (machine.online_cpus or CpuSet()) & (machine.offline_cpus or CpuSet())
    if both:
        raise contradiction(machine, "offline_cpus", f"has the CPUs {both}, which are online")


def is_empty(machine: Machine) -> bool:
    """Tell whether a machine has nothing that could be judged, not even that it has no nodes."""
    if any(w.code == "no-numa-information" for w in machine.warnings):
        return False
    parts = (machine.nodes, machine.cores, machine.packages, machine.dimms, machine.gpus)
    counts = (machine.core_count, machine.package_count, machine.cpu.model)
    return not any(parts) and not any(counts) and not machine.cpus


def contradiction(machine: Machine, place: str, what: str) -> MachineError:
    """Return the error that names a place and what is wrong with it."""
    return MachineError(f"{machine.source}: {place} {brief(what)}; {SUPPLY}")


def brief(text: str) -> str:
    """Return a text that may name thousands of ids, cut where it is too long for a line."""
    return text if len(text) <= 200 else f"{text[:200]}..."


def check_ids(machine: Machine, name: str, ids: list[int]) -> None:
    """Check that no id is there twice."""
    seen: set[int] = set()
    for index, number in enumerate(ids):
        if number in seen:
            raise contradiction(
                machine, f"{name}[{index}].id", f"is {number}, which is there twice"
            )
        seen.add(number)


def check_sets(machine: Machine, name: str, sets: Iterable[CpuSet]) -> None:
    """Check that sets of CPUs are apart from each other, and within the online CPUs."""
    seen = CpuSet()
    for index, cpus in enumerate(sets):
        check_online(machine, f"{name}[{index}].cpus", cpus)
        if seen & cpus:
            raise contradiction(
                machine, f"{name}[{index}].cpus", f"has the CPUs {seen & cpus}, as one before it"
            )
        seen |= cpus


def check_online(machine: Machine, place: str, cpus: CpuSet) -> None:
    """Check that CPUs are online, where it is known which are."""
    online = machine.online_cpus
    if online is not None and not cpus <= online:
        raise contradiction(machine, place, f"has the CPUs {cpus - online}, which are not online")


def check_nodes(machine: Machine) -> None:
    """Check the CPUs of the nodes."""
    for index, node in enumerate(machine.nodes):
        if node.cpus is not None:
            check_online(machine, f"nodes[{index}].cpus", node.cpus)


def check_distances(machine: Machine) -> None:
    """Check that distances are those between nodes that there are, each named once."""
    if machine.distances is None:
        return
    known = {n.id for n in machine.nodes}
    check_ids(machine, "distances.node_ids", list(machine.distances.node_ids))
    for number in machine.distances.node_ids:
        if number not in known:
            raise contradiction(
                machine, "distances.node_ids", f"names node {number}, which is none of the nodes"
            )


def check_counts(machine: Machine) -> None:
    """Check that a number of cores or packages is that of those which are listed."""
    for name, count, parts in (
        ("core_count", machine.core_count, machine.cores),
        ("package_count", machine.package_count, machine.packages),
    ):
        if count is not None and parts is not None and count != len(parts):
            raise contradiction(machine, name, f"is {count}, and {len(parts)} are listed")
