"""Rules about the nodes that the kernel shows: empty ones, gaps in their numbers, none at all."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.rules.facts import evidence, launch, listed, memory_evidence, node_evidence, unplaced
from numatune.rules.intent import barred, is_cpuless
from numatune.rules.rule import Case, Hit, Rule, Skip
from numatune.words import counted

MEMORY_UNKNOWN = "the memory of the nodes is not known; `numactl --hardware` shows it"
NODE_CPUS_UNKNOWN = "the CPUs of the nodes are not known; `numactl --hardware` shows them"
NODE_FOLDER = "/sys/devices/system/node"


def memoryless(case: Case) -> Iterator[Hit | Skip]:
    """NT401: nodes with CPUs and without memory.

    Source: https://github.com/WyvernTKC/cpuminer-gr-avx2/issues/22
    """
    nodes = [n.id for n in case.machine.nodes if n.is_memoryless]
    if nodes:
        has = "has CPUs and no memory: all it reads" if len(nodes) == 1 else None
        has = has or "have CPUs and no memory: all they read"
        yield Hit(
            subject=listed(nodes),
            message=f"{listed(nodes)} {has} comes from other nodes",
            fix="put memory modules on every socket and die",
            numbers={"nodes": nodes},
            expected="memory in each node with CPUs",
            actual=f"0 bytes in {listed(nodes)}",
            evidence=memory_evidence(case.machine, nodes),
        )
    elif any(n.cpus and n.memory_total_bytes is None for n in case.machine.nodes):
        yield Skip(MEMORY_UNKNOWN)


def cpuless_with_workers(case: Case) -> Iterator[Hit | Skip]:
    """NT402: workers that the runtime meant for a node without CPUs.

    Source: https://github.com/kvcache-ai/ktransformers/issues/1136
    """
    placement = case.placement
    if placement is None:
        yield unplaced(case)
        return
    from numatune.rules.remedy import other_pools

    if placement.runtime == "vllm":
        from numatune.rules.ranks import on_cpuless

        yield from on_cpuless(case)
        return
    counts = {bar.node: bar.workers for bar in barred(case) if is_cpuless(case.machine, bar.node)}
    for node, workers in {**counts, **pooled_on_cpuless(case)}.items():
        words = f"start it in a cpuset without node {node} (--cpuset-mems)"
        yield Hit(
            subject=f"node {node}",
            message=f"node {node} has no CPU, but {counted(workers, 'worker')}"
            f" {'was' if workers == 1 else 'were'} meant for it and run elsewhere ({launch(case)})",
            fix=other_pools(case, "NT402", words),
            numbers={"node": node, "workers": workers},
            expected="workers on nodes with CPUs only",
            actual=f"{counted(workers, 'worker')} for node {node}",
            evidence=node_evidence(case.machine, (node,)),
        )


def pooled_on_cpuless(case: Case) -> dict[int, int]:
    """Return the workers of kt-kernel's pools on nodes without CPUs, by node id.

    hwloc may give such a node the cores of its nearest neighbour, so that they are pinned there.
    """
    placement = case.placement
    if placement is None or not placement.pool_nodes:
        return {}
    from numatune.runtimes.hwloc import numa_objects

    shown = [one.id for one in numa_objects(case.machine)]
    counts: dict[int, int] = {}
    for asked, threads in zip(placement.pool_nodes, placement.pool_threads, strict=True):
        if asked < len(shown) and is_cpuless(case.machine, shown[asked]):
            counts[shown[asked]] = counts.get(shown[asked], 0) + threads
    return counts


def sparse_ids(case: Case) -> Iterator[Hit | Skip]:
    """NT403: node ids that do not run from 0 without a gap.

    Source: https://github.com/kvcache-ai/ktransformers/blob/b2bff1777502519838b8a5ec112d2566635d42e
    5/ktransformers/ktransformers_ext/cpu_backend/backend.cpp
    """
    ids = sorted(n.id for n in case.machine.nodes)
    if ids != list(range(len(ids))):
        yield Hit(
            subject="node ids",
            message=f"node ids are {', '.join(map(str, ids))} and not 0 to {len(ids) - 1}:"
            " runtimes that count from 0 ask for nodes that are not there",
            fix="check what the runtime makes of them: numatune plan; kt-kernel's pools take the"
            " n-th node, whatever its id",
            numbers={"nodes": ids},
            expected=f"0-{len(ids) - 1}",
            actual=", ".join(map(str, ids)),
            evidence=evidence(
                case.machine, "nodes", f"{NODE_FOLDER}/online", ",".join(map(str, ids))
            ),
        )


def no_nodes(case: Case) -> Iterator[Hit | Skip]:
    """NT407: the kernel exposes no node directory.

    Builds with libnuma exit there: https://github.com/kvcache-ai/ktransformers/issues/1754
    """
    machine = case.machine
    if machine.shows_nodes is None:
        yield Skip("the source states no NUMA nodes; `numactl --hardware` lists them")
    if machine.shows_nodes is not False:
        return
    stops = uses_libnuma(case)
    yield Hit(
        subject="nodes",
        message="the kernel shows no NUMA nodes"
        + (f"; {launch(case)} exits at start" if stops else ""),
        fix="use a kernel with NUMA support (CONFIG_NUMA; WSL, gVisor and some containers lack it)"
        if stops
        else "fine on a small machine; on a server look on the host, outside of the container",
        expected=f"{NODE_FOLDER}/node0",
        actual="no node",
        evidence=evidence(machine, "nodes", NODE_FOLDER, "absent"),
        severity="critical" if stops else "warning",
    )


def uses_libnuma(case: Case) -> bool:
    """Tell whether the launch binds through libnuma, which ends the process without nodes."""
    if case.refusal is not None and case.refusal.rule == "no-numa-information":
        return True
    name = case.release.runtime if case.release is not None else ""
    return name == "kt-kernel" or (
        name == "ktransformers" and case.release is not None and case.release.numa_build is True
    )


def memory_only(case: Case) -> Iterator[Hit | Skip]:
    """NT413: nodes with memory and without CPUs.

    Source: https://github.com/numactl/numactl/issues/224
    """
    machine = case.machine
    nodes = [n for n in machine.nodes if n.is_cpuless]
    if nodes:
        ids = [n.id for n in nodes]
        kinds = {n.id: n.kind for n in nodes if n.kind != "unknown"}
        numbers: dict[str, object] = {"nodes": ids}
        if kinds:
            alike = set(kinds.values())
            numbers["kind"] = alike.pop() if len(alike) == 1 and len(kinds) == len(ids) else kinds
        named = f" ({', '.join(sorted(set(kinds.values())))})" if kinds else ""
        yield Hit(
            subject=listed(ids),
            message=f"{listed(ids)} {'is' if len(ids) == 1 else 'are'} memory without"
            f" CPUs{named}: an interleave over all nodes puts weights there too",
            fix="name the nodes that are meant: numactl --interleave="
            + ",".join(str(n.id) for n in machine.cpu_nodes),
            numbers=numbers,
            actual=f"no CPUs in {listed(ids)}",
            evidence=memory_evidence(machine, ids),
        )
    elif any(n.cpus is None for n in machine.nodes):
        yield Skip(NODE_CPUS_UNKNOWN)


RULES = (
    Rule(
        "NT401",
        "memoryless-node",
        "warning",
        "A node has CPUs but no memory, most often for want of a module there.\n"
        "Its workers fetch every byte from another node, and runtimes count such a node\n"
        "differently.",
        (
            "https://github.com/WyvernTKC/cpuminer-gr-avx2/issues/22",
            "https://github.com/numactl/numactl/issues/127",
        ),
        memoryless,
    ),
    Rule(
        "NT402",
        "cpuless-node-given-workers",
        "warning",
        "The runtime gives a node without CPUs a share of the workers.\n"
        "Nodes of HBM, CXL or persistent memory have no CPUs: these workers stay\n"
        "unbound, or crowd another node.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/1136",
            "https://github.com/numactl/numactl/issues/165",
        ),
        cpuless_with_workers,
    ),
    Rule(
        "NT403",
        "sparse-node-ids",
        "warning",
        "The ids of the NUMA nodes do not run from 0 without a gap.\n"
        "Software that counts nodes and takes the numbers from 0 on as their ids then\n"
        "asks for nodes that are not there.",
        (
            "https://github.com/kvcache-ai/ktransformers/blob/"
            "b2bff1777502519838b8a5ec112d2566635d42e5/ktransformers/ktransformers_ext/cpu_backend/"
            "backend.cpp",
            "https://github.com/numactl/numactl/pull/20",
        ),
        sparse_ids,
    ),
    Rule(
        "NT407",
        "no-numa-information",
        "critical",
        "The kernel exposes no NUMA node, not even one.\n"
        "Programs that use libnuma can't start there, and on a server with several\n"
        "sockets nobody can place anything.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/1754",
            "https://github.com/microsoft/WSL/issues/5025",
        ),
        no_nodes,
    ),
    Rule(
        "NT413",
        "memory-only-nodes",
        "info",
        "Some nodes have memory and no CPUs: HBM, CXL, persistent or GPU memory.\n"
        "That is a state and no fault, but policies over all nodes use them as well.",
        (
            "https://github.com/numactl/numactl/issues/224",
            "https://github.com/argonne-lcf/user-guides/pull/756",
        ),
        memory_only,
    ),
)
