"""Whether a tree is that of a virtual machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from numatune.machine import Cpu
from numatune.sources.guest import read_is_guest
from numatune.sources.tree import Tree
from tests.sources.trees import X86, write_files

DMI = "sys/devices/virtual/dmi/id"
GUEST = X86._replace(features=frozenset({"fpu", "lm", "hypervisor"}))
ARM = Cpu("aarch64", "ARM", "Neoverse-N1", frozenset({"fp", "asimd"}))
DELL = {f"{DMI}/sys_vendor": "Dell Inc.\n", f"{DMI}/product_name": "PowerEdge R7625\n"}


@pytest.mark.parametrize(
    ("cpu", "files", "expected"),
    [
        (GUEST, {}, True),
        (GUEST, DELL, True),
        (X86, {}, False),
        (X86, DELL, False),
        (X86, {f"{DMI}/sys_vendor": "QEMU\n"}, True),
        (X86, {f"{DMI}/product_name": "VMware7,1\n"}, True),
        (X86, {f"{DMI}/sys_vendor": "Microsoft Corporation\n",
               f"{DMI}/product_name": "Virtual Machine\n"}, True),
        (X86, {f"{DMI}/sys_vendor": "Microsoft Corporation\n",
               f"{DMI}/product_name": "Surface Laptop 4\n"}, False),
        (X86, {f"{DMI}/sys_vendor": "Oracle Corporation\n",
               f"{DMI}/product_name": "ORACLE SERVER X9-2\n"}, False),
        (X86, {"sys/class/dmi/id/sys_vendor": "innotek GmbH\n"}, True),
        (X86, {"sys/hypervisor/type": "xen\n"}, True),
        (X86, {"proc/bus/pci/devices": "0008\t80861237\t0\n0010\t80eecafe\t14\n"}, True),
        (X86, {"proc/bus/pci/devices": "0010\t10eecafe\t14\n0020\t808680ee\t1\n"}, False),
        (ARM, {}, None),
        (ARM, DELL, None),
        (ARM, {"proc/device-tree/hypervisor/compatible": "linux,kvm\n"}, True),
        (Cpu(), {}, None),
        (Cpu("s390x"), {"proc/sysinfo": "LPAR Name: A\nVM00 Control Program: z/VM    6.4\n"}, True),
        (Cpu("s390x"), {"proc/sysinfo": "LPAR Name: A\n"}, None),
    ],
)  # fmt: skip
def test_is_guest(tmp_path: Path, cpu: Cpu, files: dict[str, str], expected: bool | None) -> None:
    (tmp_path / "sys").mkdir()
    assert read_is_guest(Tree(str(write_files(tmp_path, files))), cpu) is expected
