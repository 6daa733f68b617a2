"""What cgroups and the inherited affinity leave to a process: CPUs, memory nodes, CPU quota.

Files: https://docs.kernel.org/admin-guide/cgroup-v2.html and
https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html. In a container the mount shows the
container's own group as its root, and groups above it are hidden: what they limit cannot be seen.
"""

from __future__ import annotations

from typing import NamedTuple

from numatune.machine import CpuSet, Limits
from numatune.sources.tree import Tree, is_number

#: A table of mounts on a host with thousands of containers.
MOUNTS_LIMIT = 4 << 20
#: Groups above each other that are looked at; the kernel sets no limit, systemd stays below 12.
DEPTH_LIMIT = 64
#: File names by the mount's kind; each is tried in turn.
CPUS = {
    "v2": ("cpuset.cpus.effective",),
    "v1": ("cpuset.effective_cpus", "cpuset.cpus"),
    "noprefix": ("effective_cpus", "cpus"),
}
MEMS = {
    "v2": ("cpuset.mems.effective",),
    "v1": ("cpuset.effective_mems", "cpuset.mems"),
    "noprefix": ("effective_mems", "mems"),
}


class Mount(NamedTuple):
    """One mounted hierarchy: its kind, its controllers (none in v2), its root and where it is."""

    kind: str
    controllers: frozenset[str]
    root: str
    point: str


class Group(NamedTuple):
    """The group of a process in one hierarchy: its kind, and the folders from it to the top."""

    kind: str
    folders: tuple[str, ...]


def read_limits(tree: Tree, online: CpuSet | None) -> Limits:
    """Read the limits of the process that a tree calls "self".

    `cpuset_cpus` and `cpuset_mems` are the effective ones of the nearest group that states them.
    Without a readable cgroup, `cpuset_mems` is Mems_allowed_list of proc/self/status, which only a
    cpuset ever changes. `affinity` is None where it takes nothing away from what the cpuset, or
    the machine, offers.
    """
    allowed = read_allowed(tree)
    paths, mounts = group_paths(tree), read_mounts(tree)
    cpuset = find_group(tree, "cpuset", paths, mounts)
    cpus, mems = nearest(tree, cpuset, CPUS), nearest(tree, cpuset, MEMS)
    if mems is None:
        mems = allowed.get("Mems")
    affinity = allowed.get("Cpus")
    offered = online if cpus is None else cpus if online is None else cpus & online
    if affinity is not None and offered is not None and offered <= affinity:
        affinity = None
    quota = tightest_quota(tree, find_group(tree, "cpu", paths, mounts))
    return Limits(cpus, mems, affinity or None, quota)


def read_allowed(tree: Tree) -> dict[str, CpuSet]:
    """Return the sets of proc/self/status under "Cpus" and "Mems"."""
    found = {}
    for line in (tree.text("proc/self/status") or "").splitlines():
        key, _, value = line.partition(":")
        if key in ("Cpus_allowed_list", "Mems_allowed_list"):
            try:
                found[key[:4]] = CpuSet.parse(value)
            except ValueError:
                tree.refused["proc/self/status"] = f"holds no list of ids in {key}"
    return found


def nearest(tree: Tree, group: Group | None, files: dict[str, tuple[str, ...]]) -> CpuSet | None:
    """Return the set of the nearest group upwards that states one."""
    if group is None:
        return None
    for folder in group.folders:
        for name in files[group.kind]:
            found = tree.ids(f"{folder}/{name}")
            if found:
                return found
    return None


def tightest_quota(tree: Tree, group: Group | None) -> float | None:
    """Return the tightest CPU quota, in CPUs, of a process's group and all groups above it."""
    if group is None:
        return None
    stated = [group_quota(tree, group.kind, folder) for folder in group.folders]
    return min((quota for quota in stated if quota is not None), default=None)


def group_quota(tree: Tree, kind: str, folder: str) -> float | None:
    """Return the quota of one group; "max" (v2) and -1 (v1) are none."""
    if kind == "v2":
        text = tree.text(f"{folder}/cpu.max") or ""
    else:
        quota = tree.text(f"{folder}/cpu.cfs_quota_us") or ""
        text = f"{quota} {tree.text(f'{folder}/cpu.cfs_period_us') or ''}" if quota else ""
    words = text.split()
    if len(words) != 2 or not all(map(is_number, words)) or "0" in words:
        return None
    return int(words[0]) / int(words[1])


