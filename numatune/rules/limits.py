"""Rules about what this process may use: affinity, cpusets and the CPU quota."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.machine import CpuSet, Machine
from numatune.rules.facts import (
    evidence,
    launch,
    limits_are_read,
    listed,
    unplaced,
    workers_of,
)
from numatune.rules.frames import counts_as_quota, raised, stated
from numatune.rules.intent import barred
from numatune.rules.rule import Case, Hit, Rule, Skip
from numatune.words import counted

CPUSET_UNKNOWN = (
    "the cpuset is not known; `grep _allowed_list /proc/self/status` shows it,"
    " --assume allowed_cpus=0-23 states it"
)
AFFINITY_UNKNOWN = (
    "the inherited affinity is not known; `taskset -cp $$` shows it,"
    " --assume affinity=0-23 states it"
)
QUOTA_UNKNOWN = (
    "the CPU quota is not known; `cat /sys/fs/cgroup/cpu.max` shows it,"
    " --assume cpu_quota=4 states it"
)


def affinity_overridden(case: Case) -> Iterator[Hit | Skip]:
    """NT503: workers that run outside of the affinity which the process inherited.

    Source: https://github.com/kvcache-ai/ktransformers/issues/1055
    """
    placement, machine = case.placement, case.machine
    if placement is None:
        yield unplaced(case)
        return
    affinity = machine.limits.affinity
    if affinity is None:
        if not limits_are_read(machine):
            yield Skip(AFFINITY_UNKNOWN)
        return
    outside = [w for w in placement.workers if w.cpus is not None and w.cpus - affinity]
    if outside and placement.runtime == "vllm":
        yield Skip("what OpenMP makes of a list of vLLM beyond the affinity was not looked up")
    elif outside:
        beyond = CpuSet()
        for worker in outside:
            beyond |= (worker.cpus or CpuSet()) - affinity
        from numatune.rules.staying import staying

        yield Hit(
            subject="affinity",
            message=f"started on CPUs {affinity}, but {len(outside)} of"
            f" {counted(len(placement.workers), 'worker')} may run on CPUs {beyond}"
            f" ({launch(case)})",
            fix=staying(case, beyond),
            numbers={"workers": len(outside)},
            expected=f"workers on CPUs {affinity}",
            actual=f"workers on CPUs {beyond} too",
            evidence=evidence(machine, "limits", "affinity", affinity),
        )


def cpuset_excludes(case: Case) -> Iterator[Hit | Skip]:
    """NT504: workers meant for a node that the cpuset does not allow.

    Source: https://github.com/kvcache-ai/ktransformers/issues/1136
    """
    placement, machine = case.placement, case.machine
    if placement is None:
        yield unplaced(case)
        return
    cpus, mems = machine.limits.cpuset_cpus, machine.limits.cpuset_mems
    if cpus is None and mems is None:
        if not limits_are_read(machine):
            yield Skip(CPUSET_UNKNOWN)
        return
    for bar in barred(case):
        if not bar.cpuset or node_is_allowed(machine, bar.node):
            continue
        allowed = f"CPUs {cpus}" if cpus is not None else "all CPUs"
        allowed += f", memory of {listed(mems)}" if mems is not None else ""
        yield Hit(
            subject=f"node {bar.node}",
            message=f"node {bar.node} is not in the cpuset ({allowed}), but"
            f" {counted(bar.workers, 'worker')}"
            f" {'was' if bar.workers == 1 else 'were'} meant for it ({launch(case)})",
            fix=cpuset_fix(case, bar.node),
            numbers={"node": bar.node, "workers": bar.workers},
            expected=f"node {bar.node} in the cpuset",
            actual=allowed,
            evidence=evidence(machine, "limits", "cpuset.cpus.effective", cpus or ""),
        )


def cpuset_fix(case: Case, node: int) -> str:
    """Say how the workers and the cpuset come together."""
    from numatune.rules.remedy import other_pools

    widen = f"add CPUs and memory of node {node} to the cpuset"
    other = other_pools(case, "NT504", "")
    if not other:
        return widen
    is_own = not other.startswith("use kt-kernel")
    return f"{other}, or {widen}" if is_own else f"{widen}, or {other}"


def node_is_allowed(machine: Machine, node_id: int) -> bool:
    """Tell whether a cpuset leaves both CPUs and memory of a node to this process."""
    mems = machine.limits.cpuset_mems
    return bool(machine.node_cpus(node_id)) and (mems is None or node_id in mems)


def cpus_mems_mismatch(case: Case) -> Iterator[Hit | Skip]:
    """NT505: allowed CPUs and allowed memory that do not cover the same nodes.

    Nodes without CPUs or without memory can't be in both and are left out.
    Source: https://github.com/vllm-project/vllm/pull/6212
    """
    machine = case.machine
    cpus, mems = machine.limits.cpuset_cpus, machine.limits.cpuset_mems
    if cpus is None or mems is None:
        if not limits_are_read(machine):
            yield Skip(CPUSET_UNKNOWN)
        return
    whole = [n for n in machine.nodes if n.cpus and n.memory_total_bytes != 0]
    of_cpus = CpuSet(n.id for n in whole if n.cpus and n.cpus & cpus)
    of_mems = CpuSet(n.id for n in whole if n.id in mems)
    if of_cpus != of_mems:
        yield Hit(
            subject="cpuset",
            message=f"the cpuset allows CPUs of nodes {of_cpus or 'none'} ({cpus}) and memory of"
            f" nodes {of_mems or 'none'}",
            fix=f"set both: --cpuset-cpus {cpus} --cpuset-mems {of_cpus}",
            numbers={"cpu_nodes": list(of_cpus), "memory_nodes": list(of_mems)},
            expected=f"memory of nodes {of_cpus}",
            actual=f"memory of nodes {of_mems}",
            evidence=evidence(machine, "limits", "cpuset.mems.effective", mems),
        )


def quota_too_small(case: Case) -> Iterator[Hit | Skip]:
    """NT506: a CPU quota below the number of workers.

    A part of a CPU carries no worker, so the budget is the quota rounded down.
    Sources: https://github.com/ollama/ollama/issues/17916,
    https://github.com/tobocop2/lilbee/pull/660
    """
    workers = workers_of(case)
    if workers is None:
        yield unplaced(case)
        return
    quota = case.machine.limits.cpu_quota
    if quota is None:
        if not limits_are_read(case.machine):
            yield Skip(QUOTA_UNKNOWN)
        return
    budget = int(quota)
    if workers > quota and counts_as_quota(case):
        yield beyond_own(case, workers, budget)
    elif workers > quota:
        from numatune.rules.remedy import within_quota

        yield Hit(
            subject="quota",
            message=f"{counted(workers, 'worker')} under a quota of {quota:g} CPUs: all of them"
            f" are stopped for a part of every period ({launch(case)})",
            fix=within_quota(case, budget),
            numbers={"workers": workers, "quota": quota, "by": workers - budget, "budget": budget},
            expected=f"at most {counted(budget, 'worker')}",
            actual=counted(workers, "worker"),
            evidence=evidence(case.machine, "limits", "/sys/fs/cgroup/cpu.max", f"{quota:g} CPUs"),
        )


def beyond_own(case: Case, workers: int, cpus: int) -> Hit:
    """Return the finding of more workers than CPUs that the process has alone, ids unknown."""
    from numatune.rules.remedy import first
    from numatune.rules.ways import FITS, ROOMY, SETTINGS

    more = raised(case)
    return Hit(
        subject="quota",
        message=f"{counted(workers, 'worker')} for the {counted(cpus, 'CPU')} that the launcher"
        f" gives it alone: they take turns, and those that run wait for the others"
        f" ({launch(case)})",
        fix=first(case, "NT506", (ROOMY, FITS, SETTINGS), more, f", or {more}"),
        numbers={"workers": workers, "quota": cpus, "by": workers - cpus, "budget": cpus},
        expected=f"at most {counted(cpus, 'worker')}",
        actual=counted(workers, "worker"),
        evidence=stated(case),
    )


RULES = (
    Rule(
        "NT503",
        "affinity-overridden",
        "warning",
        "The runtime replaces the affinity that the process was started with.\n"
        "What taskset or numactl set is inherited, but workers that are bound to a node\n"
        "or a core run outside of it.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/1055",
            "https://github.com/kvcache-ai/ktransformers/blob/"
            "b2bff1777502519838b8a5ec112d2566635d42e5/ktransformers/ktransformers_ext/cpu_backend/"
            "backend.cpp",
        ),
        affinity_overridden,
    ),
    Rule(
        "NT504",
        "cpuset-excludes-node",
        "critical",
        "Workers are meant for a NUMA node that the cpuset does not allow.\n"
        "The kernel refuses the binding, and these workers stay loose among the others.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/1136",
            "https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset",
        ),
        cpuset_excludes,
    ),
    Rule(
        "NT505",
        "cpuset-cpus-mems-mismatch",
        "critical",
        "The CPUs and the memory that a cpuset allows lie on different nodes.\n"
        "Memory may then be remote to every worker, or a runtime looks for its CPUs on\n"
        "the wrong node.",
        (
            "https://github.com/vllm-project/vllm/pull/6212",
            "https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset",
        ),
        cpus_mems_mismatch,
    ),
    Rule(
        "NT506",
        "quota-below-workers",
        "critical",
        "The CPU quota of the container is smaller than the number of workers.\n"
        "The kernel stops the whole group when the quota of a period is used up, and\n"
        "workers that spin use it up waiting.",
        (
            "https://github.com/ollama/ollama/issues/17916",
            "https://github.com/tobocop2/lilbee/pull/660",
            "https://github.com/llmmanorg/llmman/issues/322",
        ),
        quota_too_small,
    ),
)
