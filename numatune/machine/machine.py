"""The machine as numatune knows it: everything that a reader found, and what it did not find."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from numatune.machine.cpuset import CpuSet
from numatune.machine.topology import (
    Core,
    Cpu,
    Dimm,
    Distances,
    Gpu,
    Limits,
    Memory,
    Node,
    Package,
    Settings,
    Warning,
)

NOTHING: Mapping[str, str] = MappingProxyType({})


#: The code of the warning that says that the kernel shows no NUMA nodes.
NO_NODES = "no-numa-information"


class Machine(NamedTuple):
    """A frozen machine model. None means unknown.

    `nodes` is () where the kernel shows no node directory, which is a fact and not a gap.
    `core_count` and `package_count` hold counts that were stated without saying which CPUs form a
    core or a package; `smt` is threads a core where that alone is known. `memory` is what the
    firmware and the kernel state of memory beyond sizes.
    `origins` names, for a part ("nodes", "memory", "distances", "cores", "packages", "cpu",
    "limits", "settings"), the source it came from; `gaps` names the parts that no source stated.
    """

    source: str
    cpu: Cpu = Cpu()
    nodes: tuple[Node, ...] = ()
    cores: tuple[Core, ...] | None = None
    packages: tuple[Package, ...] | None = None
    distances: Distances | None = None
    online_cpus: CpuSet | None = None
    offline_cpus: CpuSet | None = None
    core_count: int | None = None
    package_count: int | None = None
    smt: int | None = None
    is_guest: bool | None = None
    gpus: tuple[Gpu, ...] | None = None
    dimms: tuple[Dimm, ...] | None = None
    memory: Memory | None = None
    limits: Limits = Limits()
    settings: Settings = Settings()
    warnings: tuple[Warning, ...] = ()
    gaps: tuple[str, ...] = ()
    origins: Mapping[str, str] = NOTHING

    def node(self, node_id: int) -> Node | None:
        """Return the node of that id, None where there is none."""
        return next((n for n in self.nodes if n.id == node_id), None)

    @property
    def cpus(self) -> CpuSet | None:
        """The online CPUs: as stated, else those of all nodes; None where neither is known."""
        if self.online_cpus is not None:
            return self.online_cpus
        known = [n.cpus for n in self.nodes if n.cpus is not None]
        if not known or len(known) < len(self.nodes):
            return None
        every = CpuSet()
        for cpus in known:
            every |= cpus
        return every

    @property
    def usable_cpus(self) -> CpuSet | None:
        """The online CPUs that a cgroup cpuset leaves to this process, whatever its affinity."""
        cpus = self.cpus
        if cpus is None or self.limits.cpuset_cpus is None:
            return cpus if cpus is not None else self.limits.cpuset_cpus
        return cpus & self.limits.cpuset_cpus

    @property
    def inherited_cpus(self) -> CpuSet | None:
        """The CPUs that a thread of this process may use as long as nobody changes its affinity."""
        cpus = self.usable_cpus
        if self.limits.affinity is None or cpus is None:
            return cpus if cpus is not None else self.limits.affinity
        return cpus & self.limits.affinity

    @property
    def usable_mems(self) -> CpuSet | None:
        """The nodes from which this process may take memory; None where that is not known."""
        if self.limits.cpuset_mems is not None:
            return self.limits.cpuset_mems
        if not self.nodes or any(n.memory_total_bytes is None for n in self.nodes):
            return None
        return CpuSet(n.id for n in self.nodes if n.memory_total_bytes)

    def node_cpus(self, node_id: int) -> CpuSet | None:
        """Return the CPUs of a node that a cpuset leaves usable, None where they are unknown."""
        node = self.node(node_id)
        if node is None or node.cpus is None:
            return None
        allowed = self.limits.cpuset_cpus
        return node.cpus if allowed is None else node.cpus & allowed

    def node_cores(self, node_id: int) -> tuple[CpuSet, ...] | None:
        """Return the usable CPUs of each core of a node, by lowest CPU; None where unknown."""
        cpus = self.node_cpus(node_id)
        if self.cores is None or cpus is None:
            return None
        # Masks are compared before sets are made: a machine may have 64 nodes and 2048 cores.
        mask = cpus.mask
        parts = [core.cpus & cpus for core in self.cores if core.cpus.mask & mask]
        return tuple(sorted(parts, key=CpuSet.first))

    def cores_by_node(self) -> dict[int, list[CpuSet]]:
        """Return the cores that have a CPU in each node, whole, whoever may use them.

        One pass over all CPUs, where `node_cores` looks at every core for one node.
        """
        owners: dict[int, list[int]] = {}
        found: dict[int, list[CpuSet]] = {node.id: [] for node in self.nodes}
        for node in self.nodes:
            for cpu in node.cpus or ():
                owners.setdefault(cpu, []).append(node.id)
        for core in self.cores or ():
            for node_id in dict.fromkeys(n for cpu in core.cpus for n in owners.get(cpu, ())):
                found[node_id].append(core.cpus)
        return found

    def node_core_count(self, node_id: int) -> int | None:
        """Return how many cores of a node are usable, also where only their number is known."""
        cores = self.node_cores(node_id)
        if cores is not None:
            return len(cores)
        node, usable = self.node(node_id), self.node_cpus(node_id)
        if node is None or not usable or self.smt is None:
            return 0 if usable is not None and not usable else None
        # Which of its CPUs share a core is not known, so a part of a node tells nothing.
        is_whole = usable == node.cpus and len(usable) % self.smt == 0
        return len(usable) // self.smt if is_whole else None

    @property
    def threads_per_core(self) -> int | None:
        """SMT threads of a core, None where unknown or where cores differ."""
        if self.cores is None:
            return self.smt
        counts = {len(core.cpus) for core in self.cores}
        return counts.pop() if len(counts) == 1 else None

    @property
    def packages_known(self) -> int | None:
        """The number of packages, however it is known."""
        return self.package_count if self.packages is None else len(self.packages)

    @property
    def cores_known(self) -> int | None:
        """The number of cores, however it is known."""
        return self.core_count if self.cores is None else len(self.cores)

    @property
    def shows_nodes(self) -> bool | None:
        """Whether the kernel shows NUMA nodes; None where no source says so either way."""
        if self.nodes:
            return True
        is_said = any(warning.code == NO_NODES for warning in self.warnings)
        return None if "nodes" in self.gaps and not is_said else False

    @property
    def cpu_nodes(self) -> tuple[Node, ...]:
        """The nodes known to have CPUs."""
        return tuple(n for n in self.nodes if n.cpus)

    def warned(self, code: str, message: str) -> Machine:
        """Return the same machine with one more warning."""
        return self._replace(warnings=(*self.warnings, Warning(code, message)))
