"""The OpenMP library of Intel and LLVM, as Intel documents it; it was never run for this.

Without KMP_AFFINITY nothing is bound. `compact` sorts the CPUs by package, core and thread,
`scatter` the other way round; a permutation takes so many of the innermost levels first. Threads
take the sorted CPUs in turn, from an offset on, each widened to the granularity. Sources: `SOURCE`
and `SUBSET_SOURCE`. The order of cores is taken as that of their lowest CPUs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from numatune.errors import MachineError, UsageError
from numatune.machine import CpuSet, Machine
from numatune.runtimes.libgomp_places import core_parts, node_parts, socket_parts
from numatune.words import shown

SOURCE = (
    "https://www.intel.com/content/www/us/en/docs/dpcpp-cpp-compiler/developer-guide-reference"
    "/2024-0/thread-affinity-interface.html"
)
SUBSET_SOURCE = (
    "https://www.intel.com/content/www/us/en/docs/dpcpp-cpp-compiler/developer-guide-reference"
    "/2025-1/control-thread-allocation.html"
)

#: Levels of the topology, outermost first.
SOCKET, CORE, THREAD = range(3)
DEPTH = 3

TYPES = ("none", "disabled", "compact", "scatter", "explicit")
PLAIN_MODIFIERS = ("respect", "verbose", "noverbose", "warnings", "nowarnings", "noreset", "reset")
GRANULARITIES = {
    "fine": "thread",
    "thread": "thread",
    "core": "core",
    "socket": "socket",
    "package": "socket",
    "numa": "node",
    "numa_domain": "node",
    "node": "node",
}
#: Variables that libiomp reads, too, and that are not simulated for it.
OTHERS = ("OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_PLACE_THREADS")

#: One part of KMP_HW_SUBSET, such as "12c@2".
SUBSET = re.compile(r"\s*([0-9]{1,6}|\*?)\s*(s|n|c|t)[a-z_]*\s*(?:@\s*([0-9]{1,6}))?\s*", re.I)
#: One entry of a proclist: a CPU, or a range with a stride.
PROC = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5})(?::([0-9]{1,5}))?)?")

#: No proclist is longer.
MOST_ENTRIES = 65536


class Affinity(NamedTuple):
    """KMP_AFFINITY, read."""

    type: str = "none"
    granularity: str = "core"
    respects: bool = True
    procs: tuple[tuple[int, ...], ...] = ()
    permute: int = 0
    offset: int = 0


class Spot(NamedTuple):
    """One CPU and its place in the topology: the index of package, core and thread."""

    ids: tuple[int, int, int]
    cpu: int


def bound_threads(
    machine: Machine, env: Mapping[str, str], threads: int
) -> tuple[CpuSet, ...] | None:
    """Return the CPUs of each thread of a team, None where nothing is bound.

    Raises UsageError where a variable is not as Intel documents it, or the machine's description
    lacks what it needs.
    """
    places = positions(machine, env)
    return None if places is None else tuple(places[i % len(places)] for i in range(threads))


_last: list[tuple[Machine, tuple[str | None, ...], tuple[CpuSet, ...] | None]] = []


def positions(machine: Machine, env: Mapping[str, str]) -> tuple[CpuSet, ...] | None:
    """Return the CPUs that threads take in turn, None where nothing is bound.

    The last answer is kept, as a sweep asks thousands of times for one. Raises UsageError.
    """
    asked = tuple(env.get(name) for name in ("KMP_AFFINITY", "KMP_HW_SUBSET", *OTHERS))
    if not _last or _last[0][0] is not machine or _last[0][1] != asked:
        _last[:] = [(machine, asked, found_positions(machine, env))]
    return _last[0][2]


def found_positions(machine: Machine, env: Mapping[str, str]) -> tuple[CpuSet, ...] | None:
    """Find the CPUs that threads take in turn."""
    for name in OTHERS:
        if env.get(name):
            raise UsageError(
                f"what libiomp makes of {name} is not simulated; state KMP_AFFINITY in place of it"
            )
    affinity = affinity_of(env.get("KMP_AFFINITY"))
    subset = env.get("KMP_HW_SUBSET")
    if affinity.type in ("none", "disabled"):
        if subset:
            raise UsageError(
                "Intel does not document where threads run with KMP_HW_SUBSET and without a type "
                "of KMP_AFFINITY; add one, such as KMP_AFFINITY=compact"
            )
        return None
    spots = subset_of(machine, topology(machine, affinity), subset)
    wide = widened(machine, affinity, spots)
    if affinity.type == "explicit":
        return tuple(listed(entry, wide) for entry in affinity.procs)
    levels = affinity.permute if affinity.type == "compact" else DEPTH - 1 - affinity.permute
    levels = max(0, min(levels, DEPTH - 1))
    ordered = sorted(spots, key=lambda spot: sort_key(spot.ids, levels))
    start = affinity.offset % len(ordered)
    return tuple(wide[spot.cpu] for spot in (*ordered[start:], *ordered[:start]))


def sort_key(ids: tuple[int, int, int], levels: int) -> tuple[int, ...]:
    """Return the ids in the order in which they count, so many of the innermost ones first."""
    return (*reversed(ids[DEPTH - levels :]), *ids[: DEPTH - levels])


def affinity_of(text: str | None) -> Affinity:
    """Read KMP_AFFINITY. Raises UsageError where it is not as documented."""
    affinity, numbers, type_ = Affinity(), [], ""
    for word in words_of(text or "none"):
        name, _, value = word.partition("=")
        if type_ and word.isascii() and word.isdigit() and len(word) < 7:
            numbers.append(int(word))
        elif word in TYPES and not type_:
            type_ = word
        elif name == "granularity" and value in GRANULARITIES:
            affinity = affinity._replace(granularity=GRANULARITIES[value])
        elif name == "proclist":
            affinity = affinity._replace(procs=proc_list(value))
        elif word in ("respect", "norespect"):
            affinity = affinity._replace(respects=word == "respect")
        elif word not in PLAIN_MODIFIERS:
            raise wrong("KMP_AFFINITY", word)
    takes = 2 if type_ in ("compact", "scatter") else 0
    if len(numbers) > takes or (type_ == "explicit") != bool(affinity.procs) or not type_:
        raise wrong("KMP_AFFINITY", text)
    permute, offset = (*numbers, 0, 0)[:2]
    return affinity._replace(type=type_, permute=permute, offset=offset)


def wrong(name: str, text: object) -> UsageError:
    """Say that a variable is not one that is simulated."""
    known = "a type (compact, scatter, explicit with a proclist, none) after granularity=fine|core"
    if name == "KMP_HW_SUBSET":
        known = "parts such as 2s,12c,1t"
    return UsageError(f"{name}: {shown(text)!r} is not simulated for libiomp; known are {known}")


def words_of(text: str) -> list[str]:
    """Split at commas outside of brackets, in lower case and without spaces."""
    words, depth, word = [], 0, ""
    for sign in text.lower():
        depth += (sign in "[{") - (sign in "]}")
        if sign == "," and depth <= 0:
            words.append(word)
            word = ""
        elif not sign.isspace():
            word += sign
    return [*words, word]


def proc_list(text: str) -> tuple[tuple[int, ...], ...]:
    """Read "[0,2-8:2,{4,5}]": the CPUs of each entry. Raises UsageError."""
    if not (text.startswith("[") and text.endswith("]")):
        raise wrong("KMP_AFFINITY", text)
    entries: list[tuple[int, ...]] = []
    total = 0
    for word in words_of(text[1:-1]):
        is_set = word.startswith("{") and word.endswith("}")
        parts = [proc_range(part, text) for part in (word[1:-1] if is_set else word).split(",")]
        total += sum(map(len, parts))
        if total > MOST_ENTRIES or (len(parts) > 1 and not is_set):
            raise wrong("KMP_AFFINITY", text)
        every = [cpu for part in parts for cpu in part]
        entries += [tuple(every)] if is_set else [(cpu,) for cpu in every]
    return tuple(entries)


def proc_range(word: str, text: str) -> range:
    """Read "3" or "2-8:2". Raises UsageError."""
    match = PROC.fullmatch(word)
    if match is None:
        raise wrong("KMP_AFFINITY", text)
    first, last, stride = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    if last < first or not stride:
        raise wrong("KMP_AFFINITY", text)
    return range(first, last + 1, stride)


def topology(machine: Machine, affinity: Affinity) -> list[Spot]:
    """Return the CPUs that threads may be bound to. Raises MachineError."""
    cpus = machine.inherited_cpus if affinity.respects else machine.usable_cpus
    if not cpus:
        raise MachineError(
            f"{machine.source} does not say which CPUs there are; add --from the output of "
            "`lscpu -e`"
        )
    sockets = [part & cpus for part in socket_parts(machine, cpus)]
    cores = sorted((p & cpus for p in core_parts(machine, cpus) if p & cpus), key=CpuSet.first)
    spots = []
    for socket, inside in enumerate(part for part in sockets if part):
        own = [core & inside for core in cores if core & inside]
        spots += [
            Spot((socket, core, thread), cpu)
            for core, siblings in enumerate(own)
            for thread, cpu in enumerate(siblings)
        ]
    return spots


def subset_of(machine: Machine, spots: list[Spot], text: str | None) -> list[Spot]:
    """Return what KMP_HW_SUBSET leaves of the CPUs. Raises UsageError."""
    if not text:
        return spots
    for part in text.split(","):
        match = SUBSET.fullmatch(part)
        if match is None:
            raise wrong("KMP_HW_SUBSET", text)
        groups = units(machine, spots, match[2].lower())
        start = int(match[3] or 0)
        count = int(match[1]) if match[1].isdigit() else None
        left = {key for ids in groups.values() for key in taken(ids, start, count, text)}
        spots = [spot for spot in spots if unit_of(machine, spot, match[2].lower()) in left]
    return spots


def unit_of(machine: Machine, spot: Spot, layer: str) -> tuple[int, ...]:
    """Return what names the unit of a layer that holds a CPU: its parent's ids, then its own."""
    if layer == "n":
        node = next((n.id for n in machine.nodes if n.cpus and spot.cpu in n.cpus), -1)
        return (*spot.ids[:1], node)
    return spot.ids[: "sct".index(layer) + 1]


