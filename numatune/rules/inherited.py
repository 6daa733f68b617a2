"""Rules about a binding that was meant for one thread and that others inherit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from numatune.errors import MachineError, UsageError
from numatune.machine import CpuSet, Machine
from numatune.rules.facts import launch, unplaced
from numatune.rules.ggml_limits import GGML, has_openmp, strategy
from numatune.rules.rule import Case, Evidence, Hit, Rule, Skip
from numatune.words import counted

#: Runtimes inside a Python process that has loaded PyTorch, and libgomp with it, before it starts
#: their threads: https://github.com/pytorch/pytorch/issues/91989
IN_PYTORCH = ("ktransformers", "kt-kernel")

IMPORT_SOURCE = "https://github.com/pytorch/pytorch/issues/91989"


class Bond(NamedTuple):
    """What ties the thread that starts the others: its CPUs, by what, who inherits, what to do."""

    cpus: CpuSet
    by: str
    heirs: str
    fix: str
    evidence: Evidence


def inherited(case: Case) -> Iterator[Hit | Skip]:
    """NT509: a binding that leaves threads on the CPU of the one that started them.

    Source: https://github.com/pytorch/pytorch/issues/91989
    """
    if case.placement is None:
        yield unplaced(case)
        return
    try:
        bond = openmp_bond(case) or launcher_bond(case)
    except (MachineError, UsageError) as error:
        yield Skip(f"what OpenMP ties the main thread to is not known here: {error}")
        return
    if bond is None:
        return
    yield Hit(
        subject="main thread",
        message=f"{bond.by} leaves the main thread on {named(bond.cpus)}, and {bond.heirs} inherit"
        f" that ({launch(case)})",
        fix=bond.fix,
        numbers={"cpus": len(bond.cpus)},
        expected="threads that may use more than one core",
        actual=f"threads on {named(bond.cpus)}",
        evidence=(bond.evidence,),
        severity=None if holds_work(case) else "warning",
    )


def holds_work(case: Case) -> bool:
    """Tell whether workers, or the queue that they all wait for, are among those that inherit.

    The queue of ktransformers is its first worker, which a NUMA build ties to a node.
    """
    placement = case.placement
    if placement is None or placement.runtime != "ktransformers":
        return True
    return any(w.binding == "none" for w in placement.workers)


def openmp_bond(case: Case) -> Bond | None:
    """Return how a variable of OpenMP ties the main thread and others with it, None where not.

    libgomp ties the first thread of a process when it is loaded. Raises MachineError, UsageError.
    """
    request, release = case.request, case.release
    if request is None or release is None or case.placement is None or not request.env:
        return None
    from numatune.runtimes.libgomp import BINDING, binding

    given = [name for name in BINDING if name in request.env]
    if not given:
        return None
    heirs = heirs_of_openmp(case)
    places = binding(case.machine, request.env).places if heirs else ()
    if not places or not is_narrow(case.machine, places[0]):
        return None
    words = " ".join(f"{name}={request.env[name]}" for name in given)
    otherwise = "" if release.runtime in IN_PYTORCH else ", or leave --numa out"
    return Bond(
        places[0],
        words,
        heirs,
        f"unset {' '.join(given)}{otherwise}",
        Evidence("environment", ", ".join(given), words),
    )


def heirs_of_openmp(case: Case) -> str:
    """Say which threads take over what libgomp tied the main thread to, "" where none do.

    ggml's `--numa numactl` gives every thread the affinity that the main one has when it starts;
    kt-kernel's task queue and ktransformers' workers without NUMA support are started by it and
    tied to nothing else.
    """
    request, release, placement = case.request, case.release, case.placement
    if request is None or release is None or placement is None:
        return ""
    if release.runtime in GGML:
        is_taken = has_openmp(request, release) and strategy(case) == "numactl"
        takes = is_taken and len(placement.workers) > 1 and is_together(case)
        return f"all {len(placement.workers)} threads under --numa numactl" if takes else ""
    return heirs_in_pytorch(case) if release.runtime in IN_PYTORCH else ""


def is_together(case: Case) -> bool:
    """Tell whether all workers have the same CPUs, which are not all that may be used."""
    sets = {w.cpus for w in case.placement.workers} if case.placement is not None else set()
    return len(sets) == 1 and None not in sets and sets != {case.machine.usable_cpus}


def heirs_in_pytorch(case: Case) -> str:
    """Say which threads of a process with PyTorch run wherever its main thread may."""
    workers = case.placement.workers if case.placement is not None else ()
    free = [w for w in workers if w.binding == "none"]
    others = "the task queue and the GPU callbacks"
    if case.release is not None and case.release.runtime == "ktransformers":
        others = "the threads of the server and of the GPU"
    if free and len(free) == len(workers):
        return f"all {counted(len(free), 'worker')}" if len(free) > 1 else "the worker and others"
    if free:
        return f"{counted(len(free), 'worker')} and {others}"
    return others


def launcher_bond(case: Case) -> Bond | None:
    """Return how an affinity of one core holds several threads, None where it does not."""
    machine, placement = case.machine, case.placement
    affinity, mine = machine.limits.affinity, machine.inherited_cpus
    if affinity is None or placement is None or not mine or not is_narrow(machine, mine):
        return None
    if machine.usable_cpus is None or is_narrow(machine, machine.usable_cpus):
        return None  # the cpuset has no more than that
    stuck = [w for w in placement.workers if w.cpus is not None and w.cpus <= mine]
    if len(stuck) > len(mine):
        every = counted(len(placement.workers), "worker")
        heirs = (
            f"all {every}" if len(stuck) == len(placement.workers) else f"{len(stuck)} of {every}"
        )
    elif placement.runtime in IN_PYTORCH:
        heirs = heirs_in_pytorch(case)
    else:
        return None
    launcher = None if case.request is None else case.request.launcher
    return Bond(
        mine,
        f"the affinity of {named(mine)}",
        heirs,
        f"start it on all CPUs that it may use: taskset -c {machine.usable_cpus}",
        Evidence("launcher", "", launcher)
        if launcher
        else Evidence(machine.origins.get("limits", machine.source), "affinity", str(affinity)),
    )


def is_narrow(machine: Machine, cpus: CpuSet) -> bool:
    """Tell whether some CPUs are one, or lie within one core."""
    if len(cpus) == 1 or machine.cores is None:
        return len(cpus) == 1
    return any(cpus <= core.cpus for core in machine.cores)


def named(cpus: CpuSet) -> str:
    """Return "CPU 0", or "CPUs 0,48 (one core)"."""
    return f"CPU {cpus}" if len(cpus) == 1 else f"CPUs {cpus} (one core)"


RULES = (
    Rule(
        "NT509",
        "binding-inherited",
        "critical",
        "A binding leaves the main thread on one CPU, and other threads inherit it.\n"
        "libgomp ties the first thread of a process when it is loaded, and a launcher\n"
        "ties it before; threads that are started later are tied to the same CPU.",
        (
            IMPORT_SOURCE,
            "https://github.com/pytorch/pytorch/issues/49971",
            "https://github.com/JustVugg/colibri/issues/471",
            "https://github.com/ggml-org/llama.cpp/blob/0c1e57098/ggml/src/ggml-cpu/ggml-cpu.c",
            "https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html",
        ),
        inherited,
    ),
)
