"""The thread count to use instead, found by counting again with fewer threads."""

from __future__ import annotations

from typing import NamedTuple

from numatune.errors import NumatuneError
from numatune.placement.load import NodeLoad, floating_home, node_loads, whole_load
from numatune.placement.placement import Release, Tally, tally
from numatune.placement.request import Request
from numatune.rules.facts import option_for, threads_option
from numatune.rules.rule import Case

NO_REMEDY = "use fewer threads"


class Room(NamedTuple):
    """What each node, and all of them together, have room for; `home` as `floating_home`."""

    nodes: tuple[NodeLoad, ...]
    whole: NodeLoad
    home: int | None


def fewer(case: Case, *, evenly: bool = False) -> str:
    """Say which thread count fits, and whether a newer version takes the one asked for.

    `evenly` asks for a count that is also split evenly.
    """
    request, release, machine = case.request, case.release, case.machine
    if request is None or request.threads is None:
        return NO_REMEDY
    if release is None or case.placement is None:
        cpus = machine.inherited_cpus
        return f"use at most {len(cpus)} threads" if cpus else NO_REMEDY
    counts = tally(case.placement)
    room = Room(node_loads(machine, Tally({})), whole_load(machine, counts), floating_home(machine))
    option = threads_option(case)
    ways = []
    count = largest(case, room, release, request.threads - 1, evenly=evenly)
    if count is not None:
        ways.append(f"use {option} {count}")
    newer = newest(release)
    better = None if newer is None else largest(case, room, newer, request.threads, evenly=True)
    if newer is not None and better is not None and better > (count or 0):
        same = "" if better == request.threads else f" with {option} {better}"
        ways.append(f"upgrade to {newer.runtime} {newer.versions.partition(' - ')[0]}{same}")
    if not ways and release.runtime == "kt-kernel":
        nodes = sum(1 for node in machine.cpu_nodes if machine.node_cpus(node.id))
        return f"use --kt-threadpool-count {max(1, nodes)} and fewer threads"
    return ", or ".join(ways) or NO_REMEDY


def newest(release: Release) -> Release | None:
    """Return the newest behaviour of the runtime, None where this is it."""
    from numatune.runtimes import named

    last = named(release.runtime).releases(release.numa_build)[-1]
    return None if last.behaviour == release.behaviour else last


def largest(case: Case, room: Room, release: Release, highest: int, *, evenly: bool) -> int | None:
    """Return the largest count up to `highest` that fits, None where none does."""
    if case.request is None:
        return None
    cpus = case.machine.usable_cpus
    if cpus is not None:
        highest = min(highest, len(cpus) + 1)
    for threads in range(highest, 0, -1):
        asked = case.request._replace(threads=threads, version=release.version, commit=None)
        if fits(case, room, release, asked, evenly=evenly):
            return threads
    return None


def fits(case: Case, room: Room, release: Release, asked: Request, *, evenly: bool) -> bool:
    """Tell whether a launch leaves no node with more workers than CPUs or cores.

    Of kt-kernel it must leave a core on each node, too: its other threads spin beside the workers.
    """
    from numatune.runtimes import named

    try:
        counts = named(release.runtime).tally(case.machine, asked, release)
    except NumatuneError:
        return False
    if counts.refused is not None or counts.empty_pools or (evenly and not is_even(counts)):
        return False
    spare = 1 if release.runtime == "kt-kernel" else 0
    total = sum(counts.nodes.values()) + counts.unbound
    if is_over(room.whole, total):
        return False
    for node in room.nodes:
        workers = counts.nodes.get(node.id or 0, 0)
        workers += counts.unbound if node.id == room.home else 0
        if workers and is_over(node, workers + spare):
            return False
    if release.runtime != "kt-kernel":
        return True
    from numatune.runtimes.kt_kernel import pinned_twice

    return not pinned_twice(case.machine, asked)


def is_over(load: NodeLoad, workers: int) -> bool:
    """Tell whether workers are more than the cores, or than the CPUs where cores are unknown."""
    places = load.cpus if load.cores is None else load.cores
    return places is not None and workers > places


def is_even(counts: Tally) -> bool:
    """Tell whether the nodes with workers have as many, give or take one."""
    used = [count for count in counts.nodes.values() if count]
    return not used or max(used) - min(used) <= 1


def with_headroom(case: Case, workers: int) -> str:
    """Say how to run one worker less on each node that has any."""
    nodes = {w.node for w in case.placement.workers} if case.placement is not None else {None}
    if workers <= len(nodes):
        return "give the process another CPU"
    return f"use {option_for(case, workers - len(nodes))}"
