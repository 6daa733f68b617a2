"""Rules about where memory goes: bound elsewhere, copied too often, spread too widely."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from numatune.rules.confined import held_elsewhere, may_bind
from numatune.rules.facts import NO_LAUNCH, gibibytes, launch, listed, memory_evidence, unplaced
from numatune.rules.intent import is_cpuless
from numatune.rules.rule import Case, Evidence, Hit, Rule, Skip
from numatune.words import counted

if TYPE_CHECKING:
    from numatune.placement.placement import Worker

#: (pool, node the memory is bound to, nodes the worker runs on) of workers that are alike.
Split = tuple[int, int, tuple[int, ...]]


def bound_elsewhere(case: Case) -> Iterator[Hit | Skip]:
    """NT201: memory bound to a node on which its worker does not run.

    Source: https://github.com/kvcache-ai/ktransformers/blob/95009ea6/kt-kernel/cpu_backend/
    worker_pool.cpp (the distributor's policy takes the pool's number for the node's)
    """
    placement = case.placement
    if placement is None:
        yield unplaced(case)
        return
    yield from crossed(case)
    yield from held_elsewhere(case)


def crossed(case: Case) -> Iterator[Hit]:
    """Yield the workers whose own binding is to another node; a container may refuse it."""
    placement = case.placement
    if placement is None or not may_bind(case):
        return
    splits: dict[Split, int] = {}
    unsure: set[Split] = set()
    for worker in placement.workers:
        if not worker.memory.startswith("bind:"):
            continue
        target = int(worker.memory.removeprefix("bind:"))
        homes = runs_on(case, worker)
        if homes and target not in homes:
            key = (worker.pool, target, homes)
            splits[key] = splits.get(key, 0) + 1
            if worker.node is None and worker.cpus is None:
                unsure.add(key)
    for (pool, target, homes), count in sorted(splits.items()):
        pooled = bool(placement.pool_nodes)
        who = f"pool {pool}: {counted(count, 'worker')}" if pooled else counted(count, "worker")
        # Where upstream leaves undefined what a pool is pinned to, no place is stated as a fact.
        whose = "has its" if count == 1 else "have their"
        where = "meant for" if (pool, target, homes) in unsure else "on"
        yield Hit(
            subject=f"pool {pool}" if pooled else f"memory on node {target}",
            message=f"{who} {where} {listed(homes)} {whose} memory bound to node {target}"
            f" ({launch(case)})",
            fix=nearer(case, target),
            numbers={
                **({"pool": pool} if pooled else {}),
                "bound_to": target,
                "runs_on": homes[0] if len(homes) == 1 else list(homes),
                "workers": count,
            },
            expected=f"memory on {listed(homes)}",
            actual=f"memory on node {target}",
        )


def nearer(case: Case, target: int) -> str:
    """Say how workers and memory come to the same node."""
    from numatune.rules.remedy import other_pools

    pools = case.placement.pool_nodes if case.placement is not None else ()
    words = "give the cpuset CPUs and memory of the same nodes"
    if is_cpuless(case.machine, target):
        words = f"leave node {target}, which has no CPU, out of the cpuset (--cpuset-mems)"
    elif pools and pools != tuple(range(len(pools))):
        words = "leave --kt-numa-nodes out, so that pool i is on node i; for one node use a cpuset"
    return other_pools(case, "NT201", words)


def runs_on(case: Case, worker: Worker) -> tuple[int, ...]:
    """Return the nodes on which a worker may run; () where that is unknown.

    Where upstream leaves undefined whether a pool is pinned, its other workers tell its node.
    """
    if worker.node is not None:
        return (worker.node,)
    cpus = worker.cpus
    if cpus is not None:
        return tuple(n.id for n in case.machine.cpu_nodes if n.cpus and n.cpus & cpus)
    if case.placement is None:
        return ()
    pool = {w.node for w in case.placement.workers if w.pool == worker.pool}
    return tuple(sorted(node for node in pool if node is not None))


def copies_exceed(case: Case) -> Iterator[Hit | Skip]:
    """NT202: one copy of the experts a node needs more than is installed, or than a node has.

    Source: https://github.com/kvcache-ai/ktransformers/issues/321
    """
    machine, request, release = case.machine, case.request, case.release
    if request is None:
        yield Skip(NO_LAUNCH)
        return
    if release is None or not release.numa_build or not machine.nodes:
        return  # only builds with NUMA support make copies
    targets = [n for n in machine.nodes if n.memory_total_bytes != 0]
    copies = len(targets) if case.placement is None else case.placement.weight_copies
    size = request.model.total_bytes if request.model is not None else None
    if size is None:
        yield Skip("the size of the model is not known (--model NAME)")
        return
    sizes = {n.id: n.memory_total_bytes for n in targets if n.memory_total_bytes is not None}
    if len(sizes) < len(targets):
        yield Skip("the memory of a node is not known; `numactl --hardware` shows it")
        return
    total = sum(sizes.values())
    small = [node for node, memory in sizes.items() if memory < size]
    if copies * size > total:
        short = f"{gibibytes(copies * size)} for {gibibytes(total)} installed"
    elif small and copies > 1:
        short = f"a copy does not fit {listed(small)} ({gibibytes(min(sizes.values()))})"
    else:
        return
    yield Hit(
        subject="weights",
        message=f"{copies} copies of {request.model.name if request.model else 'the model'} of"
        f" {gibibytes(size)}, one a node: {short} ({launch(case)})",
        fix="build without USE_NUMA, use kt-kernel (it splits the weights), or set one node a"
        " socket in the BIOS (SNC off, NPS1)",
        numbers={"copies": copies},
        expected=f"at most {gibibytes(total)}",
        actual=gibibytes(copies * size),
        evidence=memory_evidence(machine, sizes),
    )


def interleaved_buffers(case: Case) -> Iterator[Hit | Skip]:
    """NT204: `numactl --interleave` around a process that also uses a GPU.

    Source: https://github.com/JustVugg/colibri/issues/82
    """
    request = case.request
    if request is None:
        yield Skip(NO_LAUNCH)
        return
    policy = interleaving(case)
    with_memory = [n for n in case.machine.nodes if n.memory_total_bytes != 0]
    if policy is None or len(with_memory) < 2:
        return
    if request.gpus is None:
        yield Skip("whether a GPU is used is not known")
    elif request.gpus > 0:
        yield Hit(
            subject="launcher",
            message=f"{policy} spreads everything, also the host buffers of"
            f" {counted(request.gpus, 'GPU')}",
            fix="leave it out, or interleave the weights alone if the runtime can",
            numbers={"gpus": request.gpus},
            expected="no blanket interleave beside a GPU",
            actual=policy,
            evidence=(Evidence("launcher", "", request.launcher or ""),),
        )


def interleaving(case: Case) -> str | None:
    """Name the policy by which the process starts that spreads pages over nodes, None without one.

    Where the launchers were understood it is theirs that counts, else what their text says.
    """
    launcher = "" if case.request is None else case.request.launcher or ""
    if case.frame is None:
        return interleave_of(launcher)
    policy = case.frame.memory
    is_spread = policy.kind in ("interleave", "weighted-interleave")
    if not is_spread or (policy.nodes is not None and len(policy.nodes) < 2):
        return None
    return interleave_of(launcher) or f"the memory policy {policy.kind}"


def interleave_of(launcher: str) -> str | None:
    """Return the interleave option of a numactl command line, None where there is none."""
    if "numactl" not in launcher:
        return None
    found = re.search(r"(?<!\S)(--(?:weighted-)?interleave(?:[= ]\S+)?|-[iw](?: ?\S+)?)", launcher)
    return None if found is None else f"numactl {found[1]}"


RULES = (
    Rule(
        "NT201",
        "memory-bound-to-other-node",
        "critical",
        "Memory is bound to one node while the workers that use it run on another.\n"
        "Every access crosses the interconnect, and the bound node's controller serves\n"
        "both.",
        (
            "https://github.com/kvcache-ai/ktransformers/blob/"
            "95009ea6856c0799e517e93cb12be5e8494bc7ce/kt-kernel/cpu_backend/worker_pool.cpp",
            "https://github.com/kvcache-ai/ktransformers/pull/1891",
        ),
        bound_elsewhere,
    ),
    Rule(
        "NT202",
        "weight-copies-exceed-memory",
        "critical",
        "One copy of the expert weights on every node is more than memory holds.\n"
        "ktransformers built with NUMA support keeps such copies; the process is killed\n"
        "while it loads.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/321",
            "https://github.com/kvcache-ai/ktransformers/issues/637",
            "https://github.com/kvcache-ai/ktransformers/issues/890",
            "https://github.com/kvcache-ai/ktransformers/issues/1147",
        ),
        copies_exceed,
    ),
    Rule(
        "NT204",
        "interleave-with-gpu-buffers",
        "warning",
        "An interleave policy around the process also spreads the buffers of a GPU.\n"
        "On one machine this cost a factor of ten; elsewhere it is a risk and no proof\n"
        "of a loss.",
        (
            "https://github.com/JustVugg/colibri/issues/82",
            "https://github.com/JustVugg/colibri/pull/384",
        ),
        interleaved_buffers,
    ),
)
