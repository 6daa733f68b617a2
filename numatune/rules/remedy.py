"""What to do about a finding: other launches are tried, and the nearest that mends it is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from numatune.rules.facts import option_for
from numatune.rules.rule import SEVERITIES, Case
from numatune.rules.trial import Trouble, is_trying, troubles
from numatune.rules.ways import (
    EVEN,
    FITS,
    MORE,
    ROOMY,
    RUNTIME,
    SETTINGS,
    Way,
    upgraded,
    ways,
)

#: What is said where no launch was found that helps.
NO_REMEDY = "no other count or setting of this runtime helps here; give the process more CPUs"

#: How many launches are tried for one finding.
MOST_TRIALS = 8


def fewer(case: Case, rule: str = "NT101", *, evenly: bool = False) -> str:
    """Say which thread count fits, and whether a newer version takes the one asked for.

    `evenly` asks for a count that is also split evenly.
    """
    if case.release is None or case.placement is None:
        cpus = case.machine.inherited_cpus
        return f"use at most {len(cpus)} threads" if cpus else "use fewer threads"
    return once(case, (rule, evenly), lambda: here_or_newer(case, rule, EVEN if evenly else FITS))


def here_or_newer(case: Case, rule: str, aim: str) -> str:
    """Say what mends a finding with this version, and what with a newer one."""
    here = mended(case, rule, ways(case, (aim, ROOMY, SETTINGS)))
    newer = mended(case, rule, upgraded(case, (EVEN, ROOMY)))
    said = [] if here is None else [here.words]
    if newer is not None and (here is None or (newer.threads > here.threads)):
        said.append(newer.words)
    return ", or ".join(said) or NO_REMEDY


def one_a_core(case: Case) -> str:
    """Say which count gives each worker a core."""
    if case.release is None or case.placement is None:
        return "measure one worker a core against this"
    return first(case, "NT102", (FITS, ROOMY, SETTINGS), NO_REMEDY, ", and measure it against this")


def with_headroom(case: Case, rule: str = "NT117") -> str:
    """Say which count leaves the rest of the process a CPU."""
    return first(case, rule, (ROOMY, FITS, SETTINGS), "give the process another CPU")


def within_quota(case: Case, budget: int) -> str:
    """Say which count a quota carries."""
    raising = "raise the quota (docker run --cpus)"
    if budget < 1:
        return raising
    if case.release is None:
        return f"use {option_for(case, budget)}, or {raising}"
    return first(case, "NT506", (FITS, ROOMY, SETTINGS), raising, f", or {raising}")


def other_pools(case: Case, rule: str, otherwise: str) -> str:
    """Say which pools and which count of kt-kernel mend a finding, else what is said `otherwise`.

    Where ktransformers is what runs, kt-kernel in its place is looked at.
    """
    return first(case, rule, (SETTINGS, FITS, ROOMY, RUNTIME), otherwise)


def every_node(case: Case, otherwise: str) -> str:
    """Say which setting or which count brings workers to every node."""
    aims = (SETTINGS, MORE, EVEN, ROOMY)
    return first(case, "NT106", aims, otherwise, ", unless a part of the machine is meant")


def worker_a_pool(case: Case, pools: int) -> str:
    """Say which count gives each pool a worker, or which number of pools suits the count."""
    otherwise = f"ask for at least {pools} threads, on a machine that has room"
    return first(case, "NT111", (MORE, SETTINGS), otherwise)


def tied_by_itself(case: Case, otherwise: str) -> str:
    """Say which setting of the runtime ties its workers to nodes."""
    return first(case, "NT107", (SETTINGS,), otherwise)


def first(case: Case, rule: str, aims: tuple[str, ...], otherwise: str, behind: str = "") -> str:
    """Say the first launch that mends a finding, with more words `behind` it."""

    def say() -> str:
        way = mended(case, rule, ways(case, aims))
        return f"{way.words}{behind}" if way else otherwise

    return once(case, (rule, aims, otherwise), say)


def mended(case: Case, rule: str, tried: Iterable[Way]) -> Way | None:
    """Return the first launch that has this finding no more and no critical one at all.

    Where each leaves a critical finding, the first is taken of those that leave fewest and bring no
    new one; None where all of them keep the finding or bring one.
    """
    best: tuple[int, Way] | None = None
    for way in unlike(tried):
        left = outcome(case, way)
        if left is None or any(t.rule == rule for t in left):
            continue
        critical = critical_of(left)
        if not critical:
            return way
        if (best is None or len(critical) < best[0]) and critical <= critical_of(outcome(case)):
            best = (len(critical), way)
    return None if best is None else best[1]


def critical_of(left: frozenset[Trouble] | None) -> set[str]:
    """Return the rules of the critical findings."""
    return {one.rule for one in left or () if one.severity == SEVERITIES[0]}


def unlike(tried: Iterable[Way]) -> Iterator[Way]:
    """Yield the first launches, each once."""
    said: set[str] = set()
    for way in tried:
        if way.words not in said:
            said.add(way.words)
            yield way
        if len(said) == MOST_TRIALS:
            return


class Tried:
    """What came of each launch tried in place of one, and what was said of it."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.left: dict[str | None, frozenset[Trouble] | None] = {}
        self.said: dict[tuple[object, ...], str] = {}


_last: list[Tried] = []


def tried_for(case: Case) -> Tried:
    """Return what was tried for a case; its findings, of which there may be many, share it."""
    if not _last or _last[0].case is not case:
        _last[:] = [Tried(case)]
    return _last[0]


def outcome(case: Case, way: Way | None = None) -> frozenset[Trouble] | None:
    """Return what is wrong with a launch in place of another, or with that one itself."""
    known, key = tried_for(case).left, None if way is None else way.words
    request = case.request if way is None else way.request
    if key not in known:
        known[key] = None if request is None else troubles(case.machine, request, case.frame)
    return known[key]


def once(case: Case, key: tuple[object, ...], say: Callable[[], str]) -> str:
    """Say something of a case, worked out the first time; nothing while launches are tried."""
    if is_trying():
        return NO_REMEDY
    said = tried_for(case).said
    if key not in said:
        said[key] = say()
    return said[key]
