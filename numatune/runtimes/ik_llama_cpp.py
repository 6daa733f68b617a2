"""ik_llama.cpp: `--numa` as in llama.cpp, without CPU masks; other ways to load the weights.

Source: `SOURCE` (`ggml_numa_init`, `set_numa_thread_affinity`, `ggml_graph_compute`), and
`gpt_params_find_arg` and `cpu_get_num_math` in `COUNTS`. Builds are numbers of commits; the rule is
the one of https://github.com/ggml-org/llama.cpp/pull/5377 in all that are known here.
"""

from __future__ import annotations

from collections.abc import Mapping

from numatune.errors import LaunchRefused, UsageError
from numatune.machine import Machine
from numatune.placement.placement import Placement, Release, Tally
from numatune.placement.request import Request
from numatune.runtimes import ggml, ggml_counts, ggml_plan
from numatune.runtimes.llama_cpp_versions import BUILD
from numatune.runtimes.options import thread_count
from numatune.runtimes.runtime import DefaultCount
from numatune.runtimes.versions import commit_of, same_commit
from numatune.words import shown

NAME = "ik_llama.cpp"
THREADS_OPTION = "-t"
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "threads": ("-t", "--threads"),
    "threads_batch": ("-tb", "--threads-batch"),
    "numa": ("--numa",),
    "no_mmap": ("--no-mmap",),
    "mlock": ("--mlock",),
    "run_time_repack": ("-rtr", "--run-time-repack"),
    "huge_pages": ("-thp", "--transparent-huge-pages"),
    "openmp_build": ("--openmp-build",),
    "current_cpu": (),
}

COMMIT = "8337e4cd3861406fc04e0854b1409cd1b027fbc9"
REPOSITORY = f"https://github.com/ikawrakow/ik_llama.cpp/blob/{COMMIT}"
SOURCE = f"{REPOSITORY}/ggml/src/ggml.c"
COUNTS = f"{REPOSITORY}/common/common.cpp"

NEWEST = COMMIT[:8]

#: The builds that have the rule: from the fork of July 2024 to `COMMIT`.
FIRST_BUILD, NEWEST_BUILD = 3347, 4840


def releases(numa_build: bool | None) -> tuple[Release, ...]:
    """Return the one behaviour."""
    return (release(None, None, numa_build),)


def release(version: str | None, commit: str | None, numa_build: bool | None) -> Release:
    """Return how a build or a commit behaves. Raises UsageError where it is not known."""
    asked = version or commit or NEWEST
    text = asked.strip().lower()
    match = BUILD.fullmatch(text)
    prefix = commit_of(text)
    if match is not None and FIRST_BUILD <= int(match[1]) <= NEWEST_BUILD:
        shown_as = f"b{int(match[1])}"
    elif match is None and prefix is not None and same_commit(prefix, (COMMIT,)):
        shown_as = prefix
    else:
        raise UsageError(
            f"ik_llama.cpp {shown(asked)} is not known; known are builds b{FIRST_BUILD} - "
            f"b{NEWEST_BUILD} and the commit {NEWEST}, which is taken without a version"
        )
    versions = f"b{FIRST_BUILD} - b{NEWEST_BUILD}"
    return Release(NAME, shown_as, versions, ggml.ROUND_ROBIN, None, SOURCE)


def default_threads(machine: Machine, request: Request, release: Release) -> DefaultCount:
    """Return what is taken without `-t`: physical cores, whatever the process may use."""
    return ggml_counts.default_count(machine, request, COUNTS, has_hybrid=True, has_power=False)


def phases(request: Request) -> tuple[tuple[str, Request], ...]:
    """Return generation, and the prompt where `-tb` makes it differ."""
    return ggml.phases_of(request, {})


def simulate(machine: Machine, request: Request, release: Release) -> Placement:
    """Place every thread as in the first graph. Raises LaunchRefused, UsageError, MachineError."""
    threads = threads_of(machine, request, release)
    return ggml_plan.placement(plan_of(machine, request, threads), threads, release)


def tally(machine: Machine, request: Request, release: Release) -> Tally:
    """Count the threads of each node without placing one by one."""
    threads = threads_of(machine, request, release)
    try:
        return ggml_plan.tally(plan_of(machine, request, threads), threads)
    except LaunchRefused as refused:
        return Tally({}, refused=refused.reason)


def pinned_twice(machine: Machine, request: Request) -> bool:
    """Tell whether threads are tied to fewer cores than they are, though each node has enough."""
    threads = threads_of(machine, request, release(None, None, None))
    return ggml_plan.is_crowded(machine, plan_of(machine, request, threads), threads)


def threads_of(machine: Machine, request: Request, release: Release) -> int:
    """Return the thread count, the default without one. Raises UsageError where that is unknown."""
    if request.threads is not None:
        return thread_count(request, THREADS_OPTION)
    return ggml_counts.derived(default_threads(machine, request, release), NAME)


def plan_of(machine: Machine, request: Request, threads: int) -> ggml_plan.Plan:
    """Return where threads go. Raises LaunchRefused, UsageError and MachineError."""
    is_openmp = ggml.flag(request, "openmp_build", True)
    bound = ggml.bound_by_openmp(machine, request, threads, is_openmp)
    captured = bound[0].cpus if bound else machine.inherited_cpus
    strategy = ggml.strategy_of(request, request.options.get("numa"))
    numa = ggml.numa_ties(machine, request, strategy, captured)
    return ggml_plan.Plan(numa, None, bound, ggml.floating(machine))
