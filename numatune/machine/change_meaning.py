"""What a change means for a runtime, in one clause; "" where nothing is certain."""

from __future__ import annotations

from numatune.machine.change import Pair, Value
from numatune.machine.command_line import parameters
from numatune.machine.cpuset import CpuSet
from numatune.machine.machine import Machine
from numatune.machine.topology import Node
from numatune.words import counted, listed


def nodes_mean(pair: Pair) -> str:
    """Say what other nodes mean: for libnuma, for the firmware, for an interleave."""
    before, after = pair.before, pair.after
    if before.nodes and not after.nodes:
        return "kt-kernel and ktransformers built with NUMA exit at their start without nodes"
    added = [n for n in after.nodes if before.node(n.id) is None]
    if added and len(after.nodes) > len(before.nodes) and all(n.is_cpuless for n in added):
        new = listed([str(n.id) for n in added])
        return f"memory without CPUs came: leave {new} out of --interleave lists"
    return firmware_means(before, after)


def firmware_means(before: Machine, after: Machine) -> str:
    """Say what the firmware does now, where nodes against packages show it on both machines."""
    packages = after.packages_known
    if packages is None or packages != before.packages_known:
        return ""
    if not (shows_firmware(before) and shows_firmware(after)):
        return ""
    first, second = len(before.cpu_nodes), len(after.cpu_nodes)
    became = f"{counted(first, 'node')} became {second} over {counted(packages, 'package')}"
    if second < packages <= first:
        return f"{became}: the firmware now interleaves the memory of the packages"
    if first < packages <= second:
        return f"{became}: the firmware no longer interleaves the memory of the packages"
    if first <= packages < second:
        return f"{became}: the packages are split into clusters now (SNC, NPS2, NPS4 or dies)"
    if second <= packages < first:
        return f"{became}: the packages are no longer split into clusters"
    return ""


def shows_firmware(machine: Machine) -> bool:
    """Tell whether the nodes are the firmware's: of a real machine, and not numa=off or =fake."""
    cmdline = machine.settings.cmdline
    if machine.is_guest is not False or cmdline is None or "numa" in parameters(cmdline):
        return False
    seen = CpuSet()
    for node in machine.nodes:
        if node.cpus is None or node.cpus & seen:
            return False
        seen |= node.cpus
    return bool(machine.nodes)


def memory_means(after: Node) -> str:
    """Say what it means that a node has no memory."""
    if after.is_memoryless:
        return "its workers read everything from other nodes"
    return ""


def threads_mean(before: Value, after: Value) -> str:
    """Say what SMT on or off means."""
    if after == 1:
        return "SMT is off: each CPU is a core of its own"
    if before == 1:
        return "SMT is on: CPUs share cores, so count workers by cores and not by CPUs"
    return ""


def numbering_means(what: str) -> str:
    """Say what another grouping of the same CPU numbers means."""
    return f"a list of CPUs in a launch command means other {what} now"


def quota_means(after: float | None) -> str:
    """Say what a CPU quota does."""
    if after is None:
        return ""
    return f"threads that together need more than {after:g} CPUs are stopped in every period"


#: Setting -> what it does where it is not 0, and where it is.
SETTINGS = {
    "numa_balancing": (
        "the kernel unmaps and moves pages as it runs",
        "the kernel no longer moves pages to the node that uses them",
    ),
    "zone_reclaim_mode": (
        "a full node drops page cache, mapped weights among it, before another node is used",
        "a full node takes memory from another node first",
    ),
}


def setting_means(name: str, before: Value, after: Value) -> str:
    """Say what a setting does now; nothing where it was on and is on."""
    if name in SETTINGS and bool(before) != bool(after):
        return SETTINGS[name][0 if after else 1]
    return ""


def parameter_means(after: Value) -> str:
    """Say what a parameter of the kernel does to the nodes."""
    words = str(after).split()
    if "numa=off" in words:
        return "it hides the NUMA nodes: nothing can be bound"
    if any(word.startswith("numa=fake") for word in words):
        return "it makes emulated nodes, whose distances say nothing"
    return ""


def modules_mean(after: Machine) -> str:
    """Say what empty memory channels mean."""
    modules, channels = after.settings.dimms_populated, after.settings.memory_channels
    if after.is_guest or modules is None or channels is None or modules >= channels:
        return ""
    return (
        f"{counted(modules, 'module')} for {channels} memory channels: at most"
        f" {100 * modules // channels} % of the peak bandwidth"
    )
