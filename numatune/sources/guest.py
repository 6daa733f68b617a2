"""Whether a machine is a virtual one, whose topology its hypervisor made up."""

from __future__ import annotations

from numatune.machine import Cpu
from numatune.sources.tree import Tree

DMI = ("sys/devices/virtual/dmi/id", "sys/class/dmi/id")
#: Beginnings of sys_vendor or product_name that only hypervisors use; after systemd's table
#: (https://github.com/systemd/systemd/blob/main/src/basic/virt.c) without those names that real
#: servers bear, too (Oracle, Amazon EC2, Google Compute Engine).
HYPERVISORS = (
    "Apple Virtualization",
    "BHYVE",
    "Bochs",
    "Droplet",
    "KVM",
    "KubeVirt",
    "OpenStack",
    "Parallels",
    "QEMU",
    "RHEV Hypervisor",
    "Standard PC",
    "VMW",
    "VMware",
    "Virtual Machine",
    "VirtualBox",
    "Xen",
    "innotek",
    "oVirt",
)
#: PCI vendors that make devices for guests alone: VirtualBox, VMware, Parallels, Xen.
PCI_VENDORS = ("80ee", "15ad", "1ab8", "5853")
PCI_LIMIT = 1 << 20


def read_is_guest(tree: Tree, cpu: Cpu) -> bool | None:
    """Tell whether the machine is virtual; False only where an x86 CPU shows no hypervisor."""
    features = cpu.features or frozenset()
    if (
        "hypervisor" in features
        or tree.text("sys/hypervisor/type")
        or names_hypervisor(tree)
        or "VM00 Control Program" in (tree.text("proc/sysinfo") or "")
        or tree.is_folder("proc/device-tree/hypervisor")
    ):
        return True
    return False if "fpu" in features and cpu.architecture in ("x86_64", "i686") else None


def names_hypervisor(tree: Tree) -> bool:
    """Tell whether the firmware names a hypervisor as maker or model, or a PCI device does."""
    folder = next((folder for folder in DMI if tree.is_folder(folder)), None)
    if folder is None:
        # Lines begin with the place, and the vendor and device: "0010 80eecafe".
        lines = (tree.text("proc/bus/pci/devices", PCI_LIMIT) or "").splitlines()
        return any(line.partition("\t")[2].startswith(PCI_VENDORS) for line in lines)
    names = (tree.text(f"{folder}/{name}") or "" for name in ("sys_vendor", "product_name"))
    return any(name.startswith(HYPERVISORS) for name in names)
