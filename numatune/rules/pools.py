"""Rules about pools of workers: empty ones, and ones that are mapped to the wrong node."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.errors import NumatuneError
from numatune.rules.binding import WORKER_POOL
from numatune.rules.facts import launch, unplaced
from numatune.rules.rule import Case, Hit, Rule, Skip
from numatune.words import counted

#: The first kt-kernel release whose idle task queue sleeps, and the commit that made it so.
QUIET_SINCE, QUIET_COMMIT = (0, 5, 3), "7a02daa6"


def no_workers(case: Case) -> Iterator[Hit | Skip]:
    """NT111: a pool without a thread. A refused launch is named by `judge`.

    Source: https://github.com/kvcache-ai/ktransformers/blob/95009ea6/kt-kernel/cpu_backend/
    worker_pool.cpp
    """
    placement = case.placement
    if placement is None:
        if case.refusal is None:
            yield unplaced(case)
        return
    from numatune.rules.ranks import RANKED, without_cpus
    from numatune.rules.remedy import worker_a_pool

    if placement.runtime in RANKED:
        yield from without_cpus(case)
        return
    pools = len(placement.pool_threads)
    for pool, threads in enumerate(placement.pool_threads):
        if threads == 0:
            yield Hit(
                subject=f"pool {pool}",
                message=f"pool {pool} gets no worker: {counted(placement.threads, 'thread')} for"
                f" {counted(pools, 'pool')} ({launch(case)})",
                fix=worker_a_pool(case, pools),
                numbers={"pool": pool},
                expected=f"at least {counted(pools, 'thread')}",
                actual=counted(placement.threads, "thread"),
            )
    if not placement.workers and not placement.pool_threads:
        yield Hit(
            subject="launch",
            message=f"no worker is started ({launch(case)})",
            fix="ask for more threads",
            expected="at least 1 worker",
            actual="0 workers",
        )


def pool_without_node(case: Case) -> Iterator[Hit | Skip]:
    """NT113: a pool mapped to a node that does not exist.

    kt-kernel finds nodes by hwloc's logical index, so on node ids 0 and 2 entry 1 is the second
    node: a pool whose workers found a node has one, whatever its entry says.
    Source: https://github.com/kvcache-ai/ktransformers/blob/95009ea6/kt-kernel/cpu_backend/
    worker_pool.cpp
    """
    asked = pool_map(case)
    if asked is None:
        yield unplaced(case)
        return
    from numatune.rules.remedy import other_pools

    workers = case.placement.workers if case.placement is not None else ()
    found = {w.pool for w in workers if w.node is not None}
    nodes = case.machine.nodes
    for pool, node in enumerate(asked):
        if pool in found or node < len(nodes):
            continue
        yield Hit(
            subject=f"pool {pool}",
            message=f"pool {pool} asks for node {node}, but there"
            f" {'is' if len(nodes) == 1 else 'are'} {counted(len(nodes), 'node')}; its workers"
            f" stay unbound ({launch(case)})",
            fix=other_pools(case, "NT113", "name nodes that exist in --kt-numa-nodes"),
            numbers={"pool": pool, "node": node},
            expected=f"a node below {len(nodes)}",
            actual=f"node {node}",
        )


def map_out_of_range(case: Case) -> Iterator[Hit | Skip]:
    """NT114: a node id in the map that is not below the number of pools.

    The array of counters has one entry a pool and is indexed by node id.
    Source: https://github.com/kvcache-ai/ktransformers/issues/1938
    """
    asked = pool_map(case)
    if asked is None:
        yield unplaced(case)
        return
    if case.request is None or case.request.options.get("numa_nodes") is None:
        return  # the default map is always in range
    pools = len(asked)
    for pool, node in enumerate(asked):
        if node >= pools:
            yield Hit(
                subject=f"pool {pool}",
                message=f"pool {pool} is mapped to node {node}, which is not below {pools},"
                f" the number of pools: the runtime reads beyond an array, and where its"
                f" workers end is undefined ({launch(case)})",
                fix=f"use --kt-threadpool-count {node + 1} with the nodes from 0 on, or put the"
                f" instance in a cpuset of node {node} with --kt-numa-nodes 0",
                numbers={"pool": pool, "node": node, "pools": pools},
                expected=f"a node below {pools}",
                actual=f"node {node}",
            )


def idle_spin(case: Case) -> Iterator[Hit | Skip]:
    """NT115: a task queue that spins while no request runs.

    Source: https://github.com/kvcache-ai/ktransformers/pull/1899
    """
    if case.release is None:
        yield unplaced(case) if case.request is None else Skip("the version is not known here")
        return
    if case.release.runtime != "kt-kernel":
        return
    spins = is_before_quiet(case.release.version)
    if spins is None:
        yield Skip(f"it is not known whether {case.release.version} is older than 0.5.3")
    elif spins:
        yield Hit(
            subject="task queue",
            message=f"the task queue keeps a core busy while no request runs ({launch(case)})",
            fix="upgrade to kt-kernel 0.5.3 or later",
            expected="0.5.3 or later",
            actual=case.release.version,
        )


def is_before_quiet(version: str) -> bool | None:
    """Tell whether a kt-kernel version or commit is older than QUIET_COMMIT, None if unknown."""
    from numatune.runtimes.kt_kernel import COMMITS
    from numatune.runtimes.versions import parse, same_commit

    number = parse(version)
    if number is not None:
        return number.release < QUIET_SINCE
    known = [i for i, commit in enumerate(COMMITS) if same_commit(version, (commit,))]
    quiet = [i for i, commit in enumerate(COMMITS) if same_commit(QUIET_COMMIT, (commit,))]
    return known[0] < quiet[0] if known and quiet else None


def pool_map(case: Case) -> tuple[int, ...] | None:
    """Return the node that each pool asks for, () for a runtime without pools, None if unknown.

    It needs no thread count: the map is in the options.
    """
    if case.placement is not None:
        return case.placement.pool_nodes
    if case.request is None or case.release is None or case.refusal is not None:
        return None
    if case.release.runtime != "kt-kernel":
        return ()
    from numatune.runtimes import kt_kernel

    try:
        entries = kt_kernel.pool_map(case.request._replace(threads=1))
    except NumatuneError:
        return None
    return tuple(node for node, _ in entries)


RULES = (
    Rule(
        "NT111",
        "no-workers",
        "critical",
        "A process or a pool would end with no worker.\n"
        "The runtime crashes, refuses the launch, or leaves a pool empty: nothing\n"
        "useful can be computed with this thread count.",
        (
            WORKER_POOL,
            "https://github.com/kvcache-ai/ktransformers/blob/v0.2.1/ktransformers/"
            "ktransformers_ext/cpu_backend/backend.cpp",
        ),
        no_workers,
    ),
    Rule(
        "NT113",
        "pool-without-node",
        "critical",
        "A pool of workers is mapped to a NUMA node that does not exist.\n"
        "The runtime only prints a message; the whole pool then runs unbound, with its\n"
        "memory wherever it happens to fall.",
        (WORKER_POOL, "https://github.com/kvcache-ai/ktransformers/pull/1891"),
        pool_without_node,
    ),
    Rule(
        "NT114",
        "pool-map-out-of-range",
        "critical",
        "A node id in kt-kernel's pool map is not below the number of pools.\n"
        "The upstream code then reads beyond an array, so whether workers are pinned,\n"
        "and where, is undefined.",
        (
            WORKER_POOL,
            "https://github.com/kvcache-ai/ktransformers/issues/1938",
            "https://github.com/kvcache-ai/ktransformers/pull/1891",
        ),
        map_out_of_range,
    ),
    Rule(
        "NT115",
        "idle-workers-spin",
        "info",
        "Threads of the runtime keep cores busy while no request runs.\n"
        "It costs power and turbo headroom, not tokens.",
        (
            "https://github.com/kvcache-ai/ktransformers/pull/1899",
            "https://github.com/kvcache-ai/ktransformers/issues/1836",
            "https://github.com/kvcache-ai/ktransformers/issues/1858",
        ),
        idle_spin,
    ),
)
