"""What a comparison of two machines is made of: a fact of both, and the pair that it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from numatune.machine.cpuset import CpuSet
from numatune.machine.machine import Machine
from numatune.machine.origins import LIVE, TREE, reader_of
from numatune.machine.topology import Node

#: A CPU set is a kernel list; None is unknown, and ABSENT is what is known not to be there.
Value = str | int | float | bool | None
ABSENT = "absent"


class Fact(NamedTuple):
    """One fact of both machines: its kind, what it is of, and its value before and after.

    `meaning` says in one clause what a change means, where that is certain.
    """

    what: str
    subject: str
    before: Value
    after: Value
    meaning: str = ""


class Pair(NamedTuple):
    """Two machines, or one at two times. Sizes that differ by at most `tolerance` are the same.

    `tolerance` is a part of the larger size: 0.02 is two percent.
    """

    before: Machine
    after: Machine
    tolerance: float = 0.02

    def fact(
        self, what: str, subject: str, take: Callable[[Machine], Value], meaning: str = ""
    ) -> Fact:
        """Return what a function takes from both machines as one fact."""
        return Fact(what, subject, take(self.before), take(self.after), meaning)

    def same_reader(self, part: str) -> bool:
        """Tell whether a part of both was read by the same reader, and so states the same."""
        readers = {reader_of(m, part) for m in (self.before, self.after)}
        return len(readers) == 1 or readers == {LIVE, TREE}

    def common_nodes(self) -> Iterator[tuple[Node, Node]]:
        """Yield each node that both have."""
        later = {node.id: node for node in self.after.nodes}
        for node in self.before.nodes:
            if node.id in later:
                yield node, later[node.id]

    def is_close(self, one: int, other: int) -> bool:
        """Tell whether two sizes are the same within the tolerance."""
        return abs(one - other) <= self.tolerance * max(one, other)


def text(cpus: CpuSet | None) -> str | None:
    """Return a CPU or node set as a kernel list."""
    return None if cpus is None else str(cpus)


def is_whole(machine: Machine, part: str) -> bool:
    """Tell whether a part that is there is all of it: a damaged text may state some."""
    return part not in machine.gaps


def regrouped(before: Iterable[CpuSet], after: Iterable[CpuSet]) -> tuple[str, str]:
    """Return how sets group the CPUs that both name, as far as that differs; ("", "") if not.

    The sets of one side have no CPU in common.
    """
    sides = list(before), list(after)
    if sides[0] == sides[1]:
        return "", ""
    common = union(sides[0]) & union(sides[1])
    first, second = (by_lowest(side, common) for side in sides)
    return listed(unlike(first, second)), listed(unlike(second, first))


def by_lowest(sets: Iterable[CpuSet], common: CpuSet) -> dict[int, CpuSet]:
    """Return sets, as far as they are in another, by their lowest CPU."""
    parts = (cpus & common for cpus in sets)
    return {cpus.first(): cpus for cpus in parts if cpus}


def unlike(sets: dict[int, CpuSet], others: dict[int, CpuSet]) -> list[CpuSet]:
    """Return the sets that are not among others."""
    return [cpus for lowest, cpus in sets.items() if others.get(lowest) != cpus]


def union(sets: Iterable[CpuSet]) -> CpuSet:
    """Return all ids of some sets."""
    mask = 0
    for cpus in sets:
        mask |= cpus.mask
    return CpuSet.of_mask(mask)


def listed(sets: Iterable[CpuSet], most: int = 8) -> str:
    """Return sets in words, by their lowest id, the first few of them."""
    words = [str(cpus) for cpus in sorted(sets, key=CpuSet.first)]
    return "; ".join(words[:most]) + ("; ..." if len(words) > most else "")
