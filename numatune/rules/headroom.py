"""Rules about what the workers leave for the other threads of the process."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.machine import CpuSet, Machine
from numatune.rules.binding import WORKER_POOL
from numatune.rules.facts import launch, node_evidence, unplaced, workers_of
from numatune.rules.frames import counts_as_quota
from numatune.rules.placement import CORES_UNKNOWN, CPUS_UNKNOWN, tied
from numatune.rules.rule import Case, Hit, Rule, Skip
from numatune.words import counted

#: Runtimes whose other threads (task queue, main, GPU callbacks) spin beside pinned workers.
SPINNING = frozenset(("kt-kernel",))


#: What helps where a single CPU is all that there is.
MORE_CPUS = "give the process more CPUs: on one alone everything takes turns"


def no_core_left(case: Case) -> Iterator[Hit | Skip]:
    """NT109: a pinned worker on every core while other threads of the process spin.

    Source: https://github.com/kvcache-ai/ktransformers/blob/95009ea6/kt-kernel/cpu_backend/
    worker_pool.cpp
    """
    placement = case.placement
    if placement is None:
        yield unplaced(case)
        return
    if placement.runtime not in SPINNING:
        return
    pinned = CpuSet()
    for worker in placement.workers:
        if worker.binding == "cpu":
            pinned |= worker.cpus or CpuSet()
    cores = usable_cores(case.machine)
    if cores is None:
        yield Skip(CORES_UNKNOWN)
    elif cores and all(core & pinned for core in cores):
        count, workers = len(cores), len(placement.workers)
        from numatune.rules.remedy import with_headroom

        yield Hit(
            subject="cores",
            message=f"{counted(workers, 'worker')} for {counted(count, 'core')}: every core has a"
            f" pinned worker, none is left for the task queue and the main thread ({launch(case)})",
            fix=with_headroom(case, "NT109"),
            numbers={"workers": workers, "cores": count},
            expected=f"fewer than {counted(count, 'worker')}",
            actual=counted(workers, "worker"),
            evidence=node_evidence(case.machine, tied(case)),
        )


def no_headroom(case: Case) -> Iterator[Hit | Skip]:
    """NT117: as many workers as CPUs (or as the quota), although more threads must run.

    Source: https://github.com/kvcache-ai/ktransformers/blob/main/doc/en/install.md
    """
    workers = workers_of(case)
    if workers is None:
        yield unplaced(case)
        return
    quota = case.machine.limits.cpu_quota
    cpus = case.machine.usable_cpus if tied(case) else case.machine.inherited_cpus
    limit: float | None = None
    if quota is not None and workers == quota:
        own = f"all {quota:g} CPUs that it has alone"
        limit, what = quota, own if counts_as_quota(case) else f"a quota of {quota:g} CPUs"
    elif cpus is not None and workers == len(cpus) and quota is not None and quota < workers:
        own = f"the {quota:g} CPUs that it has alone"
        limit, what = quota, own if counts_as_quota(case) else f"a quota of {quota:g} CPUs"
        what = f"more than {what}"
    elif cpus is not None and workers == len(cpus):
        limit, what = len(cpus), "the only CPU" if len(cpus) == 1 else f"all {len(cpus)} CPUs"
    if limit is not None and workers > 0:
        from numatune.rules.remedy import with_headroom

        yield Hit(
            subject="launch",
            message=f"{counted(workers, 'worker')} {'takes' if workers == 1 else 'take'} {what};"
            f" the rest of the process needs one too ({launch(case)})",
            fix=MORE_CPUS if limit <= 1 else with_headroom(case),
            numbers={"workers": workers, "cpus": int(limit)},
            expected=f"fewer than {counted(int(limit), 'worker')}",
            actual=counted(workers, "worker"),
        )
    elif cpus is None and quota is None:
        yield Skip(CPUS_UNKNOWN)


def usable_cores(machine: Machine) -> list[CpuSet] | None:
    """Return the CPUs of each core that a cpuset leaves to this process, None where unknown."""
    cpus = machine.usable_cpus
    if machine.cores is None or cpus is None:
        return None
    return [part for core in machine.cores if (part := core.cpus & cpus)]


RULES = (
    Rule(
        "NT109",
        "no-core-left-for-main-thread",
        "warning",
        "Every core has a worker pinned to it, and other threads spin as well.\n"
        "The task queue, the main thread and the GPU callbacks then run on a core that\n"
        "a worker needs, and all other workers wait for that one.",
        (WORKER_POOL, "https://github.com/kvcache-ai/ktransformers/pull/1562"),
        no_core_left,
    ),
    Rule(
        "NT117",
        "no-headroom",
        "warning",
        "The workers take every CPU, or the whole CPU quota, of this process.\n"
        "Its main thread, GPU callbacks and server threads must run too, and then they\n"
        "push a spinning worker aside.",
        (
            "https://github.com/kvcache-ai/ktransformers/blob/main/doc/en/install.md",
            "https://github.com/ollama/ollama/issues/17916",
        ),
        no_headroom,
    ),
)
