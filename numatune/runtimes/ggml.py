"""Where ggml's CPU threads go: what llama.cpp and ik_llama.cpp share.

Each thread ties itself anew at every graph: to a node where `--numa` is given, else to a CPU mask,
else to nothing. Masks are put over what the thread inherited, and the kernel cuts them down to the
cpuset; where nothing is left it refuses (EINVAL), ggml warns, and the thread keeps what it had.
Source: `SOURCE` (`ggml_numa_init`, `set_numa_thread_affinity`, `ggml_graph_compute`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from numatune.errors import LaunchRefused, MachineError, UsageError
from numatune.machine import CpuSet, Machine, Node
from numatune.placement.load import floating_home
from numatune.placement.request import Request
from numatune.runtimes.ggml_plan import Tie, Walk, walk_of
from numatune.runtimes.kept import kept
from numatune.runtimes.options import MOST_THREADS, whole
from numatune.words import shown

SOURCE = "https://github.com/ggml-org/llama.cpp/blob/0c1e57098/ggml/src/ggml-cpu/ggml-cpu.c"

#: GGML_NUMA_MAX_NODES and GGML_NUMA_MAX_CPUS: what is beyond them is never seen.
MAX_NODES, MAX_CPUS = 8, 512

#: The strategies of `--numa`.
DISTRIBUTE, ISOLATE, NUMACTL = "distribute", "isolate", "numactl"
STRATEGIES = (DISTRIBUTE, ISOLATE, NUMACTL)

#: How `distribute` divides threads: by the rest of i / nodes, or in blocks of ceil(n / nodes).
ROUND_ROBIN, BLOCKS = "round-robin", "blocks"

#: The words of `page_placement`.
FIRST_TOUCH, FIRST_TOUCH_OR_REPACKED, LOADER = "first-touch", "first-touch-or-repacked", "loader"


class Seen(NamedTuple):
    """What `ggml_numa_init` finds: nodes 0, 1, ... up to the first missing id, at most 8.

    `cpu_limit` is the number of CPUs up to the first missing id, at most 512. `nodes` are the
    nodes' CPUs below it, None where a node's CPUs are not known.
    """

    nodes: tuple[CpuSet | None, ...]
    cpu_limit: int

    @property
    def is_numa(self) -> bool:
        """Whether threads are tied at all: with one node or none `--numa` does nothing."""
        return len(self.nodes) > 1


@kept
def seen(machine: Machine) -> Seen:
    """Return the nodes and CPUs that ggml discovers, whatever a cpuset leaves.

    An offline CPU keeps its directory and ends no search. Where offline CPUs are not known, a gap
    in the online ones is taken for such.
    """
    known = {node.id: node for node in machine.nodes}
    found: list[Node] = []
    while len(found) < MAX_NODES and len(found) in known:
        found.append(known[len(found)])
    limit = cpu_limit(machine)
    below = CpuSet.of_mask((1 << limit) - 1)
    cpus = tuple(None if node.cpus is None else node.cpus & below for node in found)
    return Seen(cpus if limit else (), limit)


def cpu_limit(machine: Machine) -> int:
    """Return how many CPUs are counted before the first one without a directory."""
    online = machine.cpus
    if online is None:
        return MAX_CPUS
    if machine.offline_cpus is None:
        return min(MAX_CPUS, online.mask.bit_length())
    present = online.mask | machine.offline_cpus.mask
    return min(MAX_CPUS, (~present & (present + 1)).bit_length() - 1)


def tied(machine: Machine, cpus: CpuSet | None, node: int | None, binding: str) -> Tie | None:
    """Return the tie to a set of CPUs as the kernel accepts it, None where it refuses.

    `cpus` None is a node's whose CPUs are not known. A set that lies in one node is tied to it.
    """
    if cpus is None:
        return Tie(node, None, binding)
    usable = machine.usable_cpus
    left = cpus if usable is None else cpus & usable
    if not left:
        return None
    return Tie(home_of(machine, left) if node is None else node, left, binding)


def home_of(machine: Machine, cpus: CpuSet) -> int | None:
    """Return the one node that holds all of some CPUs, None where there is none or several."""
    homes = [node.id for node in machine.nodes if node.cpus is not None and cpus <= node.cpus]
    return homes[0] if len(homes) == 1 else None


def mask_walk(machine: Machine, mask: CpuSet | None, is_strict: bool) -> Walk | None:
    """Return the walk through a CPU mask: one step to the whole of it, or each CPU in turn.

    A mask without a bit counts as none (`ggml_thread_cpumask_is_valid`).
    """
    if not mask:
        return None
    known, key = walks(machine), (mask, is_strict)
    if key not in known:
        ties: tuple[Tie | None, ...] = (tied(machine, mask, None, "mask"),)
        if is_strict:
            ties = tuple(tied(machine, CpuSet((cpu,)), None, "cpu") for cpu in mask)
        known[key] = walk_of(machine, ties)
    return known[key]


@kept
def walks(machine: Machine) -> dict[tuple[CpuSet, bool], Walk]:
    """Return the walks of `mask_walk` so far: a sweep asks again and again for the same."""
    return {}


def floating(machine: Machine) -> Tie:
    """Return what a thread has that nothing tied."""
    return Tie(None, machine.inherited_cpus, "none")


def bound_by_openmp(
    machine: Machine, request: Request, threads: int, is_openmp: bool
) -> tuple[Tie, ...] | None:
    """Return what OMP_* and GOMP_* tie each thread of an OpenMP build to, None for nothing."""
    if not is_openmp or not any(name.startswith(("OMP_", "GOMP_")) for name in request.env):
        return None
    from numatune.runtimes.libgomp import bound_threads

    sets = bound_threads(machine, request.env, threads)
    if sets is None:
        return None
    known: dict[CpuSet, Tie] = {}
    for cpus in sets:
        if cpus not in known:
            binding = "cpu" if len(cpus) == 1 else "mask"
            known[cpus] = tied(machine, cpus, None, binding) or floating(machine)
    return tuple(known[cpus] for cpus in sets)


def numa_ties(
    machine: Machine, request: Request, strategy: str | None, captured: CpuSet | None
) -> tuple[Tie | None, ...]:
    """Return the ties that `--numa` walks through, () where it ties nothing.

    `captured` is the affinity that the main thread has when ggml starts. Raises LaunchRefused where
    ggml crashes, MachineError where too little is known of the machine.
    """
    if strategy is None:
        return ()
    if machine.shows_nodes is None:
        raise MachineError(
            f"{machine.source} states no NUMA nodes; add --from the output of `numactl --hardware`"
        )
    view = seen(machine)
    if not view.is_numa:
        return ()
    if strategy == NUMACTL:
        return (inherited_tie(machine, view, captured),)
    nodes: tuple[int, ...] = tuple(range(len(view.nodes)))
    if strategy == ISOLATE:
        nodes = (start_node(machine, request),)
        if nodes[0] >= MAX_NODES:
            raise beyond_limit(nodes[0])
    # A node that was not found has no CPUs here, and an empty mask is refused.
    masks = dict(enumerate(view.nodes))
    return tuple(tied(machine, masks.get(node, CpuSet()), node, "node") for node in nodes)


def inherited_tie(machine: Machine, view: Seen, captured: CpuSet | None) -> Tie | None:
    """Return what `--numa numactl` gives every thread: the captured affinity.

    It is cut to whole words of 64 bits that hold the CPUs seen. Where that is all that the cpuset
    leaves, threads float, whatever a mask would have tied them to.
    """
    if captured is None:
        return floating(machine)
    words = -(-view.cpu_limit // 64) * 64
    tie = tied(machine, captured & CpuSet.of_mask((1 << words) - 1), None, "mask")
    is_whole = tie is not None and tie.cpus == machine.usable_cpus
    return floating(machine)._replace(cpus=machine.usable_cpus) if is_whole else tie


def start_node(machine: Machine, request: Request) -> int:
    """Return the node that the process starts on. Raises MachineError where it is not known."""
    stated = request.options.get("current_cpu")
    cpu = machine.limits.start_cpu
    if stated is not None:
        cpu = whole("current_cpu", stated, 0, MOST_THREADS, "the CPU that the process starts on")
    if cpu is None:
        home = floating_home(machine)
        if home is not None:
            return home
        raise MachineError(
            "--numa isolate ties every thread to the node that the process happens to start on, "
            "which is not known; add --assume start_cpu=N"
        )
    for node in machine.nodes:
        if node.cpus is not None and cpu in node.cpus:
            return node.id
    raise MachineError(f"CPU {cpu}, on which the process starts, is on no node that is known")


def beyond_limit(node: int) -> LaunchRefused:
    """Say that `isolate` reads beyond the array of nodes."""
    return LaunchRefused(
        f"--numa isolate started on node {node}, but ggml keeps nodes 0 to {MAX_NODES - 1} only: "
        "it reads beyond its table and dies of a segmentation fault (SIGSEGV)",
        rule="start-node-beyond-limit",
        node=node,
        limit=MAX_NODES,
    )


def strategy_of(request: Request, value: object) -> str | None:
    """Return the strategy that `--numa` names, None for none. Raises UsageError.

    "none" and False stand for the option not given, True and "" for distribute.
    """
    if value is None or value is False:
        return None
    word = DISTRIBUTE if value is True else str(value).strip() or DISTRIBUTE
    if word == "none":
        return None
    if word not in STRATEGIES:
        raise UsageError(
            f"{request.runtime} refuses --numa {shown(word)}; it takes distribute, isolate or"
            " numactl"
        )
    return word


def flag(request: Request, name: str, default: bool = False) -> bool:
    """Return an option that is on or off. Raises UsageError."""
    value = request.options.get(name)
    if value is None:
        return default
    words = {"": True, "true": True, "1": True, "on": True, "yes": True,
             "false": False, "0": False, "off": False, "no": False}  # fmt: skip
    truth = words.get(str(value).strip().lower())
    if truth is None:
        raise UsageError(f"{name} must be on or off, not {shown(value)}")
    return truth


def page_placement(request: Request) -> str:
    """Return where the pages of the weights come to lie; a memory policy of the launcher aside.

    "first-touch": mapped, and each page on the node of the compute thread that first reads it, as
    under `--numa`. "first-touch-or-repacked": so, except for tensors that are repacked into a
    buffer which the loading thread writes (CPU_REPACK, on by default; which tensors depends on
    their type). "loader": all on the node of the loading thread, which populates the mapping, locks
    it, or reads the file. Pages that are in the page cache already stay where they are.
    Sources: https://github.com/ggml-org/llama.cpp/blob/0c1e57098/src/llama-mmap.cpp and
    https://github.com/ggml-org/llama.cpp/blob/0c1e57098/ggml/src/ggml-cpu/repack.cpp
    """
    mode = str(request.options.get("load_mode") or "mmap").strip().lower()
    is_read = any(flag(request, name) for name in ("no_mmap", "run_time_repack", "huge_pages"))
    if is_read or not flag(request, "mmap", True) or mode not in ("mmap", "auto"):
        return LOADER
    is_llama = request.runtime == "llama.cpp"
    variable = request.env.get("LLAMA_ARG_NUMA") if is_llama else None
    strategy = strategy_of(request, request.options.get("numa", variable))
    if flag(request, "mlock") or strategy is None:
        return LOADER
    repacks = flag(request, "repack", True) and not flag(request, "no_repack")
    return FIRST_TOUCH_OR_REPACKED if is_llama and repacks else FIRST_TOUCH


def phases_of(request: Request, replaced: Mapping[str, str]) -> tuple[tuple[str, Request], ...]:
    """Return ("generation", request), and ("prompt", ...) where prompts are computed otherwise.

    `replaced` gives for each option of prompts the one whose place it takes. Without a thread count
    for prompts upstream takes over all of generation's values; with one it takes over none
    (`postprocess_cpu_params` in
    https://github.com/ggml-org/llama.cpp/blob/0c1e57098/common/common.cpp).
    """
    generation = ("generation", request)
    count = request.options.get("threads_batch")
    if count is None:
        return (generation,)
    threads = whole("--threads-batch", count, 1, MOST_THREADS, "a number of threads")
    own = {n: v for n, v in request.options.items() if n not in ("threads_batch", *replaced)}
    options = {name: value for name, value in own.items() if name not in replaced.values()}
    options |= {replaced[n]: v for n, v in request.options.items() if n in replaced}
    if threads == request.threads and options == own:
        return (generation,)
    return generation, (
        "prompt",
        request._replace(threads=threads, options=options, phase="prompt"),
    )