def find_group(
    tree: Tree, controller: str, paths: dict[str, str], mounts: list[Mount]
) -> Group | None:
    """Find the group that a controller puts the process into: v1 where it is mounted, else v2.

    Where a hierarchy is mounted at several places, the first that shows the group is taken.
    """
    for version, name in (("v1", controller), ("v2", "")):
        path = paths.get(name, paths.get("*") if controller == "cpuset" else None)
        if path is None:
            continue
        groups = [
            Group(mount.kind, folders_up(mount, path))
            for mount in mounts
            if (mount.kind == "v2") == (version == "v2") and (not name or name in mount.controllers)
        ]
        visible = [g for g in groups if g.folders and tree.is_folder(g.folders[0])]
        if groups:
            return (visible or groups)[0]
    return None


def group_paths(tree: Tree) -> dict[str, str]:
    """Return the path of the group by controller, "" for v2; "*" where only the cpuset's is known.

    Lines of proc/self/cgroup read ID:CONTROLLERS:PATH.
    """
    text = tree.text("proc/self/cgroup")
    if text:
        paths = {}
        for line in text.splitlines():
            parts = line.split(":", 2)
            if len(parts) == 3:
                paths.update(dict.fromkeys(parts[1].split(","), parts[2]))
        return paths
    cpuset = tree.text("proc/self/cpuset")
    return {"*": cpuset} if cpuset else {}


def read_mounts(tree: Tree) -> list[Mount]:
    """Return the mounted cgroup hierarchies; the usual places where no table of mounts is there."""
    text = tree.text("proc/self/mountinfo", MOUNTS_LIMIT)
    if text is not None:
        return [m for m in map(mountinfo_line, text.splitlines()) if m is not None]
    text = tree.text("proc/mounts", MOUNTS_LIMIT) or tree.text("proc/self/mounts", MOUNTS_LIMIT)
    if text is not None:
        return [m for m in map(mounts_line, text.splitlines()) if m is not None]
    base = "sys/fs/cgroup"
    mounts = [Mount("v2", frozenset(), "/", point) for point in (base, f"{base}/unified")]
    names = ("cpuset", "cpu", "cpu,cpuacct", "cpuacct,cpu")
    mounts += [Mount("v1", frozenset(n.split(",")), "/", f"{base}/{n}") for n in names]
    return [
        mount
        for mount in mounts
        if tree.is_folder(mount.point)
        and (mount.kind == "v1" or tree.text(f"{mount.point}/cgroup.controllers") is not None)
    ]


def mountinfo_line(line: str) -> Mount | None:
    """Read "31 23 0:28 ROOT POINT rw - TYPE SOURCE OPTIONS" (proc_pid_mountinfo(5))."""
    before, dash, after = line.partition(" - ")
    fields, kind = before.split(" "), after.split(" ")
    if not dash or len(fields) < 6 or len(kind) < 3:
        return None
    return mount_of(kind[0], kind[2], fields[3], fields[4])


def mounts_line(line: str) -> Mount | None:
    """Read "SOURCE POINT TYPE OPTIONS 0 0" (proc_pid_mounts(5)), which has no root."""
    fields = line.split(" ")
    return mount_of(fields[2], fields[3], "/", fields[1]) if len(fields) >= 4 else None


def mount_of(kind: str, options: str, root: str, point: str) -> Mount | None:
    """Return a cgroup mount, None for any other and for one from outside of the namespace."""
    root, point = unescaped(root), unescaped(point)
    if kind not in ("cgroup", "cgroup2", "cpuset") or ".." in root.split("/"):
        return None
    point = point.strip("/")
    if kind == "cgroup2":
        return Mount("v2", frozenset(), root, point)
    if kind == "cpuset":
        return Mount("noprefix", frozenset(["cpuset"]), root, point)
    names = frozenset(options.split(","))
    return Mount("noprefix" if "noprefix" in names else "v1", names, root, point)


def unescaped(text: str) -> str:
    """Undo the kernel's escapes: a blank in a path is written as its octal number, "\\040"."""
    if "\\" not in text:
        return text
    import re

    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def folders_up(mount: Mount, path: str) -> tuple[str, ...]:
    """Return the folders of a group and of all groups above it that a mount shows.

    A path outside of the mount's root is that of another namespace: the root is then all that can
    be seen of it. A path with ".." leads out of the namespace, to a group that cannot be seen.
    """
    root = mount.root.rstrip("/")
    if path != root and not path.startswith(root + "/"):
        path = root
    parts = [part for part in path[len(root) :].split("/") if part]
    if ".." in parts or "." in parts or len(parts) > DEPTH_LIMIT:
        return ()
    return tuple("/".join([mount.point, *parts[:n]]) for n in range(len(parts), -1, -1))
