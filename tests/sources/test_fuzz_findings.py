"""What fuzzing found, each as the smallest input of its kind; docs/fuzzing.md tells how."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from fuzzing.oracle import check
from fuzzing.readers import FIXTURES, READERS
from numatune.errors import MachineError, UsageError
from numatune.machine import Machine
from numatune.sources import dmidecode, hwloc_xml, lstopo_text, numactl, virsh
from numatune.sources.synthetic import build

FOUND = sorted(path for path in (FIXTURES / "fuzz").rglob("*") if path.is_file())
CONTROL = "\x9b2J\x7f\u202e"


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_found(path: Path) -> None:
    """The folder is named after the reader."""
    check(READERS[path.parent.name].read, path.read_bytes())


# A device outside of every object that has CPUs


@pytest.mark.parametrize("kind", ["Bridge", "PCIDev", "OSDev", "Misc"])
def test_the_outermost_object_is_no_machine(kind: str) -> None:
    text = (
        f'<topology><object type="{kind}"><object type="PCIDev" pci_type="0302 [10de:1]"/>'
        '<object type="Machine"><object type="PU" os_index="3"/></object></object></topology>'
    )
    machine = hwloc_xml.read(text, "text")
    assert str(machine.cpus) == "3"
    assert [gpu.cpus for gpu in machine.gpus or ()] == [None]


# Numbers of any length


def logged(number: str) -> str:
    """Output of dmidecode as `grep -n` numbers its lines, one of them wrongly."""
    lines = ["Handle 0x0001, DMI type 17, 92 bytes", "Memory Device", "\tSize: 16 GB",
             "\tLocator: A1", "\tType: DDR5"] * 3  # fmt: skip
    numbers = [str(n) for n in range(10, 10 + len(lines))]
    numbers[7] = number
    return "".join(f"{n}:{line}\n" for n, line in zip(numbers, lines, strict=True))


@pytest.mark.parametrize("digits", [1, 18, 40, 41, 4300, 4301, 5000])
@pytest.mark.parametrize("module", [dmidecode, numactl])
def test_line_numbers_of_any_length(module: object, digits: int) -> None:
    text = logged("9" * digits)
    if module is numactl:
        text = text.replace("Memory Device", "available: 1 nodes (0)").replace(
            "\tSize", "node 0 cpus"
        )
    read(READERS["numactl" if module is numactl else "dmidecode"].read, text)


def read(reader: Callable[[bytes], Machine | None], text: str) -> None:
    check(reader, text.encode())


VIRSH = (
    "<capabilities><host><cpu><arch>x86_64</arch><vendor>{vendor}</vendor></cpu><topology>"
    "<cells num='1'><cell id='0'><memory unit='KiB'>1048576</memory>"
    "<cpus num='{count}'><cpu id='0' socket_id='0' siblings='0'/>"
    "<cpu id='1' socket_id='{socket}' siblings='1'/></cpus></cell></cells></topology></host>"
    "</capabilities>"
)


@pytest.mark.parametrize("socket", [1, 983297, (1 << 31) - 1])
def test_a_socket_may_have_any_id_of_the_firmware(socket: int) -> None:
    machine = virsh.read(VIRSH.format(vendor="Intel", count=2, socket=socket), "text")
    assert [p.id for p in machine.packages or ()] == [0, socket]


@pytest.mark.parametrize("socket", [1 << 31, 1 << 32, 10**17])
def test_a_socket_has_no_larger_id(socket: int) -> None:
    with pytest.raises(MachineError, match="is no such number"):
        virsh.read(VIRSH.format(vendor="Intel", count=2, socket=socket), "text")


PACKAGES = (
    '<topology><object type="Machine"><object type="Package" os_index="0">'
    '<object type="PU" os_index="0"/></object><object type="Package" os_index="{id}">'
    '<object type="PU" os_index="1"/></object></object></topology>'
)


@pytest.mark.parametrize(("number", "ids"), [(983297, [0, 983297]), (1 << 31, None), (0, None)])
def test_packages_have_ids_of_the_firmware(number: int, ids: list[int] | None) -> None:
    packages = hwloc_xml.read(PACKAGES.format(id=number), "text").packages
    assert (None if packages is None else [p.id for p in packages]) == ids


# Control characters


def test_no_control_character_in_an_error() -> None:
    with pytest.raises(MachineError) as caught:
        virsh.read(f"<cells num='{CONTROL[:3]}'><cell id='0'/>", "text")
    assert str(caught.value).isprintable()


def test_no_control_character_in_a_warning() -> None:
    machine = virsh.read(VIRSH.format(vendor="Intel", count=CONTROL[:3], socket=1), "text")
    assert [w.message for w in machine.warnings if not w.message.isprintable()] == []
    assert "incomplete" in {w.code for w in machine.warnings}


LSTOPO = """Machine P#0 (16GB total) (CPUModel="Xe{}on")
  Package P#0
    NUMANode P#0 (16GB)
    Core P#0
      PU P#0
