"""What to do about a finding: other launches are tried, and the nearest that mends it is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from numatune.placement.request import Request
from numatune.rules.facts import option_for
from numatune.rules.frames import raised
from numatune.rules.rule import SEVERITIES, Case
from numatune.rules.trial import Trouble, is_trying, troubles
from numatune.rules.ways import (
    ALONE,
    EVEN,
    FITS,
    MORE,
    ROOMY,
    RUNTIME,
    SETTINGS,
    Way,
    stated,
    upgraded,
    ways,
)

#: What is said where no launch was found that helps.
NO_REMEDY = "no other count or setting of this runtime helps here; give the process more CPUs"

#: What is said of an uneven split that no launch mends without losing workers.
NO_EVEN = "no other count or setting of this runtime splits them evenly with as many workers"

#: How many launches are tried for one finding.
MOST_TRIALS = 8

#: Warnings about a count that leaves no room: another launch is preferred to one with any of them.
TIGHT = frozenset(("NT102", "NT109", "NT117"))

#: The findings of a node without workers, of nodes with unlike numbers of them, and of workers
#: outside of the affinity of the process.
IDLE, UNEVEN, ESCAPED = "NT106", "NT103", "NT503"

#: Findings that are no reason to lose more than a tenth of the workers, or those of a node.
NOT_WORTH_A_LOSS = frozenset((UNEVEN, "NT117"))


def fewer(case: Case, rule: str = "NT101", *, evenly: bool = False) -> str:
    """Say which thread count fits, and whether a newer version takes the one asked for.

    `evenly` asks for a count that is also split evenly.
    """
    if case.release is None or case.placement is None:
        cpus = case.machine.inherited_cpus
        return f"use at most {len(cpus)} threads" if cpus else "use fewer threads"
    aims = (ALONE, EVEN, ROOMY, SETTINGS) if evenly else (FITS, ROOMY, SETTINGS)
    return once(case, (rule, evenly), lambda: here_or_newer(case, rule, aims))


def here_or_newer(case: Case, rule: str, aims: tuple[str, ...]) -> str:
    """Say what mends a finding with this version, and what with a newer one."""
    here = mended(case, rule, ways(case, aims))
    newer = mended(case, rule, upgraded(case, (EVEN, ROOMY)))
    said = [] if here is None else [here.words]
    if newer is not None and (here is None or (newer.threads > here.threads)):
        said.append(newer.words)
    return ", or ".join(said) or (NO_EVEN if rule == UNEVEN else NO_REMEDY)


def stating(case: Case, sensible: int) -> str:
    """Say which count to state in place of a default, near the sensible number of workers."""

    def say() -> str:
        way = mended(case, "NT116", stated(case, sensible))
        if way is None:
            return "no count of this runtime fits here; give the process more CPUs"
        return f"state the count: {way.words.removeprefix('use ')}"

    return once(case, ("NT116", sensible), say)


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
    raising = raised(case)
    if budget < 1:
        return raising
    if case.release is None:
        return f"use {option_for(case, budget)}, or {raising}"
    return first(case, "NT506", (ROOMY, FITS, SETTINGS), raising, f", or {raising}")


def other_pools(case: Case, rule: str, otherwise: str) -> str:
    """Say which pools and which count of kt-kernel mend a finding, else what is said `otherwise`.

    Where ktransformers is what runs, kt-kernel in its place is looked at.
    """
    return first(case, rule, (SETTINGS, FITS, ROOMY, RUNTIME), otherwise)


def every_node(case: Case, otherwise: str) -> str:
    """Say which setting or which count brings workers to every node."""
    aims = (ALONE, SETTINGS, MORE, EVEN, ROOMY)
    return first(case, "NT106", aims, otherwise, ", unless a part of the machine is meant")


def worker_a_pool(case: Case, pools: int) -> str:
    """Say which count gives each pool a worker, or which number of pools suits the count."""
    otherwise = f"ask for at least {pools} threads, on a machine that has room"
    return first(case, "NT111", (MORE, SETTINGS), otherwise)


def tied_by_itself(case: Case, otherwise: str) -> str:
    """Say which setting of the runtime ties its workers to nodes."""
    return first(case, "NT107", (ALONE, SETTINGS), otherwise)


def first(case: Case, rule: str, aims: tuple[str, ...], otherwise: str, behind: str = "") -> str:
    """Say the first launch that mends a finding, with more words `behind` it."""

    def say() -> str:
        way = mended(case, rule, ways(case, aims))
        return f"{way.words}{behind}" if way else otherwise

    return once(case, (rule, aims, otherwise), say)


def mended(case: Case, rule: str, tried: Iterable[Way]) -> Way | None:
    """Return the launch that has this finding no more, and no critical one, at the least cost.

    The first without any drawback is taken, else the first of those with the fewest; one that
    leaves critical findings only if it brings no new one. None where all keep the finding, bring
    one, or lose workers for what is not worth it.
    """
    best: tuple[tuple[int, int, int], Way] | None = None
    for way in unlike(tried):
        left = outcome(case, way)
        if left is None or any(t.rule == rule for t in left):
            continue
        if rule == IDLE and any(t.rule == ESCAPED for t in left) and ESCAPED not in rules_of(case):
            continue  # the launcher keeps it off that node, so it is the launcher that must change
        cost = drawbacks(case, way, left, rule)
        if not any(cost):
            return way
        critical = critical_of(left)
        if critical and not critical <= critical_of(outcome(case)):
            continue
        if cost[1] and rule in NOT_WORTH_A_LOSS:
            continue
        if best is None or cost < best[0]:
            best = (cost, way)
    return None if best is None else best[1]


def drawbacks(case: Case, way: Way, left: frozenset[Trouble], rule: str) -> tuple[int, int, int]:
    """Return how many critical findings a launch leaves, whether it loses workers, and how many
    warnings say that it leaves no room.

    Other settings with the same count are not charged with what the present ones have, too, but
    with an uneven split: a smaller count was asked for as even as it can be.
    """
    rules = {one.rule for one in left}
    tight, idles = rules & TIGHT, IDLE in rules
    is_default = rule == "NT116"
    if not is_default and case.request is not None and way.threads == case.request.threads:
        tight |= rules & {UNEVEN}
        tight = tight and tight - rules_of(case)
    idles = idles and IDLE not in rules_of(case)
    return len(critical_of(left)), int(idles or loses(case, way)), len(tight)


def rules_of(case: Case) -> set[str]:
    """Return the rules that complain of the present launch."""
    return {one.rule for one in outcome(case) or ()}


def loses(case: Case, way: Way) -> bool:
    """Tell whether a launch has over a tenth fewer workers than the present one has CPUs for.

    One a node is no loss: it is what the rest of the process needs.
    """
    from numatune.rules.defaults import budget

    asked, most = case.request.threads if case.request is not None else None, budget(case.machine)
    if asked is None or way.threads >= asked:
        return False
    useful = asked if most is None else min(asked, most.threads)
    return useful - way.threads > max(useful // 10, len(case.machine.cpu_nodes), 1)


def is_clean(case: Case, request: Request) -> bool:
    """Tell whether another launch has no critical finding, and no warning that this one has not."""
    left = outcome(case, Way(f"{request!r}", request))
    if left is None or critical_of(left):
        return False
    return {one.rule for one in left} <= rules_of(case)


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
