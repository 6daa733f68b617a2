"""Rules about the thread count that a runtime takes where the launch names none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from numatune.machine import CpuSet, Machine
from numatune.rules.facts import NO_LAUNCH, cores_within, threads_option, unplaced
from numatune.rules.frames import counts_as_quota
from numatune.rules.placement import CORES_UNKNOWN
from numatune.rules.rule import Case, Evidence, Hit, Rule, Skip
from numatune.words import counted, listed

if TYPE_CHECKING:
    from numatune.runtimes.runtime import DefaultCount

#: A default of one in so many of the cores that may be used, or less, is too small. Half of them
#: is where a count has missed a whole socket, or has halved cores without SMT; above that the
#: memory bandwidth, which limits generation, is most often used up.
TOO_FEW = 2

#: The variable by which users state the count, in place of the option.
VARIABLES = {
    "llama.cpp": "LLAMA_ARG_THREADS",
    "ik_llama.cpp": "LLAMA_ARG_THREADS",
    "openmp": "OMP_NUM_THREADS",
    "vllm": "OMP_NUM_THREADS",
}

CPUS_UNKNOWN = "the CPUs that this process may use are not known; `lscpu -e` shows them"


QUOTA = "a quota of"


class Budget(NamedTuple):
    """How many threads are sensible, what limits them, and whether that is exact."""

    threads: int
    limit: str
    is_exact: bool = True


def unsuitable(case: Case) -> Iterator[Hit | Skip]:
    """NT116: a default count above what may be used, or of half of it and less.

    Above it there is no tolerance: threads that spin for each other lose more by one too many than
    by several too few.
    Source: https://github.com/ollama/ollama/issues/17916
    """
    default = case.default
    if case.request is None:
        yield Skip(NO_LAUNCH)
        return
    if case.release is None:
        if case.request.threads is None:
            yield unplaced(case)
        return
    if default is None or default.threads is None:
        if case.request.threads is None:
            yield Skip(f"which count {case.release.runtime} takes here without one is not known")
        return
    if default.is_derived or is_stated(case):
        return  # one that follows from the CPUs can't be stated instead
    most = budget(case.machine)
    if most is None:
        yield Skip(CPUS_UNKNOWN)
        return
    if default.threads > most.threads:
        yield hit(case, default, most)
    elif not most.is_exact:
        yield Skip(CORES_UNKNOWN)
    else:
        least = fast_cores(case.machine, most)
        if default.threads * TOO_FEW <= least:
            yield hit(case, default, most)


def hit(case: Case, default: DefaultCount, most: Budget) -> Hit:
    """Say what the default is and what it should be."""
    threads = default.threads or 0
    blind = f", whatever the {listed(default.ignores, 'or')} says" if default.ignores else ""
    is_over = threads > most.threads
    runtime = case.release.runtime if case.release is not None else "the runtime"
    limit = most.limit
    if counts_as_quota(case) and limit.startswith(QUOTA):
        limit = f"the{limit.removeprefix(QUOTA)} that it has alone"
    from numatune.rules.remedy import stating

    return Hit(
        subject="default thread count",
        message=f"without a count {runtime} takes {counted(threads, 'thread')}"
        f" ({default.counted}{blind}); sensible {'is' if most.threads == 1 else 'are'}"
        f" {'at most ' if is_over else ''}{most.threads}, for {limit}",
        fix=stating(case, most.threads),
        numbers={"threads": threads, "sensible": most.threads},
        expected=f"{'at most ' if is_over else ''}{counted(most.threads, 'thread')}",
        actual=counted(threads, "thread"),
        evidence=(Evidence(default.source, threads_option(case), default.counted),),
    )


def is_stated(case: Case) -> bool:
    """Tell whether the environment states the count, so that it is no default."""
    if case.request is None or case.release is None:
        return False
    env = case.request.env
    if case.release.runtime == "openmp":
        from numatune.runtimes.libgomp import stated_team

        return stated_team(env) is not None
    return bool(env.get(VARIABLES.get(case.release.runtime, ""), "").strip())


def budget(machine: Machine) -> Budget | None:
    """Return the sensible count: cores that may be used, or the quota rounded down if smaller.

    Where cores are not known CPUs are counted, which is an upper bound. None where CPUs are not
    known and no quota is.
    """
    cpus, quota = own_cpus(machine), machine.limits.cpu_quota
    within = None
    if cpus:
        cores = cores_within(machine, cpus)
        part = "" if cpus == machine.cpus else " that it may use"
        if cores is None:
            within = Budget(len(cpus), f"{counted(len(cpus), 'CPU')}{part}", False)
        else:
            within = Budget(cores, f"{counted(cores, 'core')}{part}")
    if quota is not None:
        whole = max(1, int(quota))
        if within is None or whole < within.threads:
            is_exact = within is not None and within.is_exact
            return Budget(whole, f"{QUOTA} {quota:g} CPUs", is_exact)
    return within


def own_cpus(machine: Machine) -> CpuSet | None:
    """Return the CPUs that the process has at its start.

    Isolated ones belong to no process that was not sent there by an affinity or a cpuset.
    """
    cpus, limits = machine.inherited_cpus, machine.limits
    isolated = machine.settings.isolated_cpus
    if (
        cpus is None
        or not isolated
        or limits.affinity is not None
        or limits.cpuset_cpus is not None
    ):
        return cpus
    return cpus - isolated


def fast_cores(machine: Machine, most: Budget) -> int:
    """Return the sensible count without the efficiency cores of a hybrid CPU.

    A default that leaves those out is meant so.
    """
    cpus, slow = own_cpus(machine), machine.cpu.efficiency_cpus
    if slow is None and {len(core.cpus) for core in machine.cores or ()} == {1, 2}:
        slow = CpuSet(core.cpus.first() for core in machine.cores or () if len(core.cpus) == 1)
    if not slow or cpus is None:
        return most.threads
    return min(most.threads, cores_within(machine, cpus - slow) or most.threads)


RULES = (
    Rule(
        "NT116",
        "default-threads-unsuitable",
        "warning",
        "The thread count that the runtime takes by itself does not fit what it has.\n"
        "Most runtimes count the CPUs or cores of the host, whatever cpuset, affinity\n"
        "or quota say; some take half of them, or a fixed number.",
        (
            "https://github.com/ollama/ollama/issues/17916",
            "https://github.com/ggml-org/llama.cpp/blob/0c1e57098/common/common.cpp",
            "https://github.com/tobocop2/lilbee/pull/660",
        ),
        unsuitable,
    ),
)
