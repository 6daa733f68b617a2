"""Which NUMA nodes and cores hwloc shows a process, and in which order.

hwloc numbers objects anew ("logical index"): by locality and not by the kernel's ids. Source:
hwloc 2.9.0, https://github.com/open-mpi/hwloc/blob/hwloc-2.9.0/hwloc/topology-linux.c
(`look_sysfsnode`, `fixup_cpuless_node_locality_from_distances`) and
https://github.com/open-mpi/hwloc/blob/hwloc-2.9.0/hwloc/topology.c (`hwloc_discover`,
`remove_unused_sets`, `hwloc_list_special_objects`). Groups that hwloc makes of near nodes, and what
ACPI's HMAT says of a CPU-less node, are not known here; distances stand for both.
"""

from __future__ import annotations

from typing import NamedTuple

from numatune.machine import CpuSet, Machine, Node
from numatune.runtimes.kept import kept
from numatune.runtimes.libnuma import has_memory

#: Sorts after every CPU: what is attached to an object comes after what lies inside it.
LAST = 1 << 20

#: The most hardware threads that a core has under Linux (POWER8 and later).
MOST_SMT = 8


class Spot(NamedTuple):
    """A core as a place for one thread: its first CPU, None where unknown, and its node.

    `certain` is False where it is not known whether the node has so many cores.
    """

    cpu: int | None
    node: int | None
    certain: bool = True


class NumaObject(NamedTuple):
    """One NUMA node object.

    `cores` are the first usable CPU and the node of each core within its cpuset, in hwloc's order;
    None where cores are unknown. Their number then lies between `least` and `most` (None: no bound
    is known). `home` is the node of those CPUs, None where there is none or several.
    """

    id: int
    cores: tuple[tuple[int, int | None], ...] | None
    least: int
    most: int | None
    home: int | None
    gives_memory: bool

    def core(self, index: int) -> Spot | None:
        """Return a core by its index inside this object, None where it has no such core."""
        if self.cores is not None:
            return Spot(*self.cores[index]) if index < len(self.cores) else None
        if self.most is not None and index >= self.most:
            return None
        return Spot(None, self.home, index < self.least)


@kept
def numa_objects(machine: Machine) -> tuple[NumaObject, ...]:
    """Return the NUMA node objects by logical index, as `hwloc_topology_load` ends up with."""
    nodes = accepted(machine)
    reach = localities(machine, nodes)
    outer = outer_sets(machine, reach)
    cores = ordered_cores(machine, nodes, outer)
    return tuple(
        object_of(machine, node, reach[node.id], cores)
        for node in ordered(nodes, reach, outer)
        if is_shown(machine, node)
    )


def accepted(machine: Machine) -> list[Node]:
    """Return the nodes by id, without those that share a CPU with an earlier one."""
    taken, nodes = 0, []
    for node in sorted(machine.nodes, key=lambda node: node.id):
        mask = node.cpus.mask if node.cpus is not None else 0
        if not taken & mask:
            nodes.append(node)
        taken |= mask
    return nodes


def is_shown(machine: Machine, node: Node) -> bool:
    """Tell whether hwloc keeps a node: it drops those outside of the cpuset group's memory nodes.

    The kernel never puts a memoryless node into such a group, so that it is hidden wherever a
    group can be read, as on all common systems. Where nothing is known of limits this is assumed.
    """
    mems = machine.limits.cpuset_mems
    if mems is not None and node.id in mems:
        return True
    if has_memory(node):
        return mems is None
    return machine.limits.cpuset_cpus is None and "limits" not in machine.gaps


def localities(machine: Machine, nodes: list[Node]) -> dict[int, int]:
    """Return the CPUs that each node is local to, as a mask: its own, else those of the nearest.

    0 stands for none: a CPU-less node as far from all others. Where a set cuts through a package or
    another set, hwloc attaches the node to the object around both, whose CPUs it then has.
    """
    own = {node.id: node.cpus.mask if node.cpus is not None else 0 for node in nodes}
    for node in nodes:
        if node.cpus is not None and not node.cpus:
            for near in nearest(machine, node.id, list(own)):
                own[node.id] |= own[near]
    packages = [package.cpus.mask for package in machine.packages or ()]
    around = [*packages, *(node.cpus.mask for node in nodes if node.cpus)]
    reach = {}
    for node in sorted(nodes, key=lambda node: not node.cpus):
        reach[node.id] = settled(own[node.id], around)
        around.append(reach[node.id])
    return reach


