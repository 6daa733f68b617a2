"""Options and variables that do nothing in llama.cpp and ik_llama.cpp, by version and build."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.placement.placement import Release
from numatune.placement.request import Request
from numatune.rules.ggml_limits import NODES_UNKNOWN, has_openmp, strategy
from numatune.rules.openmp_options import misread
from numatune.rules.options import Idle, changes_nothing
from numatune.rules.rule import Case, Skip
from numatune.runtimes import ggml, llama_cpp, llama_cpp_versions
from numatune.words import counted, listed

COMMON = "https://github.com/ggml-org/llama.cpp/blob/0c1e57098/common/common.cpp"
ARGUMENTS = "https://github.com/ggml-org/llama.cpp/blob/0c1e57098/common/arg.cpp"
MASKS_IN_OPENMP = "https://github.com/ggml-org/llama.cpp/pull/16164"
IK_SOURCE = (
    "https://github.com/ikawrakow/ik_llama.cpp/blob/8337e4cd3861406fc04e0854b1409cd1b027fbc9/"
    "common/common.cpp"
)

#: What llama.cpp has and ik_llama.cpp does not, by the names that `request_of` gives them.
NOT_IN_IK = {
    "C": "-C", "cpu_mask": "--cpu-mask", "Cr": "-Cr", "cpu_range": "--cpu-range",
    "cpu_strict": "--cpu-strict", "Cb": "-Cb", "cpu_mask_batch": "--cpu-mask-batch",
    "Crb": "-Crb", "cpu_range_batch": "--cpu-range-batch",
    "cpu_strict_batch": "--cpu-strict-batch", "prio": "--prio", "poll": "--poll",
}  # fmt: skip

#: Variables that pages on the web name and that no version reads.
NEVER_READ = ("GGML_NUMA", "LLAMA_NUMA")


def idle(case: Case) -> Iterator[Idle | Skip]:
    """Yield what the launch states in vain."""
    request, release = case.request, case.release
    if request is None or release is None:
        return
    yield from idle_numa(case)
    if release.runtime == llama_cpp.NAME:
        yield from idle_masks(case, request, release)
        yield from idle_for_prompts(request)
    else:
        for name, written in NOT_IN_IK.items():
            if name in request.options:
                why = "is an option of llama.cpp; ik_llama.cpp has no thread pool to take it"
                fix = "use --numa, or taskset"
                yield Idle(written, why, fix, IK_SOURCE, request.options[name])
    yield from idle_variables(case, request, release)


def idle_numa(case: Case) -> Iterator[Idle | Skip]:
    """Yield `--numa` where ggml finds one of several nodes, or none."""
    chosen, machine = strategy(case), case.machine
    if chosen is None:
        return
    if machine.shows_nodes is None:
        yield Skip(NODES_UNKNOWN)
        return
    view = ggml.seen(machine)
    if not view.is_numa and len(machine.nodes) > 1:
        ids = ", ".join(str(node.id) for node in machine.nodes)
        why = (
            f"does nothing: ggml counts nodes from 0 up to the first missing id and finds"
            f" {counted(len(view.nodes), 'node')} of {ids}"
        )
        one = next((node.id for node in machine.cpu_nodes if node.memory_total_bytes != 0), None)
        fix = "interleave the memory: numactl --interleave=all"
        if one is not None:
            fix += f", or use one node: numactl -N {one} -m {one}"
        yield Idle("--numa", why, fix, ggml.SOURCE, chosen)


def idle_masks(case: Case, request: Request, release: Release) -> Iterator[Idle]:
    """Yield CPU masks that no thread is given."""
    given = [name for name in ("cpu_mask", "cpu_range") if name in request.options]
    written = listed([llama_cpp.OPTIONS[name][-1] for name in given])
    value = " ".join(str(request.options[name]) for name in given)
    if not given:
        if ggml.flag(request, "cpu_strict"):
            why = "deals out the CPUs of a mask, and there is none (-C, -Cr)"
            yield Idle("--cpu-strict", why, "add -C or -Cr, or leave it out", COMMON, 1)
        return
    if case.placement is None:
        return
    is_openmp = llama_cpp.has_openmp(request, release)
    are = "are" if len(given) > 1 else "is"
    if not llama_cpp.mask_of(request):
        why = f"{'set' if len(given) > 1 else 'sets'} no bit, and such a mask counts as none"
        yield Idle(written, why, "name the CPUs in hex digits: -C ff", ggml.SOURCE, value)
    elif not llama_cpp_versions.applies_masks(release, is_openmp):
        why = f"{are} not used by the threads of an OpenMP build before pull request 16164"
        yield Idle(
            written, why, "use a newer build, or one with GGML_OPENMP=OFF", MASKS_IN_OPENMP, value
        )
    elif is_openmp and case.placement.threads == 1:
        why = f"{are} not used by an OpenMP build with a single thread"
        yield Idle(written, why, f"use taskset -c {llama_cpp.mask_of(request)}", ggml.SOURCE, value)
    elif changes_nothing(case, options=(*given, "cpu_strict")):
        why, fix = (
            "overridden: --numa ties each thread anew after the mask",
            "leave out one of the two",
        )
        if not is_numa(case):
            why, fix = "refused by the kernel, as the cpuset has none of its CPUs", "name others"
        yield Idle(written, f"{are} {why}", fix, ggml.SOURCE, value)


def idle_for_prompts(request: Request) -> Iterator[Idle]:
    """Yield masks for prompts without a thread count for prompts."""
    given = [name for name in llama_cpp.REPLACED if name in request.options]
    if not given or "threads_batch" in request.options:
        return
    written = listed([llama_cpp.OPTIONS[name][-1] for name in given])
    has = "have" if len(given) > 1 else "has"
    why = f"{has} no effect without -tb: prompts then take over all values of generation"
    value = " ".join(str(request.options[name]) for name in given)
    yield Idle(written, why, "add -tb, with the same number as -t if it is meant so", COMMON, value)


def idle_variables(case: Case, request: Request, release: Release) -> Iterator[Idle]:
    """Yield variables of OpenMP that the build does not read, or that something overrides."""
    for name in NEVER_READ:
        if name in request.env:
            why = "is read neither when llama.cpp is built nor when it runs"
            yield Idle(name, why, "use --numa distribute", ARGUMENTS, request.env[name])
    read = [name for name in request.env if name.startswith(("OMP_", "GOMP_"))]
    if not read:
        return
    if not has_openmp(request, release):
        why = f"{'are' if len(read) > 1 else 'is'} not read by a build without OpenMP"
        fix = "use -C or --numa, or build with GGML_OPENMP=ON"
        yield Idle(listed(read), why, fix, ggml.SOURCE, values(request, read))
        return
    yield from misread(case.machine, request.env)
    yield from idle_binding(case, request)
    from numatune.runtimes.libgomp import stated_team

    team = stated_team(request.env)
    if team is not None and request.threads is not None and team != request.threads:
        why = f"does not count: ggml asks OpenMP for {counted(request.threads, 'thread')}"
        # With a -t of its own the launch is as it was meant.
        fix, severity = (
            ("leave it out", "info") if case.default is None else (f"use -t {team}", None)
        )
        yield Idle("OMP_NUM_THREADS", why, fix, ggml.SOURCE, team, severity)


def idle_binding(case: Case, request: Request) -> Iterator[Idle]:
    """Yield the variables that tie threads where `--numa` or a mask ties them anew."""
    from numatune.runtimes.libgomp import BINDING

    given = [name for name in BINDING if name in request.env]
    over = [name for name in ("cpu_mask", "cpu_range") if name in request.options]
    if not given or not (over or is_numa(case)) or not binds(case, request):
        return
    if changes_nothing(case, variables=given):
        by = "--numa" if is_numa(case) else listed([llama_cpp.OPTIONS[name][0] for name in over])
        are = "are" if len(given) > 1 else "is"
        why = f"{are} overridden: {by} ties each thread anew at each graph"
        yield Idle(
            listed(given), why, "leave out one of the two", ggml.SOURCE, values(request, given)
        )


def binds(case: Case, request: Request) -> bool:
    """Tell whether libgomp would tie threads by the variables alone."""
    from numatune.errors import NumatuneError
    from numatune.runtimes.libgomp import binding

    try:
        return bool(binding(case.machine, request.env).places)
    except NumatuneError:
        return False


def is_numa(case: Case) -> bool:
    """Tell whether `--numa` is given and ggml finds several nodes."""
    return strategy(case) is not None and ggml.seen(case.machine).is_numa


def values(request: Request, names: list[str]) -> str:
    """Return variables as they are set."""
    return " ".join(f"{name}={request.env[name]}" for name in names)
