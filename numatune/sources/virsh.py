"""Reading `virsh capabilities`: the NUMA cells of the host with their CPUs, cores and packages.

Format: `virCapabilitiesHostNUMAFormat` in src/conf/capabilities.c at
https://github.com/libvirt/libvirt, and https://libvirt.org/formatcaps.html. The `<topology>` of
`<cpu>` counts sockets as libvirt sees fit and is not read, nor is its model, which is a name of
libvirt's own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numatune.errors import MachineError
from numatune.machine import Cpu, CpuSet, Distances, Machine, Node, Package, Warning
from numatune.machine.cpuset import ID_LIMIT
from numatune.sources import xml_safe
from numatune.sources.hwloc_nodes import NODE_LIMIT, shared_cpus
from numatune.sources.xml_safe import Element
from numatune.words import clean, shown

NAME = "virsh capabilities"
SUPPLY = "save `virsh capabilities > x.xml` and give that file"

SIGN = re.compile(
    r"(?:<|&lt;)cells\s+num=(?:3D)?(?:\"|'|&quot;|&#39;)|(?:<|&lt;)capabilities(?:>|&gt;)"
)
WHOLE = re.compile(r"<capabilities(?=[\s>])[^<>]{0,200}>")
CELLS = re.compile(r"<cells(?=[\s>])[^<>]{0,200}>")
KEEP = (
    "host", "cpu", "arch", "vendor", "topology", "cells", "cell", "memory", "distances", "sibling",
    "cpus",
)  # fmt: skip
TEXTS = ("arch", "vendor", "memory")
NUMBER = re.compile(r"[0-9]{1,18}")
UNITS = {
    None: 10, "b": 0, "bytes": 0, "k": 10, "kib": 10, "m": 20, "mib": 20, "g": 30, "gib": 30,
    "t": 40, "tib": 40,
}  # fmt: skip
#: Ids of sockets are the firmware's, of 32 bits.
SOCKET_LIMIT = 1 << 31
#: libvirt's names of vendors (src/cpu_map/) -> those of /proc/cpuinfo.
VENDORS = {"Intel": "GenuineIntel", "AMD": "AuthenticAMD", "Hygon": "HygonGenuine"}


class HostCpu(NamedTuple):
    """One CPU as a cell lists it; None is what is not stated, as for offline CPUs."""

    id: int
    socket: int | None = None
    siblings: CpuSet | None = None


def recognises(text: str) -> bool:
    """Tell whether there is output of `virsh capabilities` in a text."""
    return SIGN.search(text) is not None


def read(text: str, label: str) -> Machine:
    """Read a machine from the XML; `label` becomes its source.

    Raises MachineError where there is no cell, as in containers, or the XML is not whole.
    """
    start = WHOLE if WHOLE.search(text) or not CELLS.search(text) else CELLS
    document = xml_safe.read(text, start, KEEP, TEXTS)
    if start is WHOLE:
        host = document.root.all("host")
        topology = [t for each in host for t in each.all("topology")]
        groups = [c for each in topology for c in each.all("cells")]
        cpus = [c for each in host for c in each.all("cpu")]
    else:
        groups, cpus = [document.root], []
    cells = [cell for group in groups for cell in group.all("cell")]
    if not cells:
        raise MachineError(f"the XML lists no NUMA cell of the host, as libvirt does in "
                           f"containers; {document.cut or 'run it on the host'}")  # fmt: skip
    announced = shown_count(groups[0])
    if document.cut and announced != str(len(cells)):
        raise MachineError(f"the XML is cut ({document.cut}): of {announced} cells "
                           f"{len(cells)} are there; {SUPPLY}")  # fmt: skip
    return machine_of(cells, announced, cpus, document, label)


def machine_of(
    cells: list[Element], announced: str | None, cpus: list[Element],
    document: xml_safe.Document, label: str,
) -> Machine:  # fmt: skip
    """Put the machine together."""
    from numatune.sources.parts import described
    from numatune.sources.sysfs import cores_of

    warnings = warnings_of(document)
    if announced != str(len(cells)):
        text = f"of {announced} cells {len(cells)} are there; {SUPPLY}"
        warnings.append(Warning("incomplete", text))
    ids = [number(cell.get("id"), "cell id", NODE_LIMIT) for cell in cells]
    if len(set(ids)) < len(ids):
        raise MachineError(f"a cell is in the XML twice; {SUPPLY} of one machine")
    listed = [cpus_of(cell, warnings) for cell in cells]
    nodes = tuple(
        Node(n, cpus_online(hosts), memory_of(cell, n, warnings))
        for n, cell, hosts in sorted(zip(ids, cells, listed, strict=True), key=lambda x: x[0])
    )
    hosts = [host for group in listed for host in group or ()]
    if shared_cpus(nodes):
        text = f"several cells have the CPUs {shared_cpus(nodes)}; `numactl --hardware` tells"
        warnings.append(Warning("nodes-overlap", text))
    if None in listed or len({host.id for host in hosts}) < len(hosts):
        hosts = []
    off = CpuSet(host.id for host in hosts if host.socket is None and host.siblings is None)
    if off:
        text = (
            f"libvirt says nothing of the CPUs {off} but their numbers, as of offline ones; they "
            "are left out. `lscpu -e` tells"
        )
        warnings.append(Warning("cpus-left-out", text))
    online = CpuSet(host.id for host in hosts) - off
    packages, sets = packages_of(hosts, online), core_sets(hosts, online)
    if sets is None:
        text = "which CPUs share a core is not known, from what the XML says; `lscpu -e` tells"
        warnings.append(Warning("cores-unknown", text))
    machine = Machine(
        source=label,
        cpu=cpu_of(cpus),
        nodes=nodes,
        cores=cores_of(sets, packages, nodes),
        packages=packages,
        distances=distances_of(cells, ids, warnings),
        online_cpus=online or None,
        warnings=tuple(warnings),
    )
    return described(machine, NAME)


def warnings_of(document: xml_safe.Document) -> list[Warning]:
    """Say what is wrong with the text, or was undone."""
    warnings = []
    if document.undone:
        text = f"undone in the text: {' and '.join(document.undone)}"
        warnings.append(Warning("repaired", text))
    if document.cut:
        text = f"the XML is not whole ({document.cut}), but all cells are there; {SUPPLY}"
        warnings.append(Warning("incomplete", text))
    if document.stray:
        text = f"there is text between the elements ({document.stray!r}), left out; {SUPPLY}"
        warnings.append(Warning("stray-text", text))
    return warnings


def number(text: str | None, what: str, limit: int = 1 << 62) -> int:
    """Return a whole number below a limit. Raises MachineError."""
    if text is None or not NUMBER.fullmatch(text) or int(text) >= limit:
        raise MachineError(f"{what} {str(text)[:30]!r} is no such number; the XML is damaged; "
                           f"{SUPPLY}")  # fmt: skip
    return int(text)


def cpus_of(cell: Element, warnings: list[Warning]) -> list[HostCpu] | None:
    """Return the CPUs that a cell lists, None where they are not all there. Raises MachineError."""
    groups = cell.all("cpus")
    if not groups:
        return None
    hosts = []
    for element in groups[0].all("cpu"):
        socket, siblings = element.get("socket_id"), element.get("siblings")
        hosts.append(
            HostCpu(
                number(element.get("id"), "CPU", ID_LIMIT),
                None if socket in (None, "-1") else number(socket, "socket_id", SOCKET_LIMIT),
                None if siblings is None else id_set(siblings),
            )
        )
    announced = shown_count(groups[0])
    if announced != str(len(hosts)):
        text = (
            f"of the CPUs of cell {shown(cell.get('id'))} not all are there "
            f"({len(hosts)} of {announced}); {SUPPLY}"
        )
        warnings.append(Warning("incomplete", text))
        return None
    return hosts


def shown_count(element: Element) -> str | None:
    """Return how many inner elements one announces, as it may be printed."""
    count = element.get("num")
    return None if count is None else shown(count)


def id_set(text: str) -> CpuSet:
    """Return a list of ids. Raises MachineError."""
    try:
        return CpuSet.parse(text)
    except ValueError as error:
        raise MachineError(f"siblings={text[:30]!r}: {error}; {SUPPLY}") from None


def cpus_online(hosts: list[HostCpu] | None) -> CpuSet | None:
    """Return the CPUs of a cell of which libvirt knows the place."""
    if hosts is None:
        return None
    return CpuSet(h.id for h in hosts if h.socket is not None or h.siblings is not None)


def memory_of(cell: Element, node: int, warnings: list[Warning]) -> int | None:
    """Return the memory of a cell in bytes, None where it is not stated or is damaged."""
    elements = cell.all("memory")
    text = elements[0].text.strip() if elements else ""
    unit = elements[0].get("unit") if elements else None
    shift = UNITS.get(unit.lower() if unit else None)
    if not NUMBER.fullmatch(text) or shift is None:
        text = f"the memory of cell {node} is not stated; `numactl --hardware` tells"
        warnings.append(Warning("memory-unknown", text))
        return None
    return int(text) << shift


def packages_of(hosts: list[HostCpu], online: CpuSet) -> tuple[Package, ...] | None:
    """Return the packages by id, None where some CPU's is not stated."""
    sets: dict[int, list[int]] = {}
    for host in hosts:
        if host.id in online:
            if host.socket is None:
                return None
            sets.setdefault(host.socket, []).append(host.id)
    return tuple(Package(n, CpuSet(sets[n])) for n in sorted(sets)) or None


