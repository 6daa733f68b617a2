"""CPU and node sets of hwloc's XML, and what they say of CPUs that it leaves out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from numatune.errors import MachineError
from numatune.machine import CpuSet
from numatune.machine.cpuset import ID_LIMIT
from numatune.sources.xml_safe import Element

#: Groups of 32 bits, highest first; a group of zeros may be empty (hwloc/bitmap.c).
GROUP = re.compile(r"(?:0x[0-9a-fA-F]{1,8})?")
INFINITE = "0xf...f"
#: What hwloc writes for an object that the system gives no number.
UNKNOWN_IDS = (None, "-1", "4294967295")
RELEASE = re.compile(r"([0-9]{1,3})\.([0-9]{1,4})")


@lru_cache(maxsize=4096)
def parsed(text: str) -> CpuSet | None:
    """Read a set, None where it has no end ("0xf...f"). Raises MachineError."""
    if text.startswith(INFINITE):
        return None
    groups = text.split(",")
    if len(groups) > ID_LIMIT // 32 or not all(map(GROUP.fullmatch, groups)) or not groups[0]:
        raise MachineError(f"{text[:40]!r} is no CPU or node set of hwloc; the XML is damaged")
    mask = 0
    for group in groups:
        mask = mask << 32 | int(group or "0", 16)
    return CpuSet.of_mask(mask)


def set_of(element: Element, name: str) -> CpuSet | None:
    """Return a set of an object, None where it is not there or has no end."""
    text = element.get(name)
    return None if text is None else parsed(text)


def id_of(element: Element) -> int | None:
    """Return the kernel's number of an object, None where it has none. Raises MachineError."""
    text = element.get("os_index")
    if text in UNKNOWN_IDS:
        return None
    return whole(text or "", "os_index")


def whole(text: str, what: str) -> int:
    """Return a whole number of at most 18 digits. Raises MachineError."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise MachineError(f"{what}={text[:40]!r} is not a number; the XML is damaged")
    return int(text)


class Extent(NamedTuple):
    """Which CPUs there are beside those shown.

    `left_out` are not shown for a reason that the XML does not state; `some_are_online` is true
    where the kernel lists some of them in a node. `node_set` names the attribute that holds all
    CPUs of a node.
    """

    online: CpuSet | None
    offline: CpuSet | None
    allowed: CpuSet | None = None
    left_out: CpuSet = CpuSet()
    some_are_online: bool = False
    node_set: str = "cpuset"


def extent_of(
    root: Element, shown: Collection[int], nodes: dict[int, Element], release: str | None
) -> Extent:
    """Tell the CPUs that are online, offline and allowed, as far as the XML does.

    hwloc leaves offline CPUs and those that a cgroup forbids out of `cpuset`, and keeps both in
    `complete_cpuset`. Format 1 tells them apart (`online_cpuset`), `lstopo --disallowed` does
    (`allowed_cpuset`), and so do the nodes, all of whose online CPUs are in their
    `complete_cpuset`, where every node is shown. There kernels before 4.14 still list offline
    CPUs (commit 064f0e9302af of Linux), so that nothing follows.
    """
    cpuset = set_of(root, "cpuset") or CpuSet(shown)
    complete = (set_of(root, "complete_cpuset") or cpuset) | cpuset
    online, allowed = set_of(root, "online_cpuset"), set_of(root, "allowed_cpuset")
    if any(each is not None and each != cpuset for each in (online, allowed)):
        up = cpuset if online is None else online
        may = up if allowed is None else up & allowed
        name = "cpuset" if online is None else "online_cpuset"
        return Extent(up, complete - up, None if may == up else may, node_set=name)
    missing = complete - cpuset
    if not missing:
        return Extent(cpuset, CpuSet())
    in_nodes = union(set_of(node, "complete_cpuset") for node in nodes.values()) & missing
    every_node = bool(nodes) and not hidden_ids(root, nodes)
    if every_node and not in_nodes:
        return Extent(cpuset, missing)
    if every_node and filters_offline(release):
        return Extent(cpuset | in_nodes, missing - in_nodes, cpuset, missing, True,
                      "complete_cpuset")  # fmt: skip
    return Extent(None, None, cpuset, missing, bool(in_nodes), "complete_cpuset")


def hidden_ids(root: Element, nodes: Collection[int]) -> CpuSet:
    """Return the ids of nodes that the kernel has and hwloc does not show."""
    stated = union(set_of(root, name) for name in ("nodeset", "complete_nodeset"))
    return stated - CpuSet(nodes)


def union(sets: Iterable[CpuSet | None]) -> CpuSet:
    """Return all that is in any of the sets that are known."""
    mask = 0
    for each in sets:
        mask |= 0 if each is None else each.mask
    return CpuSet.of_mask(mask)


def filters_offline(release: str | None) -> bool:
    """Tell whether a kernel leaves offline CPUs out of a node's cpumap; False where unknown."""
    found = RELEASE.match(release or "")
    return found is not None and (int(found[1]), int(found[2])) >= (4, 14)
