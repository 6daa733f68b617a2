"""Rules about firmware and hardware behind the nodes: interleaving, clustering, modules, guests."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.machine import CpuSet, Machine
from numatune.rules.facts import evidence, gibibytes, memory_evidence
from numatune.rules.rule import Case, Hit, Rule, Skip
from numatune.rules.settings import numa_option
from numatune.rules.topology import MEMORY_UNKNOWN, NODE_CPUS_UNKNOWN
from numatune.words import counted

PACKAGES_UNKNOWN = "the number of packages is not known; `lscpu` shows it, --assume packages=2"

#: Node sizes that differ by more than this part of the largest point to unequal modules.
TOLERANCE = 0.10


def interleaved(case: Case) -> Iterator[Hit | Skip]:
    """NT408: fewer nodes than packages without numa=off: the firmware interleaves.

    Source: https://github.com/open-mpi/hwloc/issues/338
    """
    machine = case.machine
    if machine.is_guest or not machine.nodes or numa_option(machine, "off") or is_emulated(machine):
        return
    packages, nodes = machine.packages_known, len(machine.cpu_nodes)
    if packages is None:
        yield Skip(PACKAGES_UNKNOWN)
    elif any(n.cpus is None for n in machine.nodes):
        yield Skip(NODE_CPUS_UNKNOWN)
    elif nodes < packages:
        doubt = "" if machine.settings.cmdline is not None else ", unless numa=off is set"
        yield Hit(
            subject="nodes",
            message=f"{counted(nodes, 'node')} over {packages} packages: the firmware interleaves"
            f" the memory of the packages{doubt}",
            fix="keep it for a runtime without NUMA handling; for kt-kernel, vLLM or SGLang switch"
            " node interleaving off in the BIOS (NPS1 on EPYC)",
            numbers={"packages": packages, "nodes": nodes},
            expected=f"at least {counted(packages, 'node')}",
            actual=counted(nodes, "node"),
            evidence=evidence(machine, "packages", "packages", packages),
        )


def clustered(case: Case) -> Iterator[Hit | Skip]:
    """NT409: more nodes with CPUs than packages (SNC, cluster-on-die, NPS2 and NPS4, dies).

    Source: https://github.com/kubernetes-sigs/node-feature-discovery/issues/143
    """
    machine = case.machine
    if machine.is_guest or not machine.nodes or is_emulated(machine):
        return
    packages, nodes = machine.packages_known, len(machine.cpu_nodes)
    if packages is None:
        yield Skip(PACKAGES_UNKNOWN)
    elif any(n.cpus is None for n in machine.nodes):
        yield Skip(NODE_CPUS_UNKNOWN)
    elif nodes > packages:
        yield Hit(
            subject="nodes",
            message=f"{counted(nodes, 'node')} in {counted(packages, 'package')}: the packages are"
            " split into clusters (SNC, NPS2, NPS4 or dies)",
            fix="keep it for engines that split the weights by node (kt-kernel, SGLang); switch it"
            " off in the BIOS for those that copy them to each node (ktransformers with USE_NUMA)",
            numbers={"nodes": nodes, "packages": packages},
            actual=f"{counted(nodes, 'node')}, {counted(packages, 'package')}",
            evidence=evidence(machine, "packages", "packages", packages),
        )


def dimms_unbalanced(case: Case) -> Iterator[Hit | Skip]:
    """NT410: sizes of nodes with CPUs that differ by more than a tenth of the largest.

    Nodes without memory are another finding.
    Source: https://frankdenneman.nl/2023/02/28/sapphire-rapids-memory-configuration/
    """
    machine = case.machine
    if machine.is_guest or is_emulated(machine):
        return
    nodes = machine.cpu_nodes
    sizes = {n.id: n.memory_total_bytes for n in nodes if n.memory_total_bytes}
    if any(n.memory_total_bytes is None for n in nodes):
        yield Skip(MEMORY_UNKNOWN)
        return
    if len(sizes) < 2:
        return
    largest = max(sizes, key=lambda node: sizes[node])
    smallest = min(sizes, key=lambda node: sizes[node])
    if sizes[largest] - sizes[smallest] > TOLERANCE * sizes[largest]:
        yield Hit(
            subject="memory",
            message=f"node {largest} has {gibibytes(sizes[largest])}, node {smallest} only"
            f" {gibibytes(sizes[smallest])}: the memory modules are unequal",
            fix="put the same modules into the same channels of every socket; `dmidecode -t 17`"
            " (as root) lists them",
            numbers={"largest_node": largest, "smallest_node": smallest},
            expected="sizes within 10 %",
            actual=f"{sizes[smallest]} and {sizes[largest]} bytes",
            evidence=memory_evidence(machine, (largest, smallest)),
        )


def channels_empty(case: Case) -> Iterator[Hit | Skip]:
    """NT411: fewer memory modules than memory channels.

    Source: https://github.com/kvcache-ai/ktransformers/issues/828
    """
    machine = case.machine
    if machine.is_guest:
        return
    populated, channels = machine.settings.dimms_populated, machine.settings.memory_channels
    if populated is None or channels is None:
        what = "memory modules" if populated is None else "memory channels"
        yield Skip(f"the number of {what} is not known; `dmidecode -t 17` (as root) shows them")
    elif populated < channels:
        yield Hit(
            subject="memory channels",
            message=f"{populated} modules for {channels} memory channels: at most"
            f" {100 * populated // channels} % of the peak bandwidth",
            fix=f"add {channels - populated} equal modules, one for each empty channel",
            numbers={"populated": populated, "channels": channels},
            expected=f"{channels} modules",
            actual=f"{populated} modules",
            evidence=evidence(machine, "settings", "memory modules", populated),
        )


def guest(case: Case) -> Iterator[Hit | Skip]:
    """NT412: a virtual machine, whose packages, nodes and SMT the hypervisor chose.

    Source: https://github.com/SAP/arp142-hana/issues/385
    """
    machine = case.machine
    if machine.is_guest is None:
        yield Skip(
            "whether this is a virtual machine is not known; `systemd-detect-virt` tells,"
            " --assume guest=no states it"
        )
    elif machine.is_guest:
        shape = ", ".join(parts_of(machine))
        odd = "; ".join(contradictions(machine))
        yield Hit(
            subject="machine",
            message=f"a virtual machine{f' ({shape})' if shape else ''}: the hypervisor chose this"
            " shape, nothing about the firmware follows from it" + (f"; {odd}" if odd else ""),
            fix="ask the host's owner how its CPUs and memory are laid out and pinned",
            actual=shape or None,
            evidence=evidence(machine, "cpu", "hypervisor", "yes"),
        )


def parts_of(machine: Machine) -> list[str]:
    """Name what is known of the shape: "2 packages", "1 node"."""
    parts = []
    if machine.packages_known is not None:
        parts.append(counted(machine.packages_known, "package"))
    if machine.nodes:
        parts.append(counted(len(machine.nodes), "node"))
    if machine.threads_per_core is not None:
        parts.append(f"{counted(machine.threads_per_core, 'thread')} a core")
    return parts


def contradictions(machine: Machine) -> list[str]:
    """Return what can't be so on hardware, or hides it."""
    found = []
    packages, nodes = machine.packages_known, len(machine.cpu_nodes)
    if packages is not None and nodes and (packages % nodes and nodes % packages):
        found.append(f"{packages} packages and {nodes} nodes do not fit each other")
    elif packages is not None and 0 < nodes < packages:
        found.append(f"its {packages} packages share {counted(nodes, 'node')}")
    table = machine.distances
    if table is not None and len(table.node_ids) >= 8:
        remote = {d for i, row in enumerate(table.values) for j, d in enumerate(row) if i != j}
        if len(remote) == 1:
            found.append("all its nodes are equally far apart, so the real distances are hidden")
    return found


