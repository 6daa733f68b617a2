"""The memory attributes in hwloc's XML: what the firmware rates each node at (format 2.3 and on).

Format: `memattr` in hwloc/hwloc2.dtd at https://github.com/open-mpi/hwloc.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numatune.machine import Access, CpuSet, Memory, Node
from numatune.sources.hwloc_sets import set_of, whole
from numatune.sources.xml_safe import Element

#: hwloc's name -> the field of `Access` that it gives.
RATINGS = {
    "ReadBandwidth": "read_bandwidth_mib_s",
    "WriteBandwidth": "write_bandwidth_mib_s",
    "ReadLatency": "read_latency_ns",
    "WriteLatency": "write_latency_ns",
}
#: Above this no memory is; it is the bound of the kernel's files, too.
RATING_LIMIT = 1 << 40


def read_memory(
    topology: Element, elements: Mapping[int, Element], nodes: Iterable[Node]
) -> Memory | None:
    """Return the ratings of the nodes shown, None where the XML has none.

    A node that several initiators reach is rated for the nearest, as in the kernel: the one with
    the greatest bandwidth, which hwloc writes for each. Raises MachineError where it is damaged.
    """
    ids = {element.get("gp_index"): number for number, element in elements.items()}
    homes = [(node.id, node.cpus) for node in nodes if node.cpus]
    found: dict[int, dict[str, int]] = {}
    near: dict[int, CpuSet] = {}
    for attribute in topology.all("memattr"):
        field = RATINGS.get(attribute.get("name") or "")
        if field is None:
            continue
        for value in attribute.all("memattr_value"):
            number = ids.get(value.get("target_obj_gp_index"))
            rating = whole(value.get("value") or "", "value")
            if number is None or not 0 < rating < RATING_LIMIT:
                continue
            known = found.setdefault(number, {}).get(field)
            is_better = known is None or (
                rating > known if "bandwidth" in field else rating < known
            )
            if is_better:
                cpus = set_of(value, "initiator_cpuset") or CpuSet()
                found[number][field] = rating
                near[number] = CpuSet(i for i, own in homes if own <= cpus)
    accesses = [Access(n, near[n], **fields) for n, fields in sorted(found.items())]
    return Memory(tuple(accesses)) if accesses else None
