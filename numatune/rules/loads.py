"""How many workers share which CPUs: the view that the rules about crowding take."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from numatune.machine import CpuSet, Machine
from numatune.rules.facts import cores_within, workers_of
from numatune.rules.rule import Case
from numatune.runtimes.kept import kept
from numatune.words import named


class Load(NamedTuple):
    """Workers that share a set of CPUs: those of one node, or all where `node` is None.

    `cpus` is what they may run on together, None where it is unknown; `unpinned` counts those that
    found no core of their own beside others that did.
    """

    node: int | None
    workers: int
    cpus: CpuSet | None
    cores: int | None
    unpinned: int = 0

    @property
    def over(self) -> int:
        """Workers beyond the CPUs; 0 where these are unknown."""
        return 0 if self.cpus is None else max(0, self.workers - len(self.cpus))

    @property
    def sharing(self) -> int:
        """Workers beyond the cores where they stay within the CPUs; 0 where either is unknown."""
        if self.cpus is None or self.cores is None or self.over:
            return 0
        return max(0, self.workers - self.cores)

    @property
    def subject(self) -> str:
        """Name the node, or all of them."""
        return "all nodes" if self.node is None else f"node {self.node}"

    def place(self, machine: Machine) -> str:
        """Name the CPUs, each of them where they are not simply those of a node."""
        if self.node is None:
            return "all CPUs that it may use"
        if self.cpus is not None and self.over and self.cpus != machine.node_cpus(self.node):
            return f"{named(self.cpus)} of node {self.node}"
        return self.subject


#: Workers that are alike: node, CPUs, binding -> how many.
Alike = Counter[tuple[int | None, CpuSet | None, str]]


@kept
def alike(case: Case) -> Alike:
    """Count the workers by node, CPUs and binding.

    Where a pinned worker's CPU is not known, the CPUs of its node stand for it. The threads of a
    runtime that is not known here count as floating: nothing says otherwise.
    """
    of_node = {n.id: case.machine.node_cpus(n.id) for n in case.machine.nodes}
    if case.placement is not None:
        return Counter(
            (w.node, w.cpus if w.node is None or w.cpus is not None else of_node[w.node], w.binding)
            for w in case.placement.workers
        )
    total = workers_of(case)
    return Counter({(None, case.machine.inherited_cpus, "none"): total} if total else {})


@kept
def node_loads(case: Case) -> list[Load]:
    """Return the load of each node that has workers, by id.

    A floating worker counts for the one node that holds all CPUs it may use: a cpuset or taskset
    ties it as firmly as a binding does.
    """
    machine = case.machine
    by_node: dict[int, Alike] = {}
    for (node, cpus, binding), count in alike(case).items():
        home = node if node is not None else home_of(machine, cpus)
        if home is not None:
            by_node.setdefault(home, Counter())[node, cpus, binding] += count
    return [load_of(machine, node, by_node[node]) for node in sorted(by_node)]


@kept
def whole_load(case: Case) -> Load:
    """Return the load of all CPUs that the workers may use together."""
    return load_of(case.machine, None, alike(case))


def home_of(machine: Machine, cpus: CpuSet | None) -> int | None:
    """Return the one node that holds all of some CPUs, None where there is no such node."""
    if not cpus:
        return None
    homes = [n.id for n in machine.nodes if n.cpus and cpus <= n.cpus]
    return homes[0] if len(homes) == 1 else None


def load_of(machine: Machine, node: int | None, workers: Alike) -> Load:
    """Add up workers; of the sets they may use, the most crowded is the one that counts."""
    total = sum(workers.values())
    pinned = sum(n for (_, _, binding), n in workers.items() if binding == "cpu")
    together = CpuSet()
    for _, cpus, _ in workers:
        if cpus is None:
            return Load(node, total, None, None)
        together |= cpus
    cores = cores_within(machine, together)
    unpinned = total - pinned if pinned and cores is not None else 0
    whole = Load(node, total, together, cores, unpinned)
    return max([whole, *narrower(machine, node, workers)], key=lambda load: load.over)


def narrower(machine: Machine, node: int | None, workers: Alike) -> list[Load]:
    """Return the loads of the sets that several workers were given."""
    sets: Counter[CpuSet] = Counter()
    for (_, cpus, _), count in workers.items():
        if cpus is not None:
            sets[cpus] += count
    loads = []
    for chosen, count in sets.items():
        if count > len(chosen):
            inside = count
            if len(chosen) > 1:
                inside = sum(n for cpus, n in sets.items() if cpus <= chosen)
            loads.append(Load(node, inside, chosen, cores_within(machine, chosen)))
    return loads
