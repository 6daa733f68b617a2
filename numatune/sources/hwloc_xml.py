"""Reading hwloc's XML, as `lstopo x.xml` writes it: format 1 (hwloc 1.x), 2 and 3.

Format: hwloc/topology-xml.c and hwloc/hwloc2.dtd at https://github.com/open-mpi/hwloc. Ids are
os_index, the kernel's; hwloc's own order (L#) plays no part. What hwloc leaves out is recovered
where the XML still names it: `complete_nodeset` and `complete_cpuset` hold the nodes without
memory, the offline CPUs, and what a cgroup forbids.
"""

from __future__ import annotations

import re

from numatune.errors import MachineError
from numatune.machine import CpuSet, Limits, Machine, Node, Warning
from numatune.sources import xml_safe
from numatune.sources.hwloc_nodes import (
    NODE_LIMIT,
    SUPPLY,
    Spot,
    cpus_without_node,
    is_dax,
    kind_of,
    owned,
)
from numatune.sources.hwloc_objects import Found, infos_of, memory_of
from numatune.sources.hwloc_sets import Extent, extent_of, hidden_ids, set_of, union

NAME = "lstopo x.xml"

SIGN = re.compile(
    r"(?:<|&lt;)object\s+type=(?:3D)?(?:\"|'|&quot;)"
    r"(?:Machine|System|NUMANode|Package|Socket|Core|PU)\b"
)
START = re.compile(r"<topology(?=[\s>])[^<>]{0,300}>(?=[^<]{0,200}<object\s)")
KEEP = (
    "object", "info", "page_type", "support",
    "distances2", "indexes", "u64values", "distances", "latency", "memattr", "memattr_value",
)  # fmt: skip
TEXTS = ("indexes", "u64values")


def recognises(text: str) -> bool:
    """Tell whether there is hwloc XML in a text."""
    return SIGN.search(text) is not None


def read(text: str, label: str) -> Machine:
    """Read a machine from hwloc XML; `label` becomes its source.

    Raises MachineError where the XML holds no machine, or is not whole enough to tell its CPUs.
    """
    document = xml_safe.read(text, START, KEEP, TEXTS)
    found = Found(document.root)
    absent = (set_of(found.root, "cpuset") or found.cpus) - found.cpus
    if not found.pus or (document.cut and absent):
        lost = f"the objects of the CPUs {absent} are missing" if absent else "it shows no CPU"
        raise MachineError(
            f"the XML is not whole ({document.cut or 'objects were taken out'}): {lost}; "
            "save it with `lstopo x.xml` and give that file"
        )
    return machine_of(found, document, absent, label)


def machine_of(found: Found, document: xml_safe.Document, absent: CpuSet, label: str) -> Machine:
    """Put the machine together; what is there but not whole is a gap, too."""
    from numatune.sources.hwloc_devices import gpus_of
    from numatune.sources.hwloc_distances import read_distances
    from numatune.sources.hwloc_memory import read_memory
    from numatune.sources.parts import described
    from numatune.sources.sysfs import cores_of

    nodes_shown = {} if found.has_invented_node else found.nodes
    extent = extent_of(found.root, found.pus, nodes_shown, found.infos.get("OSRelease"))
    nodes, doubts = owned(spots_of(found, extent)) if nodes_shown else ((), [no_node(found)])
    distances, damage = read_distances(found.root, document.root, list(nodes_shown.values()))
    packages = found.packages()
    warnings = [
        *warnings_of(document),
        *doubts,
        *left_out(found, extent, nodes, absent),
        *damage,
    ]
    machine = Machine(
        source=label,
        cpu=found.cpu(),
        nodes=nodes,
        cores=cores_of(found.cores(), packages, nodes),
        packages=packages,
        distances=distances,
        online_cpus=extent.online,
        offline_cpus=extent.offline,
        package_count=found.package_count() if packages is None else None,
        is_guest=found.is_guest(),
        gpus=gpus_of(found.devices, nodes) if found.devices else None,
        memory=read_memory(document.root, nodes_shown, nodes),
        limits=limits_of(found, extent),
        warnings=tuple(warnings),
    )
    is_partial = bool(absent) or extent.online is None or bool(extent.online - found.cpus)
    return described(machine, NAME, ("cores", "packages") if is_partial else ())