def units(
    machine: Machine, spots: list[Spot], layer: str
) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
    """Return the units of a layer inside each unit around them."""
    if layer == "n":
        node_parts(machine, CpuSet())
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for key in sorted({unit_of(machine, spot, layer) for spot in spots}):
        found.setdefault(key[:-1], []).append(key)
    return found


def taken(
    ids: list[tuple[int, ...]], start: int, count: int | None, text: str
) -> list[tuple[int, ...]]:
    """Return the units that are kept of those inside one unit. Raises UsageError."""
    chosen = ids[start:] if count is None else ids[start : start + count]
    if not chosen or (count is not None and len(chosen) < count):
        raise UsageError(f"KMP_HW_SUBSET: {shown(text)!r} asks for more than this machine has")
    return chosen


def widened(machine: Machine, affinity: Affinity, spots: list[Spot]) -> dict[int, CpuSet]:
    """Return for each CPU those that a thread on it may use, by the granularity."""
    inside = CpuSet(spot.cpu for spot in spots)
    if affinity.granularity == "thread":
        return {cpu: CpuSet((cpu,)) for cpu in inside}
    makers = {"core": core_parts, "socket": socket_parts, "node": node_parts}
    parts = makers[affinity.granularity](machine, inside)
    return {cpu: part & inside for part in parts for cpu in part & inside}


def listed(entry: tuple[int, ...], wide: Mapping[int, CpuSet]) -> CpuSet:
    """Return the CPUs of one entry of a proclist. Raises UsageError for one out of reach."""
    mask = 0
    for cpu in entry:
        if cpu not in wide:
            raise UsageError(f"KMP_AFFINITY: CPU {cpu} of its proclist can't be used here")
        mask |= wide[cpu].mask
    return CpuSet.of_mask(mask)
