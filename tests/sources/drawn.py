"""Machines drawn at random, as they may be found in a tree."""

from __future__ import annotations

from hypothesis import strategies as st

from numatune.machine import (
    Access,
    Core,
    Cpu,
    CpuSet,
    Distances,
    Limits,
    Machine,
    Memory,
    MemoryCache,
    MemoryTier,
    Node,
    Package,
    Settings,
)
from tests.sources.trees import X86


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Draw machines with sparse ids, any CPU numbering, uneven SMT, odd nodes and gaps."""
    numbers = draw(st.permutations(range(draw(st.integers(1, 16)))))
    shift = draw(st.integers(0, 150))
    free = [number + shift for number in numbers]
    offline = CpuSet(free.pop() for _ in range(draw(st.integers(0, min(3, len(free) - 1)))))
    package_ids = sorted(draw(st.sets(st.integers(0, 9000), min_size=1, max_size=3)))
    node_ids = sorted(draw(st.sets(st.integers(0, 300), max_size=5)))
    sets: list[tuple[CpuSet, int, int | None]] = []
    online = CpuSet(free)
    while free:
        size = min(draw(st.integers(1, 4)), len(free))
        cpus = CpuSet(free.pop() for _ in range(size))
        node = draw(st.sampled_from(node_ids)) if node_ids else None
        sets.append((cpus, draw(st.sampled_from(package_ids)), node))
    sets.sort(key=lambda item: item[0].first())
    has_packages, has_cores = draw(st.booleans()), draw(st.booleans())
    packages = union({p: [s for s, q, _ in sets if q == p] for p in package_ids})
    cores = tuple(Core(cpus, p if has_packages else None, n) for cpus, p, n in sets)
    owned = union({n: [s for s, _, m in sets if m == n] for n in node_ids}, keep_empty=True)
    cpu = draw(cpus_drawn())
    if cpu.features is not None and draw(st.booleans()):
        small = draw(st.sets(st.sampled_from(list(online)), min_size=1))
        cpu = cpu._replace(efficiency_cpus=CpuSet(small))
    is_guest = None if cpu.features is None else "hypervisor" in cpu.features
    is_cpuless = any(not cpus for cpus in owned.values())
    return Machine(
        source="tree",
        memory=draw(memory_drawn(node_ids, is_cpuless)),
        cpu=cpu,
        nodes=tuple(draw(nodes_drawn(n, cpus)) for n, cpus in owned.items()),
        cores=cores if has_cores else None,
        packages=tuple(Package(p, c) for p, c in packages.items()) if has_packages else None,
        distances=draw(distances_drawn(node_ids)),
        online_cpus=online,
        offline_cpus=offline,
        is_guest=is_guest,
        limits=draw(limits_drawn(online, node_ids)),
        settings=draw(settings_drawn(online)),
    )


def union(parts: dict[int, list[CpuSet]], keep_empty: bool = False) -> dict[int, CpuSet]:
    whole = {key: CpuSet(cpu for cpus in sets for cpu in cpus) for key, sets in parts.items()}
    return {key: cpus for key, cpus in whole.items() if cpus or keep_empty}


def cpus_drawn() -> st.SearchStrategy[Cpu]:
    words = st.sets(st.sampled_from(["avx2", "amx_tile", "hypervisor", "avx512f", "ht"]))
    return st.one_of(
        st.just(Cpu()),
        words.map(lambda w: X86._replace(features=frozenset(w | {"fpu", "lm"}))),
    )


@st.composite
def nodes_drawn(draw: st.DrawFn, number: int, cpus: CpuSet) -> Node:
    size = st.one_of(st.none(), st.just(0), st.integers(0, 1 << 32).map(lambda kib: kib << 10))
    return Node(number, cpus, draw(size), draw(size), "dram" if cpus else "unknown")


def distances_drawn(ids: list[int]) -> st.SearchStrategy[Distances | None]:
    row = st.lists(st.integers(0, 255), min_size=len(ids), max_size=len(ids)).map(tuple)
    rows = st.lists(row, min_size=len(ids), max_size=len(ids)).map(tuple)
    whole = rows.map(lambda values: Distances(tuple(ids), values))
    return st.one_of(st.none(), whole) if ids else st.none()


@st.composite
def memory_drawn(draw: st.DrawFn, ids: list[int], is_cpuless: bool) -> Memory | None:
    if not ids or draw(st.booleans()):
        return None
    some = st.sets(st.sampled_from(ids)).map(CpuSet)
    rating = st.integers(1, 1 << 30)
    maybe = st.one_of(st.none(), rating)
    accesses = [
        Access(i, draw(some), draw(rating), draw(maybe), draw(maybe), draw(maybe))
        for i in draw(some)
    ]
    caches = [
        MemoryCache(i, level, draw(maybe))
        for i in draw(some)
        for level in sorted(draw(st.sets(st.integers(0, 15), min_size=1, max_size=2)))
    ]
    tiers = [
        MemoryTier(i, draw(some.filter(bool))) for i in sorted(draw(st.sets(st.integers(0, 1000))))
    ]
    generic = draw(some) if is_cpuless else CpuSet()
    memory = Memory(tuple(accesses), tuple(caches), tuple(tiers), generic)
    return memory if any(memory) else None


@st.composite
def limits_drawn(draw: st.DrawFn, online: CpuSet, node_ids: list[int]) -> Limits:
    def some(of: list[int]) -> CpuSet:
        return CpuSet(draw(st.sets(st.sampled_from(of), min_size=1)))

    mems = some(node_ids or [0])
    cpuset = some(list(online)) if draw(st.booleans()) else None
    affinity = some(list(cpuset or online)) if draw(st.booleans()) else None
    if affinity == (cpuset or online):
        affinity = None
    quota = draw(st.one_of(st.none(), st.integers(1000, 10**8)))
    return Limits(cpuset, mems, affinity, None if quota is None else quota / 100_000)


@st.composite
def settings_drawn(draw: st.DrawFn, online: CpuSet) -> Settings:
    words = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60)
    modules = draw(st.one_of(st.none(), st.integers(1, 12)))
    return Settings(
        cmdline=draw(st.one_of(st.none(), words.map(str.strip))),
        numa_balancing=draw(st.one_of(st.none(), st.integers(0, 3))),
        zone_reclaim_mode=draw(st.one_of(st.none(), st.integers(0, 7))),
        transparent_hugepage=draw(st.sampled_from([None, "always", "madvise", "never"])),
        smt_control=draw(st.sampled_from([None, "on", "off", "notsupported"])),
        isolated_cpus=draw(st.one_of(st.none(), st.just(online), st.just(CpuSet()))),
        dimms_populated=modules,
        memory_channels=None if modules is None else draw(st.integers(1, 16)),
    )
