"""What of an archive's members belongs to a tree and may be looked at by the readers of one."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from numatune.errors import MachineError
from numatune.sources.archive_members import FOLDER, HARD_LINK, LINK, Member, members
from numatune.sources.archive_stream import Unpacked
from numatune.sources.cgroup import CPUS, MEMS, MOUNTS_LIMIT
from numatune.sources.guest import PCI_LIMIT
from numatune.sources.procfs import CPUINFO_LIMIT
from numatune.sources.sysfs_cpu import CORE_LISTS, CORE_MASKS, PACKAGE_LISTS, PACKAGE_MASKS
from numatune.sources.tree import FILE_LIMIT, printable

#: Files and folders that are kept: 4096 CPUs have 50,000.
ENTRY_LIMIT = 60_000
#: Their bytes: 4096 CPUs whose siblings are given as lists and as masks have 24 MB.
KEPT_LIMIT = 64 << 20


class Link(NamedTuple):
    """A symbolic link, and what it leads to, seen from its folder."""

    target: str


#: The content of a file, None for a folder, or a link.
Entry = bytes | Link | None


def one_of(*names: str) -> str:
    """Return a pattern for any of these names."""
    return "(?:" + "|".join(map(re.escape, names)) + ")"


#: Files that may be anywhere: a cgroup is where it is mounted, a DAX device where its bus is.
LOOSE_FILES = one_of(
    *(name for kinds in (CPUS, MEMS) for names in kinds.values() for name in names),
    *("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cgroup.controllers", "target_node"),
)
TOPOLOGY = one_of(*CORE_LISTS, *CORE_MASKS, *PACKAGE_LISTS, *PACKAGE_MASKS, "physical_package_id")
#: The files that the readers open, below sys.
SYS_FILES = (
    "devices/system/cpu/" + one_of("online", "offline", "present", "isolated", "smt/control"),
    f"devices/system/cpu/cpu[0-9]+/(?:online|topology/{TOPOLOGY})",
    "devices/system/node/" + one_of("online", "has_generic_initiator"),
    "devices/system/node/node[0-9]+/" + one_of("cpumap", "cpulist", "meminfo", "distance"),
    "devices/system/node/node[0-9]+/access[01]/initiators/(?:read|write)_(?:bandwidth|latency)",
    "devices/system/node/node[0-9]+/memory_side_cache/index[0-9]+/size",
    "devices/virtual/memory_tiering/memory_tier[0-9]+/nodelist",
    "devices/system/edac/mc/mc[0-9]+/(?:max_location|dimm[0-9]+/size)",
    "(?:devices/virtual|class)/dmi/id/" + one_of("sys_vendor", "product_name"),
    "devices/cpu_atom/cpus",
    "hypervisor/type",
    "kernel/mm/transparent_hugepage/enabled",
)
#: Those below proc.
PROC_FILES = (
    one_of("cpuinfo", "meminfo", "cmdline", "sysinfo", "mounts", "hwloc-nofile-info"),
    one_of("bus/pci/devices", "sys/kernel/numa_balancing", "sys/vm/zone_reclaim_mode"),
    "(?:self|[0-9]+)/" + one_of("status", "cgroup", "cpuset", "mountinfo", "mounts"),
    "driver/nvidia/gpus/[^/]+/numa_status",
)
#: The folders whose being there tells something, whatever they hold, and links that lead to such.
SYS_FOLDERS = (
    "devices/system/cpu/cpu[0-9]+(?:/topology)?",
    "devices/system/node/node[0-9]+/access[01]/initiators/node[0-9]+",
    "devices/system/node/node[^/]*",
    "devices/virtual/memory_tiering",
    "devices/system/edac/mc/mc[0-9]+(?:/(?:dimm|rank)[0-9]+)?",
    "(?:devices/virtual|class)/dmi/id",
    "bus/dax/devices/[^/]+",
    "firmware/devicetree/base/hypervisor",
)
PROC_FOLDERS = ("device-tree(?:/hypervisor)?", "driver/nvidia/gpus/[^/]+", "self")


def anywhere(sys: tuple[str, ...], proc: tuple[str, ...], *rest: str) -> str:
    """Return a pattern for paths of a tree at any depth; a copy of /sys may be called otherwise."""
    below = f"(?:sys/)?(?:{'|'.join(sys)})|proc/(?:{'|'.join(proc)})"
    return f"(?:^|(?<=/))(?:{'|'.join((below, *rest))})"


FILES = re.compile(anywhere(SYS_FILES, PROC_FILES, LOOSE_FILES) + r"\Z")
FOLDERS = re.compile(anywhere(SYS_FOLDERS, PROC_FOLDERS) + r"(?=/|\Z)")
#: What makes a folder the root of a tree.
ROOT = re.compile(r"(?:^|(?<=/))(?:(?:sys/)?devices/system/(?:cpu|node)(?=/|\Z)|proc/cpuinfo\Z)")
#: Bytes of a file up to which a reader takes it, where it is not FILE_LIMIT.
LIMITS = {
    "cpuinfo": CPUINFO_LIMIT,
    "mounts": MOUNTS_LIMIT,
    "mountinfo": MOUNTS_LIMIT,
    "devices": PCI_LIMIT,
}


def gather(data: Unpacked) -> dict[str, Entry]:
    """Return the tree of an archive: its entries by path, each folder before what it holds.

    Raises MachineError where the archive is to be refused, or holds no tree, or several.
    """
    kept = Kept(data)
    for member in members(data):
        kept.add(member)
    return kept.tree()


class Kept:
    """The entries of an archive that its readers could look at."""

    def __init__(self, data: Unpacked) -> None:
        self._data = data
        self._entries: dict[str, Entry] = {}
        self._lower: dict[str, str] = {}
        self._links: set[str] = set()
        self._roots: dict[str, None] = {}
        self._size = 0

    def add(self, member: Member) -> None:
        """Take what is needed of one member. Raises MachineError where none may be in a tree."""
        path, kind = member.path, member.kind
        if kind == LINK:
            self._note_link(member)
        folder = FOLDERS.search(path)
        if folder and (folder.end() < len(path) or kind == FOLDER):
            self._keep(path[: folder.end()], None)
        if kind == LINK and folder and folder.end() == len(path):
            self._keep(path, Link(member.target))
        elif kind != FOLDER and FILES.search(path):
            self._keep(path, self._content(member))

    def tree(self) -> dict[str, Entry]:
        """Return the entries of the only tree, by their path in it."""
        roots = [printable(root or ".", 60) for root in self._roots]
        if not roots:
            raise self._data.refusal("holds no recorded /sys tree")
        if len(roots) > 1:
            more = f" and {len(roots) - 5} more" if len(roots) > 5 else ""
            raise self._data.refusal(
                f"holds {len(roots)} trees ({', '.join(roots[:5])}{more}): unpack it and give the "
                "folder of one of them"
            )
        root = next(iter(self._roots))
        front = f"{root}/" if root else ""
        entries = self._entries.items()
        tree = {path[len(front) :]: e for path, e in entries if path.startswith(front)}
        for path, entry in tree.items():
            if isinstance(entry, Link) and leaves(path, entry.target):
                raise self._data.refusal(
                    f"is not taken: the link {printable(path)} leads out of its tree"
                )
        if "devices/system" not in tree:
            # Without it, proc/sys would make proc look like a tree.
            tree.setdefault("sys", None)
        return tree

    def _note_link(self, member: Member) -> None:
        if leaves(member.path, member.target):
            raise self._data.refusal(
                f"is not taken: the link {printable(member.path)} in it leads out of it"
            )
        self._links.add(member.path)
        if member.path in self._entries:
            raise self._twice(member.path)

    def _content(self, member: Member) -> Entry:
        """Return what a member that is no folder holds."""
        if member.kind == LINK:
            return Link(member.target)
        if member.kind == HARD_LINK:
            content = self._entries.get(member.target)
            if isinstance(content, bytes):
                return content
            raise self._data.refusal(
                f"holds {printable(member.path)} only as a hard link to {printable(member.target)}"
                ", which is not read; unpack it and give the folder"
            )
        limit = LIMITS.get(member.path.rpartition("/")[2], FILE_LIMIT)
        # One byte more tells the reader that it is too large. The tar of a running system's /sys
        # pads each file to the size that the kernel states, a page.
        return self._data.take(min(member.size, limit + 1)).rstrip(b"\0")

    def _keep(self, path: str, entry: Entry) -> None:
        """Keep an entry and the folders above it."""
        known = self._entries
        if path in known:
            if known[path] != entry:
                raise self._twice(path)
            return
        root = ROOT.search(path)
        if root:
            self._roots.setdefault(path[: root.start()].rstrip("/"))
        missing = [path]
        while (path := path.rpartition("/")[0]) and path not in known:
            missing.append(path)
        if path and known[path] is not None:
            raise self._twice(path)
        for name in reversed(missing):
            self._put(name, entry if name == missing[0] else None)

    def _put(self, path: str, entry: Entry) -> None:
        if path in self._links and not isinstance(entry, Link):
            raise self._twice(path)
        other = self._lower.setdefault(path.casefold(), path)
        if other != path:
            raise self._data.refusal(
                f"is not taken: {printable(other)} and {printable(path)} in it differ only by case"
            )
        self._entries[path] = entry
        self._size += len(entry) if isinstance(entry, bytes) else 0
        if len(self._entries) > ENTRY_LIMIT or self._size > KEPT_LIMIT:
            raise self._data.refusal("holds more topology than any machine has")

    def _twice(self, path: str) -> MachineError:
        return self._data.refusal(f"is not taken: {printable(path)} in it is two different things")


def leaves(path: str, target: str) -> bool:
    """Tell whether a link leads out of the folder from which its path is counted."""
    if target.startswith("/"):
        return True
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return end == ".." or end.startswith("../")
