"""Rules about ranks: processes of one server that each want a node of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from numatune.errors import NumatuneError
from numatune.machine import Limits
from numatune.rules.facts import launch, listed, node_evidence, unplaced
from numatune.rules.intent import Barred, is_cpuless, without_bars
from numatune.rules.rule import Case, Hit, Rule, Skip
from numatune.words import counted

#: The runtimes whose pools are ranks.
RANKED = frozenset(("vllm", "sglang"))

VLLM_SOURCE = "https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/utils/ompmultiprocessing.py"


class Starved(NamedTuple):
    """A rank without a CPU, and the node on which it looks for them (None: it has a list)."""

    rank: int
    node: int | None


def exceed_nodes(case: Case) -> Iterator[Hit | Skip]:
    """NT112: more ranks than nodes, where each rank is bound to a node of its own.

    Source: `VLLM_SOURCE`
    """
    if case.refusal is None:
        if case.placement is None:
            yield unplaced(case)
        return
    if case.refusal.rule != "ranks-exceed-nodes":
        return
    from numatune.rules.remedy import first
    from numatune.rules.ways import SETTINGS

    numbers = case.refusal.numbers
    otherwise = "ask for as many ranks as there are nodes, or name the CPUs of each rank"
    yield Hit(
        subject="ranks",
        message=f"{case.refusal.reason} ({launch(case)})",
        fix=first(case, "NT112", (SETTINGS,), otherwise),
        numbers=numbers,
        expected=f"at most {numbers.get('nodes')} ranks",
        actual=f"{numbers.get('ranks')} ranks",
        evidence=node_evidence(case.machine, [n.id for n in case.machine.cpu_nodes]),
    )


def starved(case: Case) -> list[Starved]:
    """Return the ranks of vLLM that are placed and have no CPU."""
    placement, request = case.placement, case.request
    if placement is None or request is None or placement.runtime != "vllm":
        return []
    from numatune.runtimes import vllm_ranks

    try:
        ranks = vllm_ranks.ranks(case.machine, request)
    except NumatuneError:
        return []
    return [Starved(i, rank.meant) for i, rank in enumerate(ranks) if not rank.threads]


def without_cpus(case: Case) -> Iterator[Hit]:
    """Yield the ranks without a CPU, for NT111.

    vLLM sets OMP_NUM_THREADS=0 for such a rank. Source: `VLLM_SOURCE`
    """
    from numatune.rules.remedy import first
    from numatune.rules.ways import SETTINGS

    for rank, node in starved(case):
        why = "its list is empty"
        if node is not None:
            reserved = "all CPUs that it has are reserved"
            why = reserved if inherits(case, node) else f"it may use no CPU of node {node}"
        words = "give the process CPUs and memory of the same nodes, or a list of CPUs to each rank"
        yield Hit(
            subject=f"rank {rank}",
            message=f"rank {rank} gets no CPU: {why} ({launch(case)})",
            fix=first(case, "NT111", (SETTINGS,), words),
            numbers={"rank": rank},
            expected="a CPU for each rank",
            actual="OMP_NUM_THREADS=0",
            evidence=node_evidence(case.machine, () if node is None else (node,)),
        )


def inherits(case: Case, node: int) -> bool:
    """Tell whether the process inherits a CPU of a node."""
    home, mine = case.machine.node(node), case.machine.inherited_cpus
    if home is None or home.cpus is None or mine is None:
        return False
    return bool(home.cpus & mine)


def barred_ranks(case: Case) -> list[Barred]:
    """Return the workers of ranks that a cpuset keeps from their node.

    A node without CPUs has no worker whatever the cpuset says: 0 are meant for it.
    """
    found, request = [], case.request
    from numatune.runtimes import vllm_ranks

    for rank, node in starved(case):
        if node is None or request is None:
            continue
        if is_cpuless(case.machine, node):
            found.append(Barred(node, 0, False))
            continue
        free = without_bars(case.machine)
        mems = Limits(cpuset_mems=case.machine.limits.cpuset_mems)
        try:
            whole = vllm_ranks.ranks(free._replace(limits=mems), request)
        except NumatuneError:
            continue
        found.append(Barred(node, whole[rank].threads, True))
    return found


def memory_nodes(case: Case) -> dict[int, int]:
    """Return how many ranks of vLLM have all their memory on each node."""
    counts: dict[int, int] = {}
    if case.request is None:
        return counts
    from numatune.runtimes import vllm_ranks

    for rank in vllm_ranks.ranks(case.machine, case.request):
        if rank.memory is not None:
            counts[rank.memory] = counts.get(rank.memory, 0) + 1
    return counts


def kv_cache_of(case: Case) -> int:
    """Return the bytes of VLLM_CPU_KVCACHE_SPACE, of which each rank takes so much; 0 without."""
    from numatune.runtimes import vllm_ranks

    text = "" if case.request is None else case.request.env.get("VLLM_CPU_KVCACHE_SPACE", "")
    return max(0, vllm_ranks.integer(text) or 0) << 30


def on_cpuless(case: Case) -> Iterator[Hit]:
    """Yield the ranks that are given a node without CPUs, for NT402."""
    from numatune.rules.remedy import first
    from numatune.rules.ways import SETTINGS

    for rank, node in starved(case):
        if node is None or not is_cpuless(case.machine, node):
            continue
        words = f"leave node {node} out of CPU_VISIBLE_MEMORY_NODES, or of the cpuset"
        yield Hit(
            subject=f"node {node}",
            message=f"rank {rank} is given {listed((node,))}, which has no CPU ({launch(case)})",
            fix=first(case, "NT402", (SETTINGS,), words),
            numbers={"node": node, "rank": rank, "workers": 0},
            expected="ranks on nodes with CPUs only",
            actual=f"{counted(0, 'worker')} for rank {rank}",
            evidence=node_evidence(case.machine, (node,)),
        )


RULES = (
    Rule(
        "NT112",
        "ranks-exceed-nodes",
        "critical",
        "There are more ranks than NUMA nodes, and each wants a node of its own.\n"
        "The server ends at its start; fewer ranks, or lists of CPUs written by hand,\n"
        "let it run.",
        (
            VLLM_SOURCE,
            "https://github.com/vllm-project/vllm/pull/32792",
        ),
        exceed_nodes,
    ),
)
