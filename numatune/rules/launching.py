"""A request made a case: the frame around it entered, its workers placed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numatune.errors import LaunchRefused, MachineError, UsageError
from numatune.machine import Machine
from numatune.placement.request import Request
from numatune.rules.rule import Case

if TYPE_CHECKING:
    from numatune.placement.placement import Release
    from numatune.runtimes.runtime import Runtime


def cases(machine: Machine, request: Request) -> list[Case]:
    """Place each phase of a request as far as that is possible; generation comes first."""
    from numatune.runtimes import named

    case = entered(machine, request)
    try:
        runtime = named(request.runtime)
    except UsageError:
        return [case]
    release = runtime.release(request.version, request.commit, request.numa_build)
    return phases(case, request, runtime, release)


def phases(case: Case, request: Request, runtime: Runtime, release: Release) -> list[Case]:
    """Place each phase of a launch of one release."""
    return [placed(case, asked, runtime, release) for _, asked in runtime.phases(request)]


def entered(machine: Machine, request: Request) -> Case:
    """Put the machine into the frame of the launchers; one that is not known changes nothing."""
    case = Case(machine, request)
    if not request.launcher:
        return case
    from numatune.frame.registry import framed

    try:
        frame = framed(machine, request.launcher)
    except UsageError:
        return case
    return case._replace(machine=frame.machine, frame=frame)


def placed(case: Case, request: Request, runtime: Runtime, release: Release) -> Case:
    """Place one phase as far as that is possible.

    Without a thread count the default of the runtime is taken. A launcher that refuses ends the
    launch before the runtime starts. Raises UsageError where an option is wrong.
    """
    case = unplaced = case._replace(request=request, release=release)
    machine = case.machine
    if case.frame is not None and case.frame.refusal is not None:
        from numatune.rules.frames import FORBIDDEN, REFUSED, is_forbidden

        stated = case.frame.refusal
        reason = f"{stated.launcher} does not start it: {stated.reason}"
        rule = FORBIDDEN if is_forbidden(case) else REFUSED
        return case._replace(refusal=LaunchRefused(reason, rule, **stated.numbers))
    if request.threads is None:
        default = runtime.default_threads(machine, request, release)
        if default is None or default.threads is None:
            return case
        if default.threads < 1 and not default.is_derived:
            return case
        request = request._replace(threads=default.threads)
        case = case._replace(request=request, default=default)
    try:
        placement = runtime.simulate(machine, request, release)
        ended = ended_by_libgomp(machine, request, release)
        if release.runtime == "sglang":
            from numatune.runtimes.sglang import failure

            ended = failure(machine, request)
        return case._replace(placement=placement) if ended is None else case._replace(refusal=ended)
    except LaunchRefused as refusal:
        return case._replace(refusal=refusal)
    except MachineError as error:  # too little is known of the machine to place anything
        return unplaced._replace(unplaced=str(error))
    except UsageError as error:
        if unplaced is case:
            raise
        # Nobody asked for the default count, and it needs what is not stated.
        return unplaced._replace(unplaced=str(error))


def ended_by_libgomp(machine: Machine, request: Request, release: Release) -> LaunchRefused | None:
    """Return how libgomp ends a program of its threads, None where it does not.

    The program has started by then, so that it is no launcher that refuses: it ends without
    workers. Raises UsageError and MachineError.
    """
    if "GOMP_CPU_AFFINITY" not in request.env:
        return None
    from numatune.rules.ggml_limits import GGML, has_openmp
    from numatune.runtimes import libgomp, openmp

    if release.runtime == openmp.NAME:
        uses_it = openmp.chosen(request, release).behaviour == openmp.GNU
    else:
        uses_it = release.runtime in GGML and has_openmp(request, release)
    if not uses_it or request.threads is None:
        return None
    team = libgomp.team_size(machine, request.env, request.threads)
    ended = libgomp.failure(machine, request.env, team)
    return None if ended is None else LaunchRefused(ended.reason, "no-workers", **ended.numbers)
