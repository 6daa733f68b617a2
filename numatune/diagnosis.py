"""A machine and a request, placed and judged."""

from __future__ import annotations

from typing import NamedTuple

from numatune.errors import LaunchRefused, MachineError, UsageError
from numatune.machine import Machine
from numatune.placement.request import Request
from numatune.rules.judge import judge
from numatune.rules.rule import Case, Finding, Skipped


class Diagnosis(NamedTuple):
    """What was judged, and what every rule said of it (see `judge`)."""

    case: Case
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    good: tuple[str, ...]


def diagnose(machine: Machine, request: Request | None = None) -> Diagnosis:
    """Judge a machine, and a launch on it if there is one.

    A launch that the runtime refuses is a finding. Of a runtime that is not known here, or without
    a thread count, only what the machine and the rest of the request show is judged. Raises
    UsageError where the version or an option is wrong.
    """
    case = Case(machine) if request is None else placed(machine, request)
    return Diagnosis(case, *judge(case))


def placed(machine: Machine, request: Request) -> Case:
    """Place a request as far as that is possible."""
    from numatune.runtimes import named

    try:
        runtime = named(request.runtime)
    except UsageError:
        return Case(machine, request)
    release = runtime.release(request.version, request.commit, request.numa_build)
    if request.threads is None:
        return Case(machine, request, release)
    try:
        return Case(machine, request, release, runtime.simulate(machine, request, release))
    except LaunchRefused as refusal:
        return Case(machine, request, release, None, refusal)
    except MachineError:  # too little is known of the machine to place anything
        return Case(machine, request, release)
