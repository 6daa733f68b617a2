"""The sweeps of kt-kernel over numbers of pools."""

from __future__ import annotations

from typing import NamedTuple

from numatune.errors import NumatuneError
from numatune.machine import Machine
from numatune.placement.placement import Release
from numatune.placement.request import Request
from numatune.placement.sweep import Sweep, sweep
from numatune.runtimes.runtime import Runtime

#: Up to so many nodes every number of pools is swept; beyond, one pool and one a node.
MOST_NODES = 8


class PoolSweep(NamedTuple):
    """A sweep with a number of pools, on the nodes 0, 1, 2 and so on.

    Other lists of nodes are no choice: of those without an id beyond the number of pools, where the
    upstream code reads out of bounds, all others put two pools on one node or only name the same
    nodes in another order.
    """

    pools: int
    sweep: Sweep


def pool_sweeps(
    machine: Machine, request: Request, runtime: Runtime, release: Release
) -> tuple[PoolSweep, ...]:
    """Sweep each number of pools; () for a runtime without pools, or one node."""
    count = len(machine.nodes)
    if "threadpool_count" not in runtime.OPTIONS or len(machine.cpu_nodes) < 2:
        return ()
    found = []
    for pools in range(1, count + 1) if count <= MOST_NODES else (1, count):
        options = {k: v for k, v in request.options.items() if k != "numa_nodes"}
        asked = request._replace(options=options | {"threadpool_count": pools})
        try:
            found.append(PoolSweep(pools, sweep(machine, asked, runtime, release)))
        except NumatuneError:  # a number that this release or the model refuses
            continue
    return tuple(found)
