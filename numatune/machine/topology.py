"""What a machine is made of. Values only; None means unknown, never "none".

Words are hwloc's and the kernel's: package (socket), NUMA node, core, CPU (one hardware thread).
Sizes are bytes, ids are the kernel's.
"""

from __future__ import annotations

from typing import NamedTuple

from numatune.machine.cpuset import CpuSet


class Node(NamedTuple):
    """One NUMA node, with CPUs or memory or neither.

    `cpus` are its online CPUs; empty is a CPU-less node, None is unknown. `kind` tells what its
    memory is: dram, hbm, cxl, device or unknown.
    """

    id: int
    cpus: CpuSet | None = None
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    kind: str = "unknown"

    @property
    def is_cpuless(self) -> bool:
        """True where it is known to have memory and no CPU (HBM, CXL, persistent or GPU memory)."""
        return self.cpus is not None and not self.cpus and bool(self.memory_total_bytes)

    @property
    def is_memoryless(self) -> bool:
        """True where it is known to have CPUs and no memory."""
        return bool(self.cpus) and self.memory_total_bytes == 0

    @property
    def is_empty(self) -> bool:
        """True where it is known to have neither (a placeholder of the firmware or a driver)."""
        return self.cpus is not None and not self.cpus and self.memory_total_bytes == 0


class Core(NamedTuple):
    """One physical core: the set of its online SMT siblings."""

    cpus: CpuSet
    package_id: int | None = None
    node_id: int | None = None


class Package(NamedTuple):
    """One package (socket) and its online CPUs."""

    id: int
    cpus: CpuSet


class Distances(NamedTuple):
    """The SLIT, which need not be symmetric.

    `values[i][j]` is the distance from `node_ids[i]` to `node_ids[j]`, None where it is not known.
    """

    node_ids: tuple[int, ...]
    values: tuple[tuple[int | None, ...], ...]

    def between(self, start: int, end: int) -> int | None:
        """Return the distance from one node to another, None where it is not known."""
        if start not in self.node_ids or end not in self.node_ids:
            return None
        return self.values[self.node_ids.index(start)][self.node_ids.index(end)]


class Access(NamedTuple):
    """How fast the memory of a node is for its nearest initiators, as the firmware rates it (HMAT).

    `initiators` are node ids. Bandwidths are MiB/s, latencies nanoseconds; None is unknown.
    """

    node_id: int
    initiators: CpuSet
    read_bandwidth_mib_s: int | None = None
    write_bandwidth_mib_s: int | None = None
    read_latency_ns: int | None = None
    write_latency_ns: int | None = None


class MemoryCache(NamedTuple):
    """A memory-side cache in front of a node's memory, such as DRAM before slower memory."""

    node_id: int
    level: int
    size_bytes: int | None = None


class MemoryTier(NamedTuple):
    """A memory tier of the kernel: the lower its id, the faster its nodes."""

    id: int
    nodes: CpuSet


class Memory(NamedTuple):
    """What is known of memory beyond the nodes and their sizes; () where nothing is stated.

    `generic_initiators` are nodes with a device that reads and writes memory, and without a CPU.
    """

    accesses: tuple[Access, ...] = ()
    caches: tuple[MemoryCache, ...] = ()
    tiers: tuple[MemoryTier, ...] = ()
    generic_initiators: CpuSet = CpuSet()

    def document(self) -> dict[str, object]:
        """Return it in JSON's types, as documents and snapshots hold it: sets are kernel lists."""
        return {
            "accesses": [a._asdict() | {"initiators": str(a.initiators)} for a in self.accesses],
            "caches": [c._asdict() for c in self.caches],
            "tiers": [{"id": t.id, "nodes": str(t.nodes)} for t in self.tiers],
            "generic_initiators": str(self.generic_initiators),
        }


class Limits(NamedTuple):
    """What this process may use.

    `cpuset_cpus` and `cpuset_mems` are a cgroup's, which the kernel enforces; `affinity` was
    inherited (taskset, numactl) and may be replaced by the process. `cpu_quota` is in CPUs.
    """

    cpuset_cpus: CpuSet | None = None
    cpuset_mems: CpuSet | None = None
    affinity: CpuSet | None = None
    cpu_quota: float | None = None
    start_cpu: int | None = None


class Settings(NamedTuple):
    """Kernel settings and hardware facts that rules judge; None is unknown."""

    cmdline: str | None = None
    numa_balancing: int | None = None
    zone_reclaim_mode: int | None = None
    transparent_hugepage: str | None = None
    smt_control: str | None = None
    isolated_cpus: CpuSet | None = None
    dimms_populated: int | None = None
    memory_channels: int | None = None


class Cpu(NamedTuple):
    """What the CPU is. `features` holds the kernel's flag names, None where they are unknown.

    `efficiency_cpus` are those of the smaller cores of a hybrid CPU; None where nothing says that
    it is one.
    """

    architecture: str | None = None
    vendor: str | None = None
    model: str | None = None
    features: frozenset[str] | None = None
    efficiency_cpus: CpuSet | None = None


class Gpu(NamedTuple):
    """One GPU and the NUMA node that it hangs on; `cpus` are those the driver calls near."""

    name: str
    node_id: int | None = None
    cpus: CpuSet | None = None


class Dimm(NamedTuple):
    """One memory slot: its label, what sits in it (0 bytes: empty), its type and speed in MT/s."""

    locator: str
    size_bytes: int | None = None
    type: str | None = None
    speed_mts: int | None = None


class Warning(NamedTuple):
    """Something about a reading that its reader must know: a stable code and one sentence."""

    code: str
    message: str
