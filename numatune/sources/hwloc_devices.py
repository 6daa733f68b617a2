"""GPUs among the PCI and OS devices of hwloc's XML, and the node that each hangs on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from numatune.machine import CpuSet, Gpu, Node
from numatune.sources.xml_safe import Element
from numatune.words import clean

#: "0302 [10de:20b0] ..." : PCI class, vendor, device.
PCI_TYPE = re.compile(r"(?P<class>[0-9a-f]{4}) \[(?P<vendor>[0-9a-f]{4}):", re.IGNORECASE)
#: Vendors of graphics adapters that compute: AMD, NVIDIA, Intel. Servers have others for the
#: console (ASPEED, Matrox), guests have emulated ones.
GPU_VENDORS = frozenset(("1002", "10de", "8086"))
#: OS devices that hwloc names after the library that found a GPU.
SOFTWARE = re.compile(r"(nvml|cuda|rsmi|ze|opencl)([0-9]{1,4})")


class Device(NamedTuple):
    """A PCI device, the OS devices in it, and the CPUs of the object that it hangs on.

    `cpus` is None where it hangs on the whole machine, that is, where its place is not known.
    """

    element: Element
    names: tuple[str, ...]
    cpus: CpuSet | None


def gpus_of(devices: Iterable[Device], nodes: Sequence[Node]) -> tuple[Gpu, ...]:
    """Return the GPUs among devices. On a machine with one node each is near that one."""
    only = nodes[0].id if len(nodes) == 1 and nodes[0].cpus else None
    gpus = []
    for device in devices:
        if is_gpu(device):
            near = [n.id for n in nodes if n.cpus and device.cpus and n.cpus & device.cpus]
            node = near[0] if len(near) == 1 else only
            gpus.append(Gpu(name_of(device), node, device.cpus))
    return tuple(gpus)


def is_gpu(device: Device) -> bool:
    """Tell whether a device computes: by its PCI class, or because a GPU library found it."""
    found = PCI_TYPE.match(device.element.get("pci_type") or "")
    if found is not None:
        kind, vendor = found["class"].lower(), found["vendor"].lower()
        if kind in ("0302", "0380") or kind.startswith("12"):
            return True
        if kind.startswith("03"):
            return vendor in GPU_VENDORS
        return False
    return any(SOFTWARE.match(name) for name in device.names)


def name_of(device: Device) -> str:
    """Return how a GPU is called: as nvidia-smi does (which counts as NVML does), or by hwloc."""
    order = ("nvml", "cuda", "rsmi", "ze", "opencl")
    found = [m for m in map(SOFTWARE.match, device.names) if m]
    if found:
        best = min(found, key=lambda m: order.index(m[1]))
        return f"GPU{best[2]}" if best[1] == "nvml" else clean(best.string[:40])
    return clean(f"PCI {device.element.get('pci_busid') or 'device'}"[:40])
