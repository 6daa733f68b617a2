"""Rules about how many workers a node carries: too many, unevenly many, or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from numatune.machine import CpuSet
from numatune.rules.facts import (
    cores_within,
    launch,
    listed,
    node_evidence,
    option_for,
    unplaced,
    workers_of,
)
from numatune.rules.loads import Load, node_loads, whole_load
from numatune.rules.rule import Case, Hit, Rule, Skip
from numatune.words import counted

CPUS_UNKNOWN = "the CPUs of a node with workers are not known; `numactl --hardware` shows them"
CORES_UNKNOWN = (
    "which CPUs are threads of one core is not known;"
    " `lscpu -e` shows it, --assume threads_per_core=1 states it"
)


def oversubscribed(case: Case) -> Iterator[Hit | Skip]:
    """NT101: more workers than CPUs in a node, or in all CPUs that floating workers may use.

    Waiting workers spin, so one worker too many delays every step by a scheduler slice.
    Source: https://github.com/kvcache-ai/ktransformers/pull/685
    """
    if workers_of(case) is None:
        yield unplaced(case)
        return
    loads = node_loads(case)
    over = [load for load in loads if load.over]
    whole = whole_load(case)
    if whole.over and not over:
        over = [whole]
    yield from (oversubscription(case, load) for load in over)
    if whole.cpus is None and not over:
        yield Skip(CPUS_UNKNOWN)


def oversubscription(case: Case, load: Load) -> Hit:
    """Say by how many one load is too large."""
    from numatune.rules.remedy import fewer

    cpus = len(load.cpus or ())
    numbers: dict[str, object] = {} if load.node is None else {"node": load.node}
    numbers |= {"workers": load.workers, "cpus": cpus, "by": load.over}
    floating = ""
    if load.unpinned:
        numbers["unpinned"] = load.unpinned
        floating = f", {load.unpinned} without a core of their own"
    return Hit(
        subject=load.subject,
        message=f"{load.place(case.machine)}: {counted(load.workers, 'worker')} for"
        f" {counted(cpus, 'CPU')}{floating} ({launch(case)})",
        fix=fewer(case),
        numbers=numbers,
        expected=f"at most {counted(cpus, 'worker')}",
        actual=counted(load.workers, "worker"),
        evidence=node_evidence(case.machine, () if load.node is None else (load.node,)),
    )


def sharing_cores(case: Case) -> Iterator[Hit | Skip]:
    """NT102: more workers than cores, so that SMT siblings work against each other.

    Source: https://github.com/JustVugg/colibri/issues/234
    """
    if workers_of(case) is None:
        yield unplaced(case)
        return
    loads = [load for load in node_loads(case) if load.over or load.sharing]
    whole = whole_load(case)
    if not loads and whole.sharing:
        loads = [whole]
    yield from (sharing(case, load) for load in loads if load.sharing)
    if not loads and not whole.over and (whole.cpus is None or whole.cores is None):
        yield Skip(CORES_UNKNOWN)


def sharing(case: Case, load: Load) -> Hit:
    """Say by how many one load exceeds the cores."""
    from numatune.rules.remedy import one_a_core

    cores = load.cores or 0
    numbers: dict[str, object] = {} if load.node is None else {"node": load.node}
    return Hit(
        subject=load.subject,
        message=f"{load.place(case.machine)}: {counted(load.workers, 'worker')} for"
        f" {counted(cores, 'core')}, so {load.sharing} share a core with another ({launch(case)})",
        fix=one_a_core(case),
        numbers=numbers | {"workers": load.workers, "cores": cores, "by": load.sharing},
        expected=f"at most {counted(cores, 'worker')}",
        actual=counted(load.workers, "worker"),
        evidence=node_evidence(case.machine, () if load.node is None else (load.node,)),
    )


def uneven_split(case: Case) -> Iterator[Hit | Skip]:
    """NT103: the runtime gives the nodes worker counts that differ by more than one.

    Source: https://github.com/kvcache-ai/ktransformers/pull/685
    """
    if case.placement is None:
        yield unplaced(case)
        return
    counts = tied(case)
    if counts and max(counts.values()) - min(counts.values()) > 1:
        from numatune.rules.remedy import fewer

        shares = ", ".join(f"node {node} {count}" for node, count in counts.items())
        yield Hit(
            subject="workers by node",
            message=f"uneven split of {counted(sum(counts.values()), 'worker')}: {shares}"
            f" ({launch(case)})",
            fix=fewer(case, "NT103", evenly=True),
            numbers={"workers": counts},
            expected="counts that differ by one at most",
            actual=shares,
        )


def uneven_nodes(case: Case) -> Iterator[Hit | Skip]:
    """NT105: equal shares for nodes with different numbers of cores.

    Source: https://github.com/kvcache-ai/ktransformers/pull/685
    """
    if case.placement is None:
        yield unplaced(case)
        return
    counts = tied(case)
    if len(counts) < 2 or max(counts.values()) - min(counts.values()) > 1:
        return
    if case.placement.runtime in ("vllm", "sglang"):
        return  # it divides no count: equal shares are what its lists say
    cores: dict[int, int] = {}
    for node in counts:
        cpus = case.machine.node_cpus(node)
        known = None if cpus is None else cores_within(case.machine, cpus)
        if known is None:
            yield Skip(CORES_UNKNOWN)
            return
        cores[node] = known
    if len(set(cores.values())) > 1:
        sizes = ", ".join(f"node {node} {counted(count, 'core')}" for node, count in cores.items())
        least = min(cores.values())
        yield Hit(
            subject="cores by node",
            message=f"equal shares for unequal nodes: {sizes} ({launch(case)})",
            fix=f"stay at {option_for(case, least * len(cores))} or less,"
            f" so that no node gets more than {counted(least, 'worker')}",
            numbers={"cores": cores},
            expected="the same number of cores in each node",
            actual=sizes,
            evidence=node_evidence(case.machine, cores),
        )


def left_idle(case: Case) -> Iterator[Hit | Skip]:
    """NT106: a node with usable CPUs on which no worker may run.

    Source: https://github.com/numactl/numactl/issues/127
    """
    if case.placement is None:
        yield unplaced(case)
        return
    reached = CpuSet()
    homes = set()
    for worker in case.placement.workers:
        if worker.cpus is None and worker.node is None:
            return  # it may run anywhere
        reached |= worker.cpus or CpuSet()
        homes.add(worker.node)
    if not case.placement.workers:
        return  # no-workers says it
    idle = [
        node.id
        for node in case.machine.cpu_nodes
        if node.id not in homes and (cpus := case.machine.node_cpus(node.id)) and not cpus & reached
    ]
    if idle:
        count = sum(len(case.machine.node_cpus(node) or ()) for node in idle)
        yield Hit(
            subject=listed(idle),
            message=f"{listed(idle)} with {counted(count, 'CPU')} {'get' if idle[1:] else 'gets'}"
            f" no worker ({launch(case)})",
            fix=idle_fix(case, idle),
            numbers={"nodes": idle},
            expected="a worker in each node",
            actual=f"none in {listed(idle)}",
            evidence=node_evidence(case.machine, idle),
        )


def idle_fix(case: Case, idle: list[int]) -> str:
    """Say what would bring workers to idle nodes."""
    machine = case.machine
    from numatune.rules.remedy import every_node

    words = "no other count or setting of this runtime reaches every node"
    if any(node.id in idle and node.is_memoryless for node in machine.nodes):
        words = "put memory into every node: the runtime counts only nodes with memory"
    elif machine.limits.affinity is not None:
        words = "start it without taskset or numactl, unless a part of the machine is meant"
    return every_node(case, words)


def tied(case: Case) -> Mapping[int, int]:
    """Return how many workers are tied to each node that has any, by node id."""
    counts: dict[int, int] = {}
    for worker in case.placement.workers if case.placement is not None else ():
        if worker.node is not None:
            counts[worker.node] = counts.get(worker.node, 0) + 1
    return dict(sorted(counts.items()))


PR_685 = "https://github.com/kvcache-ai/ktransformers/pull/685"

RULES = (
    Rule(
        "NT101",
        "node-oversubscribed",
        "critical",
        "More workers are tied to one NUMA node than it has CPUs for them.\n"
        "They wait for each other by spinning, so a single one too many makes every\n"
        "step wait for the scheduler, and the token rate collapses.",
        (
            PR_685,
            "https://github.com/kvcache-ai/ktransformers/issues/432",
            "https://github.com/ollama/ollama/issues/8074",
        ),
        oversubscribed,
    ),
    Rule(
        "NT102",
        "workers-share-core",
        "warning",
        "There are more workers than physical cores, so SMT siblings share some.\n"
        "Siblings add no memory bandwidth; on most machines the pairs are only slower.",
        (
            "https://github.com/JustVugg/colibri/issues/234",
            "https://github.com/kvcache-ai/ktransformers/issues/1816",
            "https://github.com/kvcache-ai/ktransformers/issues/1073",
        ),
        sharing_cores,
    ),
    Rule(
        "NT103",
        "uneven-worker-split",
        "warning",
        "The runtime gives the nodes worker counts that differ by more than one.\n"
        "The fullest node sets the pace of every step while cores of the others idle.",
        (PR_685, "https://github.com/kvcache-ai/ktransformers/issues/432"),
        uneven_split,
    ),
    Rule(
        "NT105",
        "uneven-nodes",
        "warning",
        "Nodes with different numbers of cores get the same share of the workers.\n"
        "The smallest node is full while the others still have room.",
        (
            "https://github.com/kvcache-ai/ktransformers/blob/"
            "b2bff1777502519838b8a5ec112d2566635d42e5/ktransformers/ktransformers_ext/cpu_backend/"
            "backend.cpp",
        ),
        uneven_nodes,
    ),
    Rule(
        "NT106",
        "node-left-idle",
        "warning",
        "A node has CPUs that this process may use, but no worker will run there.\n"
        "Its cores and its share of the memory bandwidth are not used.",
        (
            "https://github.com/numactl/numactl/issues/127",
            "https://github.com/kvcache-ai/ktransformers/blob/main/doc/en/"
            "DeepseekR1_V3_tutorial.md",
        ),
        left_idle,
    ),
)