def is_emulated(machine: Machine) -> bool:
    """Tell whether the nodes are made up: numa=fake, or the same CPUs in several nodes."""
    if numa_option(machine, "fake"):
        return True
    seen = CpuSet()
    for node in machine.cpu_nodes:
        if node.cpus is not None:
            if node.cpus & seen:
                return True
            seen |= node.cpus
    return False


RULES = (
    Rule(
        "NT408",
        "bios-node-interleaving-on",
        "info",
        "There are fewer NUMA nodes than packages: the firmware interleaves memory.\n"
        "With node interleaving (NPS0) every access is half local and half remote,\n"
        "which helps software without NUMA handling and takes the choice from the rest.",
        (
            "https://github.com/open-mpi/hwloc/issues/338",
            "https://infohub.delltechnologies.com/en-us/p/"
            "numa-configuration-settings-on-amd-epyc-2nd-generation/",
            "https://github.com/ikawrakow/ik_llama.cpp/pull/2396",
        ),
        interleaved,
    ),
    Rule(
        "NT409",
        "sub-numa-clustering-on",
        "info",
        "There are more nodes with CPUs than packages: these are split into clusters.\n"
        "It is the faster mode for engines that split the weights by node, and\n"
        "multiplies the memory that engines with a copy a node need.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/1730",
            "https://github.com/kvcache-ai/ktransformers/issues/1147",
            "https://github.com/kubernetes-sigs/node-feature-discovery/issues/143",
        ),
        clustered,
    ),
    Rule(
        "NT410",
        "dimms-unbalanced",
        "warning",
        "The memory of the nodes differs by more than a tenth: unequal modules.\n"
        "The controllers interleave only a part of unequal modules, and bandwidth\n"
        "falls.",
        (
            "https://frankdenneman.nl/2023/02/28/sapphire-rapids-memory-configuration/",
            "https://manualarchiveguide.com/manuals/"
            "Dell-EMC-XC-Core-XC7525-Installation-And-Service-Manual-3015051?page=67",
        ),
        dimms_unbalanced,
    ),
    Rule(
        "NT411",
        "channels-unpopulated",
        "warning",
        "Some memory channels have no module.\n"
        "Decoding is bound by memory bandwidth, and each empty channel takes its share\n"
        "of it away.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/828",
            "https://github.com/kvcache-ai/ktransformers/issues/587",
            "https://github.com/kvcache-ai/ktransformers/issues/319",
        ),
        channels_empty,
    ),
    Rule(
        "NT412",
        "guest-topology",
        "info",
        "This is a virtual machine: its topology is what the hypervisor shows.\n"
        "Packages, nodes and threads may be pinned to real ones or may not, and\n"
        "firmware advice does not apply.",
        (
            "https://github.com/SAP/arp142-hana/issues/385",
            "https://github.com/microsoft/WSL/issues/14015",
        ),
        guest,
    ),
)
