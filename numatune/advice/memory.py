"""Where the memory should lie: interleaved, or on one socket. Commands only, nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.advice.choice import Choice, cautious, choices, present_of
from numatune.advice.manner import INTERLEAVE, ONE_NODE, home_node
from numatune.advice.manner import memory_nodes as memory_nodes
from numatune.advice.plan import Launch, Plan
from numatune.advice.recommendation import Recommendation
from numatune.words import listed, size


def interleave(plan: Plan) -> Iterator[Recommendation]:
    """Advise interleaving for the runtimes in question that do not place memory themselves."""
    nodes = memory_nodes(plan.machine)
    found = of_newest(plan, INTERLEAVE)
    if not found:
        return
    share = f"{(len(nodes) - 1) / len(nodes):.0%}"
    yield Recommendation(
        title=f"Interleave the memory of {listed([c.label for c in found])}, which places none"
        " itself",
        why="it leaves the weights on the node that loads them; workers on other nodes read all of"
        f" them across the interconnect, with interleaving {share}",
        commands=tuple(f"{c.command}   # {c.workers}" for c in found),
        effect="+7 to +40 % in reports of CPU-only runs"
        " (https://github.com/JustVugg/colibri/issues/82)",
        cost="harmful where a GPU uses pinned host buffers (2.32 fell to 0.22 tokens/s there);"
        " pages already cached stay where they are",
        confidence="published",
        is_option=True,
    )


def one_socket(plan: Plan) -> Iterator[Recommendation]:
    """Name the simple way: one node for a model that fits there."""
    machine = plan.machine
    home, packages = home_node(machine), machine.packages_known
    if home is None or len(memory_nodes(machine)) < 2 or (packages is not None and packages < 2):
        return
    model, node = plan.request.model, machine.node(home)
    need = None if model is None else model.total_bytes
    room = (node.memory_total_bytes if node is not None else None) or 0
    found = of_newest(plan, ONE_NODE)
    if not found or (need is not None and need > room):
        return
    fits = f"the model of {size(need)} fits" if need else "a model may fit"
    yield Recommendation(
        title=f"One node only, where {fits} in {size(room)}: the simple way",
        why="no worker reads across the interconnect, and the other nodes can serve a second one",
        commands=tuple(f"{c.command}   # {c.workers}" for c in found),
        effect="two Xeon Gold 6454S, DeepSeek-V3 Q4_K_M: 8.73 tokens/s on one socket with 382 GB,"
        " 12.2 on both with 1 TB"
        " (https://github.com/kvcache-ai/ktransformers/blob/main/doc/en/DeepseekR1_V3_tutorial.md)",
        cost="the bandwidth and the cores of the other nodes",
        confidence="published",
        is_option=True,
    )


def of_newest(plan: Plan, aim: str) -> list[Choice]:
    """Return what serves an aim, for the newest release in question of each runtime that can."""
    machine = cautious(plan.machine)
    found: dict[str, Choice] = {}
    for launch in reversed(plan.launches):
        case = launch.case._replace(machine=machine)
        if case.release is not None and case.release.runtime not in found:
            for choice in choices(machine, case, present_of(plan, launch, machine), (aim,)):
                found[choice.release.runtime] = choice
    return list(reversed(found.values()))


def places_memory(launch: Launch) -> bool:
    """Tell whether the runtime of a launch binds its memory to nodes by itself."""
    placement = launch.case.placement
    return placement is not None and any(w.memory != "default" for w in placement.workers)
