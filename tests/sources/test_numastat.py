"""Reading `numastat -m`."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import Machine
from numatune.sources.numastat import read, recognises
from tests.sources.written import DAMAGE, machines, numastat, says_the_same_or_warns

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "numastat")


def fixture(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def totals(machine: Machine) -> dict[int, int | None]:
    return {n.id: n.memory_total_bytes for n in machine.nodes}


def codes(machine: Machine) -> list[str]:
    return [w.code for w in machine.warnings]


def facts(machine: Machine) -> object:
    return machine.nodes


def test_a_capture_with_a_node_without_memory() -> None:
    machine = read(fixture("memoryless.txt"), "x")
    assert [(n.id, n.cpus) for n in machine.nodes] == [(0, None), (1, None)]
    assert totals(machine) == {0: 474020 << 10, 1: 0}
    assert [n.memory_free_bytes for n in machine.nodes] == [423619 << 10, 0]
    assert codes(machine) == []
    assert "cpus" in machine.gaps
    assert machine.origins == {"nodes": "numastat -m", "memory": "numastat -m"}


def test_a_capture_with_holes_in_the_ids() -> None:
    machine = read(fixture("sparse.txt"), "x")
    assert totals(machine) == {0: 218132 << 10, 2: 256819 << 10, 3: 256481 << 10}
    assert codes(machine) == []


def test_columns_that_are_folded_at_the_width_of_the_terminal() -> None:
    machine = read(fixture("folded.txt"), "x")
    mib = {n: round((size or 0) / 2**20, 2) for n, size in totals(machine).items()}
    assert mib == {0: 87.02, 1: 124.8, 2: 124.8, 3: 124.8, 4: 124.8, 5: 124.8, 6: 124.8, 7: 123.5}
    assert codes(machine) == []


COMPACT = """
Per-node system memory usage (in MBs):
         Node 0 Node 1 Total
         ------ ------ -----
MemTotal  64000  65536 129536
MemFree       7      0     7
"""


def test_compact_columns_have_whole_mb() -> None:
    machine = read(COMPACT, "x")
    assert totals(machine) == {0: 64000 << 20, 1: 64 << 30}
    assert codes(machine) == []


def test_other_tables_beside_it_are_not_read() -> None:
    process = """
Per-node process memory usage (in MBs) for PID 4711 (python)
                           Node 0          Node 1           Total
                  --------------- --------------- ---------------
Huge                         0.00            0.00            0.00
Private                 123456.78           11.00       123467.78
"""
    machine = read(process + fixture("memoryless.txt") + process, "x")
    assert totals(machine) == {0: 474020 << 10, 1: 0}
    assert codes(machine) == []
    assert not recognises(process)
    with pytest.raises(MachineError):
        read(process, "x")


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("MemTotal                  462.91", "MemTotal                  462.9l", "incomplete"),
        ("MemTotal                  462.91", "MemTotal                  462.\n91", "incomplete"),
        ("MemTotal                  462.91", "MemTotal                  452.91", "incomplete"),
        ("MemTotal                  462.91", "MemTotal                    4.91", "incomplete"),
        ("MemFree ", "MemFee ", "incomplete"),
    ],
)
def test_damage_is_told(old: str, new: str, code: str) -> None:
    text = fixture("memoryless.txt")
    assert old in text
    assert code in codes(read(text.replace(old, new, 1), "x"))


@pytest.mark.parametrize(
    ("old", "new"), [("           Total", ""), ("          Node 1", "          Node 0")]
)
def test_a_head_that_does_not_fit_is_refused(old: str, new: str) -> None:
    text = fixture("memoryless.txt")
    assert old in text
    with pytest.raises(MachineError):
        read(text.replace(old, new, 1), "x")


def test_wrapped_lines_are_joined() -> None:
    text = COMPACT.replace("65536 ", "65536\n").replace("Node 1 ", "Node 1\n")
    assert facts(read(text, "x")) == facts(read(COMPACT, "x"))


def test_repeated_tables() -> None:
    machine = read(COMPACT + COMPACT.replace("7", "9"), "x")
    assert codes(machine) == ["two-outputs"]
    assert machine.nodes[0].memory_free_bytes == 9 << 20
    with pytest.raises(MachineError, match="one machine"):
        read(COMPACT + COMPACT.replace("64000", "32000"), "x")


def test_the_format_is_known_by_its_content() -> None:
    assert recognises(COMPACT)
    assert recognises("> MemTotal    1.00   2.00   3.00\n")
    assert not recognises("MemTotal:       131072 kB\nMemFree: 1 kB")


@settings(max_examples=30, deadline=None)
@given(machines(), st.sampled_from((32, 64, 80, 200)))
def test_what_is_written_reads_back(machine: Machine, width: int) -> None:
    again = read(numastat(machine, width), "x")
    assert codes(again) == []
    assert totals(again).keys() == totals(machine).keys()
    for node in machine.nodes:
        size = totals(again)[node.id]
        assert size is not None
        assert node.memory_total_bytes is not None
        assert abs(size - node.memory_total_bytes) <= 6 << 10  # half of 0.01 MB, and a KiB


@settings(max_examples=50, deadline=None)
@given(machines(), st.sampled_from(sorted(DAMAGE)), st.integers(0, 10**6))
def test_damage_never_goes_unnoticed(machine: Machine, name: str, number: int) -> None:
    says_the_same_or_warns(read, facts, numastat(machine), name, number)
