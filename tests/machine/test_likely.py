import pytest

from numatune.machine import CpuSet, Distances, Machine, Node
from numatune.machine.likely import likely_packages, likely_threads_per_core


def machine(*cpus: str, rows: tuple[tuple[int, ...], ...] | None = None) -> Machine:
    nodes = tuple(Node(i, CpuSet.parse(c), 1) for i, c in enumerate(cpus))
    table = None if rows is None else Distances(tuple(range(len(rows))), rows)
    return Machine("text", nodes=nodes, distances=table)


@pytest.mark.parametrize(
    ("cpus", "threads"),
    [
        (("0-5,12-17", "6-11,18-23"), 2),
        (("0-23", "24-47"), None),  # one range a node says nothing about SMT
        (("0-7,16-23", "8-15,24-31", "32-39,48-55", "40-47,56-63"), None),  # offset 16, half is 32
        (("0,2,4,6", "1,3,5,7"), None),  # even and odd: a coin toss
        (("0-11,24-35",), None),  # one node
        (("0-5,12-17", "6-11,18-22"), None),  # a CPU is missing
        (("0-16383", "0-16383", "0-16383"), None),  # nodes overlap, as with numa=fake
    ],
)
def test_two_threads_are_likely_only_for_the_block_numbering(
    cpus: tuple[str, ...], threads: int | None
) -> None:
    assert likely_threads_per_core(machine(*cpus)) == threads


def test_packages_are_likely_only_with_two_clear_groups() -> None:
    near_far = ((10, 12, 32, 32), (12, 10, 32, 32), (32, 32, 10, 12), (32, 32, 12, 10))
    assert likely_packages(machine("0", "1", "2", "3", rows=near_far)) == 2
    even = tuple(tuple(10 if i == j else 21 for j in range(4)) for i in range(4))
    assert likely_packages(machine("0", "1", "2", "3", rows=even)) is None
    opteron = ((10, 16, 16, 22), (16, 10, 22, 16), (16, 22, 10, 16), (22, 16, 16, 10))
    assert likely_packages(machine("0", "1", "2", "3", rows=opteron)) is None
    assert likely_packages(machine("0", "1", rows=((10, 21), (21, 10)))) is None
