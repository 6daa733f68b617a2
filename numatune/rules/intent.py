"""Where the runtime wanted its workers, told apart from where the kernel let them go."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numatune.errors import NumatuneError
from numatune.machine import Core, CpuSet, Limits, Machine
from numatune.rules.rule import Case

if TYPE_CHECKING:
    from numatune.placement.placement import Placement


class Barred(NamedTuple):
    """Workers that were meant for a node and are not tied to it.

    `cpuset` is True where a cpuset keeps them out, False where the node has no CPUs.
    """

    node: int
    workers: int
    cpuset: bool


def barred(case: Case) -> list[Barred]:
    """Return the workers that a cpuset or a CPU-less node keeps from their node, by node id.

    The launch is placed again on the same machine without the bars: the same cores and nodes, no
    limits, and a CPU of its own for each node that has none. A worker that is tied to a node there
    and to none here was meant for that node.
    """
    placement = case.placement
    if placement is not None and placement.runtime == "vllm":  # a rank without CPUs has no worker
        from numatune.rules.ranks import barred_ranks

        return barred_ranks(case)
    if placement is None or all(w.node is not None for w in placement.workers):
        return []
    wanted = unbarred(case)
    if wanted is None or len(wanted.workers) != len(placement.workers):
        return []
    counts: dict[int, int] = {}
    for got, meant in zip(placement.workers, wanted.workers, strict=True):
        if got.node is None and meant.node is not None:
            counts[meant.node] = counts.get(meant.node, 0) + 1
    return [
        Barred(node, count, not is_cpuless(case.machine, node))
        for node, count in sorted(counts.items())
    ]


def unbarred(case: Case) -> Placement | None:
    """Place the launch where nothing keeps a worker from its node; None where that fails."""
    from numatune.runtimes import named

    if case.request is None or case.release is None:
        return None
    machine = without_bars(case.machine)
    if machine == case.machine:
        return None
    try:
        return named(case.release.runtime).simulate(machine, case.request, case.release)
    except NumatuneError:
        return None


def without_bars(machine: Machine) -> Machine:
    """Return the machine without limits, each CPU-less node with one CPU that nobody else has."""
    cpus = machine.cpus or CpuSet()
    spare = cpus.mask.bit_length()
    nodes, added = [], []
    for node in machine.nodes:
        if is_cpuless(machine, node.id) and not node.is_empty:
            node = node._replace(cpus=CpuSet([spare]))
            added.append(Core(CpuSet([spare]), None, node.id))
            cpus |= CpuSet([spare])
            spare += 1
        nodes.append(node)
    return machine._replace(
        nodes=tuple(nodes),
        cores=None if machine.cores is None else (*machine.cores, *added),
        online_cpus=None if machine.online_cpus is None else cpus,
        limits=Limits(),
    )


def is_cpuless(machine: Machine, node_id: int) -> bool:
    """Tell whether a node has no CPU."""
    node = machine.node(node_id)
    return node is not None and node.cpus is not None and not node.cpus
