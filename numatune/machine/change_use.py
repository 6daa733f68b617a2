"""The facts beside the topology of two machines: CPU, limits, settings, modules, GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from numatune.machine.change import ABSENT, Fact, Pair, Value, text
from numatune.machine.change_meaning import (
    modules_mean,
    parameter_means,
    quota_means,
    setting_means,
)
from numatune.machine.change_topology import MACHINE
from numatune.machine.command_line import CUT, is_cut, is_telling, parameters
from numatune.machine.cpuset import CpuSet
from numatune.machine.instruction_sets import INSTRUCTION_SETS
from numatune.machine.machine import Machine
from numatune.machine.origins import LIVE, reader_of
from numatune.machine.topology import Dimm, Gpu
from numatune.words import size

#: Architectures on which every reader takes the model's name from the CPU itself.
NAMED_BY_CPU = ("x86_64", "i686")


def cpu(pair: Pair) -> Iterator[Fact]:
    """Compare the CPU, and the instruction sets that matter."""
    yield pair.fact("architecture", MACHINE, lambda m: m.cpu.architecture)
    if pair.same_reader("cpu") or pair.before.cpu.architecture in NAMED_BY_CPU:
        yield pair.fact("cpu-vendor", MACHINE, lambda m: m.cpu.vendor)
        yield pair.fact(
            "cpu-model", MACHINE, lambda m: " ".join((m.cpu.model or "").split()) or None
        )
    yield pair.fact("efficiency-cpus", MACHINE, lambda m: text(m.cpu.efficiency_cpus))
    flags = [None if m.cpu.features is None else m.cpu.features for m in (pair.before, pair.after)]
    for name, any_of in INSTRUCTION_SETS.items():
        before, after = (None if f is None else not f.isdisjoint(any_of) for f in flags)
        if before or after:
            yield Fact("instruction-set", name, before, after)


def guest(pair: Pair) -> Iterator[Fact]:
    """Compare whether the machine is a virtual one."""
    meaning = "nodes and packages are the hypervisor's choice" if pair.after.is_guest else ""
    yield Fact("guest", MACHINE, pair.before.is_guest, pair.after.is_guest, meaning)


def limits(pair: Pair) -> Iterator[Fact]:
    """Compare what the process may use: "all" where a set leaves nothing out.

    Only on the host itself it is known that a limit is not there; a text may just not state it.
    """
    cpus, nodes = extent(pair, lambda m: m.cpus), extent(pair, mems)
    one, other = pair.before, pair.after
    for name, (first, second) in (
        ("cpuset_cpus", cpus),
        ("cpuset_mems", nodes),
        ("affinity", cpus),
    ):
        before, after = set_limit(one, name, first), set_limit(other, name, second)
        yield Fact("limit", name, before, after)
    yield pair.fact("limit", "cpu_quota", quota_of, quota_means(pair.after.limits.cpu_quota))


def is_live(machine: Machine) -> bool:
    """Tell whether the limits were read on the host itself."""
    return reader_of(machine, "limits") == LIVE


def mems(machine: Machine) -> CpuSet | None:
    """Return the nodes that may have memory."""
    return CpuSet(n.id for n in machine.nodes if n.memory_total_bytes != 0) or None


Extent = tuple[CpuSet | None, CpuSet | None]


def extent(pair: Pair, take: Callable[[Machine], CpuSet | None]) -> Extent:
    """Return all CPUs or nodes of both sides; only both together give "all" its meaning."""
    before, after = take(pair.before), take(pair.after)
    return (None, None) if before is None or after is None else (before, after)


def set_limit(machine: Machine, name: str, every: CpuSet | None) -> Value:
    """Return a limit of CPUs or nodes."""
    own: CpuSet | None = getattr(machine.limits, name)
    if own is None:
        return "all" if is_live(machine) else None
    return "all" if every is not None and every <= own else str(own)


def quota_of(machine: Machine) -> Value:
    """Return the CPU quota."""
    quota = machine.limits.cpu_quota
    return ABSENT if quota is None and is_live(machine) else quota


def settings(pair: Pair) -> Iterator[Fact]:
    """Compare each setting of the kernel, and each parameter of its command line."""
    for name in ("numa_balancing", "zone_reclaim_mode", "transparent_hugepage", "smt_control"):
        before, after = (getattr(m.settings, name) for m in (pair.before, pair.after))
        yield Fact("setting", name, before, after, setting_means(name, before, after))
    yield pair.fact("setting", "isolated_cpus", lambda m: text(m.settings.isolated_cpus))
    yield from command_line(pair.before.settings.cmdline, pair.after.settings.cmdline)


def command_line(before: str | None, after: str | None) -> Iterator[Fact]:
    """Compare parameters by name; of a cut command line those that are never left out."""
    if before is None or after is None:
        yield Fact("kernel-parameters", MACHINE, before, after)
        return
    sides = parameters(before), parameters(after)
    names = [name for name in dict.fromkeys((*sides[0], *sides[1])) if name != CUT]
    if is_cut(before) or is_cut(after):
        others = [name for name in names if not is_telling(name)]
        one, other = (
            None if is_cut(line) else " ".join(side[name] for name in others if name in side)
            for side, line in zip(sides, (before, after), strict=True)
        )
        yield Fact("kernel-parameters", "those left out of a snapshot", one, other)
        names = [name for name in names if is_telling(name)]
    for name in names:
        one, other = (side.get(name, ABSENT) for side in sides)
        yield Fact("kernel-parameter", name, one, other, parameter_means(other))


def modules(pair: Pair) -> Iterator[Fact]:
    """Compare memory modules and channels, in number and slot by slot."""
    meaning = modules_mean(pair.after)
    yield pair.fact("memory-modules", MACHINE, lambda m: m.settings.dimms_populated, meaning)
    yield pair.fact("memory-channels", MACHINE, lambda m: m.settings.memory_channels)
    one, other = (
        None if m.dimms is None else named_slots(m.dimms) for m in (pair.before, pair.after)
    )
    yield from by_name("memory-slot", one, other)


def named_slots(dimms: Iterable[Dimm]) -> dict[str, Value]:
    """Return what sits in each slot, by a name of its own."""
    return numbered((dimm.locator, slot_words(dimm)) for dimm in dimms)


def slot_words(dimm: Dimm) -> Value:
    """Return "64.0 GiB DDR5 4800 MT/s", "empty", or None where nothing is known of it."""
    if dimm.size_bytes == 0:
        return "empty"
    words = [size(dimm.size_bytes)] if dimm.size_bytes else []
    words += [dimm.type] if dimm.type else []
    words += [f"{dimm.speed_mts} MT/s"] if dimm.speed_mts else []
    return " ".join(words) or None


def memory(pair: Pair) -> Iterator[Fact]:
    """Compare what the firmware and the kernel state of memory beyond its size."""
    for what, words in (
        ("memory-access", access_words),
        ("memory-cache", cache_words),
        ("memory-tiers", tier_words),
    ):
        yield pair.fact(what, MACHINE, words)


def access_words(machine: Machine) -> Value:
    """Return how fast each node is rated."""
    rated = () if machine.memory is None else machine.memory.accesses
    return "; ".join(
        f"node {a.node_id} {a.read_bandwidth_mib_s or '?'} MiB/s, {a.read_latency_ns or '?'} ns"
        for a in rated
    ) or (None if machine.memory is None else ABSENT)


def cache_words(machine: Machine) -> Value:
    """Return the caches in front of memory."""
    caches = () if machine.memory is None else machine.memory.caches
    words = "; ".join(f"node {c.node_id} {size(c.size_bytes)}" for c in caches)
    return words or (None if machine.memory is None else ABSENT)


def tier_words(machine: Machine) -> Value:
    """Return the memory tiers."""
    tiers = () if machine.memory is None else machine.memory.tiers
    words = "; ".join(f"tier {t.id}: nodes {t.nodes}" for t in tiers)
    return words or (None if machine.memory is None else ABSENT)


def gpus(pair: Pair) -> Iterator[Fact]:
    """Compare near which node each GPU is."""
    one, other = (None if m.gpus is None else named_gpus(m.gpus) for m in (pair.before, pair.after))
    yield from by_name("gpu", one, other)


def named_gpus(found: Iterable[Gpu]) -> dict[str, Value]:
    """Return the place of each GPU, by a name of its own."""
    return numbered((gpu.name, gpu_words(gpu)) for gpu in found)


def gpu_words(gpu: Gpu) -> Value:
    """Return the node of a GPU, else the CPUs near it."""
    if gpu.node_id is not None:
        return f"node {gpu.node_id}"
    return None if gpu.cpus is None else f"CPUs {gpu.cpus}"


def numbered(items: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """Return values by name; names that are there again get a number."""
    found: dict[str, Value] = {}
    count: dict[str, int] = {}
    for name, value in items:
        count[name] = count.get(name, 0) + 1
        found[name if count[name] == 1 else f"{name} ({count[name]})"] = value
    return found


def by_name(
    what: str, before: dict[str, Value] | None, after: dict[str, Value] | None
) -> Iterator[Fact]:
    """Compare things by name; what only one list has is absent from the other."""
    if before is None or after is None:
        one, other = (None if side is None else len(side) for side in (before, after))
        yield Fact(f"{what}s", MACHINE, one, other)
        return
    for name in dict.fromkeys((*before, *after)):
        yield Fact(what, name, before.get(name, ABSENT), after.get(name, ABSENT))


STEPS = (cpu, guest, limits, settings, modules, memory, gpus)