"""
NAMED = {
    "hwloc-xml": '<topology><object type="Machine"><info name="CPUModel" value="Xe{}on"/>'
    '<object type="PU" os_index="0"/></object></topology>',
    "virsh": VIRSH.format(vendor="In{}tel", count=2, socket=1),
    "dmidecode": "Handle 0x0001, DMI type 17, 92 bytes\nMemory Device\n\tSize: 16 GB\n"
    "\tLocator: A{}1\n\tType: DDR5\n",
    "lstopo-text": LSTOPO,
}


@pytest.mark.parametrize("name", NAMED)
def test_no_control_character_in_a_name(name: str) -> None:
    """Names go into JSON as they are, which a terminal may show."""
    module = {"hwloc-xml": hwloc_xml, "virsh": virsh, "dmidecode": dmidecode}
    machine = module.get(name, lstopo_text).read(NAMED[name].replace("{}", CONTROL[:3]), "text")
    names = [machine.cpu.model, machine.cpu.vendor, *(d.locator for d in machine.dimms or ())]
    assert any(names)
    assert all(text is None or text.isprintable() for text in names)
    read(READERS[name].read, NAMED[name].replace("{}", CONTROL))


@pytest.mark.parametrize("between", ["\x1f", "\x85", "\u2028", "\x00", "\n \u00a0"])
def test_no_control_character_of_a_description(between: str) -> None:
    machine = build(f"pack:2{between}core:4{between}pu:1")
    assert machine.source == "synthetic pack:2 core:4 pu:1"
    for bad in (f"numa:2(memory={between}x)", f"[core({between})]", f"pu:4(indexes=a{between})"):
        read(READERS["synthetic"].read, bad)


# Time and size


@pytest.mark.parametrize("text", ["numa:1025 pu:1", "numa:8192 core:2", "l3:4096 [numa] pu:1"])
def test_a_description_has_no_more_nodes_than_linux(text: str) -> None:
    with pytest.raises(UsageError, match="more than 1024 NUMA nodes"):
        build(text)


@pytest.mark.usefixtures("untraced")
def test_many_labels_on_one_line() -> None:
    """The time must not grow with the square of the length of a line."""
    text = "available: 2 nodes (0-1) " + "root@lab:~# numactl -H | grep cpus " * 20_000
    start = process_time()
    with contextlib.suppress(MachineError):
        numactl.read(text, "text")
    assert process_time() - start < 2


def test_a_command_is_known_by_what_is_right_before_it() -> None:
    output = "available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 5 MB\nnode 0 free: 1 MB\n"
    for before in ("", "$ ", "x" * 5000 + "$ ", " " * 5000):
        text = f"{before}numactl -H\n{output}node distances:\nnode 0\n 0: 10\n"
        machine = numactl.read(text, "text")
        assert [str(node.cpus) for node in machine.nodes] == ["0-1"]
