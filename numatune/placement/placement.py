"""Where a launch puts its workers and their memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from numatune.machine import CpuSet


class Worker(NamedTuple):
    """One compute thread.

    `binding` is "cpu" (one logical CPU), "node" (the CPUs of a node), "mask" (another explicit
    set) or "none" (inherited: it floats). `cpus` is what it may run on, also when inherited; None
    only where that is unknown. `node` is the node it is tied to. `memory` is "bind:N" or
    "default". `pool` is the pool of kt-kernel, else 0.
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody wants here
    name: str
    pool: int = 0
    node: int | None = None
    cpus: CpuSet | None = None
    binding: str = "none"
    memory: str = "default"


class Release(NamedTuple):
    """One behaviour of a runtime.

    `version` is the one asked for, or one that stands for the range `versions` ("0.2.0 -
    0.2.2rc1") which behaves alike. `behaviour` is a key of the runtime's module. `numa_build` is
    None where a runtime has no such build option. `source` is the upstream file at its commit.
    """

    runtime: str
    version: str
    versions: str
    behaviour: str
    numa_build: bool | None
    source: str


class Placement(NamedTuple):
    """The workers of one launch.

    `threads` is in the unit of the runtime's own option. `pool_nodes` is the node id that each pool
    was mapped to (kt-kernel; a node that may not exist) and `pool_threads` its share of the
    threads; both are empty elsewhere. `weight_copies` is the number of copies of the expert weights
    that the runtime makes.
    """

    release: Release
    threads: int
    workers: tuple[Worker, ...]
    weight_copies: int = 1
    pool_nodes: tuple[int, ...] = ()
    pool_threads: tuple[int, ...] = ()

    @property
    def runtime(self) -> str:
        """The runtime's name."""
        return self.release.runtime

    @property
    def version(self) -> str:
        """The version that was simulated."""
        return self.release.version


class Tally(NamedTuple):
    """A placement reduced to counts: what a sweep needs, without one object a worker.

    `nodes` gives the workers tied to each node id; `unbound` those tied to none; `empty_pools` the
    pools that get no worker. `refused` says why the runtime would not start, None where it would.
    """

    nodes: Mapping[int, int]
    unbound: int = 0
    empty_pools: tuple[int, ...] = ()
    refused: str | None = None


def tally(placement: Placement) -> Tally:
    """Count the workers of a placement by node."""
    nodes: dict[int, int] = {}
    unbound = 0
    for worker in placement.workers:
        if worker.node is None:
            unbound += 1
        else:
            nodes[worker.node] = nodes.get(worker.node, 0) + 1
    empty = tuple(i for i, threads in enumerate(placement.pool_threads) if not threads)
    return Tally(nodes, unbound, empty)
