"""The view of `plan`: what each launch does, the cliffs, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from numatune.advice.plan import Launch, Plan
from numatune.advice.recommendation import Recommendation
from numatune.machine import CpuSet
from numatune.machine.cpuset import ID_LIMIT
from numatune.machine.likely import likely_threads_per_core
from numatune.placement.load import NodeLoad
from numatune.placement.placement import Placement, Release, Worker
from numatune.placement.sweep import Sweep
from numatune.rules.ranks import RANKED
from numatune.rules.rule import Case
from numatune.views import machine as parts
from numatune.views.blocks import BLANK, Block, Span, Table, bar, cells, heading, line
from numatune.views.findings import finding_line, finding_lines, report_line, warning_lines
from numatune.words import clean, counted

#: The gravest severity of a launch -> its mark.
MARKS = {"critical": ("✖", "bad"), "warning": ("!", "warn")}


def plan_view(plan: Plan, *, verbosity: int = 0) -> list[Block]:
    """Return the blocks of `plan`; with -q without advice, with -v with every worker."""
    blocks: list[Block] = [parts.summary(plan.machine)]
    blocks += warning_lines(plan.machine.warnings)
    blocks += frame_lines(plan)
    blocks += assumptions(plan)
    for launch in plan.launches:
        blocks += [BLANK, *launch_blocks(launch, plan, verbosity)]
    blocks += [BLANK, heading("Cliffs"), *cliff_table(plan)]
    blocks += pool_blocks(plan)
    if verbosity < 0:
        return blocks
    own = [f for f in plan.findings if f.severity != "info" or verbosity > 0]
    if own:
        blocks += [BLANK, heading("The machine"), *finding_lines(own)]
    blocks += advice_blocks(plan)
    rules = sorted({f.rule for launch in plan.launches for f in launch.findings})
    why = f"numatune explain {rules[0]}" if rules else "numatune explain --list"
    blocks.append(
        line(Span(f"  Details: -v   Why a rule exists: {why}   As JSON: --json", "dim"), hang=2)
    )
    if rules or own:
        blocks.append(report_line(plan.machine))
    return blocks


def pool_blocks(plan: Plan) -> Iterator[Block]:
    """Yield the safe counts with other numbers of pools."""
    rows = []
    for one in (one for pools in plan.pools for one in pools):
        best = one.sweep.recommended
        advised = "" if best is None else f"best {best}"
        safe = f"safe {one.sweep.safe}" if one.sweep.safe else "no count is safe"
        rows.append(cells(counted(one.pools, "pool"), safe, advised))
    if rows:
        yield BLANK
        yield heading("Pools")
        yield Table(("",) * 3, tuple(rows), indent=2)


def advice_blocks(plan: Plan) -> Iterator[Block]:
    """Yield what to do about the launch in full, then the options that fit some runtimes only."""
    first = [one for one in plan.recommendations if not one.is_option]
    options = [one for one in plan.recommendations if one.is_option]
    yield BLANK
    yield heading("Do this")
    if not first:
        yield line("  Nothing to change.")
    for number, one in enumerate(first, 1):
        yield line(f"  {number}. ", Span(one.title, "strong"), hang=5)
        yield from detail(one)
    if options:
        yield BLANK
        yield heading("Options, each for some runtimes or models only")
    for one in options:
        yield line("  -  ", one.title, hang=5)
        yield from detail(one)


def detail(one: Recommendation) -> Iterator[Block]:
    """Yield the reason of one recommendation, its commands, effect and cost."""
    yield line(Span("     why: ", "dim"), one.why, hang=10)
    for command in one.commands:
        yield line("     $ " if is_command(command) else "       ", command, hang=9)
    yield line(Span("     effect: ", "dim"), one.effect, hang=13)
    if one.cost != "none":
        yield line(Span("     cost: ", "dim"), one.cost, hang=11)


def is_command(text: str) -> bool:
    """Tell a command from the name of a firmware setting."""
    word = text.split(" ", 1)[0]
    return word.islower() or "=" in word


def frame_lines(plan: Plan) -> Iterator[Block]:
    """Say what each launcher of the frame leaves to the process, and what stays open."""
    if plan.frame is None:
        return
    for layer in plan.frame.layers:
        yield line(Span("  frame  ", "dim"), f"{layer.text}: {clean(layer.effect)}", hang=9)
    for note in plan.frame.notes:
        yield line(Span("  note  ", "warn"), clean(note), hang=8)


def assumptions(plan: Plan) -> Iterator[Block]:
    """Say on what the counts rest where the source leaves it open."""
    machine = plan.machine
    if machine.cores is None and machine.nodes:
        likely = likely_threads_per_core(machine)
        known = f"likely {likely} threads a core" if likely else "not stated"
        yield line(
            Span("  note  ", "warn"),
            f"SMT is {known}: workers are counted against CPUs, not cores;"
            " --assume smt=2 (or smt=1) settles it",
            hang=8,
        )


def title(release: Release) -> str:
    """Return how a release is named in a heading."""
    build = {True: ", built with NUMA", False: ", built without NUMA", None: ""}[release.numa_build]
    return f"{release.runtime} {release.versions}{build}"


def launch_blocks(launch: Launch, plan: Plan, verbosity: int) -> Iterator[Block]:
    """Yield one launch: its heading, a bar a node, its findings."""
    release, placement = launch.case.release, launch.case.placement
    if release is None:
        return
    worst = next((f.severity for f in launch.findings if f.severity != "info"), "")
    mark, style = MARKS.get(worst, ("✔", "good"))
    if placement is None:
        refusal = launch.case.refusal
        mark, reason = "? not known: ", launch.case.unplaced or "no thread count"
        if refusal is not None:
            mark, reason = "✖ does not run: ", refusal.reason
        style = "warn" if refusal is None else "bad"
        yield line(Span(f"{title(release)}   ", "strong"), Span(mark, style), reason, hang=4)
        for finding in launch.findings:
            is_new = refusal is None or refusal.reason not in finding.message
            if is_new and (finding.severity != "info" or verbosity > 0):
                yield finding_line(finding, "    ")
        return
    count = f"{option_of(release)} {launch.threads} = {counted(len(placement.workers), 'worker')}"
    default = launch.case.default
    given = "" if plan.request.threads is not None else " (recommended)"
    if default is not None:
        given = f" (its default: {default.counted})"
    yield line(Span(title(release), "strong"), f"   {count}{given}   ", Span(mark, style), hang=4)
    yield from load_table(launch.case, launch.loads)
    for phase in launch.phases:
        asked, other = phase.case.request, phase.case.placement
        if asked is not None and other is not None:
            yield line(f"    {phase.name}: {counted(len(other.workers), 'worker')}", hang=6)
            yield from load_table(phase.case, phase.loads)
    if verbosity > 0:
        yield from worker_lines(placement)
    shown = [f for f in launch.findings if f.severity != "info" or verbosity > 0]
    for finding in shown:
        yield finding_line(finding, "    ")


def option_of(release: Release) -> str:
    """Return the runtime's own word for the number of threads."""
    from numatune.runtimes import named

    return named(release.runtime).THREADS_OPTION.lstrip("-")


