"""Rules about what workers are tied to: nothing, a whole node, or a core each."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.machine import CpuSet
from numatune.rules.confined import brought, confined
from numatune.rules.facts import launch, listed, node_evidence, unplaced
from numatune.rules.intent import barred
from numatune.rules.loads import node_loads
from numatune.rules.memory import interleaving
from numatune.rules.placement import CORES_UNKNOWN, tied
from numatune.rules.rule import Case, Hit, Rule, Skip
from numatune.words import counted


def unbound(case: Case) -> Iterator[Hit | Skip]:
    """NT107: workers that no binding ties to a node.

    Spoken only where it matters: where the workers can wander between nodes, or where the runtime
    meant to bind them and could not.
    Source: https://github.com/kvcache-ai/ktransformers/issues/432
    """
    placement = case.placement
    if placement is None:
        yield unplaced(case)
        return
    # Where the machine is known and a worker's CPUs are not, upstream leaves them undefined.
    defined = case.machine.inherited_cpus is None
    loose = [w for w in placement.workers if w.node is None and (defined or w.cpus is not None)]
    reach = CpuSet()
    for worker in loose:
        reach |= worker.cpus or case.machine.inherited_cpus or CpuSet()
    nodes = [n.id for n in case.machine.cpu_nodes if n.cpus and n.cpus & reach]
    if not loose or (len(nodes) < 2 and not means_to_bind(case)):
        return
    one = len(placement.workers) == 1
    where = f"wander over {listed(nodes)}" if len(nodes) > 1 else "are tied to no node"
    if one:
        where = f"wanders over {listed(nodes)}" if len(nodes) > 1 else "is tied to no node"
    part = (
        "the only" if one else "all" if len(loose) == len(placement.workers) else f"{len(loose)} of"
    )
    if all(w.memory == "default" for w in loose):
        where += f"; {its_memory(case, one)}"
    yield Hit(
        subject="workers",
        message=f"{part} {'worker' if one else counted(len(placement.workers), 'worker')} {where}"
        f" ({launch(case)})",
        fix=binding_fix(case),
        numbers={"workers": len(loose)},
        expected="every worker tied to a node",
        actual=f"{len(loose)} tied to none",
        evidence=node_evidence(case.machine, nodes),
        severity="info" if interleaving(case) and not means_to_bind(case) else None,
    )


def its_memory(case: Case, one: bool) -> str:
    """Say where the memory of workers lies that bind none themselves."""
    whose, run = ("its memory", "it runs") if one else ("their memory", "they run")
    spread, held = interleaving(case), confined(case)
    if spread is not None:
        return f"{whose} is spread over nodes, wherever {run} ({spread})"
    if held is not None:
        return f"{whose} comes from {listed(held.nodes)}: {held.words}"
    return f"{whose} lies wherever it was first touched"


def means_to_bind(case: Case) -> bool:
    """Tell whether this runtime, as built, binds its workers to nodes."""
    release = case.release
    if release is None:
        return False
    return release.numa_build is True or release.runtime == "kt-kernel" or bool(tied(case))


def binding_fix(case: Case) -> str:
    """Say what would tie the workers."""
    from numatune.rules.remedy import other_pools, tied_by_itself

    release = case.release
    if release is not None and release.runtime == "kt-kernel":
        return other_pools(case, "NT107", "give the process CPUs and memory of the same nodes")
    if any(bar.cpuset for bar in barred(case)):
        return "let the cpuset cover the nodes that the runtime uses"
    if release is not None and release.numa_build is True:
        return "use kt-kernel, which finds these nodes, or a build without USE_NUMA"
    build = ""
    if release is not None and release.runtime == "ktransformers":
        # Before 0.2.0 there was no such build: numa_build is then None.
        has_build = release.numa_build is False
        build = (
            "; or build it with USE_NUMA=1" if has_build else "; or upgrade, built with USE_NUMA=1"
        )
    home = roomy_node(case)
    words = f"spread its memory: numactl --interleave=all{build}"
    if home is not None:
        words = f"run it on one node: numactl -N {home} -m {home}{build}"
    held = confined(case)
    if held is not None and home is None:
        memory = (n.id for n in case.machine.cpu_nodes if n.memory_total_bytes != 0)
        words = brought(case, held, CpuSet(memory)) + build
    return tied_by_itself(case, words)


def roomy_node(case: Case) -> int | None:
    """Return the first node that has usable memory and a CPU for each worker, if there is one."""
    workers = 0 if case.placement is None else len(case.placement.workers)
    mems = case.machine.usable_mems
    for node in case.machine.cpu_nodes:
        cpus = case.machine.node_cpus(node.id)
        has_memory = node.memory_total_bytes != 0 and (mems is None or node.id in mems)
        if has_memory and cpus is not None and len(cpus) >= max(1, workers):
            return node.id
    return None


def siblings_in_mask(case: Case) -> Iterator[Hit | Skip]:
    """NT108: workers tied to whole cores with both threads, though there is a core for each.

    Source: https://github.com/kvcache-ai/ktransformers/issues/1073
    """
    placement = case.placement
    if placement is None:
        yield unplaced(case)
        return
    masks = {
        load.node: load
        for load in node_loads(case)
        if any(
            w.node == load.node and w.cpus is not None and w.binding in ("node", "mask")
            for w in placement.workers
        )
    }
    if not masks:
        return
    if any(load.cores is None for load in masks.values()):
        yield Skip(CORES_UNKNOWN)
        return
    nodes = [
        load.node
        for load in masks.values()
        if load.node is not None
        and load.cpus is not None
        and load.cores is not None
        and 1 < load.workers <= load.cores < len(load.cpus)
    ]
    if nodes:
        yield Hit(
            subject=listed(nodes),
            message=f"the workers of {listed(nodes)} may use both threads of each core, so two may"
            f" meet on one core while another idles ({launch(case)})",
            fix="switch SMT off, or take the second threads away with a cpuset, and measure",
            numbers={"nodes": nodes},
            expected="a core for each worker",
            actual="a mask with both threads of each core",
            evidence=node_evidence(case.machine, nodes),
        )


def instances_collide(case: Case) -> Iterator[Hit | Skip]:
    """NT110: instances that pin their workers to the same cores.

    Source: https://github.com/kvcache-ai/ktransformers/pull/1712
    """
    placement = case.placement
    if placement is None or case.request is None:
        yield unplaced(case)
        return
    if case.request.instances < 2:
        return
    taken: dict[int, int] = {}
    for node in tied(case):
        pinned = [w for w in placement.workers if w.node == node and w.binding == "cpu"]
        cores = {w.cpus if w.cpus is not None else w.index for w in pinned}
        if cores:
            taken[node] = len(cores)
    if taken:
        shares = ", ".join(f"node {node} {counted(count, 'core')}" for node, count in taken.items())
        yield Hit(
            subject="instances",
            message=f"{case.request.instances} instances pin to the same cores: {shares}"
            f" ({launch(case)})",
            fix="give each instance a cpuset of its own (docker run --cpuset-cpus --cpuset-mems)",
            numbers={"cores": taken},
            expected="cores of its own for each instance",
            actual=f"{shares}, taken {case.request.instances} times",
        )


WORKER_POOL = (
    "https://github.com/kvcache-ai/ktransformers/blob/95009ea6856c0799e517e93cb12be5e8494bc7ce/"
    "kt-kernel/cpu_backend/worker_pool.cpp"
)

RULES = (
    Rule(
        "NT107",
        "workers-unbound",
        "warning",
        "Workers are tied to no NUMA node: the scheduler may move them at any time.\n"
        "They then read weights across the interconnect, at about half of the local\n"
        "bandwidth on two-socket Xeons.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/432",
            WORKER_POOL,
            "https://github.com/kvcache-ai/ktransformers/issues/1136",
        ),
        unbound,
    ),
    Rule(
        "NT108",
        "smt-siblings-in-mask",
        "info",
        "Workers may use both threads of each core, though each could have its own.\n"
        "The scheduler may put two of them on one core while another core idles.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/1073",
            "https://github.com/kvcache-ai/ktransformers/blob/"
            "b2bff1777502519838b8a5ec112d2566635d42e5/ktransformers/ktransformers_ext/cpu_backend/"
            "backend.cpp",
        ),
        siblings_in_mask,
    ),
    Rule(
        "NT110",
        "instances-share-cores",
        "critical",
        "Two instances pin their workers to the same cores.\n"
        "Both spin, so each takes the other's time at every step while cores beside\n"
        "them idle.",
        ("https://github.com/kvcache-ai/ktransformers/pull/1712", WORKER_POOL),
        instances_collide,
    ),
)
