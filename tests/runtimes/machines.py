"""Machines for the tests of this folder, built from the facts that placement depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from numatune.machine import Core, CpuSet, Distances, Limits, Machine, Node, Package

GIB = 1 << 30


def machine(
    nodes: Mapping[int, str | None],
    *,
    memoryless: Iterable[int] = (),
    siblings: int = 0,
    packages: Sequence[str] | None = None,
    distances: Sequence[Sequence[int | None]] | None = None,
    cores_known: bool = True,
    gaps: Sequence[str] = (),
    **limits: str,
) -> Machine:
    """Build a machine from the CPU list of each node, "" for none, None for unknown.

    CPU c and c + siblings share a core (0: no SMT). `limits` are fields of Limits as lists.
    """
    empty = set(memoryless)
    lists: dict[str, Any] = {name: CpuSet.parse(ids) for name, ids in limits.items()}
    parts = tuple(
        Node(
            i,
            None if cpus is None else CpuSet.parse(cpus),
            0 if i in empty else 64 * GIB,
        )
        for i, cpus in nodes.items()
    )
    every = CpuSet(cpu for node in parts for cpu in node.cpus or ())
    cores = None
    if cores_known:
        seconds = CpuSet(cpu for cpu in every if siblings and cpu - siblings in every)
        firsts = [cpu for cpu in every if cpu not in seconds or cpu - siblings in seconds]
        cores = tuple(Core(CpuSet([c, c + siblings]) & every) for c in firsts)
    return Machine(
        source="test",
        nodes=parts,
        cores=cores,
        packages=None
        if packages is None
        else tuple(Package(i, CpuSet.parse(cpus)) for i, cpus in enumerate(packages)),
        distances=None
        if distances is None
        else Distances(tuple(nodes), tuple(tuple(row) for row in distances)),
        online_cpus=None if any(node.cpus is None for node in parts) else every,
        limits=Limits(**lists),
        gaps=tuple(gaps),
    )


def two_sockets(cores: int = 24, siblings: int = 0, **more: Any) -> Machine:
    """Build two nodes of so many cores each; siblings are numbered after all first threads."""
    lists = {}
    for node in (0, 1):
        low = node * cores
        high = f",{low + siblings}-{low + siblings + cores - 1}" if siblings else ""
        lists[node] = f"{low}-{low + cores - 1}{high}"
    return machine(lists, siblings=siblings, **more)


@st.composite
def any_machine(draw: st.DrawFn) -> Machine:
    """Draw a machine with sparse ids, memoryless and CPU-less nodes, SMT, cpusets, distances."""
    ids = draw(st.lists(st.integers(0, 12), min_size=1, max_size=6, unique=True).map(sorted))
    smt = draw(st.sampled_from([1, 2]))
    sizes = [draw(st.integers(0, 5)) for _ in ids]
    total = sum(sizes)
    order = draw(st.permutations(range(total)))
    nodes, start = [], 0
    cores = []
    for node_id, size in zip(ids, sizes, strict=True):
        mine = order[start : start + size]
        start += size
        groups = [CpuSet([c + total * k for k in range(smt)]) for c in mine]
        cores += [Core(group) for group in groups]
        cpus = CpuSet(cpu for group in groups for cpu in group)
        memory = draw(st.sampled_from([None, 0, GIB, GIB, GIB]))
        nodes.append(Node(node_id, draw(st.sampled_from([cpus] * 9 + [None])), memory))
    every = CpuSet(range(total * smt))
    some = st.one_of(st.none(), st.sets(st.sampled_from(range(max(1, total * smt)))).map(CpuSet))
    rows = st.lists(st.sampled_from([10, 11, 12, 21]), min_size=len(ids), max_size=len(ids))
    return Machine(
        source="drawn",
        nodes=tuple(nodes),
        cores=draw(st.sampled_from([tuple(cores), None])),
        distances=draw(
            st.one_of(
                st.none(),
                st.tuples(*[rows for _ in ids]).map(
                    lambda values: Distances(tuple(ids), tuple(map(tuple, values)))
                ),
            )
        ),
        online_cpus=every if all(node.cpus is not None for node in nodes) else None,
        smt=draw(st.sampled_from([None, smt])),
        limits=Limits(
            draw(some),
            draw(st.one_of(st.none(), st.sets(st.sampled_from(ids)).map(CpuSet))),
            draw(some),
        ),
        gaps=draw(st.sampled_from([(), ("limits",)])),
    )
