"""How many workers each node carries, against the cores and CPUs that it has for them."""

from __future__ import annotations

from typing import NamedTuple

from numatune.machine import Machine
from numatune.placement.placement import Tally
from numatune.runtimes.kept import kept


class NodeLoad(NamedTuple):
    """The load of one node, or of all usable CPUs where `id` is None.

    `cores` and `cpus` are those a cpuset leaves usable; None is unknown. `sharing_cores`: workers
    beyond the cores but within the CPUs. `oversubscribed_by`: workers beyond the CPUs.
    """

    id: int | None
    workers: int
    cores: int | None
    cpus: int | None

    @property
    def idle_cores(self) -> int | None:
        """Cores without a worker."""
        return None if self.cores is None else max(0, self.cores - self.workers)

    @property
    def sharing_cores(self) -> int | None:
        """Workers beyond the cores but within the CPUs."""
        if self.cores is None or self.cpus is None:
            return None
        return max(0, min(self.workers, self.cpus) - self.cores)

    @property
    def oversubscribed_by(self) -> int | None:
        """Workers beyond the CPUs."""
        return None if self.cpus is None else max(0, self.workers - self.cpus)


def node_loads(machine: Machine, counts: Tally) -> tuple[NodeLoad, ...]:
    """Return the load of every node of the machine, by id.

    Workers tied to no node count for the one node that holds all CPUs they may use, if there is
    such a node: a cpuset or taskset ties them to it as firmly as a binding does.
    """
    home = floating_home(machine) if counts.unbound else None
    own = counts.nodes
    return tuple(
        NodeLoad(number, own.get(number, 0) + (counts.unbound if number == home else 0), *room)
        for number, room in rooms_of(machine).items()
    )


@kept
def rooms_of(machine: Machine) -> dict[int, tuple[int | None, int | None]]:
    """Return the cores and the CPUs of each node that a cpuset leaves usable."""
    found = {}
    for node in machine.nodes:
        cpus = machine.node_cpus(node.id)
        cores = machine.node_core_count(node.id)
        found[node.id] = (cores, None if cpus is None else len(cpus))
    return found


def whole_load(machine: Machine, counts: Tally) -> NodeLoad:
    """Return the load of all CPUs that the workers may use together."""
    cpus = machine.usable_cpus if counts.nodes else machine.inherited_cpus
    cores = None
    if machine.cores is not None and cpus is not None:
        cores = sum(1 for core in machine.cores if core.cpus & cpus)
    elif machine.limits.cpuset_cpus is None and machine.limits.affinity is None:
        cores = machine.cores_known
    workers = sum(counts.nodes.values()) + counts.unbound
    return NodeLoad(None, workers, cores, None if cpus is None else len(cpus))


def floating_home(machine: Machine) -> int | None:
    """Return the node that holds all CPUs a floating worker may use, None where there is none."""
    cpus = machine.inherited_cpus
    if not cpus:
        return None
    homes = [n.id for n in machine.nodes if n.cpus and cpus <= n.cpus]
    return homes[0] if len(homes) == 1 else None
