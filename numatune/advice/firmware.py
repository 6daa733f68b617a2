"""What the firmware's NUMA setting should be. Silent on a guest, whose nodes are not firmware's."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.advice.memory import memory_nodes, places_memory
from numatune.advice.plan import Plan
from numatune.advice.recommendation import Recommendation
from numatune.machine import Machine

AMD_NPS = "AMD EPYC: NUMA nodes per socket = {value} (AMI: Advanced > AMD CBS > DF Common Options)"
NODE_INTERLEAVING = "Intel Xeon: Node Interleaving = Enabled (Dell: System BIOS > Memory Settings)"
SNC_OFF = "Intel Xeon: Sub NUMA Cluster (SNC) = Disabled (Dell: System BIOS > Processor Settings)"


def firmware(plan: Plan) -> Iterator[Recommendation]:
    """Yield what to change in the firmware, for the runtimes that gain by it."""
    machine = plan.machine
    if machine.is_guest or len(memory_nodes(machine)) < 2:
        return
    nodes, packages = len(machine.cpu_nodes), machine.packages_known
    copies = any(one.case.release and one.case.release.numa_build for one in plan.launches)
    if packages is not None and nodes > packages and copies:
        yield fewer_nodes(machine, nodes, packages)
    elif (packages is None or packages > 1) and not all(map(places_memory, plan.launches)):
        yield interleave_nodes(machine)


def lines(machine: Machine, nps: str, intel: str) -> tuple[str, ...]:
    """Return the menu entries that can apply to this CPU."""
    amd = AMD_NPS.format(value=nps)
    vendor = (machine.cpu.vendor or "").lower()
    if "amd" in vendor:
        return (amd,)
    return (intel,) if "intel" in vendor else (intel, amd)


def interleave_nodes(machine: Machine) -> Recommendation:
    """Advise one node over all packages, for runtimes without NUMA handling only."""
    return Recommendation(
        title="Where only runtimes without NUMA handling run: interleave nodes in the firmware",
        why="the machine then shows one node, every page is spread over all memory channels, and"
        " it no longer matters where the weights were loaded",
        commands=lines(machine, "NPS0 (two sockets only)", NODE_INTERLEAVING),
        effect="0.66 to 1.06 tokens/s (+61 %) for DeepSeek-R1 on llama.cpp with two nodes, in one"
        " report that can't be looked up; in the one clean comparison decode gained 10 % and"
        " prefill lost 12 % (https://github.com/ikawrakow/ik_llama.cpp/pull/2396)",
        cost="a reboot; every access averages near and far latency; kt-kernel and ktransformers"
        " built with NUMA lose what they place by, and numactl can bind nothing",
        confidence="published",
        is_option=True,
    )


def fewer_nodes(machine: Machine, nodes: int, packages: int) -> Recommendation:
    """Advise one node a package, for runtimes that copy the weights to each node."""
    return Recommendation(
        title="For ktransformers built with NUMA: one node a socket",
        why=f"it copies the experts to each of the {nodes} nodes; with one node a socket"
        f" {packages} {'copy does' if packages == 1 else 'copies do'}. kt-kernel cuts the weights"
        " by node instead and may keep the present setting, with one pool a node",
        commands=lines(machine, "NPS1", SNC_OFF),
        effect=f"{nodes}/{packages} of the memory is needed no more"
        " (https://github.com/kvcache-ai/ktransformers/issues/1147)",
        cost="a reboot",
        confidence="published",
        is_option=True,
    )
