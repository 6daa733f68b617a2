"""SGLang on CPUs: one process a rank, its threads pinned to one core each, its memory bound.

There is no option for a number of threads: it follows from the CPUs of the ranks. `simulate` places
as the Python part asks for it; `failure` tells where the native part then ends the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from numatune.errors import LaunchRefused, MachineError, UsageError
from numatune.machine import CpuSet, Machine
from numatune.placement.placement import Placement, Release, Tally, Worker
from numatune.placement.request import Request
from numatune.runtimes import libnuma, sglang_lists
from numatune.runtimes.kept import kept
from numatune.runtimes.options import MOST_NODES, MOST_THREADS, whole
from numatune.runtimes.runtime import DefaultCount
from numatune.runtimes.versions import canonical, parse
from numatune.words import shown

NAME = "sglang"
THREADS_OPTION = "threads"
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "threads": (THREADS_OPTION,),
    "world_size": (),
    "tensor_parallel_size": ("--tp", "--tp-size", "--tensor-parallel-size"),
    "pipeline_parallel_size": ("--pp-size", "--pipeline-parallel-size"),
    "data_parallel_size": ("--dp-size", "--data-parallel-size"),
}
SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")

BIND = "SGLANG_CPU_OMP_THREADS_BIND"
#: The variable that gives the threads of a rank where none is pinned.
COUNT = "OMP_NUM_THREADS"
VERSION = "0.5.23"
BY_RANK = "by-rank"
SOURCE = "https://github.com/sgl-project/sglang/blob/v0.5.23/python/sglang/srt/utils/numa_utils.py"
#: Where each rank pins its threads and binds its memory.
NATIVE = (
    "https://github.com/sgl-project/sglang/blob/072d63c440eb0e18fe875b74a447df814ad3620e"
    "/sgl-kernel/csrc/cpu/numa_utils.cpp"
)

AMX = frozenset(("amx_tile", "amx_int8", "amx_bf16"))
X86, ARM = ("x86_64", "amd64"), ("aarch64", "arm64")

CORES_UNKNOWN = "which CPUs are threads of one core is not known, and sglang takes one of each core"


class Rank(NamedTuple):
    """`threads` threads of one rank, on `cpus` if known, else on the cores of `node`."""

    cpus: CpuSet | None
    threads: int
    node: int | None = None


def releases(numa_build: bool | None) -> tuple[Release, ...]:
    """Return the one behaviour; there is no build without NUMA."""
    return (release(None, None, numa_build),)


def release(version: str | None, commit: str | None, numa_build: bool | None) -> Release:
    """Return how a version behaves. Raises UsageError: earlier ones count ranks in another way."""
    if commit is not None or (version is not None and parse(version) != parse(VERSION)):
        asked = version if commit is None else f"commit {commit}"
        raise UsageError(f"{NAME} {shown(asked)} is not known; known is {VERSION}")
    return Release(NAME, canonical(version or VERSION) or VERSION, VERSION, BY_RANK, None, SOURCE)


def world_size(request: Request) -> int:
    """Return the number of ranks: tensor times pipeline times data parallel. Raises UsageError."""
    total = 1
    for name in SIZES:
        value = request.options.get(name)
        total *= 1 if value is None else whole(name, value, 1, MOST_NODES, "a number of ranks")
    stated = request.options.get("world_size")
    if stated is not None:
        ranks = whole("world_size", stated, 1, MOST_NODES, "a number of ranks")
        if total not in (1, ranks):
            raise UsageError(f"world_size {ranks} and {total} ranks by the other options differ")
        return ranks
    return whole("the number of ranks", total, 1, MOST_NODES, "a number of ranks")


def binds(machine: Machine) -> bool:
    """Tell whether threads are pinned and memory is bound at all: with AMX, or on 64-bit ARM.

    Where neither the architecture nor the flags of the CPU are known, they are taken to be.
    Source: `_init_cpu_threads_env` of python/sglang/srt/distributed/bootstrap.py at v0.5.23.
    """
    architecture, flags = machine.cpu.architecture, machine.cpu.features
    if architecture is not None and architecture.lower() not in X86:
        return architecture.lower() in ARM
    return flags is None or bool(flags & AMX)


@kept
def first_threads(machine: Machine) -> tuple[Rank, ...]:
    """Return what `get_cpu_ids_by_node` gives: the ranks to be had, one a node, by its id.

    Of each core of a node the first CPU counts, and only if the process may use it; a node
    without one is left out. Raises MachineError where cores or nodes are not known.
    """
    if machine.shows_nodes is None or any(node.cpus is None for node in machine.nodes):
        raise MachineError(
            f"{machine.source} does not state the CPUs of all NUMA nodes; add --from the output of"
            " `numactl --hardware`"
        )
    allowed = machine.inherited_cpus or CpuSet()
    found = []
    for node in machine.nodes or ():
        found.append(firsts_of(machine, node.id, node.cpus or CpuSet(), allowed))
    if not machine.nodes:
        found.append(firsts_of(machine, None, machine.cpus or CpuSet(), allowed))
    return tuple(rank for rank in found if rank.threads)


def firsts_of(machine: Machine, node: int | None, cpus: CpuSet, allowed: CpuSet) -> Rank:
    """Return the allowed first CPU of each core among the CPUs of a node. Raises MachineError."""
    if machine.cores is None and machine.smt == 1:
        firsts = cpus
    elif machine.cores is not None:
        parts = [core.cpus & cpus for core in machine.cores if core.cpus.mask & cpus.mask]
        firsts = CpuSet(part.first() for part in parts)
    else:
        count = 0 if node is None or not cpus & allowed else machine.node_core_count(node)
        if count is None or (count and cpus - allowed) or (node is None and cpus):
            raise MachineError(f"{CORES_UNKNOWN}; `lscpu -e` shows it, --assume smt=1 states it")
        return Rank(None, count, node)
    usable = firsts & allowed
    return Rank(usable, len(usable), node)


def ranks(machine: Machine, request: Request) -> tuple[Rank, ...]:
    """Return what each rank asks for. Raises LaunchRefused, MachineError and UsageError."""
    number, listed = world_size(request), request.env.get(BIND, "all")
    found = first_threads(machine) if listed == "all" else by_list(machine, listed, number)
    if not found:
        raise LaunchRefused(
            f"{NAME} takes the first thread of each core, and this process may use none of them"
            f" (CPUs {machine.inherited_cpus}); list CPUs in {BIND}",
            "no-workers",
            rank=0,
        )
    if number > len(found):
        raise LaunchRefused(
            f"{NAME} wants a node of its own for each rank: {number} ranks, but"
            f" {len(found)} node{'s' * (len(found) > 1)} with cores that it may use; lower --tp, or"
            f" list the CPUs of each rank in {BIND}",
            "ranks-exceed-nodes",
            ranks=number,
            nodes=len(found),
        )
    if not binds(machine):
        return (Rank(machine.inherited_cpus, unbound_count(machine, request)),) * number
    return found[:number]


def by_list(machine: Machine, text: str, number: int) -> tuple[Rank, ...]:
    """Return the ranks that a list states; there may be more of them than are started."""
    groups = text.split("|")
    if number > len(groups):
        raise LaunchRefused(
            f"{BIND} lists CPUs for {len(groups)} rank{'s' * (len(groups) > 1)}, and rank"
            f" {len(groups)} of {number} has none",
            "no-workers",
            rank=len(groups),
        )
    found = []
    # The others belong to servers beside this one.
    for i, group in enumerate(groups[:number]):
        cpus = sglang_lists.asked(group, machine.inherited_cpus)
        if not cpus:
            raise LaunchRefused(f"{BIND} lists no CPU for rank {i}", "no-workers", rank=i)
        found.append(Rank(cpus, len(cpus)))
    return tuple(found)


def unbound_count(machine: Machine, request: Request) -> int:
    """Return the threads of a rank that is not pinned: PyTorch's own, one a core unless stated.

    Source: https://github.com/pytorch/pytorch/blob/31ec6ba427ed1f36be3360e2539d3d63191fac6f/docs/
    source/notes/cpu_threading_torchscript_inference.rst. Raises MachineError and UsageError.
    """
    stated = request.env.get(COUNT, "").partition(",")[0].strip()
    if stated:
        return whole(COUNT, stated, 1, MOST_THREADS, "a number of threads")
    cpus = machine.inherited_cpus or CpuSet()
    if machine.cores is not None:
        return sum(1 for core in machine.cores if core.cpus.mask & cpus.mask)
    if machine.smt is None or cpus != machine.cpus:
        raise MachineError(f"{CORES_UNKNOWN}; `lscpu -e` shows it, --assume smt=1 states it")
    return max(1, len(cpus) // machine.smt)


def default_threads(machine: Machine, request: Request, release: Release) -> DefaultCount:
    """Return the threads of all ranks together, which follow from their CPUs.

    Where the launch is refused or too little is known it is 0, and `simulate` says why. Raises
    UsageError.
    """
    counted = "one for each core of the nodes of its ranks"
    if not binds(machine):
        counted = "PyTorch's own for each rank, as without AMX none is pinned"
    elif request.env.get(BIND, "all") != "all":
        counted = f"one for each CPU that {BIND} lists"
    try:
        total = sum(rank.threads for rank in ranks(machine, request))
    except (LaunchRefused, MachineError):
        total = 0
    return DefaultCount(total, counted, ("quota",), SOURCE, is_derived=True)


def phases(request: Request) -> tuple[tuple[str, Request], ...]:
    """Return the one phase: prompts and generation run on the same threads."""
    return (("generation", request),)


def placed(machine: Machine, request: Request) -> tuple[Rank, ...]:
    """Return the ranks. Raises LaunchRefused also where another number of threads is stated."""
    found = ranks(machine, request)
    total = sum(rank.threads for rank in found)
    if request.threads not in (None, total):
        raise LaunchRefused(
            f"{NAME} has no option for a number of threads: they follow from the CPUs of its ranks,"
            f" {total} here; leave the number out, or list the CPUs in {BIND}",
            "option-without-effect",
            option="threads",
        )
    return found


def simulate(machine: Machine, request: Request, release: Release) -> Placement:
    """Place the threads of every rank, one on each CPU in the order of their ids."""
    found = placed(machine, request)
    homes = {cpu: node.id for node in machine.nodes for cpu in node.cpus or ()}
    pins = binds(machine)
    workers: list[Worker] = []
    for number, rank in enumerate(found):
        memory = memory_of(machine, rank) if pins else libnuma.DEFAULT
        each = list(rank.cpus or ()) if pins else []
        for i in range(rank.threads):
            name = f"rank {number} thread {i}"
            node, cpus, binding = rank.node, rank.cpus, "cpu" if pins else "none"
            if each:
                node, cpus = homes.get(each[i]), CpuSet((each[i],))
            workers.append(Worker(len(workers), name, number, node, cpus, binding, memory))
    shares = tuple(rank.threads for rank in found)
    return Placement(release, len(workers), tuple(workers), pool_threads=shares)


def tally(machine: Machine, request: Request, release: Release) -> Tally:
    """Count the threads of each node without making any; what `failure` ends counts as refused."""
    try:
        found = placed(machine, request)
        ended = failure(machine, request)
    except LaunchRefused as refused:
        return Tally({}, refused=refused.reason)
    except MachineError as unknown:  # of no count it can be said that it is safe
        return Tally({}, refused=str(unknown))
    if ended is not None:
        return Tally({}, refused=ended.reason)
    counts: dict[int, int] = {}
    total = sum(rank.threads for rank in found)
    for rank in found if binds(machine) else ():
        if rank.cpus is None and rank.node is not None:
            counts[rank.node] = counts.get(rank.node, 0) + rank.threads
        for node in machine.nodes if rank.cpus is not None else ():
            here = len(rank.cpus & node.cpus) if node.cpus is not None and rank.cpus else 0
            if here:
                counts[node.id] = counts.get(node.id, 0) + here
    empty = tuple(i for i, rank in enumerate(found) if not rank.threads)
    return Tally(counts, total - sum(counts.values()), empty)


def memory_nodes(machine: Machine, rank: Rank) -> tuple[int, int] | None:
    """Return the first and the last node that a rank's memory is bound to, all between included.

    They are those of its first and its last CPU (`NATIVE`); None where one has no node.
    """
    if rank.cpus is None:
        return None if rank.node is None else (rank.node, rank.node)
    ends = (rank.cpus.first(), rank.cpus.mask.bit_length() - 1)
    homes = [n.id for end in ends for n in machine.nodes if n.cpus is not None and end in n.cpus]
    return (min(homes), max(homes)) if len(homes) == len(ends) else None


def memory_of(machine: Machine, rank: Rank) -> str:
    """Return the memory policy of a rank: "bind:N"; over several nodes pages fall by first touch,
    as they do by default.
    """
    nodes = memory_nodes(machine, rank)
    return f"bind:{nodes[0]}" if nodes and nodes[0] == nodes[1] else libnuma.DEFAULT


def failure(machine: Machine, request: Request) -> LaunchRefused | None:
    """Return how the native part ends a launch that is placed, None where it does not.

    libnuma gives no mask for a CPU or a node that the process may not use, and that is not looked
    at before the mask is read (`NATIVE`): a segmentation fault.
    """
    allowed, listed = machine.inherited_cpus, request.env.get(BIND, "all")
    if not binds(machine):
        return None
    for number, rank in enumerate(ranks(machine, request)):
        beyond = None
        if listed != "all" and allowed is not None:
            beyond = sglang_lists.beyond(listed.split("|")[number], allowed)
        if beyond is not None:
            return LaunchRefused(
                f"{BIND} lists CPU {beyond} for rank {number}, and the process may use CPUs"
                f" {allowed} only: libnuma does not take the list, and {NAME} crashes",
                "no-workers",
                rank=number,
            )
        for node in memory_nodes(machine, rank) or ():
            known = machine.node(node)
            if known is not None and not libnuma.gives_memory(machine, known):
                why = "has no memory" if known.is_memoryless else "may give it no memory"
                rule = "memoryless-node" if known.is_memoryless else "cpuset-cpus-mems-mismatch"
                numbers = {"nodes": [node]} if known.is_memoryless else {}
                return LaunchRefused(
                    f"rank {number} binds its memory to node {node}, which {why}: libnuma does not"
                    f" take the node, and {NAME} crashes",
                    rule,
                    **numbers,
                )
    return None
