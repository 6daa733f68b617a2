"""A machine and a request, placed and judged."""

from __future__ import annotations

from typing import NamedTuple

from numatune.machine import Machine
from numatune.placement.request import Request
from numatune.rules.judge import judge, merged
from numatune.rules.launching import cases
from numatune.rules.rule import Case, Finding, Skipped


class Diagnosis(NamedTuple):
    """What was judged, and what every rule said of it (see `judge`)."""

    case: Case
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    good: tuple[str, ...]


def diagnose(machine: Machine, request: Request | None = None) -> Diagnosis:
    """Judge a machine, and a launch on it if there is one.

    Where prompts and generation place threads differently, both are judged, and what is wrong with
    both is said once. A launch that the runtime refuses is a finding. Of a runtime that is not
    known here, or without a thread count where none can be derived, only what the machine and the
    rest of the request show is judged. Raises UsageError where the version or an option is wrong.
    """
    judged = [Case(machine)] if request is None else cases(machine, request)
    return Diagnosis(judged[0], *merged([judge(case) for case in judged]))
