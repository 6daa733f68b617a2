"""What a machine means for inference on its CPUs, in a few sentences."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.advice.memory import memory_nodes
from numatune.machine import Machine
from numatune.words import counted, listed, size


def meaning(machine: Machine) -> tuple[str, ...]:
    """Return the sentences, the weightiest first."""
    return (
        *nodes_mean(machine),
        *memory_means(machine),
        *cpus_mean(machine),
        *limits_mean(machine),
    )


def nodes_mean(machine: Machine) -> Iterator[str]:
    """Say what the number of nodes means for a process."""
    nodes = memory_nodes(machine)
    packages = machine.packages_known
    if machine.shows_nodes is None:
        return
    if not machine.nodes:
        yield (
            "The kernel shows no NUMA node. ktransformers built with NUMA and kt-kernel exit at the"
            " start here; other runtimes see one pool of memory."
        )
    elif len(nodes) < 2:
        if packages and packages > 1 and not machine.is_guest:
            yield (
                f"One node over {packages} packages: the firmware interleaves the memory. That"
                " suits runtimes without NUMA handling; kt-kernel and ktransformers built with NUMA"
                " find nothing to place by. Start kt-kernel with --kt-threadpool-count 1."
            )
        elif len(machine.cpu_nodes) < 2:
            yield (
                "All memory is equally near: no NUMA setting is needed."
                " Start kt-kernel with --kt-threadpool-count 1, its default is 2."
            )
    else:
        share = f"{(len(nodes) - 1) / len(nodes):.0%}"
        yield (
            f"A process over all {len(nodes)} nodes reads {share} of its weights across the"
            " interconnect, unless its runtime places them by node. Without interleaving all"
            " workers read from the node that loaded the weights."
        )
    if machine.is_guest:
        yield (
            "This is a virtual machine: its packages and nodes are the hypervisor's choice, so"
            " nothing follows for the firmware."
        )


def memory_means(machine: Machine) -> Iterator[str]:
    """Say which models fit where, and what is odd about the memory."""
    nodes = memory_nodes(machine)
    sizes = [n.memory_total_bytes for n in nodes if n.memory_total_bytes]
    if len(nodes) > 1 and len(sizes) == len(nodes):
        yield (
            f"A model above {size(max(sizes))} needs more than one node; ktransformers built with"
            f" NUMA keeps {counted(len(nodes), 'copy', 'copies')} of the experts, one a node, and"
            f" the smallest node has {size(min(sizes))}."
        )
    without = [str(n.id) for n in machine.nodes if n.is_memoryless]
    if without:
        yield (
            f"Node {listed(without)} {'has' if len(without) == 1 else 'have'} CPUs and no memory:"
            " its workers read everything from other nodes. Check the DIMMs of that node."
        )
    only = [str(n.id) for n in machine.nodes if n.is_cpuless]
    if only:
        yield (
            f"Node {listed(only)} {'has' if len(only) == 1 else 'have'} memory and no CPU (HBM,"
            " CXL, persistent or GPU memory): leave it out of --interleave lists."
        )


def cpus_mean(machine: Machine) -> Iterator[str]:
    """Say what the cores and their instructions allow."""
    cores, flags = machine.cores_known, machine.cpu.features
    if cores and cores > 1:
        spare = max(1, len(machine.cpu_nodes))
        yield (
            f"Start from at most {counted(max(1, cores - spare), 'worker')}: one a core, with a"
            " core a node left for the threads beside them."
        )
    if flags is not None and machine.cpu.architecture in ("x86_64", None):
        if flags & {"amx_int8", "amx_bf16"}:
            yield "AMX is there: kt-kernel's AMX methods apply."
        elif "avx512f" in flags:
            yield "AVX-512 is there, AMX is not."
        elif "avx2" in flags:
            yield "AVX2 is the best of its vector sets: AMX and AVX-512 kernels don't run here."


def limits_mean(machine: Machine) -> Iterator[str]:
    """Say what this process may not use."""
    limits, cpus = machine.limits, machine.cpus
    inherited = machine.inherited_cpus
    if cpus is not None and inherited is not None and inherited != cpus:
        yield (
            f"This process may use CPUs {inherited} only ({len(inherited)} of {len(cpus)});"
            " runtimes that count the whole machine start too many workers."
        )
    if limits.cpu_quota is not None:
        yield (
            f"A quota of {limits.cpu_quota:g} CPUs is in force: more workers than"
            f" {max(1, int(limits.cpu_quota) - 1)} are stopped at every period."
        )
