"""Reading the console text of lstopo."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import Machine
from numatune.sources.lstopo_text import read, recognises
from tests.sources.written import DAMAGE, lstopo, machines, says_the_same_or_warns

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "hwloc")


def fixture(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def shown(machine: Machine) -> dict[int, str]:
    return {n.id: str(n.cpus) for n in machine.nodes}


def codes(machine: Machine) -> list[str]:
    return [w.code for w in machine.warnings]


def facts(machine: Machine) -> object:
    return (machine.nodes, machine.cores, machine.packages, machine.online_cpus)


# Real captures: what numactl and lscpu printed on the same machine ---------------------------------


def test_smt() -> None:
    machine = read(fixture("smt.txt"), "smt.txt")
    assert shown(machine) == {0: "0-5,12-17", 1: "6-11,18-23"}
    assert [n.memory_total_bytes for n in machine.nodes] == [211 << 20, 247 << 20]
    assert machine.cores is not None
    assert [str(c.cpus) for c in machine.cores[:2]] == ["0,12", "1,13"]
    assert [c.node_id for c in machine.cores] == [0] * 6 + [1] * 6
    assert (machine.packages, machine.package_count) == (None, 2)
    assert codes(machine) == []
    assert machine.gaps == ("distances", "packages", "cpu", "limits", "settings")


@pytest.mark.parametrize(
    ("name", "nodes", "cores", "packages", "warnings"),
    [
        ("cxl.txt", {0: "0-3", 1: "4-7", 2: ""}, 8, 2, ["node-cpus-likely"]),
        ("memoryless.txt", {0: "0-3"}, 8, 2, ["nodes-hidden"]),
        ("offline.txt", {0: "0-3", 1: "4,6-7", 2: "8-11", 3: ""}, 11, 3, ["cpus-left-out"]),
        ("sparse.txt", {0: "0-3", 2: "4-7", 3: "8-11"}, 12, 3, ["nodes-hidden"]),
        ("one-node.txt", {0: "0-15"}, 8, 2, []),
    ],
)
def test_captures(
    name: str, nodes: dict[int, str], cores: int, packages: int, warnings: list[str]
) -> None:
    machine = read(fixture(name), name)
    assert shown(machine) == nodes
    assert (machine.cores_known, machine.packages_known) == (cores, packages)
    assert codes(machine) == warnings


# Own texts ----------------------------------------------------------------------------------------

LOGICAL = """Machine (211MB total)
  Package L#0
    NUMANode L#0 (211MB)
    Core L#0
      PU L#0
      PU L#1
    Core L#1
      PU L#2
      PU L#3
"""


def test_logical_numbers_are_never_cpu_ids() -> None:
    machine = read(LOGICAL, "text")
    assert (machine.nodes, machine.online_cpus, machine.cores) == ((), None, None)
    assert (machine.core_count, machine.package_count, machine.smt) == (2, 1, 2)
    assert codes(machine) == ["logical-ids-only"]
    assert {"nodes", "cpus"} <= set(machine.gaps)


OLD = """Machine (48GB)
  NUMANode L#0 (P#0 24GB) + Socket L#0 + L3 L#0 (8192KB)
    L2 L#0 (256KB) + L1 L#0 (32KB) + Core L#0
      PU L#0 (P#0)
      PU L#1 (P#2)
  NUMANode L#1 (P#1 9000MB) + Socket L#1 + L3 L#1 (8192KB)
    L2 L#1 (256KB) + L1 L#1 (32KB) + Core L#1
      PU L#2 (P#1)
      PU L#3 (P#3)
