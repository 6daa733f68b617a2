"""A /sys and /proc tree, this host's or a recorded one, read as a machine.

Warnings name what is odd or missing and which command tells it: no-numa-information,
cores-unknown, packages-unknown, memory-unknown, node-cpus-unknown, cpus-without-node,
nodes-overlap, distances-missing, distances-wrong-length, distances-uniform, container-view,
odd-node-folder, node-folder-missing, limits-contradict, unreadable. Memoryless and CPU-less nodes,
sparse ids and offline CPUs are facts, and no reason for one.
"""

from __future__ import annotations

import os

from numatune.errors import MachineError
from numatune.machine import Core, CpuSet, Limits, Machine, Node, Package, Settings, Warning
from numatune.sources.cgroup import read_limits
from numatune.sources.edac import read_dimms
from numatune.sources.guest import read_is_guest
from numatune.sources.procfs import listed_cpus, read_cpu, read_settings
from numatune.sources.sysfs_cpu import CPU, read_cpus
from numatune.sources.sysfs_memory import read_memory
from numatune.sources.sysfs_node import NODE, read_nodes
from numatune.sources.tree import SUPPLY, Tree, printable

#: How many levels below a folder a tree is looked for, and among how many folders.
TREE_DEPTH = 2
FOLDER_LIMIT = 32
#: Files that matter so much that it is said when they are there and cannot be read.
VITAL = (f"{CPU}/", f"{NODE}/", "proc/self/", "proc/cpuinfo", "sys/fs/cgroup/")


def is_tree(root: str) -> bool:
    """Tell whether a folder holds a sys folder, or is a copy of one."""
    try:
        return has_sys(tree_root(root))
    except (MachineError, ValueError):
        return False


def has_sys(folder: str) -> bool:
    """Tell whether a folder holds sys, or is a copy of sys."""
    return os.path.isdir(f"{folder}/sys") or os.path.isdir(f"{folder}/devices/system")


def tree_root(root: str) -> str:
    """Return the folder that holds sys: the given one, or the only one below it that does.

    An archive of hwloc-gather-topology unpacks into such a subfolder, maybe in one of its own.
    Raises MachineError where there are several.
    """
    if has_sys(root):
        return root
    level = [root]
    for _ in range(TREE_DEPTH):
        level = [path for folder in level for path in subfolders(folder)][:FOLDER_LIMIT]
        trees = sorted(path for path in level if has_sys(path))
        if len(trees) > 1:
            names = ", ".join(printable(path[len(root) :].strip("/"), 60) for path in trees[:5])
            raise MachineError(
                f"{printable(root)} holds {len(trees)} trees ({names}): give one of them"
            )
        if trees:
            return trees[0]
    return root


def subfolders(folder: str) -> list[str]:
    """Return the first real folders in a folder; proc is none of a tree's, and holds a sys, too."""
    try:
        with os.scandir(folder) as entries:
            first = [e for _, e in zip(range(FOLDER_LIMIT), entries, strict=False)]
    except OSError:
        return []
    return [e.path for e in first if e.name != "proc" and e.is_dir(follow_symlinks=False)]


def read_tree(root: str, label: str) -> Machine:
    """Read the machine that a folder shows in its sys and proc; "/" is this host.

    `label` is how the source is named to the user. Raises MachineError where there is no CPU and
    no node to be found, or more than any machine has.
    """
    try:
        tree = Tree(tree_root(root))
    except ValueError:
        raise MachineError(f"{printable(root)!r} is not a path; {SUPPLY}") from None
    cpus = read_cpus(tree)
    if cpus.online is None:
        cpus = cpus._replace(online=listed_cpus(tree))
    nodes = read_nodes(tree, cpus.online)
    if cpus.online is None and not nodes.nodes:
        raise MachineError(f"{label} shows no CPU and no NUMA node in sys or proc; {SUPPLY}")
    cpu = read_cpu(tree)
    warnings = [*cpus.warnings, *nodes.warnings]
    limits = limits_within(read_limits(tree, cpus.online), cpus.online, nodes.nodes, warnings)
    machine = Machine(
        source=label,
        cpu=cpu,
        nodes=nodes.nodes,
        cores=cores_of(cpus.cores, cpus.packages, nodes.nodes),
        packages=cpus.packages,
        distances=nodes.distances,
        online_cpus=cpus.online,
        offline_cpus=cpus.offline,
        is_guest=read_is_guest(tree, cpu),
        memory=read_memory(tree, nodes.nodes),
        limits=limits,
        settings=settings_of(tree),
    )
    if not nodes.nodes:
        warnings.insert(0, no_nodes())
    if machine.cores is None and not any(w.code == "cores-unknown" for w in warnings):
        warnings.append(no_cores())
    warnings += unreadable(tree)
    return whole(machine._replace(warnings=tuple(warnings)))


