"""What libnuma's calls do to the thread that makes them, on a given machine.

Source: libnuma 2.0.16, https://github.com/numactl/numactl/blob/v2.0.16/libnuma.c. From 2.0.17 on
`numa_num_configured_nodes` counts memoryless nodes, too.
"""

from __future__ import annotations

from typing import NamedTuple

from numatune.errors import LaunchRefused, MachineError
from numatune.machine import CpuSet, Machine, Node
from numatune.runtimes.kept import kept

DEFAULT = "default"


class Bound(NamedTuple):
    """What `numa_bind` leaves a thread with: its node if it was tied to it, its CPUs, its memory.

    `cpus` is None where the CPUs of the node, or those inherited, are not known.
    """

    node: int | None
    cpus: CpuSet | None
    memory: str


@kept
def configured_nodes(machine: Machine) -> int:
    """Return `numa_num_configured_nodes()`: the nodes with memory, whatever a cpuset leaves.

    A node whose memory is not known counts as having some.
    """
    return sum(1 for node in machine.nodes if has_memory(node))


def has_memory(node: Node) -> bool:
    """Tell whether a node has memory, as nearly all have where it is not known."""
    return node.memory_total_bytes != 0


def gives_memory(machine: Machine, node: Node) -> bool:
    """Tell whether the process may take memory from a node: its bit in Mems_allowed."""
    mems = machine.limits.cpuset_mems
    return has_memory(node) and (mems is None or node.id in mems)


@kept
def tied_nodes(machine: Machine) -> frozenset[int]:
    """Return the nodes to whose CPUs `numa_bind` ties a thread.

    `numa_run_on_node_mask` passes over a node that is not in Mems_allowed, and the kernel refuses
    (EINVAL) a set that holds no CPU of the cpuset; the thread then keeps what it had.
    """
    allowed = machine.limits.cpuset_cpus
    mask = -1 if allowed is None else allowed.mask
    return frozenset(
        node.id
        for node in machine.nodes
        if gives_memory(machine, node) and (node.cpus is None or node.cpus.mask & mask)
    )


def inherited(machine: Machine) -> Bound:
    """Return what a thread has that nothing was done to."""
    return Bound(None, machine.inherited_cpus, DEFAULT)


@kept
def bindings(machine: Machine) -> dict[int, Bound]:
    """Return what `numa_bind` of each node does; of any other id it does nothing (`inherited`).

    CPUs and memory succeed or fail apart: a CPU-less node gives its memory to a thread that it
    cannot hold.
    """
    tied = tied_nodes(machine)
    floating = machine.inherited_cpus
    bound = {}
    for node in machine.nodes:
        memory = f"bind:{node.id}" if gives_memory(machine, node) else DEFAULT
        is_tied = node.id in tied
        cpus = machine.node_cpus(node.id) if is_tied else floating
        bound[node.id] = Bound(node.id if is_tied else None, cpus, memory)
    return bound


def refusal(machine: Machine, runtime: str) -> LaunchRefused | None:
    """Return why libnuma ends a process that allocates a mask of all configured nodes, if so.

    Raises MachineError where it is not known whether there are nodes.
    `numa_bitmask_alloc(0)` prints "request to allocate mask for invalid number" and exits
    (https://github.com/kvcache-ai/ktransformers/issues/1754).
    """
    if configured_nodes(machine):
        return None
    if machine.nodes:
        return LaunchRefused(
            f"no node of this machine has memory: libnuma counts none, and {runtime} ends with "
            '"request to allocate mask for invalid number"',
            rule="memoryless-node",
            nodes=[node.id for node in machine.nodes],
        )
    if machine.shows_nodes is None:
        raise MachineError(
            f"{machine.source} states no NUMA nodes; add --from the output of `numactl --hardware`"
        )
    return LaunchRefused(
        f"the kernel shows no NUMA nodes (/sys/devices/system/node), so libnuma ends {runtime} at "
        'start: "request to allocate mask for invalid number"',
        rule="no-numa-information",
    )
