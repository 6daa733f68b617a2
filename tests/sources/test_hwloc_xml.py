"""Reading hwloc's XML."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import CpuSet, Gpu, Machine
from numatune.sources.hwloc_xml import NAME, read, recognises
from tests.sources.written import DAMAGE, hwloc_xml, machines, says_the_same_or_warns

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "hwloc")


def fixture(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def shown(machine: Machine) -> dict[int, tuple[str, int | None]]:
    return {n.id: (str(n.cpus), n.memory_total_bytes) for n in machine.nodes}


def codes(machine: Machine) -> list[str]:
    return [w.code for w in machine.warnings]


def facts(machine: Machine) -> object:
    return (machine.nodes, machine.cores, machine.packages, machine.distances, machine.online_cpus)


# Real captures: what numactl and lscpu printed on the same machine ---------------------------------


def test_smt_and_packages() -> None:
    machine = read(fixture("smt.xml"), "smt.xml")
    assert shown(machine) == {
        0: ("0-5,12-17", 216016 << 10),
        1: ("6-11,18-23", 253384 << 10),
    }
    assert machine.cores is not None
    assert machine.packages is not None
    assert [str(c.cpus) for c in machine.cores[:2]] == ["0,12", "1,13"]
    assert [(c.package_id, c.node_id) for c in machine.cores] == [(0, 0)] * 6 + [(1, 1)] * 6
    assert [str(p.cpus) for p in machine.packages] == ["0-5,12-17", "6-11,18-23"]
    assert machine.distances is not None
    assert machine.distances.values == ((10, 21), (21, 10))
    assert machine.cpu[:3] == ("x86_64", "GenuineIntel", "QEMU TCG CPU version 2.5+")
    assert machine.is_guest is True
    assert machine.gpus == ()
    assert (str(machine.online_cpus), str(machine.offline_cpus)) == ("0-23", "")
    assert codes(machine) == []
    assert machine.gaps == ("limits", "settings")
    assert machine.origins["cores"] == NAME


def test_memory_without_cpus_is_told_from_its_neighbour() -> None:
    machine = read(fixture("cxl.xml"), "cxl.xml")
    assert shown(machine) == {
        0: ("0-3", 218128 << 10), 1: ("4-7", 256820 << 10), 2: ("", 257708 << 10),
    }  # fmt: skip
    assert machine.distances is not None
    assert machine.distances.values == ((10, 21, 14), (21, 10, 24), (14, 24, 10))
    assert codes(machine) == ["node-cpus-likely"]
    assert "nodes 0,2" in machine.warnings[0].message


def test_a_node_without_memory_is_recovered() -> None:
    machine = read(fixture("memoryless.xml"), "memoryless.xml")
    assert shown(machine) == {0: ("0-3", 474020 << 10), 1: ("4-7", None)}
    assert codes(machine) == ["nodes-hidden"]
    assert "memory" in machine.gaps
    assert machine.cores is not None
    assert [c.node_id for c in machine.cores] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_offline_cpus() -> None:
    machine = read(fixture("offline.xml"), "offline.xml")
    assert {n: cpus for n, (cpus, _) in shown(machine).items()} == {
        0: "0-3", 1: "4,6-7", 2: "8-11", 3: "",
    }  # fmt: skip
    assert (str(machine.online_cpus), str(machine.offline_cpus)) == ("0-4,6-11", "5,12-15")
    assert machine.limits.cpuset_cpus is None
    assert codes(machine) == []


def test_node_ids_with_holes() -> None:
    machine = read(fixture("sparse.xml"), "sparse.xml")
    assert [n.id for n in machine.nodes] == [0, 2, 3]
    assert machine.distances is not None
    assert machine.distances.node_ids == (0, 2, 3)
    assert machine.distances.between(0, 3) == 21


# Own texts ----------------------------------------------------------------------------------------


def test_format_1() -> None:
    machine = read(fixture("format1.xml"), "format1.xml")
    assert shown(machine) == {0: ("0-3", 8 << 30), 2: ("5-7", 16 << 30), 3: ("", 4 << 30)}
    assert (str(machine.online_cpus), str(machine.offline_cpus)) == ("0-3,5-7", "4")
    assert str(machine.limits.cpuset_cpus) == "0-3,6-7"
    assert machine.distances is not None
    assert machine.distances.values == ((10, 21, 15), (21, 10, 26), (15, 26, 10))
    assert machine.packages is not None
    assert [p.id for p in machine.packages] == [0, 1]
    assert machine.cores is not None
    assert [str(c.cpus) for c in machine.cores] == ["0,2", "1,3", "6-7"]
    assert "cores" in machine.gaps


def test_gpus_and_where_they_hang() -> None:
    machine = read(fixture("gpus.xml"), "gpus.xml")
    assert machine.gpus == (
        Gpu("GPU0", 0, CpuSet.parse("0-1")),
        Gpu("GPU1", 1, CpuSet.parse("2-3")),
        Gpu("PCI 0000:b1:00.0", 1, CpuSet.parse("2-3")),
    )
    assert {n.id: n.kind for n in machine.nodes} == {0: "dram", 1: "dram", 2: "hbm", 8: "device"}
    assert {n.id: str(n.cpus) for n in machine.nodes} == {0: "0-1", 1: "2-3", 2: "", 8: ""}
    assert machine.origins["gpus"] == NAME
    assert codes(machine) == []


TWO = """<topology version="2.0">
<object type="Machine" os_index="0" cpuset="{cpuset}" complete_cpuset="{complete}"
  allowed_cpuset="{allowed}" nodeset="{nodeset}" complete_nodeset="0x3" allowed_nodeset="{mems}">
