"""Launches tried in place of another: placed, judged, and asked for the largest count that fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from numatune.errors import LaunchRefused, NumatuneError
from numatune.machine import Machine
from numatune.placement.load import NodeLoad
from numatune.placement.request import Request
from numatune.rules.rule import SEVERITIES, Case, Finding

if TYPE_CHECKING:
    from numatune.frame.frame import Framed
    from numatune.placement import sweep

#: The tallies that one search may take, so that no machine makes it slow.
MOST_TALLIES = 600

_trying: ContextVar[bool] = ContextVar("trying", default=False)


class Trouble(NamedTuple):
    """A critical finding or a warning, without its words."""

    rule: str
    subject: str
    severity: str


def is_trying() -> bool:
    """Tell whether a launch is being tried: nobody reads the fixes of its findings then."""
    return _trying.get()


@contextmanager
def trying() -> Iterator[None]:
    """Mark what is judged inside as tried."""
    token = _trying.set(True)
    try:
        yield
    finally:
        _trying.reset(token)


def framed(machine: Machine, launcher: str) -> Framed:
    """Return a machine as a process behind a launcher has it. Raises UsageError."""
    from numatune.frame.registry import framed as enter

    return enter(machine, launcher)


def placed(machine: Machine, request: Request, frame: Framed | None = None) -> list[Case]:
    """Place every phase of a launch on a machine as its launchers leave it, generation first.

    Raises UsageError and MachineError.
    """
    from numatune.runtimes import named

    runtime = named(request.runtime)
    release = runtime.release(request.version, request.commit, request.numa_build)
    cases = []
    for _, asked in runtime.phases(request):
        case = Case(machine, asked, release, frame=frame)
        try:
            case = case._replace(placement=runtime.simulate(machine, asked, release))
        except LaunchRefused as refusal:
            case = case._replace(refusal=refusal)
        cases.append(case)
    return cases


def troubles(
    machine: Machine, request: Request, frame: Framed | None = None
) -> frozenset[Trouble] | None:
    """Return what is wrong with a launch, None where it can't be placed."""
    try:
        cases = placed(machine, request, frame)
    except NumatuneError:
        return None
    from numatune.rules.judge import judge

    with trying():
        return frozenset().union(*(troubles_of(judge(case).findings) for case in cases))


def troubles_of(findings: Iterable[Finding]) -> frozenset[Trouble]:
    """Return the findings above info, without their words."""
    return frozenset(
        Trouble(f.rule, f.subject, f.severity) for f in findings if f.severity != SEVERITIES[-1]
    )


class Wish(NamedTuple):
    """What a count must be beside safe: cores to `spare` on each node, an even split, and no more
    than the `most` workers that a quota carries.
    """

    spare: int = 0
    evenly: bool = False
    most: int | None = None

    def is_met(self, loads: list[NodeLoad]) -> bool:
        """Tell whether loads are what is wished for."""
        tied = [load.workers for load in loads if load.id is not None]
        is_uneven = self.evenly and bool(tied) and max(tied) - min(tied) > 1
        return not is_uneven and self.excess(loads) == 0

    def excess(self, loads: list[NodeLoad]) -> int:
        """Return how many threads fewer it takes at least.

        One thread less takes at most one worker from one node, so a node with five too many needs
        five fewer, and so do five too many on all nodes together.
        """
        rooms = [load.cpus if load.cores is None else load.cores for load in loads]
        free = [(room or 0) - self.spare for room in rooms]
        over = [load.workers - room for load, room in zip(loads, free, strict=True)]
        total = sum(load.workers for load in loads)
        over += [total - sum(free), 0 if self.most is None else total - self.most]
        return max(0, *over)


def largest(machine: Machine, request: Request, highest: int, wish: Wish) -> int | None:
    """Return the largest count up to `highest` that is safe as a sweep says, and as wished.

    None where there is none, or too many counts would have to be tried.
    """
    from numatune.placement.sweep import Trial
    from numatune.runtimes import named

    try:
        runtime = named(request.runtime)
        release = runtime.release(request.version, request.commit, request.numa_build)
        trial = Trial(machine, request, runtime, release)
        threads = min(highest, most_of(trial))
        own = runtime.default_threads(machine, request._replace(threads=None), release)
        if own is not None and own.is_derived:  # no other count is possible
            threads = min(threads, own.threads or 0)
        for _ in range(MOST_TALLIES):
            if threads < 1:
                return None
            loads, safe = trial.loads(threads)
            beyond = floating_beyond(trial, threads) if safe else 0
            if safe and not beyond and wish.is_met(loads):
                return threads
            threads -= max(1, beyond, wish.excess(loads) if loads else 0)
    except NumatuneError:  # a model, an option or a machine that this release refuses
        pass
    return None


def floating_beyond(trial: sweep.Trial, threads: int) -> int:
    """Return how many floating workers there are beyond the cores that they inherit.

    An affinity may leave them a part of the node on which a sweep counts them.
    """
    room = trial.rooms.floating.cpus if trial.rooms.floating.cores is None else None
    room = trial.rooms.floating.cores if room is None else room
    if trial.machine.limits.affinity is None or room is None:
        return 0
    request = trial.request._replace(threads=threads)
    counts = trial.runtime.tally(trial.machine, request, trial.release)
    return max(0, counts.unbound - room)


def most_of(trial: sweep.Trial) -> int:
    """Return a count above which none is safe: a worker for each core, and one that is none."""
    whole = trial.rooms.mixed
    room = whole.cpus if whole.cores is None else whole.cores
    return 1 if room is None else room + 1


def roomy(machine: Machine) -> Wish:
    """Return the wish for balanced nodes, a free core on each, and a CPU of the quota to spare."""
    return Wish(1, True, quota_less(machine, 1))


def within(machine: Machine, *, evenly: bool = False, spare: int = 0) -> Wish:
    """Return the wish for no more workers than a quota carries."""
    return Wish(spare, evenly, quota_less(machine, 0))


def quota_less(machine: Machine, spare: int) -> int | None:
    """Return how many workers a quota carries beside others, at least 1, None without a quota."""
    quota = machine.limits.cpu_quota
    return None if quota is None else max(1, int(quota) - spare)
