"""vLLM's CPU backend: ranks, each with the CPUs of one node or of a list that the user wrote.

Nobody states a number of threads: OMP_NUM_THREADS of a rank is the number of its CPUs, unless
VLLM_CPU_OMP_THREADS_BIND is "nobind". `threads` is therefore that number, of the largest rank.
How the CPUs of a rank are chosen is in `vllm_ranks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numatune.errors import LaunchRefused, MachineError, UsageError
from numatune.machine import CpuSet, Machine
from numatune.placement.placement import Placement, Release, Tally, Worker
from numatune.placement.request import Request
from numatune.runtimes import vllm_ranks
from numatune.runtimes.options import MOST_THREADS, whole
from numatune.runtimes.runtime import DefaultCount
from numatune.runtimes.versions import canonical, parse
from numatune.runtimes.vllm_ranks import NOBIND, Rank, binding_of, stated_threads
from numatune.words import counted, shown

NAME = "vllm"
THREADS_OPTION = "OMP_NUM_THREADS"
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "threads": ("OMP_NUM_THREADS",),
    "tensor_parallel_size": ("--tensor-parallel-size", "--tp", "-tp"),
    "pipeline_parallel_size": ("--pipeline-parallel-size", "-pp"),
    "data_parallel_size": ("--data-parallel-size", "-dp"),
    "kv_transfer_config": ("--kv-transfer-config",),
}

NEWEST, RANGE, BEHAVIOUR = "0.33.0", "0.33.x", "ranks"

#: What a count is called, for people.
COUNTED = "one in a rank for each core of its node, less the reserved ones"
COUNTED_LIST = "one in a rank for each CPU of its list"
COUNTED_FREE = "PyTorch's default, one a core that the process inherits"

Seat = tuple[int | None, CpuSet | None, str, str]


def releases(numa_build: bool | None) -> tuple[Release, ...]:
    """Return the one behaviour that is known."""
    return (release(None, None, numa_build),)


def release(version: str | None, commit: str | None, numa_build: bool | None) -> Release:
    """Return how a version behaves, None being 0.33.0. Raises UsageError if it is not known."""
    if commit is not None:
        raise UsageError(f"{NAME} is known by version, and not by commit; known is {RANGE}")
    number = parse(version or NEWEST)
    if number is None or number.series != (0, 33):
        raise UsageError(
            f"{NAME} {shown(version)} is not known; known is {RANGE}, other versions bind otherwise"
        )
    return Release(
        NAME, canonical(version or NEWEST) or NEWEST, RANGE, BEHAVIOUR, None, vllm_ranks.SOURCE
    )


def default_threads(machine: Machine, request: Request, release: Release) -> DefaultCount:
    """Return OMP_NUM_THREADS of the largest rank, which may be 0.

    It is derived from the CPUs and can't be stated, unless nothing is bound. Where the launch is
    refused or too little is known it is 0, and `simulate` says why. Raises UsageError.
    """
    bare = request._replace(threads=None)
    try:
        most = max((r.threads for r in vllm_ranks.ranks(machine, bare)), default=0)
    except (LaunchRefused, MachineError):
        most = 0
    value = binding_of(request)
    if value == NOBIND:
        stated = stated_threads(request.env) is not None
        words = "OMP_NUM_THREADS" if stated else COUNTED_FREE
        return DefaultCount(most or None, words, ("quota",), vllm_ranks.SOURCE)
    words = COUNTED if value == vllm_ranks.AUTO else COUNTED_LIST
    return DefaultCount(most, words, ("quota",), vllm_ranks.SOURCE, is_derived=True)


def phases(request: Request) -> tuple[tuple[str, Request], ...]:
    """Return the one phase: prompts and generation run on the same threads."""
    return (("generation", request),)


def ranks_of(machine: Machine, request: Request) -> Sequence[Rank]:
    """Return the ranks of a launch. Raises LaunchRefused, UsageError and MachineError.

    A stated count is only possible with "nobind"; elsewhere it must be the one that is derived.
    """
    ranks = vllm_ranks.ranks(machine, request)
    most = max((rank.threads for rank in ranks), default=0)
    asked = request.threads
    if asked is not None and asked != most:
        asked = whole(THREADS_OPTION, asked, 1, MOST_THREADS, "a number of threads")
        raise LaunchRefused(
            f"vLLM takes no number of threads: it starts {most} in a rank here, one for each CPU"
            " of it; VLLM_CPU_OMP_THREADS_BIND and VLLM_CPU_NUM_OF_RESERVED_CPU choose the CPUs",
            rule="option-without-effect",
            option="OMP_NUM_THREADS",
        )
    return ranks


def simulate(machine: Machine, request: Request, release: Release) -> Placement:
    """Place every thread of every rank; `pool` is the rank, `pool_threads` holds their threads."""
    ranks = ranks_of(machine, request)
    if sum(rank.threads for rank in ranks) > MOST_THREADS:
        raise UsageError(
            f"{counted(len(ranks), 'rank')} with so many threads are beyond what is simulated,"
            f" {MOST_THREADS}"
        )
    workers: list[Worker] = []
    for number, rank in enumerate(ranks):
        for i, (node, cpus, binding, memory) in enumerate(seats(machine, rank)):
            name = f"rank {number}, thread {i}"
            workers.append(Worker(len(workers), name, number, node, cpus, binding, memory))
    shares = tuple(rank.threads for rank in ranks)
    return Placement(release, max(shares, default=0), tuple(workers), pool_threads=shares)


def seats(machine: Machine, rank: Rank) -> list[Seat]:
    """Return node, CPUs, binding and memory of each thread of a rank."""
    memory = "default" if rank.memory is None else f"bind:{rank.memory}"
    if rank.cpus is None:
        return [(None, machine.inherited_cpus, "none", memory)] * rank.threads
    homes = vllm_ranks.node_of_cpus(machine)
    if rank.is_pinned:
        return [(homes.get(cpu), CpuSet([cpu]), "cpu", memory) for cpu in rank.cpus]
    found = {homes.get(cpu) for cpu in rank.cpus}
    node = found.pop() if len(found) == 1 else None
    whole_node = node is not None and rank.cpus == machine.node_cpus(node)
    return [(node, rank.cpus, "node" if whole_node else "mask", memory)] * rank.threads


def tally(machine: Machine, request: Request, release: Release) -> Tally:
    """Count the threads of each node without making any."""
    try:
        ranks = ranks_of(machine, request)
    except LaunchRefused as refused:
        return Tally({}, refused=refused.reason)
    except MachineError as unknown:  # of no count it can be said that it is safe
        return Tally({}, refused=str(unknown))
    counts: dict[int | None, int] = {}
    for rank in ranks:
        for node, number in rank.by_node.items():
            counts[node] = counts.get(node, 0) + number
    unbound = counts.pop(None, 0)
    empty = tuple(i for i, rank in enumerate(ranks) if not rank.threads)
    return Tally({k: v for k, v in counts.items() if k is not None}, unbound, empty)
