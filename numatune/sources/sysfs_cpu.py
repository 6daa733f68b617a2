"""CPUs, cores and packages from sys/devices/system/cpu.

Every fact is a set of CPUs: core_id is not unique over dies, and physical_package_id is -1 on
POWER, s390 and RISC-V. One topology file is read for each core, and two for each package.
Format: https://docs.kernel.org/admin-guide/cputopology.html
"""

from __future__ import annotations

from typing import NamedTuple

from numatune.machine import CpuSet, Package, Warning
from numatune.machine.cpuset import ID_LIMIT
from numatune.sources.tree import Tree, numbered

CPU = "sys/devices/system/cpu"
#: Old name, new name (since 5.3); some sandboxes have the masks alone.
CORE_LISTS, CORE_MASKS = (
    ("thread_siblings_list", "core_cpus_list"),
    ("thread_siblings", "core_cpus"),
)
PACKAGE_LISTS = ("core_siblings_list", "package_cpus_list")
PACKAGE_MASKS = ("core_siblings", "package_cpus")


class CpuReading(NamedTuple):
    """What the kernel says of its CPUs; None is unknown."""

    online: CpuSet | None = None
    offline: CpuSet | None = None
    cores: tuple[CpuSet, ...] | None = None
    packages: tuple[Package, ...] | None = None
    warnings: tuple[Warning, ...] = ()


def read_cpus(tree: Tree) -> CpuReading:
    """Read the CPUs of a tree, their cores and their packages."""
    warnings: list[Warning] = []
    online, offline = read_online(tree, warnings)
    if not online:
        return CpuReading(warnings=tuple(warnings))
    cores = read_cores(tree, online, warnings)
    packages = read_packages(tree, online, warnings)
    return CpuReading(online, offline, cores, packages, tuple(warnings))


def read_online(tree: Tree, warnings: list[Warning]) -> tuple[CpuSet | None, CpuSet | None]:
    """Return the online CPUs, and those that are present but offline."""
    online, present = tree.ids(f"{CPU}/online"), tree.ids(f"{CPU}/present")
    if not online or not present:
        folders = numbered(tree.folders(CPU), "cpu", ID_LIMIT)
        present = present or folders
        online = online or online_by_folder(tree, folders)
    hidden = tree.ids(f"{CPU}/offline")
    if hidden is not None and not present <= online | hidden:
        # The kernel's own files always hold: a CPU that is present is online or offline. lxcfs
        # replaces cpu/online alone (https://github.com/lxc/lxcfs/issues/731).
        whole = present - hidden
        warnings.append(
            Warning(
                "container-view",
                f"{CPU}/online says {online}, which is a container's share; the kernel's other "
                f"files say that {whole} are online, and that is taken. `lscpu` outside of the "
                "container tells",
            )
        )
        online = whole
    offline = present - online if present else hidden
    return online or None, offline


def online_by_folder(tree: Tree, folders: CpuSet) -> CpuSet:
    """Tell the online CPUs of a kernel without cpu/online: those that have a topology folder.

    Where none has one, a CPU counts as online unless its own file says 0: cpu0 often has no such
    file, since it cannot be taken offline.
    """
    with_topology = CpuSet(n for n in folders if tree.is_folder(f"{CPU}/cpu{n}/topology"))
    if with_topology:
        return with_topology
    return CpuSet(n for n in folders if tree.text(f"{CPU}/cpu{n}/online") != "0")


class SetFile:
    """A topology file that has had several names: the first that is found serves for all CPUs."""

    def __init__(self, tree: Tree, lists: tuple[str, ...], masks: tuple[str, ...]) -> None:
        self.tree = tree
        self.readers = [(tree.ids, name) for name in lists] + [(tree.mask, name) for name in masks]

    def read(self, cpu: int) -> CpuSet | None:
        """Return the set that the file of one CPU holds, None where there is no such file."""
        for place, (reader, name) in enumerate(self.readers):
            found = reader(f"{CPU}/cpu{cpu}/topology/{name}")
            if found is not None:
                if place:
                    self.readers.insert(0, self.readers.pop(place))
                return found
        return None


def read_cores(tree: Tree, online: CpuSet, warnings: list[Warning]) -> tuple[CpuSet, ...] | None:
    """Return the online siblings of each core, by lowest CPU; None where they cannot be told."""
    file = SetFile(tree, CORE_LISTS, CORE_MASKS)
    if not tree.is_live:
        tree.folders(CPU)  # One listing tells that these are no links; else each is looked at.
    cores, left = [], online.mask
    for cpu in online:
        if not left >> cpu & 1:
            continue
        siblings = file.read(cpu)
        group = 0 if siblings is None else siblings.mask & online.mask
        if not group >> cpu & 1 or group & ~left:
            reason = (
                f"no file names the siblings of CPU {cpu}"
                if siblings is None
                else f"the siblings of CPU {cpu} ({siblings}) contradict those of other CPUs"
            )
            warnings.append(
                Warning(
                    "cores-unknown",
                    f"which CPUs share a core is not known: {reason}. `lscpu -e` tells",
                )
            )
            return None
        left &= ~group
        cores.append(CpuSet.of_mask(group))
    return tuple(cores)


def read_packages(
    tree: Tree, online: CpuSet, warnings: list[Warning]
) -> tuple[Package, ...] | None:
    """Return the packages and their online CPUs, by id; None where the kernel has no ids.

    The set of a package's CPUs is believed only where its last CPU has the same package id: some
    kernels list a single core there, or the whole machine.
    """
    file = SetFile(tree, PACKAGE_LISTS, PACKAGE_MASKS)
    groups: dict[int, int] = {}
    left = online.mask
    for cpu in online:
        if not left >> cpu & 1:
            continue
        package = package_id(tree, cpu)
        if package is None or package < 0:
            stated = "is not stated" if package is None else f"is {package}"
            warnings.append(
                Warning(
                    "packages-unknown",
                    f"the number of packages is not known: the package id of CPU {cpu} {stated}. "
                    "`lscpu` or the data sheet of the machine tells; --assume packages=N passes it",
                )
            )
            return None
        mates = file.read(cpu)
        group = 1 << cpu | (mates.mask & left if mates else 0)
        last = group.bit_length() - 1
        if last != cpu and package_id(tree, last) != package:
            group = 1 << cpu
        groups[package] = groups.get(package, 0) | group
        left &= ~group
    return tuple(Package(number, CpuSet.of_mask(groups[number])) for number in sorted(groups))


def package_id(tree: Tree, cpu: int) -> int | None:
    """Return the kernel's package id of a CPU: -1 where it knows none, None without a file."""
    return tree.number(f"{CPU}/cpu{cpu}/topology/physical_package_id")
