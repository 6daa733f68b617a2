"""What the numbering and the distances of a machine suggest where nothing states it.

Measured on recorded machines whose truth is known: of 52 machines, "every node is a block of CPUs
and the block half of all CPUs later" claimed two threads a core on two and was right on both; one
range a node, or even and odd numbering, says nothing either way. Distances tell packages only where
they fall into two groups with a wide gap and equal group sizes. Both are suggestions: nothing here
ever enters a computed result.
"""

from __future__ import annotations

from itertools import pairwise

from numatune.machine.cpuset import CpuSet
from numatune.machine.machine import Machine


def likely_threads_per_core(machine: Machine) -> int | None:
    """Return 2 where the CPU numbering makes two threads a core likely, else None."""
    nodes = machine.cpu_nodes
    total = sum(len(n.cpus or ()) for n in nodes)
    everyone = machine.cpus
    if machine.threads_per_core is not None or machine.cores is not None or len(nodes) < 2:
        return None
    if total % 2 or everyone is None or list(everyone.ranges()) != [(0, total - 1)]:
        return None
    for node in nodes:
        runs = list((node.cpus or CpuSet()).ranges())
        if len(runs) != 2:
            return None
        (low, low_end), (high, high_end) = runs
        if high - low != total // 2 or high_end - low_end != total // 2:
            return None
    return 2


def likely_packages(machine: Machine) -> int | None:
    """Return the number of packages that the distances suggest, None where they suggest nothing."""
    if machine.packages_known is not None:
        return None
    groups = groups_of_nodes(machine)
    return len(groups) if groups else None


def groups_of_nodes(machine: Machine) -> tuple[tuple[int, ...], ...]:
    """Return the groups of near nodes that the distances show, by id; () where they show none.

    All nodes of a group are near each other, the groups are equal in size, and the next distance
    is greater by 5 or more.
    """
    table = machine.distances
    nodes = [n.id for n in machine.cpu_nodes]
    if table is None or len(nodes) < 4:
        return ()
    between = {(a, b): table.between(a, b) for a in nodes for b in nodes if a != b}
    values = sorted({v for v in between.values() if v is not None})
    if None in between.values() or len(values) < 2:
        return ()
    gap, near = max((later - value, value) for value, later in pairwise(values))
    if gap < 5:
        return ()
    groups = {tuple(b for b in nodes if b == a or (between[a, b] or 0) <= near) for a in nodes}
    sizes = {len(group) for group in groups}
    is_split = sum(map(len, groups)) == len(nodes) and len(sizes) == 1 and len(groups) > 1
    return tuple(sorted(groups)) if is_split else ()
