"""What several rules need to know of a case, and how they name it."""

from __future__ import annotations

from collections.abc import Iterable

from numatune.machine import CpuSet, Machine
from numatune.placement.request import PHASE_OPTIONS
from numatune.rules.rule import Case, Evidence, Skip
from numatune.words import counted

NO_LAUNCH = "no launch to judge; name a runtime and a thread count (--runtime, --threads)"


def unplaced(case: Case) -> Skip:
    """Return why there is no placement to judge."""
    if case.request is None:
        return Skip(NO_LAUNCH)
    if case.refusal is not None:
        return Skip("the launch ends before a worker is placed")
    if case.release is None:
        return Skip(f"where {case.request.runtime or 'it'} puts its workers is not known here")
    return Skip(case.unplaced or "no thread count is given (--threads)")


def launch(case: Case) -> str:
    """Name the launch: "ktransformers 0.2.1, cpu_infer 42"."""
    request = case.request
    if request is None:
        return "no launch"
    version = (request.version or "").removeprefix("v")
    if not version and case.release is not None:
        version = case.release.version
    name = f"{request.runtime} {version}" if version else request.runtime
    if not request.threads:
        return name
    if case.release is None:
        return f"{name}, {counted(request.threads, 'thread')}"
    return f"{name}, {threads_option(case).lstrip('-')} {request.threads}"


def threads_option(case: Case) -> str:
    """Return the option of the runtime that gives the number of threads."""
    if case.release is None:
        return "--threads"
    if case.request is not None and case.request.phase in PHASE_OPTIONS:
        return PHASE_OPTIONS[case.request.phase]
    from numatune.runtimes import named

    return named(case.release.runtime).THREADS_OPTION


def option_for(case: Case, workers: int) -> str:
    """Return the option that makes the runtime start this many workers: "--cpu_infer 42".

    ktransformers' cpu_infer counts one thread that is not a worker; kt-kernel's does not.
    """
    spare = 1 if case.release is not None and case.release.runtime == "ktransformers" else 0
    return f"{threads_option(case)} {workers + spare}"


def workers_of(case: Case) -> int | None:
    """Return the number of workers: as placed, else the threads asked of an unknown runtime."""
    if case.placement is not None:
        return len(case.placement.workers)
    if case.release is None and case.refusal is None and case.request is not None:
        return case.request.threads
    return None


def listed(ids: Iterable[int], one: str = "node") -> str:
    """Return "node 1", "nodes 0 and 2", "nodes 0, 2, 3"."""
    names = [str(i) for i in ids]
    if len(names) == 1:
        return f"{one} {names[0]}"
    return f"{one}s {' and '.join(names) if len(names) == 2 else ', '.join(names)}"


def gibibytes(size: int) -> str:
    """Return a size as whole GiB, a small one in MiB."""
    return f"{size / 2**30:.0f} GiB" if size >= 10 << 30 else f"{size / 2**20:.0f} MiB"


def evidence(machine: Machine, part: str, path: str, text: object) -> tuple[Evidence, ...]:
    """Return where a part of the machine was read, what it is called there, and what it said."""
    return (Evidence(machine.origins.get(part, machine.source), path, str(text)),)


def node_evidence(machine: Machine, ids: Iterable[int]) -> tuple[Evidence, ...]:
    """Return the CPU lists of some nodes, as read."""
    found: tuple[Evidence, ...] = ()
    for node_id in ids:
        node = machine.node(node_id)
        if node is not None and node.cpus is not None:
            found += evidence(machine, "nodes", f"node {node_id} cpus", node.cpus)
    return found


def memory_evidence(machine: Machine, ids: Iterable[int]) -> tuple[Evidence, ...]:
    """Return the memory of some nodes, as read."""
    found: tuple[Evidence, ...] = ()
    for node_id in ids:
        node = machine.node(node_id)
        if node is not None and node.memory_total_bytes is not None:
            text = f"{node.memory_total_bytes} bytes"
            found += evidence(machine, "memory", f"node {node_id} size", text)
    return found


def cores_within(machine: Machine, cpus: CpuSet) -> int | None:
    """Return how many cores have a CPU in a set, None where the cores are unknown."""
    if machine.cores is not None:
        return sum(1 for core in machine.cores if core.cpus.mask & cpus.mask)
    if machine.smt == 1:
        return len(cpus)
    if machine.core_count is not None and cpus == machine.cpus:
        return machine.core_count
    return None


def limits_are_read(machine: Machine) -> bool:
    """True where a source stated the limits, so that a missing limit means that there is none."""
    return "limits" not in machine.gaps and machine.origins.get("limits", "assumed") != "assumed"
