"""What differs between two machines, in the order of what it may cost. Pure.

A fact that only one side states is never a difference: it is named as not comparable.
"""

from __future__ import annotations

from typing import NamedTuple

from numatune.machine import change_topology, change_use
from numatune.machine.change import Fact, Pair
from numatune.machine.machine import Machine

#: What `differences` gives: a fact whose values before and after are known and not the same.
Difference = Fact

#: Part of a size by which it may move: the kernel's own share of a node changes at each start.
TOLERANCE = 0.02

STEPS = (*change_topology.STEPS, *change_use.STEPS)


class Comparison(NamedTuple):
    """What differs, gravest first; what one side alone states; and how many facts are equal.

    In `not_comparable`, the side that does not state the fact has None.
    """

    differences: tuple[Difference, ...]
    not_comparable: tuple[Difference, ...]
    equal: int


def compare(before: Machine, after: Machine, tolerance: float = TOLERANCE) -> Comparison:
    """Compare two machines; node sizes that differ by at most `tolerance` of the larger are equal.

    >>> from numatune.machine import CpuSet, Node
    >>> one = Machine("a", nodes=(Node(0, CpuSet([0, 1]), 1 << 30),))
    >>> two = Machine("b", nodes=(Node(0, CpuSet([0, 1]), 2 << 30),))
    >>> [(d.what, d.subject, d.before, d.after) for d in compare(one, two).differences]
    [('node-memory', 'node 0', 1073741824, 2147483648)]
    """
    pair = Pair(before, after, tolerance)
    different: list[Difference] = []
    one_sided: list[Difference] = []
    equal = 0
    for fact in (fact for step in STEPS for fact in step(pair)):
        if fact.before is None and fact.after is None:
            continue
        if fact.before is None or fact.after is None:
            one_sided.append(fact._replace(meaning=""))
        elif fact.before == fact.after:
            equal += 1
        else:
            different.append(fact)
    return Comparison(tuple(different), tuple(one_sided), equal)


def differences(
    before: Machine, after: Machine, tolerance: float = TOLERANCE
) -> tuple[Difference, ...]:
    """Return what differs between two machines, gravest first."""
    return compare(before, after, tolerance).differences