<info name="OSRelease" value="{release}"/>
<object type="Package" os_index="0" cpuset="0x3">
<object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1"
  local_memory="1024"/>
<object type="Core" os_index="0"><object type="PU" os_index="0" complete_nodeset="0x1"/></object>
<object type="Core" os_index="1"><object type="PU" os_index="1" complete_nodeset="0x1"/></object>
</object>{second}</object></topology>"""
SECOND = """<object type="NUMANode" os_index="1" cpuset="{cpuset}" complete_cpuset="0xc" nodeset="0x2"
  local_memory="2048"/>"""


def test_cpus_that_a_cgroup_forbids() -> None:
    text = TWO.format(cpuset="0x3", complete="0xf", allowed="0x3", nodeset="0x3", mems="0x3",
                      release="6.8.0-41-generic", second=SECOND.format(cpuset="0x0"))  # fmt: skip
    machine = read(text, "text")
    assert shown(machine) == {0: ("0-1", 1024), 1: ("2-3", 2048)}
    assert (str(machine.online_cpus), str(machine.offline_cpus)) == ("0-3", "")
    assert str(machine.limits.cpuset_cpus) == "0-1"
    assert codes(machine) == ["cpus-left-out"]
    assert "cores" in machine.gaps
    assert machine.cores is not None


def test_whether_cpus_are_offline_or_forbidden_may_not_be_known() -> None:
    text = TWO.format(cpuset="0x3", complete="0xf", allowed="0x3", nodeset="0x1", mems="0x1",
                      release="6.8.0-41-generic", second="")  # fmt: skip
    machine = read(text, "text")
    assert shown(machine) == {0: ("0-1", 1024), 1: ("None", None)}
    assert (machine.online_cpus, machine.offline_cpus) == (None, None)
    assert codes(machine) == ["nodes-hidden", "cpus-left-out"]
    assert (str(machine.usable_cpus), str(machine.limits.cpuset_mems)) == ("0-1", "0")


def test_what_disallowed_adds() -> None:
    text = TWO.format(cpuset="0x3", complete="0x7", allowed="0x1", nodeset="0x3", mems="0x1",
                      release="", second=SECOND.format(cpuset="0x0"))  # fmt: skip
    machine = read(text, "text")
    assert (str(machine.online_cpus), str(machine.offline_cpus)) == ("0-1", "2")
    assert (str(machine.limits.cpuset_cpus), str(machine.limits.cpuset_mems)) == ("0", "0")


def test_a_node_that_hwloc_made_up() -> None:
    supports = '<support name="discovery.pu"/><support name="custom.exported_support"/>'
    text = TWO.format(cpuset="0x3", complete="0x3", allowed="0x3", nodeset="0x1", mems="0x1",
                      release="", second="").replace("</topology>", supports + "</topology>")  # fmt: skip
    machine = read(text, "text")
    assert machine.nodes == ()
    assert codes(machine) == ["no-numa-information"]
    assert str(machine.online_cpus) == "0-1"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('os_index="1" complete', 'os_index="l" complete'),
        ('os_index="1" complete', 'os_index="0" complete'),
        ('local_memory="1024"', 'local_memory="10\n24"'),
        ('cpuset="0x3" complete_cpuset="0x3" nodeset', 'cpuset="0x3,\n> 0x0" nodeset'),
        ('os_index="1" complete', 'os_index="99999999" complete'),
        ('type="Machine"', 'type="Machine" cpuset="0x1"'),
    ],
)  # fmt: skip
def test_a_damaged_value_is_refused(old: str, new: str) -> None:
    text = TWO.format(cpuset="0x3", complete="0x3", allowed="0x3", nodeset="0x1", mems="0x1",
                      release="", second="")  # fmt: skip
    assert old in text
    with pytest.raises(MachineError):
        read(text.replace(old, new), "text")


def test_distances_that_lost_a_digit_are_left_out() -> None:
    text = fixture("sparse.xml").replace("10 21 21 21 10 21 21 21 10", "10 21 21 2 10 21 21 21 10")
    machine = read(text, "text")
    assert machine.distances is None
    assert codes(machine) == ["damaged-table"]


def test_objects_that_somebody_took_out() -> None:
    text = TWO.format(cpuset="0x7", complete="0x7", allowed="0x7", nodeset="0x1", mems="0x1",
                      release="", second="")  # fmt: skip
    assert codes(read(text, "text")) == ["nodes-hidden", "incomplete"]


def test_the_format_is_known_by_its_content() -> None:
    assert recognises(fixture("cxl.xml"))
    assert recognises("so, here:\n&lt;object type=&quot;Machine&quot;")
    assert not recognises("<topology><cells num='2'></cells></topology>")
    assert not recognises("Machine (955MB total)")


def test_two_machines_are_never_blended() -> None:
    with pytest.raises(MachineError, match="more than one"):
        read(fixture("cxl.xml") + fixture("sparse.xml"), "text")


# Properties ---------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(machines())
def test_what_is_written_reads_back(machine: Machine) -> None:
    again = read(hwloc_xml(machine), "text")
    assert facts(again) == facts(machine)
    assert codes(again) == []


@settings(max_examples=50, deadline=None)
@given(machines(), st.sampled_from(sorted(DAMAGE)), st.integers(0, 10**6))
def test_damage_never_goes_unnoticed(machine: Machine, name: str, number: int) -> None:
    says_the_same_or_warns(read, facts, hwloc_xml(machine), name, number)
