"""Reading `nvidia-smi topo -m`."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import CpuSet, Gpu, Machine
from numatune.sources.nvidia_topo import read, recognises
from tests.sources.written import DAMAGE, says_the_same_or_warns

FILE = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "nvidia", "nics.txt")
with open(FILE, encoding="utf-8") as _file:
    TEXT = _file.read()
FIRST, SECOND = CpuSet.parse("0-31,64-95"), CpuSet.parse("32-63,96-127")
GPUS = (Gpu("GPU0", 0, FIRST), Gpu("GPU1", 0, FIRST), Gpu("GPU2", 1, SECOND),
        Gpu("GPU3", 1, SECOND))  # fmt: skip


def codes(machine: Machine) -> list[str]:
    return [w.code for w in machine.warnings]


def facts(machine: Machine) -> object:
    return machine.gpus


@pytest.mark.parametrize("blanks", ["\t", " ", "    ", " \t"])
def test_tabs_colours_and_blanks(blanks: str) -> None:
    machine = read(TEXT.replace("\t", blanks), "x")
    assert machine.gpus == GPUS
    assert codes(machine) == []
    assert machine.nodes == ()
    assert "nodes" in machine.gaps
    assert machine.origins == {"gpus": "nvidia-smi topo -m"}


HEAD = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"


def test_lists_that_nvidia_smi_cuts_are_not_read() -> None:
    rows = "GPU0\t X \tSYS\t0,2,4,6,8,10\t0\t\tN/A\nGPU1\tSYS\t X \t1,3,5,7,...\t1\t\tN/A\n"
    machine = read(HEAD + rows, "x")
    assert machine.gpus == (Gpu("GPU0", 0), Gpu("GPU1", 1))
    assert codes(machine) == ["affinity-cut"]
    assert "GPU0, GPU1" in machine.warnings[0].message


def test_lists_of_up_to_five_parts_are_whole() -> None:
    row = "GPU0\t X \tSYS\t0,2,4,6,8\t0\t\tN/A\nGPU1\tSYS\t X \t1\t1\t\tN/A\n"
    assert read(HEAD + row, "x").gpus == (
        Gpu("GPU0", 0, CpuSet([0, 2, 4, 6, 8])),
        Gpu("GPU1", 1, CpuSet([1])),
    )


@pytest.mark.parametrize("tail", ["N/A\tN/A\t\tN/A", "\t\t\tN/A", "\t\t\t", ""])
def test_guests_say_nothing(tail: str) -> None:
    machine = read(HEAD + f"GPU0\t X \tPHB\t{tail}\nGPU1\tPHB\t X \t{tail}\n", "x")
    assert machine.gpus == (Gpu("GPU0"), Gpu("GPU1"))
    assert codes(machine) == []


def test_old_drivers_have_the_cpus_alone() -> None:
    text = "\tGPU0\tCPU Affinity\nGPU0\t X \t0-9,20-29\n"
    assert read(text, "x").gpus == (Gpu("GPU0", None, CpuSet.parse("0-9,20-29")),)


def test_the_node_of_the_gpus_own_memory_is_not_taken() -> None:
    text = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-71\t0\t\t4\n"
    assert read(text, "x").gpus == (Gpu("GPU0", 0, CpuSet.parse("0-71")),)


def test_a_missing_head_is_told() -> None:
    machine = read("GPU0\t X \t0-9\t0\t\tN/A\n", "x")
    assert machine.gpus == (Gpu("GPU0", 0, CpuSet.parse("0-9")),)
    assert codes(machine) == ["incomplete"]


def test_several_nodes_are_no_node() -> None:
    text = HEAD + "GPU0\t X \tPHB\t0-63\t0-1\t\tN/A\nGPU1\tPHB\t X \t0-63\t0,1\t\tN/A\n"
    assert [g.node_id for g in read(text, "x").gpus or ()] == [None, None]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("0-31,64-95\t0", "0-31,64-9\n5\t0", "damaged"),
        ("0-31,64-95\t0", "0-31,64-\t0", "damaged"),
        ("0-31,64-95\t0", "95-31\t0", "damaged"),
        ("NV12\tSYS\tSYS\tPXB", "NV12SYS\tSYS\tPXB", "damaged"),
        ("GPU3\tSYS", "PU3\tSYS", "incomplete"),
    ],
)
def test_damage_is_told(old: str, new: str, code: str) -> None:
    assert old in TEXT
    assert code in codes(read(TEXT.replace(old, new, 1), "x"))


def test_two_machines_are_never_blended() -> None:
    assert read(TEXT + TEXT, "x").gpus == GPUS
    with pytest.raises(MachineError, match="twice"):
        read(TEXT + TEXT.replace("0-31,64-95\t0", "0-31,64-95\t1"), "x")


def test_the_format_is_known_by_its_content() -> None:
    assert recognises(TEXT)
    assert recognises("> GPU0     X      NV18    0-63    0    N/A\n")
    assert not recognises("GPU 0: Tesla\nnvidia-smi topo -m fails here\nGPU0 OK")
    with pytest.raises(MachineError):
        read("nvidia-smi: command not found", "x")


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(sorted(DAMAGE)), st.integers(0, 10**6))
def test_damage_never_goes_unnoticed(name: str, number: int) -> None:
    says_the_same_or_warns(read, facts, TEXT, name, number)