def load_table(case: Case, all_loads: Iterable[NodeLoad]) -> Iterator[Block]:
    """Yield a bar a node, and the workers tied to none."""
    placement = case.placement
    workers = () if placement is None else placement.workers
    loads = [load for load in all_loads if load.cpus or load.workers]
    floating = sum(1 for w in workers if w.node is None)
    tied = [load for load in loads if load.workers]
    if tied or not floating:
        largest = max((max(load.workers, slots(load) or 0) for load in loads), default=1)
        rows = tuple(load_row(load, largest) for load in loads)
        if rows:
            yield Table(("",) * 4, rows, frozenset((2,)), indent=4)
    if floating and not (tied and sum(load.workers for load in tied) == len(workers)):
        cpus = next((w.cpus for w in workers if w.node is None), None)
        where = "" if cpus is None else f" over CPUs {cpus}"
        yield line(f"    {counted(floating, 'worker')} tied to no node, floating{where}", hang=6)


def worker_lines(placement: Placement) -> Iterator[Block]:
    """Yield where each worker runs and takes its memory, neighbours of one kind on one line."""

    def kind(worker: Worker) -> tuple[int, int | None, str, str]:
        return worker.pool, worker.node, worker.binding, worker.memory

    for (pool, node, binding, memory), run in groupby(placement.workers, kind):
        workers = list(run)
        ids = CpuSet((w.index for w in workers) if len(workers) < ID_LIMIT else ())
        known = [w.cpus for w in workers if w.cpus is not None]
        cpus = str(CpuSet(cpu for one in dict.fromkeys(known) for cpu in one)) if known else "?"
        where = "no node" if node is None else f"node {node}"
        how = {"cpu": "a CPU each of", "none": "floating over"}.get(binding, "on")
        word = "rank" if placement.runtime in RANKED else "pool"
        of_pool = f"{word} {pool}: " if placement.pool_threads else ""
        yield line(
            Span("    ", "dim"),
            f"{of_pool}workers {ids or 'many'}: {where}, {how} CPUs {cpus}, memory {memory}",
            hang=6,
        )


def slots(load: NodeLoad) -> int | None:
    """Return what a worker of its own would need: the cores of a node, else its CPUs."""
    return load.cores if load.cores is not None else load.cpus


def load_row(load: NodeLoad, largest: int) -> tuple[tuple[Span, ...], ...]:
    """Return one node: its bar, its count, and what is wrong or idle."""
    room = slots(load)
    if room is None:
        return cells(f"node {load.id}", "", f"{load.workers} workers", "CPUs unknown")
    unit = "core" if load.cores is not None else "CPU"
    drawn = bar(load.workers, room, largest)
    if load.oversubscribed_by:
        note = Span(
            f"{load.oversubscribed_by} too many for its {counted(load.cpus or 0, 'CPU')}", "bad"
        )
    elif load.sharing_cores:
        note = Span(f"{load.sharing_cores} share a core", "warn")
        drawn = tuple(Span(s.text, "warn" if s.style == "bad" else s.style) for s in drawn)
    else:
        idle = room - load.workers
        note = Span(f"{idle} idle" if idle else "none idle", "dim" if idle else "")
    count = f"{counted(load.workers, 'worker')} / {counted(room, unit)}"
    return ((Span(f"node {load.id}"),), drawn, (Span(count),), (note,))


def cliff_table(plan: Plan) -> Iterator[Block]:
    """Yield the safe counts and the first cliffs of each release."""
    rows = [
        cells(title(s.release), f"safe {s.safe or 'none'}", cliff_words(s)) for s in plan.sweeps
    ]
    if rows:
        yield Table(("", "", ""), tuple(rows))


def cliff_words(swept: Sweep) -> str:
    """Return the first cliff of each kind in words."""
    seen: dict[str, str] = {}
    for cliff in swept.cliffs:
        where = "all nodes together" if cliff.node is None else f"node {cliff.node}"
        unit = "CPU" if cliff.kind == "oversubscribed" else "core"
        verb = "get" if cliff.node is None else "gets"
        words = (
            f"{cliff.start} to {cliff.end}: {where} {verb}"
            f" {counted(cliff.workers, 'worker')} for {counted(cliff.cpus, unit)}"
        )
        seen.setdefault(cliff.kind, words)
    return "; ".join(seen.values()) if seen else f"no cliff up to {swept.highest}"