def spots_of(found: Found, extent: Extent) -> list[Spot]:
    """Return the nodes that are shown, and those that are only named."""
    spots = []
    for number, element in found.nodes.items():
        infos = infos_of(element)
        subtype = element.get("subtype") or infos.get("Type")
        kind = kind_of(subtype)
        if kind == "unknown" and "CXLDevice" in infos:
            kind = "cxl"
        local = set_of(element, extent.node_set)
        if local is None:
            local = set_of(element, "cpuset")
        is_added = "DAXDevice" in infos or is_dax(subtype)
        spots.append(Spot(number, local, memory_of(element), kind, is_added))
    hidden = hidden_ids(found.root, found.nodes)
    if len(hidden) > NODE_LIMIT:
        raise MachineError(f"the XML names more than {NODE_LIMIT} NUMA nodes")
    beside: dict[int, list[int]] = {number: [] for number in hidden}
    for cpu, pu in found.pus.items() if hidden else ():
        for number in (set_of(pu, "complete_nodeset") or CpuSet()) & hidden:
            beside[number].append(cpu)
    return spots + [
        Spot(number, None if extent.left_out else CpuSet(cpus)) for number, cpus in beside.items()
    ]


def limits_of(found: Found, extent: Extent) -> Limits:
    """Return what the process that wrote the XML was allowed, where that is not everything."""
    mems = set_of(found.root, "allowed_nodeset")
    every = union(set_of(found.root, name) for name in ("nodeset", "complete_nodeset"))
    is_less = mems is not None and not found.has_invented_node and bool(every - mems)
    return Limits(extent.allowed, (mems or CpuSet()) & every or None if is_less else None)


# Warnings -----------------------------------------------------------------------------------------


def warnings_of(document: xml_safe.Document) -> list[Warning]:
    """Say what is wrong with the text, or was undone."""
    warnings = []
    if document.undone:
        text = f"undone in the text: {' and '.join(document.undone)}"
        warnings.append(Warning("repaired", text))
    if document.cut:
        text = (
            f"the XML is not whole ({document.cut}); all CPUs are there, but what follows them may "
            "be missing, as the distances. Save it with `lstopo x.xml`"
        )
        warnings.append(Warning("incomplete", text))
    if document.stray:
        text = (
            f"there is text between the elements of the XML ({document.stray!r}), which is left "
            "out; save it with `lstopo x.xml` and give that file"
        )
        warnings.append(Warning("stray-text", text))
    return warnings


def left_out(
    found: Found, extent: Extent, nodes: tuple[Node, ...], absent: CpuSet
) -> list[Warning]:
    """Name the CPUs and nodes that hwloc, or somebody after it, left out."""
    warnings = []
    hidden = CpuSet(node.id for node in nodes) - CpuSet(found.nodes)
    if hidden:
        text = (
            f"hwloc names the nodes {hidden} and does not show them: they have no memory, or a "
            f"cgroup forbids it. {SUPPLY}"
        )
        warnings.append(Warning("nodes-hidden", text))
    if absent:
        text = (
            f"the CPUs {absent} are in the machine's CPU set, and their objects are missing, so "
            "that its cores and packages are not whole. Save it with `lstopo x.xml`"
        )
        warnings.append(Warning("incomplete", text))
    elif not hidden:
        warnings += cpus_without_node(nodes, found.cpus)
    if extent.left_out:
        text = (
            f"hwloc does not show the CPUs {extent.left_out}: they are offline, or the cgroup "
            "(container, job) in which it ran forbids them. `lscpu -e` tells, or "
            "`lstopo --disallowed x.xml`"
        )
        warnings.append(Warning("cpus-left-out", text))
    return warnings


def no_node(found: Found) -> Warning:
    """Say why there is no node."""
    if found.has_invented_node:
        text = (
            "the kernel shows no NUMA node, and the one in the XML is made up by hwloc, as in some "
            f"containers and on kernels without NUMA. {SUPPLY} more"
        )
        return Warning("no-numa-information", text)
    text = (
        f"the XML shows no NUMA node, as hwloc 1.x does where there is one or none. {SUPPLY} which"
    )
    return Warning("nodes-hidden", text)
