"""llama.cpp: threads tied to whole nodes (`--numa`), to a CPU mask (`-C`, `-Cr`), or to nothing.

`--numa` overrides a mask, and both override what the process inherited. Source: `ggml.SOURCE`
(`ggml_graph_compute`, `ggml_threadpool_new_impl`, `ggml_thread_cpumask_next`) and
https://github.com/ggml-org/llama.cpp/blob/0c1e57098/common/common.cpp (`parse_cpu_mask`,
`parse_cpu_range`, `postprocess_cpu_params`). Masks act where the program attaches a thread pool of
its own; llama-server and llama-cli did not for a while
(https://github.com/ggml-org/llama.cpp/issues/26997).
"""

from __future__ import annotations

from collections.abc import Mapping

from numatune.errors import LaunchRefused, UsageError
from numatune.machine import CpuSet, Machine
from numatune.placement.placement import Placement, Release, Tally
from numatune.placement.request import Request
from numatune.runtimes import ggml, ggml_counts, ggml_plan, llama_cpp_versions
from numatune.runtimes.options import thread_count, whole
from numatune.runtimes.runtime import DefaultCount
from numatune.words import shown

NAME = llama_cpp_versions.NAME
THREADS_OPTION = "-t"
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "threads": ("-t", "--threads"),
    "threads_batch": ("-tb", "--threads-batch"),
    "numa": ("--numa",),
    "cpu_mask": ("-C", "--cpu-mask"),
    "cpu_range": ("-Cr", "--cpu-range"),
    "cpu_strict": ("--cpu-strict",),
    "cpu_mask_batch": ("-Cb", "--cpu-mask-batch"),
    "cpu_range_batch": ("-Crb", "--cpu-range-batch"),
    "cpu_strict_batch": ("--cpu-strict-batch",),
    "prio": ("--prio",),
    "poll": ("--poll",),
    "load_mode": ("-lm", "--load-mode"),
    "mmap": ("--mmap",),
    "no_mmap": ("--no-mmap",),
    "mlock": ("--mlock",),
    "repack": ("--repack",),
    "no_repack": ("-nr", "--no-repack"),
    "openmp_build": ("--openmp-build",),
    "current_cpu": (),
}

#: The options of prompts, and those whose place they take.
REPLACED = {
    "cpu_mask_batch": "cpu_mask",
    "cpu_range_batch": "cpu_range",
    "cpu_strict_batch": "cpu_strict",
}

#: The digits of a mask that upstream reads (GGML_MAX_N_THREADS is 512).
MOST_DIGITS = 128


def releases(numa_build: bool | None) -> tuple[Release, ...]:
    """Return one release for each way of dealing threads to nodes, oldest first."""
    return llama_cpp_versions.releases()


def release(version: str | None, commit: str | None, numa_build: bool | None) -> Release:
    """Return how a build, a version or a commit behaves. Raises UsageError where it is unknown."""
    return llama_cpp_versions.release(version, commit)


def default_threads(machine: Machine, request: Request, release: Release) -> DefaultCount:
    """Return what llama.cpp takes without `-t`: physical cores, whatever the process may use."""
    build = llama_cpp_versions.build_of(release)
    return ggml_counts.default_count(
        machine,
        request,
        ggml_counts.SOURCE,
        has_hybrid=build is None or build >= llama_cpp_versions.FIRST_HYBRID,
        has_power=build is None,
    )


def phases(request: Request) -> tuple[tuple[str, Request], ...]:
    """Return generation, and the prompt where `-tb` makes it differ.

    Without `-tb` the masks of prompts (`-Cb`, `-Crb`) are not used; with it the prompt has only
    those, and not the mask of generation. In an OpenMP build threads that a mask of generation tied
    stay tied when a prompt without a mask follows.
    """
    return ggml.phases_of(request, REPLACED)


def simulate(machine: Machine, request: Request, release: Release) -> Placement:
    """Place every thread as in the first graph. Raises LaunchRefused, UsageError, MachineError."""
    threads = threads_of(machine, request, release)
    return ggml_plan.placement(plan_of(machine, request, release, threads), threads, release)


def tally(machine: Machine, request: Request, release: Release) -> Tally:
    """Count the threads of each node without placing one by one."""
    threads = threads_of(machine, request, release)
    try:
        return ggml_plan.tally(plan_of(machine, request, release, threads), threads)
    except LaunchRefused as refused:
        return Tally({}, refused=refused.reason)


def pinned_twice(machine: Machine, request: Request) -> bool:
    """Tell whether threads are tied to fewer cores than they are, though each node has enough."""
    newest = release(request.version, request.commit, None)
    threads = threads_of(machine, request, newest)
    return ggml_plan.is_crowded(machine, plan_of(machine, request, newest, threads), threads)