def limits_within(
    limits: Limits, online: CpuSet | None, nodes: tuple[Node, ...], warnings: list[Warning]
) -> Limits:
    """Reduce limits to what the machine has: cgroup v1 and Mems_allowed_list list absent ids."""
    present = CpuSet(n.id for n in nodes) if nodes else None
    return limits._replace(
        cpuset_cpus=within(limits.cpuset_cpus, online, "CPUs", warnings),
        cpuset_mems=within(limits.cpuset_mems, present, "memory nodes", warnings),
        affinity=within(limits.affinity, online, "CPUs", warnings),
    )


def within(
    stated: CpuSet | None, present: CpuSet | None, what: str, warnings: list[Warning]
) -> CpuSet | None:
    """Return what is present of a set; None, and a warning, where that is nothing."""
    if stated is None or present is None:
        return stated
    if not stated & present:
        text = (
            f"this process may use the {what} {stated}, of which this machine ({present}) has "
            "none: sys and proc are of different machines, or a container shows made-up ones. "
            "Which it may use is not known; `grep allowed_list /proc/self/status` tells"
        )
        warnings.append(Warning("limits-contradict", text))
    return stated & present or None


def settings_of(tree: Tree) -> Settings:
    """Read the settings, and the memory modules where a driver shows them."""
    dimms, channels = read_dimms(tree)
    return read_settings(tree)._replace(dimms_populated=dimms, memory_channels=channels)


def cores_of(
    sets: tuple[CpuSet, ...] | None, packages: tuple[Package, ...] | None, nodes: tuple[Node, ...]
) -> tuple[Core, ...] | None:
    """Name the package and the node of each core; None where it has none, or several."""
    if sets is None:
        return None
    firsts = CpuSet.of_mask(sum(cpus.mask & -cpus.mask for cpus in sets))
    package_of = owners([(p.id, p.cpus) for p in packages or ()], firsts)
    node_of = owners([(n.id, n.cpus) for n in nodes if n.cpus is not None], firsts)
    return tuple(Core(cpus, owner(cpus, package_of), owner(cpus, node_of)) for cpus in sets)


def owners(sets: list[tuple[int, CpuSet]], asked: CpuSet) -> dict[int, tuple[int, CpuSet]]:
    """Return the owner of each CPU asked for, and all that it owns; none for CPUs of several."""
    owner_of: dict[int, tuple[int, CpuSet]] = {}
    seen, shared = CpuSet(), CpuSet()
    for number, cpus in sets:
        shared |= seen & cpus
        seen |= cpus
        owner_of.update(dict.fromkeys(cpus & asked, (number, cpus)))
    for cpu in shared & asked:
        del owner_of[cpu]
    return owner_of


def owner(cpus: CpuSet, owner_of: dict[int, tuple[int, CpuSet]]) -> int | None:
    """Return who owns all of these CPUs, None where nobody or not one alone does."""
    number, owned = owner_of.get(cpus.first(), (None, cpus))
    return number if cpus <= owned else None


def no_nodes() -> Warning:
    """Say that the kernel shows no NUMA node."""
    return Warning(
        "no-numa-information",
        f"there is no node folder in {NODE}: this kernel shows no NUMA nodes, as in some "
        "containers and on kernels without NUMA. `numactl --hardware` on the host tells",
    )


def no_cores() -> Warning:
    """Say that there is no CPU folder."""
    return Warning(
        "cores-unknown",
        f"which CPUs share a core is not known: there is nothing to read in {CPU}. "
        "`lscpu -e` tells",
    )


def unreadable(tree: Tree) -> list[Warning]:
    """Name the files that are there but could not be taken, and why; those that matter."""
    paths = sorted(path for path in tree.refused if path.startswith(VITAL))
    if not paths:
        return []
    first = f"{printable(paths[0])} {tree.refused[paths[0]]}"
    more = f", and {len(paths) - 1} more files could not be read" if len(paths) > 1 else ""
    return [Warning("unreadable", f"{first}{more}. `numactl --hardware` and `lscpu` tell more")]


def whole(machine: Machine) -> Machine:
    """Name the parts that are not stated, and the source of those that are."""
    stated = {
        "nodes": bool(machine.nodes),
        "memory": bool(machine.nodes)
        and all(n.memory_total_bytes is not None for n in machine.nodes),
        "distances": machine.distances is not None,
        "cores": machine.cores is not None,
        "packages": machine.packages is not None,
        "cpu": machine.cpu._replace(architecture=None) != type(machine.cpu)(),
        "limits": machine.limits != Limits(),
        "settings": machine.settings != Settings(),
    }
    gaps = tuple(part for part, known in stated.items() if not known)
    origins = {part: machine.source for part, known in stated.items() if known}
    return machine._replace(gaps=gaps, origins=origins)