def core_sets(hosts: list[HostCpu], online: CpuSet) -> tuple[CpuSet, ...] | None:
    """Return the siblings of each core, None where they are not stated or contradict."""
    sets: dict[CpuSet, CpuSet] = {}
    seen = CpuSet()
    for host in hosts:
        if host.id not in online:
            continue
        siblings = host.siblings & online if host.siblings is not None else None
        if siblings is None or host.id not in siblings:
            return None
        if siblings not in sets:
            if siblings & seen:
                return None
            seen |= siblings
            sets[siblings] = siblings
    return tuple(sorted(sets, key=CpuSet.first)) if seen == online and sets else None


def distances_of(cells: list[Element], ids: list[int], warnings: list[Warning]) -> Distances | None:
    """Return the distances, None where a cell states none."""
    rows: dict[int, dict[int, int]] = {}
    for node, cell in zip(ids, cells, strict=True):
        siblings = [s for each in cell.all("distances") for s in each.all("sibling")]
        rows[node] = {
            number(s.get("id"), "sibling", NODE_LIMIT): number(s.get("value"), "distance", 1 << 20)
            for s in siblings
        }
    order = tuple(sorted(ids))
    if not any(rows.values()):
        return None
    if any(set(row) != set(order) for row in rows.values()):
        text = f"the distances are not whole, and are left out; {SUPPLY}"
        warnings.append(Warning("damaged-table", text))
        return None
    return Distances(order, tuple(tuple(rows[a][b] for b in order) for a in order))


def cpu_of(elements: list[Element]) -> Cpu:
    """Return what is said of the host's CPU."""
    if len(elements) != 1:
        return Cpu()
    arch, vendor = (
        next((clean(e.text.strip()[:40]) for e in elements[0].all(tag)), "")
        for tag in ("arch", "vendor")
    )
    return Cpu(arch or None, VENDORS.get(vendor, vendor) or None)
