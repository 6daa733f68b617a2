"""A plan: every launch in question placed, swept and judged, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from numatune.advice.recommendation import Recommendation
from numatune.errors import LaunchRefused, UsageError
from numatune.machine import Machine
from numatune.placement.load import NodeLoad, node_loads
from numatune.placement.placement import Release, tally
from numatune.placement.request import Request
from numatune.placement.sweep import Sweep, sweep
from numatune.rules.judge import judge, merged
from numatune.rules.launching import entered, phases
from numatune.rules.rule import Case, Finding
from numatune.runtimes import named
from numatune.runtimes.runtime import Runtime

if TYPE_CHECKING:
    from numatune.advice.pool_sweeps import PoolSweep
    from numatune.frame.frame import Framed

#: The runtimes whose eras are shown side by side where none is named.
ERAS = ("ktransformers", "kt-kernel")


class Launch(NamedTuple):
    """One launch: what it was, what it puts on each node, and what is wrong with it.

    `threads` is what was simulated: the number asked for, else the runtime's own default (then
    `case.default` is set), else the recommended one, None where no number is safe. `phases` are the
    other phases that place threads in another way, such as prompts. `findings` are those of all
    phases, without those of the machine alone.
    """

    case: Case
    threads: int | None
    loads: tuple[NodeLoad, ...]
    findings: tuple[Finding, ...]
    phases: tuple[Phase, ...] = ()


class Phase(NamedTuple):
    """Another phase of a launch: its name, what it is, and what it puts on each node."""

    name: str
    case: Case
    loads: tuple[NodeLoad, ...]


class Plan(NamedTuple):
    """All launches of one question; `sweeps` stand in the order of `launches`.

    `machine` is as a process inside the frame has it; `frame` is None where none was given.
    `pools` holds for each launch the sweeps with other numbers of pools, where a runtime is named.
    """

    machine: Machine
    request: Request
    launches: tuple[Launch, ...]
    sweeps: tuple[Sweep, ...]
    findings: tuple[Finding, ...]
    recommendations: tuple[Recommendation, ...]
    frame: Framed | None = None
    pools: tuple[tuple[PoolSweep, ...], ...] = ()


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
    inside = entered(machine, request)
    machine = inside.machine
    own = judge(Case(machine)).findings
    known = {(f.rule, f.subject) for f in own}
    launches, sweeps = [], []
    for runtime, release in releases:
        asked = request._replace(runtime=runtime.NAME, version=release.version)
        swept = sweep(machine, asked, runtime, release)
        launches.append(launch(inside, asked, runtime, release, swept, known))
        sweeps.append(swept)
    whole = Plan(machine, request, tuple(launches), tuple(sweeps), own, (), inside.frame)
    if any("threadpool_count" in runtime.OPTIONS for runtime, _ in releases) and chosen:
        from numatune.advice.pool_sweeps import pool_sweeps

        pools = tuple(pool_sweeps(machine, request, *one) for one in releases)
        whole = whole._replace(pools=pools)
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
            eras = runtime.releases(request.numa_build)
            # People still run every era of the runtimes of `ERAS`; of others they mean the newest.
            pairs += [(runtime, release) for release in eras[0 if runtime.NAME in ERAS else -1 :]]
        else:
            pairs.append((runtime, runtime.release(version, request.commit, request.numa_build)))
    return pairs


def launch(
    inside: Case,
    request: Request,
    runtime: Runtime,
    release: Release,
    swept: Sweep,
    known: set[tuple[str, str]],
) -> Launch:
    """Place and judge one launch; `known` holds the findings that the machine alone explains."""
    names = [name for name, _ in runtime.phases(request)]
    cases = phases(inside, request, runtime, release)
    if cases[0].placement is None and cases[0].refusal is None and request.threads is None:
        best = request._replace(threads=swept.recommended)
        is_known = cases[0].unplaced is None
        cases = phases(inside, best, runtime, release)
        if swept.recommended is None and is_known:
            none = LaunchRefused("no number of threads is safe on this machine", "no-workers")
            cases = [cases[0]._replace(placement=None, refusal=none, default=None)]
    first = cases[0]
    verdict = merged([judge(case) for case in cases])
    findings = tuple(f for f in verdict.findings if (f.rule, f.subject) not in known)
    others = zip(names[1:], cases[1:], strict=False)
    return Launch(
        first,
        None if first.request is None else first.request.threads,
        loads_of(first),
        findings,
        tuple(Phase(name, case, loads_of(case)) for name, case in others),
    )


def loads_of(case: Case) -> tuple[NodeLoad, ...]:
    """Return what a launch puts on each node, () where nothing is placed."""
    return () if case.placement is None else node_loads(case.machine, tally(case.placement))