"""


def test_hwloc_1_puts_packages_into_nodes() -> None:
    machine = read(OLD, "text")
    assert shown(machine) == {0: "0,2", 1: "1,3"}
    assert [n.memory_total_bytes for n in machine.nodes] == [None, 9000 << 20]
    assert machine.cores is not None
    assert [(str(c.cpus), c.node_id) for c in machine.cores] == [("0,2", 0), ("1,3", 1)]
    assert machine.package_count == 2
    assert codes(machine) == []


VERBOSE = """Machine (P#0 total=131072KB DMIProductName="X (A + B)" Architecture=x86_64)
  Package L#0 (P#3 total=131072KB CPUModel="A CPU (with + signs)" CPUVendor=AuthenticAMD)
    NUMANode(HBM) L#0 (P#4 local=131072KB total=131072KB)
    Core L#0 (P#7)
      PU L#0 (P#8)
    Core L#1 (P#8)
      PU L#1 (P#9) (disallowed)
depth 0:           1 Machine (type #0)
Special depth -3:  1 NUMANode (type #13)
Memory attribute #2 name `Bandwidth' flags 5
  NUMANode L#0 = 204800 from cpuset 0x0000000f (Package L#0)
"""


def test_verbose() -> None:
    machine = read(VERBOSE, "text")
    assert shown(machine) == {4: "8-9"}
    assert (machine.nodes[0].memory_total_bytes, machine.nodes[0].kind) == (128 << 20, "hbm")
    assert machine.packages is not None
    assert [(p.id, str(p.cpus)) for p in machine.packages] == [(3, "8-9")]
    assert machine.cpu[:3] == ("x86_64", "AuthenticAMD", "A CPU (with + signs)")
    assert str(machine.limits.cpuset_cpus) == "8"


def test_lines_broken_at_a_plus_are_joined() -> None:
    whole = read(fixture("memoryless.txt"), "text")
    text = fixture("memoryless.txt").replace(" + PU", " +\nPU").replace(" + L1i", "\n + L1i")
    assert facts(read(text, "text")) == facts(whole)


def test_a_number_broken_at_a_line_end_is_not_read_as_another() -> None:
    text = fixture("smt.txt").replace("PU L#23 (P#23)", "PU L#23 (P#2\n3)")
    assert shown(read(text, "text")) == shown(read(fixture("smt.txt"), "text"))
    text = "Machine (1MB total)\n  Core P#0 + PU P#1\n2\n  Core P#1 + PU P#3\n"
    machine = read(text, "text")
    assert machine.cores is None
    assert "damaged" in codes(machine)


def test_without_indentation_nodes_have_no_cpus() -> None:
    text = "\n".join(line.lstrip() for line in fixture("smt.txt").split("\n"))
    machine = read(text, "text")
    assert shown(machine) == {0: "None", 1: "None"}
    assert machine.cores_known == 12
    assert codes(machine) == ["indentation-lost"]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("    NUMANode L#1 (P#1 247MB)\n", "", "incomplete"),
        ("        L1d L#7 (32KB) + L1i L#7 (32KB) + PU L#7 (P#15)\n", "", "incomplete"),
        ("        L1d L#7 (32KB) + L1i L#7 (32KB) + PU L#7 (P#15)\n", "        ...\n", "damaged"),
        ("Core L#3\n", "Co re L#3\n", "damaged"),
        ("(P#15)", "(P#15", "damaged"),
        ("  Package L#1\n    NUMANode", "  Package L#1   NUMANode", "damaged"),
    ],
)
def test_what_is_missing_is_told(old: str, new: str, code: str) -> None:
    text = fixture("smt.txt")
    assert old in text
    assert code in codes(read(text.replace(old, new), "text"))


def test_two_machines_are_never_blended() -> None:
    with pytest.raises(MachineError, match="twice"):
        read(fixture("smt.txt") + fixture("cxl.txt"), "text")


def test_the_format_is_known_by_its_content() -> None:
    assert recognises(fixture("cxl.txt"))
    assert recognises("here: \n> Package P#0\n")
    assert not recognises("Core(s) per socket:  24\nnode 0 cpus: 0 1\nGPU0  X  PHB")
    with pytest.raises(MachineError):
        read("Core(s) per socket:  24\n", "text")


# Properties ---------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(machines())
def test_what_is_written_reads_back(machine: Machine) -> None:
    again = read(lstopo(machine), "text")
    assert facts(again) == facts(machine)
    ids = [n.id for n in machine.nodes]
    assert codes(again) == ([] if ids == list(range(len(ids))) else ["nodes-hidden"])


@settings(max_examples=50, deadline=None)
@given(machines(), st.sampled_from(sorted(DAMAGE.keys() - {"truncated"})), st.integers(0, 10**6))
def test_damage_never_goes_unnoticed(machine: Machine, name: str, number: int) -> None:
    says_the_same_or_warns(read, facts, lstopo(machine), name, number)
