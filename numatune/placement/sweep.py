"""All useful thread counts at once: which are safe, and where the cliffs are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from numatune.errors import UsageError
from numatune.machine import CpuSet, Machine
from numatune.machine.cpuset import ID_LIMIT
from numatune.placement.load import NodeLoad, floating_home, node_loads, whole_load
from numatune.placement.placement import Release, Tally
from numatune.placement.request import Request

if TYPE_CHECKING:
    from numatune.runtimes.runtime import Runtime

#: The kinds of cliff.
SHARING, OVERSUBSCRIBED = "sharing", "oversubscribed"

#: The highest count of a sweep.
HIGHEST = ID_LIMIT - 1


class Cliff(NamedTuple):
    """One step of the thread count at which a node becomes too full.

    `start` and `end` are neighbouring counts; at `end` the node (None: all usable CPUs together)
    carries `workers`. `cpus` is what `kind` measures them against: the node's CPUs where it is
    "oversubscribed", its cores where it is "sharing".
    """

    start: int
    end: int
    node: int | None
    workers: int
    cpus: int
    kind: str


class Sweep(NamedTuple):
    """What a runtime does with each thread count up to `highest`.

    `safe` holds the counts that are not refused, leave no pool empty, oversubscribe no node and
    let no two workers share a core. `recommended` is the largest safe one with balanced nodes and a
    free core a node, else the largest safe one, None where none is safe; `lacks` says what that one
    lacks. Counts are in the unit of the runtime's own option.
    """

    release: Release
    highest: int
    safe: CpuSet
    cliffs: tuple[Cliff, ...]
    recommended: int | None
    lacks: tuple[str, ...]


class Rooms:
    """What each node, and the machine as a whole, has room for: found once for a whole sweep."""

    def __init__(self, machine: Machine) -> None:
        self.nodes = {load.id: load for load in node_loads(machine, Tally({}))}
        #: Node (None: all CPUs) -> the workers up to which it is known to be in no trouble.
        self.limits = {load.id: room_of(load) for load in self.nodes.values()}
        #: Node -> its CPUs, -1 where they are not known.
        self.most = {n: -1 if load.cpus is None else load.cpus for n, load in self.nodes.items()}
        self.home = floating_home(machine)
        self.floating = whole_load(machine, Tally({}))
        self.mixed = whole_load(machine, Tally({-1: 0}))
        #: Whether an affinity leaves floating workers a part of their node only.
        self.is_narrow = self.home is not None and self.floating.cpus != self.nodes[self.home].cpus

    def workers(self, counts: Tally) -> tuple[dict[int, int], int]:
        """Return the workers of each node, and how many are to be counted for all CPUs together.

        Workers tied to no node count for all CPUs together with the others, or for the one node
        that holds all CPUs they may use; alone on a part of it, they count for that part.
        """
        tied = dict(counts.nodes)
        if not counts.unbound:
            return tied, 0
        if self.home is not None and (tied or not self.is_narrow):
            tied[self.home] = tied.get(self.home, 0) + counts.unbound
            return tied, 0
        return tied, sum(tied.values()) + counts.unbound

    def whole(self, tied: dict[int, int], workers: int) -> NodeLoad:
        """Return the load of all CPUs together."""
        room = self.mixed if tied else self.floating
        return NodeLoad(None, workers, room.cores, room.cpus)

    def load(self, node: int, workers: int) -> NodeLoad:
        """Return the load of one node."""
        room = self.nodes[node]
        return NodeLoad(node, workers, room.cores, room.cpus)

    def loads(self, counts: Tally) -> list[NodeLoad]:
        """Return the loads that workers make: of the nodes that have some, and of all CPUs."""
        tied, together = self.workers(counts)
        loads = [self.load(node, workers) for node, workers in tied.items()]
        return [*loads, self.whole(tied, together)] if together else loads

    def fit(self, counts: Tally) -> bool:
        """Tell whether all loads are known to fit, without making them."""
        tied, together = self.workers(counts)
        limits = self.limits
        for node, workers in tied.items():
            if workers > limits[node]:
                return False
        return not together or fits(self.whole(tied, together))

    def crowded(self, counts: Tally, seen: set[tuple[int | None, str]]) -> list[NodeLoad]:
        """Return the loads that are too full in a way that is not among those `seen` of a node.

        A sweep asks for every count, of machines with many nodes: others are not even made.
        """
        tied, together = self.workers(counts)
        limits, most = self.limits, self.most
        loads = [
            self.load(node, workers)
            for node, workers in tied.items()
            if workers > limits[node]
            and (node, OVERSUBSCRIBED if workers > most[node] else SHARING) not in seen
        ]
        return [*loads, self.whole(tied, together)] if together else loads


class Trial:
    """One launch, tried with one thread count after another."""

    def __init__(
        self, machine: Machine, request: Request, runtime: Runtime, release: Release
    ) -> None:
        self.machine, self.request, self.runtime, self.release = machine, request, runtime, release
        self.rooms = Rooms(machine)
        self.pinned_twice: Callable[[Machine, Request], bool] | None = getattr(
            runtime, "pinned_twice", None
        )

    def loads(self, threads: int) -> tuple[list[NodeLoad], bool]:
        """Return the loads at a thread count, and whether it is safe."""
        counts = self.counts(threads)
        loads = [] if counts.refused is not None else self.rooms.loads(counts)
        return loads, self.is_safe(threads, counts, all(map(fits, loads)))

    def counts(self, threads: int) -> Tally:
        """Return the workers at a thread count."""
        request = self.request._replace(threads=threads)
        return self.runtime.tally(self.machine, request, self.release)

    def is_safe(self, threads: int, counts: Tally, all_fit: bool) -> bool:
        """Tell whether a count is safe, of which it is known whether all loads fit."""
        if not all_fit or counts.refused is not None or counts.empty_pools:
            return False
        if not counts.nodes and not counts.unbound:
            return False
        if self.pinned_twice is None:
            return True
        return not self.pinned_twice(self.machine, self.request._replace(threads=threads))


def sweep(
    machine: Machine,
    request: Request,
    runtime: Runtime,
    release: Release,
    highest: int | None = None,
) -> Sweep:
    """Try every thread count from 1 to `highest` for the request.

    A node's first step into each kind of trouble is a cliff, and so is each step into it from a
    safe count. Without `highest` the sweep ends a little above the usable CPUs, or where the last
    node that becomes too full has done so, within twice the usable CPUs. Where cores are unknown,
    CPUs are what counts; a count of which it is not known whether its workers fit is not safe.

    Raises UsageError where the request is wrong for the runtime.
    """
    if highest is not None and not 1 <= highest <= HIGHEST:
        raise UsageError(f"a sweep goes from 1 to at most {HIGHEST}, not to {highest}")
    trial = Trial(machine, request, runtime, release)
    least, most, awaited = reach(trial) if highest is None else (highest, highest, set())
    cliffs: list[Cliff] = []
    seen: set[tuple[int | None, str]] = set()
    safe = threads = 0
    was_safe = True
    while threads < least or (threads < most and awaited):
        threads += 1
        counts = trial.counts(threads)
        is_fitting = counts.refused is None and trial.rooms.fit(counts)
        is_safe = trial.is_safe(threads, counts, is_fitting)
        crowded = []
        if counts.refused is None and not is_fitting:
            crowded = trial.rooms.crowded(counts, set() if was_safe else seen)
        for cliff in steps(threads, crowded):
            if was_safe or (cliff.node, cliff.kind) not in seen:
                cliffs.append(cliff)
            seen.add((cliff.node, cliff.kind))
            if cliff.kind == OVERSUBSCRIBED:
                awaited.discard(cliff.node)
        was_safe = is_safe
        if is_safe:
            safe |= 1 << threads
    whole = CpuSet.of_mask(safe)
    recommended, lacks = best_of(trial, whole)
    return Sweep(release, threads, whole, tuple(cliffs), recommended, lacks)


def best_of(trial: Trial, safe: CpuSet) -> tuple[int | None, tuple[str, ...]]:
    """Return the largest safe count that lacks nothing, else the largest with what it lacks."""
    fallback: int | None = None
    lacks: tuple[str, ...] = ()
    for threads in reversed(list(safe)):
        missing = lacking(trial.loads(threads)[0])
        if not missing:
            return threads, ()
        if fallback is None:
            fallback, lacks = threads, missing
    return fallback, lacks


def reach(trial: Trial) -> tuple[int, int, set[int | None]]:
    """Return the least and the most threads to try, and the nodes that become too full by then."""
    usable = len(trial.machine.usable_cpus or ())
    least, most = min(HIGHEST, usable + 2), min(HIGHEST, 2 * usable + 2)
    loads, _ = trial.loads(most)
    return least, most, {load.id for load in loads if kind_of(load) == OVERSUBSCRIBED}


def kind_of(load: NodeLoad) -> str | None:
    """Return in which way a node is too full, None where it is not, or it is not known."""
    if load.oversubscribed_by:
        return OVERSUBSCRIBED
    return SHARING if load.sharing_cores else None


def fits(load: NodeLoad) -> bool:
    """Tell whether the workers are known to have a core each, or a CPU where cores are unknown."""
    return load.workers <= room_of(load)


def room_of(load: NodeLoad) -> int:
    """Return for how many workers there is room, -1 where that is not known."""
    room = load.cpus if load.cores is None else load.cores
    return -1 if room is None else room


def steps(threads: int, loads: list[NodeLoad]) -> list[Cliff]:
    """Return each node that is too full at a thread count as the end of a step, by id."""
    found = []
    for load in loads:
        kind = kind_of(load)
        room = load.cpus if kind == OVERSUBSCRIBED else load.cores
        if kind is not None and room is not None:
            found.append(Cliff(threads - 1, threads, load.id, load.workers, room, kind))
    return sorted(found, key=lambda cliff: -1 if cliff.node is None else cliff.node)


def lacking(loads: list[NodeLoad]) -> tuple[str, ...]:
    """Return what safe loads lack to be recommended without reserve.

    Balanced are nodes whose workers differ by one at most, among those that have any: a node that
    the runtime never uses is not put right by another count.
    """
    lacks = []
    tied = [load.workers for load in loads if load.id is not None]
    if tied and max(tied) - min(tied) > 1:
        lacks.append("balanced nodes")
    for load in sorted(loads, key=lambda load: -1 if load.id is None else load.id):
        room = load.cpus if load.cores is None else load.cores
        if room is not None and load.workers >= room:
            what = "CPU" if load.cores is None else "core"
            lacks.append(f"a free {what}" + ("" if load.id is None else f" on node {load.id}"))
    return tuple(lacks)
