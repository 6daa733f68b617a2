"""Which thread count with which settings, and which release of the same runtime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from numatune.advice.choice import (
    Choice,
    best_of,
    cautious,
    choices,
    has_same_settings,
    is_kept,
    mended_by,
    present_of,
)
from numatune.advice.manner import manner_of
from numatune.advice.plan import ERAS, Launch, Plan
from numatune.advice.recommendation import Recommendation
from numatune.errors import NumatuneError
from numatune.machine import Machine
from numatune.machine.likely import likely_threads_per_core
from numatune.rules.rule import Case
from numatune.runtimes import named

#: A release is worth an upgrade where another one ties at least this many times as many workers.
WORTHWHILE = 1.05

#: What the releases of a runtime may be upgraded to: later releases of itself. From 0.4.1 on
#: ktransformers computes with kt-kernel.
SUCCESSORS = {"ktransformers": ERAS}

#: What `--numa distribute` asks for in return.
DISTRIBUTE_COST = (
    "pages that are in the page cache already stay where they are, and another -t or -tb reads them"
    " from other nodes (https://github.com/ggml-org/llama.cpp/issues/11744)"
)


class Chosen(NamedTuple):
    """A launch, its place in the plan, the best choice for its release, and the other ones."""

    launch: Launch
    place: int
    best: Choice | None
    others: tuple[Choice, ...]


def best_counts(plan: Plan) -> Iterator[Recommendation]:
    """Yield for each runtime an upgrade where one helps, and the best count of its releases."""
    machine = cautious(plan.machine)
    chosen = [chosen_for(plan, machine, launch, i) for i, launch in enumerate(plan.launches)]
    families: dict[tuple[str, ...], list[Chosen]] = {}
    for one in chosen:
        release = one.launch.case.release
        if release is not None:
            families.setdefault(family_of(release.runtime), []).append(one)
    for family, members in families.items():
        yield from of_family(plan, machine, family, members)


def family_of(runtime: str) -> tuple[str, ...]:
    """Return the runtimes to compare: a runtime and what it was continued as."""
    if runtime in ERAS:
        return ERAS
    return (runtime,)


def of_family(
    plan: Plan, machine: Machine, family: tuple[str, ...], members: list[Chosen]
) -> Iterator[Recommendation]:
    """Yield what to do about the launches of one runtime."""
    newest = [c for c in alternatives(machine, plan, family, members) if not c.critical]
    most = max((c.bound for c in newest), default=0)
    has_nodes = len(machine.cpu_nodes) > 1
    outclassed = [
        m for m in members if has_nodes and (m.best.bound if m.best else 0) * WORTHWHILE < most
    ]
    best = [c for c in newest if c.bound * WORTHWHILE >= most]
    if outclassed and best:
        yield upgrade(plan, [m.launch for m in outclassed], best)
    is_named = bool(plan.request.runtime) or family != ERAS
    for one in members:
        choice = one.best
        if choice is None or not (choice.bound or is_named or not has_nodes):
            continue
        if one in outclassed:
            yield staying(plan, one, choice)
        elif not outclassed or is_named:
            yield use(plan, one, choice)
    last = members[-1]
    if last.best is not None and last.others:
        yield compare(last.best, last.others)


def chosen_for(plan: Plan, machine: Machine, launch: Launch, place: int) -> Chosen:
    """Return the best choice for the release of a launch, and the other ones."""
    present = present_of(plan, launch, machine)
    found = list(choices(machine, launch.case._replace(machine=machine), present))
    best = best_of(found)
    # Settings that are written alike, as where one states a default, are one.
    others = {
        c.command: c
        for c in found
        if best is not None and c.command != best.command and not c.critical
    }
    return Chosen(launch, place, best, tuple(others.values()))


def caution(plan: Plan) -> str:
    """Return the words that say on what a count rests where SMT is only likely."""
    likely = likely_threads_per_core(plan.machine)
    return "" if likely is None else f"; takes {likely} threads a core, as the CPU numbers suggest"


def alternatives(
    machine: Machine, plan: Plan, family: tuple[str, ...], members: list[Chosen]
) -> Iterator[Choice]:
    """Yield what the newest release of each runtime of a family could do with its own defaults.

    Only what the launches in question may be upgraded to is looked at. A choice that is known
    already is not computed again.
    """
    asked = {m.launch.case.release.runtime for m in members if m.launch.case.release is not None}
    request = plan.request._replace(version=None, commit=None, numa_build=None)
    for name in family:
        if name not in asked and not any(name in SUCCESSORS.get(one, ()) for one in asked):
            continue
        runtime = named(name)
        release = runtime.releases(None)[-1]
        known = [m.best for m in members if m.launch.case.release == release]
        if known:
            yield from filter(None, known)
            continue
        own = plan.request.options if plan.request.runtime == name else {}
        one = request._replace(runtime=name, version=release.version, options=own)
        try:
            found = list(choices(machine, Case(machine, one, release), frozenset()))
        except NumatuneError:  # a model or a machine that this release refuses
            continue
        best = best_of(found)
        if best is not None:
            yield best


def upgrade(plan: Plan, outclassed: list[Launch], best: list[Choice]) -> Recommendation:
    """Say which release to move to, and with which count."""
    ways = [f"{c.label} with {c.option} ({c.workers})" for c in best]
    commands = [
        command
        for choice in best
        for command in (manner_of(choice.release.runtime).upgrade, choice.command)
        if command
    ]
    fallen = [launch for launch in outclassed if is_oversubscribed(launch)]
    reasons = [f"{label_of(launch)}: {first_reason(launch)}" for launch in (fallen or outclassed)]
    word = "Upgrade" if fallen or plan.request.runtime else "Best"
    copies = any(c.release.numa_build for c in best)
    is_even = all(not c.unbound and max(c.split) - min(c.split) <= 1 for c in best)
    return Recommendation(
        title=f"{word}: {', or '.join(ways)}",
        why="; ".join(reasons) + caution(plan),
        commands=tuple(commands),
        effect=("the same number of workers on each node" if is_even else "more workers on nodes")
        + ", none without a CPU of its own",
        cost="a new build or installation"
        + ("; ktransformers built with NUMA keeps one copy of the experts on each node" * copies),
        confidence="derived from the upstream code",
    )


def staying(plan: Plan, one: Chosen, choice: Choice) -> Recommendation:
    """Say the best count of a release that another one outclasses."""
    return Recommendation(
        title=f"Staying on {choice.label}: {choice.option} ({choice.workers})",
        why=merits(choice) + last_that_holds(plan, one, choice) + caution(plan),
        commands=(choice.command,),
        effect="no node has more workers than CPUs",
        cost=cost_of(choice),
        confidence="derived from the upstream code",
    )


def last_that_holds(plan: Plan, one: Chosen, choice: Choice) -> str:
    """Say where the first cliff is that lies above the recommended count."""
    if not has_same_settings(choice, one.launch.case.request):
        return ""
    cliffs = plan.sweeps[one.place].cliffs
    cliff = next((c for c in cliffs if c.kind == "oversubscribed"), None)
    if cliff is None or cliff.start <= choice.threads:
        return ""
    where = "" if cliff.node is None else f" for node {cliff.node}"
    return (
        f"; {cliff.start} is the last that holds, {cliff.end} makes"
        f" {cliff.workers} workers{where} on {cliff.cpus} CPUs"
    )


def merits(choice: Choice) -> str:
    """Return why a count is the recommended one."""
    if choice.lacks:
        said = f"the largest safe count; it lacks {' and '.join(choice.lacks)}"
    elif choice.bound and not choice.unbound and max(choice.split) - min(choice.split) <= 1:
        said = "the largest count with balanced nodes and a free core a node"
    elif choice.bound:
        said = "the largest safe count; its nodes are not balanced"
    else:
        said = "the largest count that leaves a core free"
    return f"{said}; {' and '.join(choice.critical)} stays" if choice.critical else said


def use(plan: Plan, one: Chosen, choice: Choice) -> Recommendation:
    """Say the best count of a release, and what it mends."""
    present = one.launch.case.request if one.launch.case.placement else None
    word = "Keep" if is_kept(choice, present) else "Use"
    gone = mended_by(choice, one.launch.findings)
    mends = f"; no more warning of {', '.join(gone)}" if gone else ""
    return Recommendation(
        title=f"{word} {choice.label} with {choice.option} ({choice.workers})",
        why=merits(choice) + mends + caution(plan),
        commands=(choice.command,),
        effect="no node has more workers than CPUs, no two workers need to share a core",
        cost=cost_of(choice),
        confidence="derived from the upstream code",
    )


def cost_of(choice: Choice) -> str:
    """Return what the settings of a choice cost."""
    is_llama = choice.release.runtime in ("llama.cpp", "ik_llama.cpp")
    is_dealt = choice.request.options.get("numa") in ("distribute", True, "")
    return DISTRIBUTE_COST if is_llama and is_dealt else "none"


def compare(best: Choice, others: tuple[Choice, ...]) -> Recommendation:
    """Name the other settings, for those who measure."""
    return Recommendation(
        title=f"Measure {best.label} with other settings, too",
        why="where its threads go is known, how fast that is depends on where the weights lie;"
        " none of these leaves a finding that the present launch does not have",
        commands=tuple(f"{c.command}   # {c.workers}" for c in others),
        effect="none is promised: no source compares them",
        cost=next((cost for c in others if (cost := cost_of(c)) != "none"), "none"),
        confidence="derived from the upstream code",
        is_option=True,
    )


def is_oversubscribed(launch: Launch) -> bool:
    """Tell whether a launch puts more workers than CPUs on some node."""
    return any(load.oversubscribed_by for load in launch.loads)


def label_of(launch: Launch) -> str:
    """Return the release of a launch as it is shown."""
    release = launch.case.release
    return "" if release is None else f"{release.runtime} {release.versions}"


def first_reason(launch: Launch) -> str:
    """Return the gravest finding of a launch in its own words."""
    if launch.findings:
        return launch.findings[0].message
    return "it ties fewer workers to the nodes"
