"""Reading `virsh capabilities`."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import Machine
from numatune.sources.virsh import NAME, read, recognises
from tests.sources.written import DAMAGE, machines, says_the_same_or_warns, virsh

FILE = os.path.join(
    os.path.dirname(__file__), "..", "..", "fixtures", "virsh", "two-cells.xml"
)  # fmt: skip
with open(FILE, encoding="utf-8") as _file:
    TEXT = _file.read()


def codes(machine: Machine) -> list[str]:
    return [w.code for w in machine.warnings]


def facts(machine: Machine) -> object:
    nodes = tuple(n._replace(kind="unknown") for n in machine.nodes)
    return (nodes, machine.cores, machine.packages, machine.distances, machine.online_cpus)


def test_cells_cores_packages_and_distances() -> None:
    machine = read(TEXT, "x")
    assert {n.id: (str(n.cpus), n.memory_total_bytes) for n in machine.nodes} == {
        0: ("0-1,4-5", 131500000 << 10), 1: ("2-3,6-7", 132100000 << 10), 2: ("", 64 << 30),
    }  # fmt: skip
    assert machine.cores is not None
    assert [(str(c.cpus), c.package_id, c.node_id) for c in machine.cores] == [
        ("0,4", 0, 0), ("1,5", 0, 0), ("2,6", 1, 1), ("3,7", 1, 1),
    ]  # fmt: skip
    assert machine.packages is not None
    assert [(p.id, str(p.cpus)) for p in machine.packages] == [(0, "0-1,4-5"), (1, "2-3,6-7")]
    assert machine.distances is not None
    assert machine.distances.values == ((10, 20, 17), (20, 10, 28), (17, 28, 10))
    assert machine.cpu[:3] == ("x86_64", "GenuineIntel", None)
    assert codes(machine) == []
    assert machine.gaps == ("limits", "settings")
    assert machine.origins["cores"] == NAME


def test_the_cells_alone_are_enough() -> None:
    part = TEXT[TEXT.index("<cells") : TEXT.index("</topology>\n    <cache>")]
    machine = read(f"this is what virsh says:\n{part}\n", "x")
    assert facts(machine) == facts(read(TEXT, "x"))


def test_cpus_of_which_only_the_number_is_stated_are_left_out() -> None:
    line = "<cpu id='5' socket_id='0' die_id='0' cluster_id='0' core_id='1' siblings='1,5'/>"
    text = TEXT.replace(line, "<cpu id='5'/>").replace("siblings='1,5'", "siblings='1'")
    machine = read(text, "x")
    assert str(machine.nodes[0].cpus) == "0-1,4"
    assert str(machine.online_cpus) == "0-4,6-7"
    assert codes(machine) == ["cpus-left-out"]


def test_siblings_that_contradict_are_no_cores() -> None:
    machine = read(TEXT.replace("siblings='1,5'", "siblings='1,4'", 1), "x")
    assert machine.cores is None
    assert codes(machine) == ["cores-unknown"]


def test_a_cell_without_distances_leaves_none() -> None:
    start = TEXT.index("<distances>")
    end = TEXT.index("</distances>") + len("</distances>")
    machine = read(TEXT[:start] + TEXT[end:], "x")
    assert machine.distances is None
    assert codes(machine) == ["damaged-table"]


def test_cpus_that_are_missing_are_told() -> None:
    line = "<cpu id='5' socket_id='0' die_id='0' cluster_id='0' core_id='1' siblings='1,5'/>"
    machine = read(TEXT.replace(line, ""), "x")
    assert machine.nodes[0].cpus is None
    assert machine.cores is None
    assert "incomplete" in codes(machine)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<cells num='3'>", "<cells num='0'/><x>"),
        ("cell id='1'", "cell id='0'"),
        ("cell id='1'", "cell id='one'"),
        ("cell id='1'", "cell id='99999'"),
        ("cpu id='5'", "cpu id='5 1'"),
        ("siblings='1,5'", "siblings='1,5x'"),
        ("siblings='1,5'", "siblings='0-4294967295'"),
        ("value='28'", "value=''"),
        ("socket_id='0'", "socket_id='O'"),
        ("<capabilities>", "<capabilities><capabilities>"),
        ("          <cpus num='4'>", "\x00<<"),
    ],
)
def test_damaged_values_are_refused(old: str, new: str) -> None:
    assert old in TEXT
    with pytest.raises(MachineError):
        read(TEXT.replace(old, new, 1), "x")


def test_units() -> None:
    machine = read(TEXT.replace("<memory unit='KiB'>67108864<", "<memory unit='GiB'>64<"), "x")
    assert machine.nodes[2].memory_total_bytes == 64 << 30
    machine = read(TEXT.replace("<memory unit='KiB'>67108864<", "<memory unit='KB'>64<"), "x")
    assert machine.nodes[2].memory_total_bytes is None
    assert codes(machine) == ["memory-unknown"]


def test_the_format_is_known_by_its_content() -> None:
    assert recognises(TEXT)
    assert recognises("&lt;cells num='2'&gt;")
    assert not recognises('<topology version="2.0"><object type="Machine"/></topology>')


@settings(max_examples=30, deadline=None)
@given(machines())
def test_what_is_written_reads_back(machine: Machine) -> None:
    again = read(virsh(machine), "x")
    assert facts(again) == facts(machine)
    assert codes(again) == []


@settings(max_examples=50, deadline=None)
@given(machines(), st.sampled_from(sorted(DAMAGE)), st.integers(0, 10**6))
def test_damage_never_goes_unnoticed(machine: Machine, name: str, number: int) -> None:
    says_the_same_or_warns(read, facts, virsh(machine), name, number)
