"""Rules about parts of the machine that are out of reach: memory, and what a platform hides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from numatune.machine import CpuSet
from numatune.rules.facts import NO_LAUNCH, evidence, gibibytes, launch, listed, memory_evidence
from numatune.rules.frames import stated
from numatune.rules.ggml_limits import GGML
from numatune.rules.rule import Case, Hit, Rule, Skip
from numatune.words import counted, named

SIZE_UNKNOWN = "the size of the model is not known (--model NAME)"
MEMORY_UNKNOWN = "the memory of a node is not known; `numactl --hardware` shows it"
GPU_SHARE_UNKNOWN = "how much of the model lies on the GPU is not known"

#: The most NUMA nodes of the kubelet's topology manager, unless an option raises it.
MOST_KUBELET_NODES = 8
KUBELET = "https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/"

#: Words of the kernel command line that Windows writes: its path has a backslash.
#: https://github.com/microsoft/WSL2-Linux-Kernel/issues/98
WSL = r"(?<!\S)(initrd=\\initrd\.img|WSL_ROOT_INIT=1)(?!\S)"


class Share(NamedTuple):
    """What must come from some nodes: how many bytes, and who says that it must."""

    nodes: tuple[int, ...]
    needed: int
    by: str


def too_small(case: Case) -> Iterator[Hit | Skip]:
    """NT205: weights that do not fit the nodes that their memory must come from.

    Spoken only where the machine as a whole has the memory. A preferred node is no bound.
    Source: https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html
    """
    request, machine = case.request, case.machine
    if request is None:
        yield Skip(NO_LAUNCH)
        return
    every = {n.id: n.memory_total_bytes for n in machine.nodes if n.memory_total_bytes != 0}
    bound = bound_nodes(case, CpuSet(every))
    pooled = pool_nodes(case)
    if case.refusal is not None or (bound is None and not pooled):
        return
    sizes = {node: size for node, size in every.items() if size is not None}
    total = None if request.model is None else request.model.total_bytes
    is_on_gpu = bool(request.gpus) and (case.release is None or case.release.runtime in GGML)
    if total is None or len(sizes) < len(every) or is_on_gpu:
        unknown = SIZE_UNKNOWN if total is None else MEMORY_UNKNOWN
        yield Skip(GPU_SHARE_UNKNOWN if is_on_gpu and total is not None else unknown)
        return
    for share in shares(case, total, bound, pooled):
        available = sum(sizes.get(node, 0) for node in share.nodes)
        if share.needed > available and sum(sizes.values()) >= max(total, share.needed):
            yield hit_of(case, share, available)


def hit_of(case: Case, share: Share, available: int) -> Hit:
    """Return the finding of a share that does not fit."""
    nodes = listed(share.nodes) if share.nodes else "no node"
    return Hit(
        subject=nodes,
        message=f"{gibibytes(share.needed)} of weights must come from {nodes} ({share.by}), where"
        f" there are {gibibytes(available)} ({launch(case)})",
        fix=wider(case, share),
        numbers={
            "nodes": list(share.nodes),
            "needed_bytes": share.needed,
            "available_bytes": available,
        },
        expected=f"at most {gibibytes(available)}",
        actual=gibibytes(share.needed),
        evidence=(*stated(case), *memory_evidence(case.machine, share.nodes)),
    )


def wider(case: Case, share: Share) -> str:
    """Say how the weights get to memory that holds them."""
    if share.by.startswith("--kt"):
        count = len([n for n in case.machine.cpu_nodes if n.memory_total_bytes])
        return f"use --kt-threadpool-count {count}, one pool for each node"
    if case.placement is not None and " of vLLM" in share.by:
        from numatune.rules.rank_ways import TENSOR, usable_nodes

        count, ranks = len(usable_nodes(case.machine)), len(case.placement.pool_threads)
        smaller = "give the KV cache less (VLLM_CPU_KVCACHE_SPACE), or take a smaller model"
        return f"use {TENSOR} {count}, a rank for each node" if count > ranks else smaller
    if share.by.startswith("the memory policy"):
        return "interleave in place of the binding: numactl --interleave=all"
    return "allow the memory of more nodes: --cpuset-mems, AllowedMemoryNodes="


def bound_nodes(case: Case, every: CpuSet) -> tuple[CpuSet, str] | None:
    """Return the nodes that all memory must come from, and by what; None where it may be any."""
    mems, policy = case.machine.limits.cpuset_mems, case.frame.memory if case.frame else None
    nodes, by = every, ""
    if mems is not None and every - mems:
        nodes, by = every & mems, f"a cpuset with the memory of {named(mems, 'node')}"
    if policy is not None and policy.kind == "bind" and policy.nodes is not None:
        kept = nodes & policy.nodes
        copies = 1 if case.placement is None else case.placement.weight_copies
        if kept != nodes and copies < 2:  # each copy is bound to its own node, whatever the policy
            nodes, by = kept, f"the memory policy bind {policy.nodes}"
    return (nodes, by) if by else None


def pool_nodes(case: Case) -> Mapping[int, int]:
    """Return how many pools of kt-kernel have all their memory on each node; {} where unclear."""
    placement = case.placement
    is_forbidden = case.frame is not None and case.frame.may_set_policy is False
    if placement is None or is_forbidden:
        return {}
    if placement.runtime == "vllm":
        from numatune.rules.ranks import memory_nodes

        return memory_nodes(case)
    if not placement.pool_nodes:
        return {}
    # The threads of a pool build its tensors, under their own policies.
    policies: dict[int, set[str]] = {}
    for worker in placement.workers:
        policies.setdefault(worker.pool, set()).add(worker.memory)
    found: dict[int, int] = {}
    for names in policies.values():
        name = names.pop()
        if names or not name.startswith("bind:"):
            return {}
        node = int(name.removeprefix("bind:"))
        found[node] = found.get(node, 0) + 1
    return found if len(policies) == len(placement.pool_nodes) else {}


def shares(
    case: Case, total: int, bound: tuple[CpuSet, str] | None, pooled: Mapping[int, int]
) -> Iterator[Share]:
    """Yield what must come from where: all from the nodes that are bound, else a pool's part."""
    placement = case.placement
    if placement is not None and pooled and placement.runtime == "vllm":
        from numatune.rules.ranks import kv_cache_of

        count, cache = sum(pooled.values()), kv_cache_of(case)
        more = f" with {gibibytes(cache)} of KV cache each" if cache else ""
        for node, ranks in sorted(pooled.items()):
            by = f"{ranks} of {counted(count, 'rank')} of vLLM{more}"
            yield Share((node,), total * ranks // count + cache * ranks, by)
    elif bound is not None:
        copies = 1 if placement is None else placement.weight_copies
        yield Share(tuple(bound[0]), total * copies, bound[1])
    elif placement is not None:
        for node, pools in sorted(pooled.items()):
            count = len(placement.pool_nodes)
            by = f"--kt-threadpool-count {count}: {pools} of {counted(count, 'pool')}"
            yield Share((node,), total * pools // count, by)


def platform_limit(case: Case) -> Iterator[Hit | Skip]:
    """NT414: a platform that shows or takes less than the machine has.

    Sources: `KUBELET`, https://github.com/microsoft/WSL/issues/14015
    """
    machine = case.machine
    policy = topology_policy(case)
    if policy:
        if machine.shows_nodes is None:
            yield Skip("the NUMA nodes are not known; `numactl --hardware` lists them")
        elif len(machine.nodes) > MOST_KUBELET_NODES:
            ids = CpuSet(node.id for node in machine.nodes)
            yield Hit(
                subject="kubelet",
                message=f"{len(ids)} NUMA nodes, but the kubelet's topology manager takes"
                f" {MOST_KUBELET_NODES}: with topology={policy} it ends with an error",
                fix="add max-allowable-numa-nodes to topologyManagerPolicyOptions, or make fewer"
                " nodes in the BIOS (NPS1, SNC off)",
                numbers={"limit": MOST_KUBELET_NODES, "nodes": len(ids)},
                expected=f"at most {counted(MOST_KUBELET_NODES, 'node')}",
                actual=counted(len(ids), "node"),
                evidence=evidence(machine, "nodes", "/sys/devices/system/node/online", ids),
            )
    line = machine.settings.cmdline or ""
    found = re.search(WSL, line) if line else None
    if found is None:
        return
    packages, nodes = machine.packages_known, len(machine.nodes)
    if nodes > 1 or not packages or packages < 2:
        if nodes < 2:
            yield Skip(
                "this is WSL, which may show one package and one node of several; the Task Manager"
                " of Windows shows sockets and NUMA nodes"
            )
        return
    yield Hit(
        subject="WSL",
        message=f"WSL shows {counted(packages, 'package')} and {counted(nodes, 'NUMA node')}: no"
        " thread and no page can be kept on one side",
        fix="run it under Linux itself",
        numbers={"limit": 1},
        expected=f"at least {counted(packages, 'node')}",
        actual=counted(nodes, "node"),
        evidence=evidence(machine, "settings", "/proc/cmdline", found[1]),
    )


def topology_policy(case: Case) -> str:
    """Return the policy of the kubelet's topology manager that a frame states, "" for none."""
    layers = case.frame.layers if case.frame is not None else ()
    for layer in layers:
        if layer.name == "kubernetes":
            found = re.search(r"(?:^|[\s,])topology=([a-z-]+)", layer.text.lower())
            if found is not None and found[1] != "none":
                return found[1]
    return ""


RULES = (
    Rule(
        "NT205",
        "bound-memory-too-small",
        "critical",
        "The weights do not fit the nodes that their memory must come from.\n"
        "A cpuset, a binding or a pool allows some nodes only, and these have less than\n"
        "is needed, although the machine has enough.",
        (
            "https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html",
            "https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset",
            "https://github.com/kvcache-ai/ktransformers/blob/"
            "95009ea6856c0799e517e93cb12be5e8494bc7ce/kt-kernel/cpu_backend/worker_pool.cpp",
        ),
        too_small,
    ),
    Rule(
        "NT414",
        "platform-limit",
        "warning",
        "A limit of the platform keeps a part of the machine from being used.\n"
        "The kubelet's topology manager takes eight nodes, and WSL shows one node of\n"
        "machines that have several.",
        (
            KUBELET,
            "https://github.com/kubernetes/kubernetes/issues/124144",
            "https://github.com/microsoft/WSL/issues/14015",
            "https://github.com/microsoft/WSL/issues/5472",
        ),
        platform_limit,
    ),
)
