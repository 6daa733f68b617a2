"""Reading `dmidecode -t memory`."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import Dimm, Machine
from numatune.sources.dmidecode import read, recognises
from tests.sources.written import DAMAGE, says_the_same_or_warns

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "dmidecode")


def fixture(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def codes(machine: Machine) -> list[str]:
    return [w.code for w in machine.warnings]


def facts(machine: Machine) -> object:
    return (machine.dimms, machine.settings)


def test_slots_and_the_speed_that_they_run_at() -> None:
    machine = read(fixture("two-sockets.txt"), "x")
    assert machine.dimms is not None
    assert machine.dimms[0] == Dimm("P0 CHANNEL A / DIMM 0", 64 << 30, "DDR5", 4800)
    assert machine.dimms[3] == Dimm("P0 CHANNEL D / DIMM 0", 0, None, None)
    assert [d.size_bytes == 0 for d in machine.dimms] == [0, 0, 0, 1, 0, 1, 0, 1]
    assert machine.settings.dimms_populated == 5
    assert machine.settings.memory_channels is None
    assert machine.nodes == ()
    assert "nodes" in machine.gaps
    assert machine.origins["dimms"] == "dmidecode -t memory"
    assert codes(machine) == []


def test_old_names_and_units() -> None:
    machine = read(fixture("old.txt"), "x")
    assert machine.dimms == (
        Dimm("DIMM_A1", 16 << 30, "DDR3", 1333),
        Dimm("DIMM_A2", 16 << 30, "DDR3", None),
        Dimm("DIMM_A3", 0, None, None),
    )
    assert machine.settings.dimms_populated == 2
    assert codes(machine) == []


def test_modules_that_are_not_the_machines_memory_are_not_counted() -> None:
    text = fixture("old.txt").replace("Type: DDR3", "Type: Logical non-volatile device", 1)
    machine = read(text, "x")
    assert machine.settings.dimms_populated == 1
    assert machine.dimms is not None
    assert len(machine.dimms) == 3


def test_a_hypervisor_as_maker_marks_a_guest() -> None:
    text = fixture("two-sockets.txt")
    assert read(text, "x").is_guest is None
    assert read(text.replace("Samsung", "QEMU"), "x").is_guest is True


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\tSize: 16384 MB\n", ""),
        ("Size: 16384 MB", "Size: 16384"),
        ("Size: 16384 MB", "Size: 1638\n4 MB"),
        ("Size: 16384 MB", "Size: Unknown"),
        ("Number Of Devices: 3", "Number Of Devices: 4"),
        ("Size: 16384 MB", "Size: 1638² MB"),
    ],
)
def test_what_is_missing_makes_the_count_unknown(old: str, new: str) -> None:
    text = fixture("old.txt")
    assert old in text
    machine = read(text.replace(old, new, 1), "x")
    assert machine.settings.dimms_populated is None
    assert codes(machine) == ["incomplete"]


def test_a_count_that_is_no_number_is_left_aside() -> None:
    text = fixture("old.txt").replace("Number Of Devices: 3", "Number Of Devices: 3²")
    assert read(text, "x").settings.dimms_populated == 2


def test_the_same_output_twice_is_one() -> None:
    text = fixture("old.txt")
    assert facts(read(text + text, "x")) == facts(read(text, "x"))
    with pytest.raises(MachineError, match="twice"):
        read(text + text.replace("16384 MB", "32 GB"), "x")


def test_the_format_is_known_by_its_content() -> None:
    assert recognises(fixture("old.txt"))
    assert recognises("> Memory Device\n>   Size: 16 GB\n")
    assert not recognises("Memory Device Mapped Address\nMemory: 5 GB of devices")
    with pytest.raises(MachineError):
        read("# dmidecode 3.5\n/dev/mem: Permission denied\n", "x")


#: Removing lines and breaking them is noticed; a slot's type and speed are no more than notes.
NOTICED = sorted(DAMAGE.keys() - {"elided", "truncated", "cut lines", "wrapped"})


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(("old.txt", "two-sockets.txt")), st.sampled_from(NOTICED), st.integers(0, 9))
def test_damage_never_goes_unnoticed(file: str, name: str, number: int) -> None:
    says_the_same_or_warns(read, facts, fixture(file), name, number)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(("elided", "truncated", "cut lines", "wrapped")), st.integers(0, 10**6))
def test_a_count_is_right_or_unknown(name: str, number: int) -> None:
    try:
        machine = read(DAMAGE[name](fixture("two-sockets.txt"), number), "x")
    except MachineError:
        return
    assert machine.settings.dimms_populated in (None, 5)
    for dimm in machine.dimms or ():
        assert dimm.size_bytes in (None, 0, 64 << 30)
        assert dimm.speed_mts in (None, 4800)