def threads_of(machine: Machine, request: Request, release: Release) -> int:
    """Return the thread count, the default without one. Raises UsageError where that is unknown."""
    if request.threads is not None:
        return thread_count(request, THREADS_OPTION)
    return ggml_counts.derived(default_threads(machine, request, release), NAME)


def plan_of(machine: Machine, request: Request, release: Release, threads: int) -> ggml_plan.Plan:
    """Return where threads go. Raises LaunchRefused, UsageError and MachineError."""
    is_openmp = has_openmp(request, release)
    bound = ggml.bound_by_openmp(machine, request, threads, is_openmp)
    strategy = strategy_of(request, release)
    # libgomp ties the main thread to its first place as soon as it is loaded.
    captured = bound[0].cpus if bound else machine.inherited_cpus
    mask = mask_of(request)
    acts = mask is not None and llama_cpp_versions.applies_masks(release, is_openmp)
    if not acts or (is_openmp and threads == 1):
        mask = None
    return ggml_plan.Plan(
        ggml.numa_ties(machine, request, strategy, captured),
        ggml.mask_walk(machine, mask, ggml.flag(request, "cpu_strict")),
        bound,
        ggml.floating(machine),
        release.behaviour == ggml.BLOCKS,
        not is_openmp,
    )


def has_openmp(request: Request, release: Release) -> bool:
    """Tell whether it is an OpenMP build: as stated, else the default of the build's time."""
    build = llama_cpp_versions.build_of(release)
    is_default = build is None or build >= llama_cpp_versions.FIRST_OPENMP
    return ggml.flag(request, "openmp_build", is_default)


def strategy_of(request: Request, release: Release) -> str | None:
    """Return the strategy of `--numa`, or of LLAMA_ARG_NUMA without it. Raises UsageError."""
    is_old = release.behaviour == ggml.BLOCKS
    variable = None if is_old else request.env.get("LLAMA_ARG_NUMA")
    strategy = ggml.strategy_of(request, request.options.get("numa", variable))
    if is_old and strategy not in (None, ggml.DISTRIBUTE):
        raise UsageError(
            f"llama.cpp {release.version} has no --numa {strategy}, only a --numa that distributes;"
            f" strategies came with b{llama_cpp_versions.FIRST_STRATEGIES}"
        )
    return strategy


def mask_of(request: Request) -> CpuSet | None:
    """Return the mask of `-C` and `-Cr` together, None where neither is given."""
    given = [request.options.get("cpu_mask"), request.options.get("cpu_range")]
    if given == [None, None]:
        return None
    mask = CpuSet() if given[0] is None else parsed_mask(given[0])
    return mask if given[1] is None else mask | parsed_range(given[1])


def parsed_mask(value: object) -> CpuSet:
    """Read a mask: hex digits, the lowest bit being CPU 0, or a CPU list such as "0-3,8".

    Only the digits are upstream's own spelling; a list has a comma or a dash. Raises UsageError.
    """
    text = str(value).strip()
    if isinstance(value, CpuSet) or "," in text or "-" in text:
        try:
            cpus = value if isinstance(value, CpuSet) else CpuSet.parse(text)
        except ValueError as error:
            raise UsageError(f"--cpu-mask {shown(text)}: {error}") from None
        if cpus.mask >> ggml.MAX_CPUS:
            raise UsageError(f"--cpu-mask {shown(text)} names a CPU above {ggml.MAX_CPUS - 1}")
        return cpus
    if not isinstance(value, str):
        raise UsageError(f"--cpu-mask {shown(value)} must be a text of hex digits, such as 'ff'")
    digits = text.removeprefix("0x")
    if len(digits) > MOST_DIGITS:
        raise UsageError(
            f"--cpu-mask has {len(digits)} digits; llama.cpp reads the first {MOST_DIGITS} only, "
            "and so takes them for other CPUs"
        )
    if set(digits) - set("0123456789abcdefABCDEF"):
        raise UsageError(f"llama.cpp refuses --cpu-mask {shown(text)}, which is not hexadecimal")
    return CpuSet.of_mask(int(digits or "0", 16))


def parsed_range(value: object) -> CpuSet:
    """Read "lo-hi", of which either end may be left out. Raises UsageError.

    Of a range that runs backwards upstream sets no CPU, and says nothing.
    """
    text = str(value).strip()
    low, dash, high = text.partition("-")
    if not dash:
        raise UsageError(f"llama.cpp refuses --cpu-range {shown(text)}; write it as lo-hi")
    last = ggml.MAX_CPUS - 1
    first = whole("--cpu-range", low, 0, last, "lo-hi") if low else 0
    end = whole("--cpu-range", high, 0, last, "lo-hi") if high else last
    if end < first:
        raise UsageError(
            f"--cpu-range {shown(text)} runs backwards; llama.cpp sets no CPU then, and does not "
            "say so"
        )
    return CpuSet.of_mask((1 << (end + 1)) - (1 << first))
