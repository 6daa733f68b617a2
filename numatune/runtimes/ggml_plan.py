"""Dealing threads to nodes, masks and places, for any number of them. Pure arithmetic.

Source: `set_numa_thread_affinity` and `ggml_threadpool_new_impl` in
https://github.com/ggml-org/llama.cpp/blob/0c1e57098/ggml/src/ggml-cpu/ggml-cpu.c
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from numatune.machine import CpuSet, Machine
from numatune.placement.placement import Placement, Release, Tally, Worker
from numatune.runtimes.kept import kept


class Tie(NamedTuple):
    """What one thread ends up with: `node`, `cpus` and `binding` of its `Worker`."""

    node: int | None
    cpus: CpuSet | None
    binding: str


class Walk(NamedTuple):
    """The steps through a CPU mask, which threads take in turn and begin anew at its end.

    A step is None where the kernel refuses it. `places` lists the steps of each node, None standing
    for no node. From `crowded_from` threads on two of them are on one core.
    """

    ties: tuple[Tie | None, ...]
    places: Mapping[int | None, Sequence[int]]
    crowded_from: int | None


class Plan(NamedTuple):
    """Where threads go, for any number of them.

    `numa` holds the tie of each node that `--numa` walks through, None where the kernel refuses
    it; then what comes next counts: the walk through the `mask`, then `bound` (by OpenMP, one tie a
    thread), then `floating`. `is_blocks` says how threads are dealt to `numa`. With `main_last` the
    walk through the mask begins with thread 1.
    """

    numa: tuple[Tie | None, ...]
    mask: Walk | None
    bound: tuple[Tie, ...] | None
    floating: Tie
    is_blocks: bool = False
    main_last: bool = False


def tie_of(plan: Plan, thread: int, threads: int) -> Tie:
    """Return what thread number `thread` of `threads` ends up with."""
    tie = None
    if plan.numa:
        size = -(-threads // len(plan.numa))
        tie = plan.numa[thread // size if plan.is_blocks else thread % len(plan.numa)]
    if tie is None and plan.mask is not None:
        step = (thread - 1) % threads if plan.main_last else thread
        tie = plan.mask.ties[step % len(plan.mask.ties)]
    if tie is None and plan.bound is not None:
        tie = plan.bound[thread]
    return plan.floating if tie is None else tie


def numa_counts(plan: Plan, threads: int) -> list[int]:
    """Return how many threads each entry of `numa` gets."""
    nodes = len(plan.numa)
    if plan.is_blocks:
        size = -(-threads // nodes)
        return [max(0, min(size, threads - size * i)) for i in range(nodes)]
    each, rest = divmod(threads, nodes)
    return [each + (i < rest) for i in range(nodes)]


def placement(plan: Plan, threads: int, release: Release) -> Placement:
    """Return the workers of the first graph; thread 0 is the main thread.

    After each graph under `--numa` ggml lets the main thread run on every CPU that it sees and the
    cpuset allows, until the next graph ties it again (`clear_numa_thread_affinity`).
    """
    workers = []
    for i in range(threads):
        tie = tie_of(plan, i, threads)
        name = "thread 0 (main)" if i == 0 else f"thread {i}"
        workers.append(Worker(i, name, 0, tie.node, tie.cpus, tie.binding))
    return Placement(release, threads, tuple(workers))


def tally(plan: Plan, threads: int) -> Tally:
    """Count the workers of each node.

    The time does not depend on the number of threads, but where a refused tie leads to another
    rule, or where OpenMP binds each thread.
    """
    counts: dict[int | None, int] = {}
    is_mixed = None in plan.numa and plan.mask is not None
    if is_mixed or (plan.bound is not None and needs_bound(plan)):
        for i in range(threads):
            node = tie_of(plan, i, threads).node
            counts[node] = counts.get(node, 0) + 1
    elif plan.numa:
        for tie, count in zip(plan.numa, numa_counts(plan, threads), strict=True):
            node = None if tie is None else tie.node
            counts[node] = counts.get(node, 0) + count
    elif plan.mask is not None:
        each, rest = divmod(threads, len(plan.mask.ties))
        for node, steps in plan.mask.places.items():
            counts[node] = each * len(steps) + bisect_left(steps, rest)
    else:
        counts[None] = threads
    unbound = counts.pop(None, 0)
    return Tally({k: v for k, v in counts.items() if k is not None and v}, unbound)


def needs_bound(plan: Plan) -> bool:
    """Tell whether a thread may come to what OpenMP bound it to."""
    ties = plan.numa or (plan.mask.ties if plan.mask is not None else (None,))
    return None in ties


def is_crowded(machine: Machine, plan: Plan, threads: int) -> bool:
    """Tell whether two threads share a core although each node has enough of them.

    So it is with a mask smaller than its node, or a node of which ggml sees a part. Where cores are
    unknown, CPUs count. Threads that float or that OpenMP binds are not looked at.
    """
    if plan.numa:
        counts: dict[CpuSet, int] = {}
        for tie, count in zip(plan.numa, numa_counts(plan, threads), strict=True):
            if tie is not None and tie.cpus is not None and tie.binding != "none":
                counts[tie.cpus] = counts.get(tie.cpus, 0) + count
        return any(count > room(machine, cpus) for cpus, count in counts.items())
    least = None if plan.mask is None else plan.mask.crowded_from
    return least is not None and threads >= least


def walk_of(machine: Machine, ties: tuple[Tie | None, ...]) -> Walk:
    """Return the walk through a mask as a whole (one step), or CPU by CPU."""
    places: dict[int | None, list[int]] = {}
    for step, tie in enumerate(ties):
        places.setdefault(None if tie is None else tie.node, []).append(step)
    return Walk(ties, places, crowded_from(machine, ties))


def crowded_from(machine: Machine, ties: tuple[Tie | None, ...]) -> int | None:
    """Return the least number of threads of which two share a core, None where none ever do."""
    if len(ties) == 1:
        only = ties[0]
        return None if only is None or only.cpus is None else room(machine, only.cpus) + 1
    cores = {cpu: i for i, core in enumerate(machine.cores or ()) for cpu in core.cpus}
    taken: set[object] = set()
    for step, tie in enumerate((*ties, *ties)):
        if tie is None or tie.cpus is None:
            continue
        cpu = tie.cpus.first()
        core: object = cores.get(cpu, ("CPU", cpu))
        if core in taken:
            return step + 1
        taken.add(core)
    return None


def room(machine: Machine, cpus: CpuSet) -> int:
    """Return how many cores a set of CPUs has, or how many CPUs where cores are unknown."""
    if machine.cores is None or len(cpus) == 1:
        return len(cpus)
    known = rooms(machine)
    if cpus not in known:
        known[cpus] = sum(1 for core in machine.cores if core.cpus.mask & cpus.mask)
    return known[cpus]


@kept
def rooms(machine: Machine) -> dict[CpuSet, int]:
    """Return the counts of `room` so far: a sweep asks again and again for the same sets."""
    return {}
