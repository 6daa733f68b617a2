"""Write machines as /sys and /proc trees, as a Linux kernel would show them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from numatune.machine import Core, Cpu, CpuSet, Distances, Limits, Machine, Node, Package, Settings
from numatune.sources.sysfs import read_tree

#: Recorded machines: each folder holds what we have of one, and expected.json.
MACHINES = Path(__file__).parents[2] / "fixtures" / "machines"

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
GROUP = "sys/fs/cgroup/box"
EDAC = "sys/devices/system/edac/mc/mc0"
PERIOD = 100_000

X86 = Cpu("x86_64", "GenuineIntel", "Made-up Xeon", frozenset({"fpu", "lm", "avx2", "avx512f"}))


def write_files(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files by their path below a folder, and return the folder."""
    made = set()
    for path, content in files.items():
        folder, _, name = f"{root}/{path}".rpartition("/")
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        with open(f"{folder}/{name}", "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
    return root


def write_tree(machine: Machine, root: Path) -> Path:
    """Write a machine as the tree of files that its kernel would show; None is left out.

    What is read back is the same machine, where its parts agree as they do on a real one: cores in
    the order of their lowest CPU, `kind` "dram" where a node has CPUs and "unknown" elsewhere, a
    quota that is a multiple of 1/100000, an affinity that takes away some of what the cpuset
    leaves, an x86_64 CPU with the flag "lm", and `is_guest` where it has the flag "hypervisor".
    """
    files = {
        **cpu_files(machine),
        **node_files(machine),
        **memory_files(machine),
        **limit_files(machine),
        **setting_files(machine.settings),
    }
    return write_files(root, files)


def kernel_mask(ids: CpuSet, width: int = 64) -> str:
    """Return a set as the kernel's mask: groups of 32 bits in hex, highest first."""
    size = max(width, ids.mask.bit_length())
    digits = f"{ids.mask:0{(size + 31) // 32 * 8}x}"
    return ",".join(digits[i : i + 8] for i in range(0, len(digits), 8))


def cpu_files(machine: Machine) -> dict[str, str]:
    """Return the files of sys/devices/system/cpu, and proc/cpuinfo."""
    online, offline = machine.online_cpus, machine.offline_cpus
    files: dict[str, str] = {}
    if online is not None and offline is not None:
        files[f"{CPU}/online"] = f"{online}\n"
        files[f"{CPU}/offline"] = f"{offline}\n"
        files[f"{CPU}/present"] = files[f"{CPU}/possible"] = f"{online | offline}\n"
        files.update({f"{CPU}/cpu{cpu}/online": "0\n" for cpu in offline})
    for core in machine.cores or ():
        for cpu in core.cpus:
            files.update(set_files(cpu, core.cpus, "thread_siblings", "core_cpus"))
    for package in machine.packages or ():
        for cpu in package.cpus:
            files.update(set_files(cpu, package.cpus, "core_siblings", "package_cpus"))
            files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = f"{package.id}\n"
    if machine.packages is None:
        for cpu in online or ():
            files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = "-1\n"
    if machine.cpu.efficiency_cpus is not None:
        files["sys/devices/cpu_atom/cpus"] = f"{machine.cpu.efficiency_cpus}\n"
    if machine.cpu.features is not None:
        files["proc/cpuinfo"] = cpuinfo(machine.cpu, online or CpuSet())
    return files


def set_files(cpu: int, ids: CpuSet, old: str, new: str) -> dict[str, str]:
    """Return one set of CPUs under both names that kernels give it."""
    folder, mask = f"{CPU}/cpu{cpu}/topology", f"{kernel_mask(ids)}\n"
    files = {f"{folder}/{old}_list": f"{ids}\n"}
    return files | {f"{folder}/{old}": mask, f"{folder}/{new}": mask}


def cpuinfo(cpu: Cpu, online: CpuSet) -> str:
    """Return a cpuinfo in the form of x86."""
    flags = " ".join(sorted(cpu.features or ()))
    names = {"vendor_id": cpu.vendor, "model name": cpu.model, "flags": flags}
    lines = "".join(f"{key}\t: {value}\n" for key, value in names.items() if value is not None)
    return "".join(f"processor\t: {number}\n{lines}\n" for number in online)


def node_files(machine: Machine) -> dict[str, str]:
    """Return the files of sys/devices/system/node."""
    if not machine.nodes:
        return {}
    everyone = CpuSet(n.id for n in machine.nodes)
    files = {f"{NODE}/online": f"{everyone}\n", f"{NODE}/possible": f"0-{max(everyone)}\n"}
    for place, node in enumerate(machine.nodes):
        folder = f"{NODE}/node{node.id}"
        files[f"{folder}/uevent"] = ""
        if node.cpus is not None:
            files[f"{folder}/cpumap"] = f"{kernel_mask(node.cpus)}\n"
            files[f"{folder}/cpulist"] = f"{node.cpus}\n"
        sizes = {"MemTotal": node.memory_total_bytes, "MemFree": node.memory_free_bytes}
        lines = [
            f"Node {node.id} {name + ':':15}{size >> 10:8} kB\n"
            for name, size in sizes.items()
            if size is not None
        ]
        if lines:
            files[f"{folder}/meminfo"] = "".join(lines)
        if machine.distances is not None:
            row = machine.distances.values[place]
            files[f"{folder}/distance"] = " ".join(map(str, row)) + "\n"
    return files


def memory_files(machine: Machine) -> dict[str, str]:
    """Return the files of HMAT ratings, memory-side caches, tiers and generic initiators."""
    stated = machine.memory
    if stated is None:
        return {}
    files: dict[str, str] = {}
    for access in stated.accesses:
        folder = f"{NODE}/node{access.node_id}/access1/initiators"
        for near in access.initiators:
            # A link on a real machine, which may not be written everywhere.
            files[f"{folder}/node{near}/uevent"] = ""
        for name, value in access._asdict().items():
            file, is_rating = name.rpartition("_ns")[0] or name.removesuffix("_mib_s"), "_" in name
            if is_rating and name not in ("node_id", "initiators"):
                files[f"{folder}/{file}"] = f"{value or 0}\n"
    for cache in stated.caches:
        size = "" if cache.size_bytes is None else f"{cache.size_bytes}\n"
        files[f"{NODE}/node{cache.node_id}/memory_side_cache/index{cache.level}/size"] = size
    for tier in stated.tiers:
        folder = f"sys/devices/virtual/memory_tiering/memory_tier{tier.id}"
        files[f"{folder}/nodelist"] = f"{tier.nodes}\n"
    files[f"{NODE}/has_generic_initiator"] = f"{stated.generic_initiators}\n"
    return files


def limit_files(machine: Machine) -> dict[str, str]:
    """Return proc/self/status, and a cgroup v2 where there is a cpuset or a quota."""
    limits = machine.limits
    files: dict[str, str] = {}
    allowed = limits.affinity or limits.cpuset_cpus or machine.online_cpus
    if allowed is not None and limits.cpuset_mems is not None:
        files["proc/self/status"] = (
            f"Name:\tcat\nCpus_allowed:\t{kernel_mask(allowed)}\nCpus_allowed_list:\t{allowed}\n"
            f"Mems_allowed_list:\t{limits.cpuset_mems}\n"
        )
    if limits.cpuset_cpus is None and limits.cpu_quota is None:
        return files
    files["proc/self/cgroup"] = "0::/box\n"
    files["proc/mounts"] = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
    if limits.cpuset_cpus is not None:
        files[f"{GROUP}/cpuset.cpus.effective"] = f"{limits.cpuset_cpus}\n"
        files[f"{GROUP}/cpuset.mems.effective"] = f"{limits.cpuset_mems}\n"
    quota = "max" if limits.cpu_quota is None else str(round(limits.cpu_quota * PERIOD))
    files[f"{GROUP}/cpu.max"] = f"{quota} {PERIOD}\n"
    return files


def setting_files(settings: Settings) -> dict[str, str]:
    """Return the files of kernel settings and of the memory modules."""
    huge = settings.transparent_hugepage
    modes = ["always", "madvise", "never"]
    stated = {
        "proc/cmdline": settings.cmdline,
        "proc/sys/kernel/numa_balancing": settings.numa_balancing,
        "proc/sys/vm/zone_reclaim_mode": settings.zone_reclaim_mode,
        "sys/kernel/mm/transparent_hugepage/enabled": huge
        and " ".join(f"[{mode}]" if mode == huge else mode for mode in modes),
        f"{CPU}/smt/control": settings.smt_control,
        f"{CPU}/isolated": settings.isolated_cpus,
    }
    files = {path: f"{value}\n" for path, value in stated.items() if value is not None}
    if settings.dimms_populated is not None and settings.memory_channels is not None:
        files[f"{EDAC}/max_location"] = f"channel {settings.memory_channels - 1} slot 1 \n"
        for module in range(settings.dimms_populated):
            files[f"{EDAC}/dimm{module}/size"] = "32768\n"
    return files


def small_machine() -> Machine:
    """Return two packages and nodes of two cores with two threads each: CPUs 0-3 and 4-7 first."""
    sets = [CpuSet(pair) for pair in ((0, 4), (1, 5), (2, 6), (3, 7))]
    halves = CpuSet.parse("0-1,4-5"), CpuSet.parse("2-3,6-7")
    return Machine(
        source="tree",
        cpu=X86,
        nodes=tuple(
            Node(i, cpus, (64 + i) << 30, 32 << 30, "dram") for i, cpus in enumerate(halves)
        ),
        cores=tuple(Core(cpus, i // 2, i // 2) for i, cpus in enumerate(sets)),
        packages=tuple(Package(i, cpus) for i, cpus in enumerate(halves)),
        distances=Distances((0, 1), ((10, 21), (21, 10))),
        online_cpus=CpuSet.parse("0-7"),
        offline_cpus=CpuSet(),
        is_guest=False,
        limits=Limits(cpuset_mems=CpuSet.parse("0-1")),
        settings=Settings(
            cmdline="ro quiet",
            numa_balancing=1,
            zone_reclaim_mode=0,
            transparent_hugepage="madvise",
            smt_control="on",
            isolated_cpus=CpuSet(),
        ),
    )


def large_machine(nodes: int, cores: int, threads: int) -> Machine:
    """Return a machine of one package a node; second threads are numbered after all first ones."""
    total = nodes * cores
    sets = [CpuSet(core + total * thread for thread in range(threads)) for core in range(total)]
    parts = []
    for i in range(nodes):
        part = CpuSet()
        for cpus in sets[i * cores : (i + 1) * cores]:
            part |= cpus
        parts.append(part)
    return small_machine()._replace(
        nodes=tuple(Node(i, part, 1 << 38, 1 << 37, "dram") for i, part in enumerate(parts)),
        cores=tuple(Core(cpus, i // cores, i // cores) for i, cpus in enumerate(sets)),
        packages=tuple(Package(i, part) for i, part in enumerate(parts)),
        distances=Distances(
            tuple(range(nodes)),
            tuple(tuple(10 if i == j else 21 for j in range(nodes)) for i in range(nodes)),
        ),
        online_cpus=CpuSet(range(total * threads)),
        limits=Limits(cpuset_mems=CpuSet(range(nodes))),
    )


def read(root: Path) -> Machine:
    """Read a tree that is called "tree"."""
    return read_tree(str(root), "tree")


def codes(machine: Machine) -> list[str]:
    """Return the codes of a machine's warnings, in order."""
    return [warning.code for warning in machine.warnings]


def without_notes(machine: Machine) -> Machine:
    """Return a machine without what the reader says of its reading."""
    return machine._replace(warnings=(), gaps=(), origins={})


def remove(root: Path, pattern: str) -> None:
    """Remove the files of a tree that match a pattern, of which there must be some."""
    paths = list(root.glob(pattern))
    assert paths, f"nothing to remove at {pattern}"
    for path in paths:
        path.unlink()