def settled(mask: int, around: list[int]) -> int:
    """Return a mask, or the smallest set that holds it where it cuts through one of the others."""
    if all(mask & other in (0, mask, other) for other in around):
        return mask
    every = 0
    for other in around:
        every |= other
    return min((m for m in (*around, every) if mask & m == mask), key=int.bit_count, default=mask)


def nearest(machine: Machine, node_id: int, ids: list[int]) -> list[int]:
    """Return the nodes at the smallest distance from one, [] where that tells nothing."""
    if machine.distances is None:
        return []
    far = {other: machine.distances.between(node_id, other) for other in ids}
    own = far.pop(node_id)
    known = {other: value for other, value in far.items() if value is not None}
    if own is None or not known or len(known) < len(far):
        return []
    least = min(known.values())
    near = [other for other, value in known.items() if value == least]
    return [] if least <= own or len(near) == len(far) else near


def outer_sets(machine: Machine, reach: dict[int, int]) -> list[int]:
    """Return the sets of CPUs that make hwloc's tree, outer ones first."""
    packages = {package.cpus.mask for package in machine.packages or ()}
    return sorted(
        (packages | set(reach.values())) - {0}, key=lambda mask: (-mask.bit_count(), mask)
    )


def path(mask: int, outer: list[int]) -> tuple[int, ...]:
    """Return the place of a set in the tree: the first CPU of each set that holds it."""
    return tuple(first(around) for around in outer if mask and around & mask == mask)


def ordered(nodes: list[Node], reach: dict[int, int], outer: list[int]) -> list[Node]:
    """Return the nodes as hwloc's tree of packages and localities lists them.

    Children come before what is attached to their parent, siblings by their first CPU. Where the
    CPUs of a node are not known, its place is not either, and all keep the kernel's order.
    """
    if any(node.cpus is None for node in nodes):
        return nodes
    return sorted(nodes, key=lambda node: ((*path(reach[node.id], outer), LAST), node.id))


def ordered_cores(machine: Machine, nodes: list[Node], outer: list[int]) -> tuple[int, ...] | None:
    """Return the usable CPUs of each core as a mask, in hwloc's order.

    None where cores are unknown, or known for a part of the nodes' CPUs only.
    """
    every = 0
    for node in nodes:
        every |= node.cpus.mask if node.cpus is not None else 0
    cores = [core.cpus.mask for core in machine.cores or ()]
    if machine.cores is None and machine.smt == 1:
        cores = [1 << cpu for cpu in CpuSet.of_mask(every)]
    covered = 0
    for mask in cores:
        covered |= mask
    if not cores or every & ~covered:
        return None
    allowed = machine.limits.cpuset_cpus
    usable = every if allowed is None else every & allowed.mask
    in_order = sorted(cores, key=lambda mask: (*path(mask, outer), first(mask)))
    return tuple(mask & usable for mask in in_order if mask & usable)


def object_of(
    machine: Machine, node: Node, reach: int, cores: tuple[int, ...] | None
) -> NumaObject:
    """Return the object of one node that is local to a mask of CPUs."""
    allowed = machine.limits.cpuset_cpus
    usable = reach if allowed is None else reach & allowed.mask
    homes = {other.id for other in machine.nodes if other.cpus and other.cpus.mask & usable}
    home = next(iter(homes)) if len(homes) == 1 else None
    if node.cpus is None:
        return NumaObject(node.id, None, 0, None, node.id, has_memory(node))
    if cores is not None:
        inside = tuple(
            (first(part), home if home is not None else owner(machine, first(part)))
            for part in cores
            if not part & ~usable
        )
        return NumaObject(node.id, inside, len(inside), len(inside), home, has_memory(node))
    most = usable.bit_count()
    least = -(-most // (machine.smt or MOST_SMT))
    if machine.smt:
        most = min(most, reach.bit_count() // machine.smt)
    return NumaObject(node.id, None, least, most, home, has_memory(node))


def owner(machine: Machine, cpu: int) -> int | None:
    """Return the node of a CPU."""
    return next((node.id for node in machine.nodes if node.cpus and cpu in node.cpus), None)


def first(mask: int) -> int:
    """Return the lowest CPU of a mask that is not empty."""
    return (mask & -mask).bit_length() - 1
