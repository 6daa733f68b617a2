"""Which CPUs and which memory each rank of vLLM's CPU backend gets.

Sources: `SOURCE`, `RESOURCES` and `WORKER`. What an automatic binding chooses was also run there,
on described topologies; memory was only read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from numatune.errors import LaunchRefused, MachineError, UsageError
from numatune.machine import CpuSet, Machine
from numatune.machine.cpuset import ID_LIMIT
from numatune.placement.request import Request
from numatune.runtimes.kept import kept
from numatune.runtimes.options import MOST_THREADS, whole
from numatune.words import counted, listed, shown

TREE = "https://github.com/vllm-project/vllm/blob/v0.33.0"
SOURCE = f"{TREE}/vllm/utils/ompmultiprocessing.py"
RESOURCES = f"{TREE}/vllm/utils/cpu_resource_utils.py"
WORKER = f"{TREE}/vllm/v1/worker/cpu_worker.py"

BIND, RESERVED = "VLLM_CPU_OMP_THREADS_BIND", "VLLM_CPU_NUM_OF_RESERVED_CPU"
VISIBLE, SIMULATED = "CPU_VISIBLE_MEMORY_NODES", "VLLM_CPU_SIM_MULTI_NUMA"
AUTO, NOBIND = "auto", "nobind"

#: More ranks than any machine has nodes for.
MOST_RANKS = 1024

#: How an automatic binding chooses among the CPUs of a core: the last one, all, or by their ids.
LAST, EVERY, LOW_HALF = "last", "every", "low half"
SELECTORS = {
    "x86": LAST, "i386": LAST, "i686": LAST, "amd64": LAST, "s390x": LAST,
    "aarch64": EVERY, "arm": EVERY, "riscv": EVERY,
    "ppc": LOW_HALF,
}  # fmt: skip


class Rank(NamedTuple):
    """One rank: `threads` of them, on `cpus` (None: on whatever the process inherits).

    `is_pinned` says whether each thread has one CPU of its own or all of them all. `meant` is the
    node that an automatic binding looked at, `memory` the node that its memory is bound to; None
    where there is none. `by_node` counts the threads of each node, None standing for no node.
    """

    threads: int
    cpus: CpuSet | None
    is_pinned: bool
    meant: int | None
    memory: int | None
    by_node: Mapping[int | None, int]


def binding_of(request: Request) -> str:
    """Return what VLLM_CPU_OMP_THREADS_BIND says: "auto", "nobind", or lists of CPUs."""
    return request.env.get(BIND, AUTO)


def rank_count(request: Request) -> int:
    """Return the ranks on this machine: tensor times pipeline parallel. Raises UsageError."""
    sizes = {}
    for name in ("tensor", "pipeline", "data"):
        value = request.options.get(f"{name}_parallel_size")
        option = f"--{name}-parallel-size"
        sizes[name] = 1 if value is None else whole(option, value, 1, MOST_RANKS, "a number")
    if sizes["data"] > 1:
        raise UsageError(
            "where vLLM puts the ranks of --data-parallel-size is not known here; ask for one of"
            " its engines, within the CPUs and the nodes that it has"
        )
    return sizes["tensor"] * sizes["pipeline"]


_last: list[tuple[Machine, Request, tuple[Rank, ...]]] = []


def ranks(machine: Machine, request: Request) -> Sequence[Rank]:
    """Return the ranks of a launch; the last answer is kept for a sweep.

    Raises LaunchRefused, UsageError and MachineError.
    """
    if binding_of(request) == NOBIND:
        return loose_ranks(machine, request)
    key = request._replace(threads=None)
    if not _last or _last[0][0] is not machine or _last[0][1] != key:
        _last[:] = [(machine, key, tuple(bound_ranks(machine, request)))]
    return _last[0][2]


def bound_ranks(machine: Machine, request: Request) -> Iterator[Rank]:
    """Yield the ranks of a launch that binds them."""
    if request.env.get(SIMULATED, "0") != "0":
        raise UsageError(f"{SIMULATED} is for tests of vLLM itself, and is not simulated")
    count = rank_count(request)
    pins = is_pinned(machine, request)
    homes = node_of_cpus(machine)
    if binding_of(request) == AUTO:
        chosen = automatic(machine, request, count)
    else:
        chosen = [(None, cpus) for cpus in lists_of(request, count)]
    for meant, cpus in chosen:
        nodes = [homes.get(cpu) for cpu in cpus]
        if not pins and len(set(nodes)) > 1:
            nodes = [None] * len(nodes)
        by_node = {node: nodes.count(node) for node in dict.fromkeys(nodes)}
        memory = memory_of(machine, request, cpus) if cpus else None
        yield Rank(len(nodes), cpus, pins, meant, memory, by_node)


def automatic(machine: Machine, request: Request, count: int) -> list[tuple[int | None, CpuSet]]:
    """Return node and CPUs of each rank as "auto" chooses them.

    Rank i gets the node number i of those that it may take memory from. Some CPUs are reserved,
    the highest of each list, unless there are no more than that.
    """
    selector = selector_of(machine)
    if selector is None:
        raise LaunchRefused(
            f"vLLM does not bind automatically on {shown(machine.cpu.architecture)}; name the CPUs"
            f" in {BIND}"
        )
    nodes = visible_nodes(machine, request)
    if len(nodes) < count:
        raise LaunchRefused(
            f"{counted(count, 'rank')} and {counted(len(nodes), 'node')} with memory for them:"
            " vLLM binds each rank to a node of its own and ends with an assertion",
            rule="ranks-exceed-nodes",
            ranks=count,
            nodes=len(nodes),
        )
    found = [list(selected(machine, node, selector)) for node in nodes[:count]]
    least = count if machine_reserves_a_rank(machine) else 1
    if request.options.get("kv_transfer_config"):
        least += count
    reserve = reserved(request, least)
    if sum(map(len, found)) > reserve:
        for rank, cpus in enumerate(found):
            share = reserve // count + (rank >= count - reserve % count)
            del cpus[max(0, len(cpus) - share) :]
    return [(node, CpuSet(cpus)) for node, cpus in zip(nodes, found, strict=False)]


def selector_of(machine: Machine) -> str | None:
    """Return how the CPUs of a core are chosen; an architecture that is not known counts as x86."""
    name = (machine.cpu.architecture or "x86").strip().lower()
    return next((how for prefix, how in SELECTORS.items() if name.startswith(prefix)), None)


def machine_reserves_a_rank(machine: Machine) -> bool:
    """Tell whether one CPU a rank is reserved, and not one in all as on POWER and s390x."""
    name = (machine.cpu.architecture or "").strip().lower()
    return not name.startswith(("ppc", "s390"))


def reserved(request: Request, least: int) -> int:
    """Return how many CPUs are kept free: as stated, else `least`. Raises LaunchRefused."""
    stated = request.env.get(RESERVED)
    if stated is None:
        return least
    number = integer(stated)
    if number is None:
        raise LaunchRefused(f"{RESERVED}={shown(stated)} is no whole number: vLLM ends at start")
    return max(0, number)


def integer(text: str) -> int | None:
    """Return a whole number as Python reads it, None where it reads none or it is huge."""
    digits = text.strip().removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
        return None
    return -int(digits) if text.strip().startswith("-") else int(digits)


def visible_nodes(machine: Machine, request: Request) -> tuple[int, ...]:
    """Return the nodes for ranks: Mems_allowed, or what CPU_VISIBLE_MEMORY_NODES leaves of it.

    A kernel without node directories has one, 0. Raises LaunchRefused, MachineError.
    """
    mems = allowed_nodes(machine)
    stated = request.env.get(VISIBLE, "")
    if not stated:
        return mems
    asked = [integer(part) for part in stated.split(",")[:MOST_RANKS]]
    if None in asked:
        raise LaunchRefused(f"{VISIBLE}={shown(stated)} is no list of node ids: vLLM ends at start")
    return tuple(node for node in asked if node is not None and node in mems)


def allowed_nodes(machine: Machine) -> tuple[int, ...]:
    """Return Mems_allowed: the nodes with memory that a cpuset leaves. Raises MachineError."""
    if machine.shows_nodes is None:
        raise MachineError(
            f"{machine.source} states no NUMA nodes; add --from the output of `numactl --hardware`"
        )
    if not machine.nodes:
        return (0,)
    if machine.limits.cpuset_mems is not None:
        return tuple(machine.limits.cpuset_mems)
    return tuple(n.id for n in machine.nodes if n.memory_total_bytes != 0)


def selected(machine: Machine, node: int, selector: str) -> Iterator[int]:
    """Yield the CPUs of a node that are chosen, ascending. Raises MachineError."""
    usable = own_cpus(machine)
    if machine.nodes:
        home = machine.node(node)
        if home is not None and home.cpus is None:
            raise MachineError(f"the CPUs of node {node} are not known; `numactl --hardware` lists")
        usable &= CpuSet() if home is None or home.cpus is None else home.cpus
    if selector == EVERY or (machine.cores is None and machine.smt == 1):
        yield from usable
    elif selector == LOW_HALF:
        yield from (cpu for cpu in usable if cpu % 8 < 4)
    elif machine.cores is None:
        raise MachineError(
            "vLLM takes one CPU of each core, and which CPUs are threads of one core is not known;"
            " `lscpu -e` shows it, --assume threads_per_core=1 states it"
        )
    else:
        parts = (core.cpus.mask & usable.mask for core in machine.cores)
        yield from sorted(part.bit_length() - 1 for part in parts if part)


def own_cpus(machine: Machine) -> CpuSet:
    """Return the CPUs that the process inherits. Raises MachineError where they are not known."""
    cpus = machine.inherited_cpus
    if cpus is None:
        raise MachineError(
            f"{machine.source} does not state the CPUs; add --from the output of `lscpu`"
        )
    return cpus


def lists_of(request: Request, count: int) -> list[CpuSet]:
    """Return the lists of VLLM_CPU_OMP_THREADS_BIND, one a rank. Raises LaunchRefused."""
    texts = binding_of(request).split("|")
    if len(texts) != count:
        raise LaunchRefused(
            f"{BIND} has {counted(len(texts), 'list')} for {counted(count, 'rank')}: vLLM ends with"
            " an assertion"
        )
    return [list_of(text) for text in texts]


def list_of(text: str) -> CpuSet:
    """Return one list, such as "0-3,8"; a range that runs backwards has no CPU. Raises."""
    mask = 0
    for part in text.split(",") if text else ():
        ends = [integer(end) for end in part.split("-")]
        first, last = ends[0], ends[-1]
        if first is None or last is None or len(ends) > 2:
            raise LaunchRefused(
                f"{shown(text)} in {BIND} is neither auto, nobind nor a list of CPUs: vLLM ends at"
                " start"
            )
        if max(first, last) >= ID_LIMIT:
            raise UsageError(
                f"{BIND} names CPU {max(first, last)}, beyond the highest id read here"
            )
        if first <= last:
            mask |= (1 << (last + 1)) - (1 << first)
    return CpuSet.of_mask(mask)


def loose_ranks(machine: Machine, request: Request) -> tuple[Rank, ...]:
    """Return the ranks of "nobind": OMP_NUM_THREADS of each, bound to nothing but one memory."""
    count = rank_count(request)
    threads = request.threads
    if threads is None:
        threads = stated_threads(request.env)
    if threads is None:
        threads = inherited_cores(machine)
    threads = whole("OMP_NUM_THREADS", threads, 1, MOST_THREADS, "a number of threads")
    cpus = own_cpus(machine)
    memory = memory_of(machine, request, cpus) if cpus else None
    return (Rank(threads, None, False, None, memory, {None: threads}),) * count


def stated_threads(env: Mapping[str, str]) -> int | None:
    """Return what OMP_NUM_THREADS says, None where it says nothing that is a number."""
    number = integer(env.get("OMP_NUM_THREADS", "").partition(",")[0])
    return number if number is not None and number > 0 else None


def inherited_cores(machine: Machine) -> int:
    """Return the cores that the process inherits. Raises MachineError where they are not known."""
    cpus = own_cpus(machine)
    if machine.cores is not None:
        return max(1, sum(1 for core in machine.cores if core.cpus.mask & cpus.mask))
    if machine.smt == 1:
        return max(1, len(cpus))
    raise MachineError(
        "which CPUs are threads of one core is not known; `lscpu -e` shows it, --assume"
        " threads_per_core=1 states it"
    )


def is_pinned(machine: Machine, request: Request) -> bool:
    """Tell whether each thread gets a CPU of its own: with libiomp or libgomp in LD_PRELOAD.

    Without them OMP_PLACES gets one place, the whole list. Where LD_PRELOAD is not stated, it is
    taken as the installation page asks for it on x86, with libiomp. Raises LaunchRefused.
    """
    preload = request.env.get("LD_PRELOAD")
    if preload is None:
        return selector_of(machine) == LAST
    intel, gnu = "libiomp" in preload or "libomp" in preload, "libgomp" in preload
    if intel and gnu:
        raise LaunchRefused(
            f"LD_PRELOAD has {listed(['libiomp', 'libgomp'])}: vLLM ends with an assertion"
        )
    return intel or gnu


def variables_set(machine: Machine, request: Request) -> tuple[str, ...]:
    """Return the variables by which vLLM binds the threads of a rank. Raises LaunchRefused."""
    preload = request.env.get("LD_PRELOAD")
    if preload is None:
        return ()
    if not is_pinned(machine, request):
        return ("OMP_PLACES", "OMP_PROC_BIND")
    return ("GOMP_CPU_AFFINITY",) if "libgomp" in preload else ("KMP_AFFINITY", "KMP_BLOCKTIME")


@kept
def node_of_cpus(machine: Machine) -> dict[int, int]:
    """Return the node of each CPU that is known to be in one."""
    return {cpu: node.id for node in machine.nodes for cpu in node.cpus or ()}


def memory_of(machine: Machine, request: Request, cpus: CpuSet) -> int | None:
    """Return the one node that a rank on some CPUs binds its memory to, None without nodes.

    It is that of the first CPU on which the rank may run, or else the first that it may use.
    """
    if not machine.nodes:
        return None
    mine = machine.inherited_cpus
    inside = cpus if mine is None else (cpus & mine) or mine
    nodes = visible_nodes(machine, request)
    home = node_of_cpus(machine).get(inside.first()) if inside else None
    if home in nodes:
        return home
    return nodes[0] if nodes else None
