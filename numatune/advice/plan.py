"""A plan: every launch in question placed, swept and judged, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numatune.advice.recommendation import Recommendation
from numatune.errors import LaunchRefused, UsageError
from numatune.machine import Machine
from numatune.placement.load import NodeLoad, node_loads
from numatune.placement.placement import Release, tally
from numatune.placement.request import Request
from numatune.placement.sweep import Sweep, sweep
from numatune.rules.judge import judge
from numatune.rules.rule import Case, Finding
from numatune.runtimes import named
from numatune.runtimes.runtime import Runtime

#: The runtimes whose eras are shown side by side where none is named.
ERAS = ("ktransformers", "kt-kernel")


class Launch(NamedTuple):
    """One launch: what it was, what it puts on each node, and what is wrong with it.

    `threads` is what was simulated: the number asked for, else the recommended one, None where no
    number is safe. `findings` are those of the launch, without those of the machine alone.
    """

    case: Case
    threads: int | None
    loads: tuple[NodeLoad, ...]
    findings: tuple[Finding, ...]


class Plan(NamedTuple):
    """All launches of one question; `sweeps` stand in the order of `launches`."""

    machine: Machine
    request: Request
    launches: tuple[Launch, ...]
    sweeps: tuple[Sweep, ...]
    findings: tuple[Finding, ...]
    recommendations: tuple[Recommendation, ...]


def make_plan(
    machine: Machine, request: Request, chosen: Sequence[tuple[str, str | None]] = ()
) -> Plan:
    """Plan a request for the chosen runtimes and versions; without any, for every era.

    `request.runtime` and `request.version` are replaced by each of the chosen. Raises UsageError
    where a runtime or a version is not known, or the thread count can't be one.
    """
    if request.threads is not None and request.threads < 1:
        raise UsageError(f"{request.threads} is not a number of threads; give 1 or more")
    from numatune.advice.recommend import recommend

    releases = in_question(request, chosen)
    own = judge(Case(machine)).findings
    known = {(f.rule, f.subject) for f in own}
    launches, sweeps = [], []
    for runtime, release in releases:
        asked = request._replace(runtime=runtime.NAME, version=release.version)
        swept = sweep(machine, asked, runtime, release)
        launches.append(launch(machine, asked, runtime, release, swept, known))
        sweeps.append(swept)
    whole = Plan(machine, request, tuple(launches), tuple(sweeps), own, ())
    return whole._replace(recommendations=recommend(whole))


def in_question(
    request: Request, chosen: Sequence[tuple[str, str | None]]
) -> list[tuple[Runtime, Release]]:
    """Return the releases to plan for, each with its runtime. Raises UsageError."""
    if not chosen:
        runtimes = [named(name) for name in ERAS]
        return [(r, release) for r in runtimes for release in r.releases(request.numa_build)]
    pairs = []
    for name, version in chosen:
        runtime = named(name)
        if version is None:
            pairs += [(runtime, release) for release in runtime.releases(request.numa_build)]
        else:
            pairs.append((runtime, runtime.release(version, request.commit, request.numa_build)))
    return pairs


def launch(
    machine: Machine,
    request: Request,
    runtime: Runtime,
    release: Release,
    swept: Sweep,
    known: set[tuple[str, str]],
) -> Launch:
    """Place and judge one launch; `known` holds the findings that the machine alone explains."""
    threads = request.threads if request.threads is not None else swept.recommended
    asked = request._replace(threads=threads)
    placement, refusal = None, None
    loads: tuple[NodeLoad, ...] = ()
    if threads is not None:
        try:
            placement = runtime.simulate(machine, asked, release)
            loads = node_loads(machine, tally(placement))
        except LaunchRefused as error:
            refusal = error
    else:
        refusal = LaunchRefused("no number of threads is safe on this machine", "no-workers")
    case = Case(machine, asked, release, placement, refusal)
    findings = tuple(f for f in judge(case).findings if (f.rule, f.subject) not in known)
    return Launch(case, threads, loads, findings)
