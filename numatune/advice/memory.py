"""Where the memory should lie: interleaved, or on one socket. Commands only, nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.advice.plan import Plan
from numatune.advice.recommendation import Recommendation
from numatune.machine import CpuSet, Machine, Node
from numatune.words import size


def memory_nodes(machine: Machine) -> list[Node]:
    """Return the usable nodes that have both CPUs and memory."""
    mems = machine.usable_mems
    return [
        n for n in machine.cpu_nodes if n.memory_total_bytes != 0 and (mems is None or n.id in mems)
    ]


def interleave(plan: Plan) -> Iterator[Recommendation]:
    """Advise interleaving for runtimes that do not place memory themselves."""
    nodes = memory_nodes(plan.machine)
    if len(nodes) < 2:
        return
    others = [n for n in plan.machine.nodes if n not in nodes and n.memory_total_bytes != 0]
    which = str(CpuSet(n.id for n in nodes)) if others else "all"
    share = f"{(len(nodes) - 1) / len(nodes):.0%}"
    yield Recommendation(
        title="A runtime without NUMA handling (llama.cpp without --numa, a build without NUMA):"
        " interleave its memory",
        why="it leaves the weights on the node that loads them; workers on other nodes read all of"
        f" them across the interconnect, with interleaving {share}",
        commands=(f"numactl --interleave={which} COMMAND ...",),
        effect="+7 to +40 % in reports of CPU-only runs"
        " (https://github.com/JustVugg/colibri/issues/82)",
        cost="harmful where a GPU uses pinned host buffers (2.32 fell to 0.22 tokens/s there);"
        " pages already cached stay where they are",
        confidence="published",
        is_option=True,
    )


def one_socket(plan: Plan) -> Iterator[Recommendation]:
    """Name the simple way: one node for a model that fits there."""
    nodes = memory_nodes(plan.machine)
    sizes = [n.memory_total_bytes for n in nodes if n.memory_total_bytes is not None]
    packages = plan.machine.packages_known
    if len(nodes) < 2 or len(sizes) < len(nodes) or (packages is not None and packages < 2):
        return
    model = plan.request.model
    need = None if model is None else model.total_bytes
    # Firmware takes a little from the first node: that is no reason to prefer another one.
    home = next(n for n in nodes if (n.memory_total_bytes or 0) > 0.98 * max(sizes))
    room = home.memory_total_bytes or 0
    if need is not None and need > room:
        return
    fits = f"the model of {size(need)} fits" if need else "a model may fit"
    yield Recommendation(
        title=f"One node only, where {fits} in {size(room)}: the simple way",
        why="no worker reads across the interconnect, and the other nodes can serve a second one",
        commands=(
            f"numactl -N {home.id} -m {home.id} COMMAND ...   # a NUMA build of ktransformers and"
            " kt-kernel override it; for kt-kernel: --kt-threadpool-count 1",
        ),
        effect="two Xeon Gold 6454S, DeepSeek-V3 Q4_K_M: 8.73 tokens/s on one socket with 382 GB,"
        " 12.2 on both with 1 TB"
        " (https://github.com/kvcache-ai/ktransformers/blob/main/doc/en/DeepseekR1_V3_tutorial.md)",
        cost="the bandwidth and the cores of the other nodes",
        confidence="published",
        is_option=True,
    )
