"""The facts of nodes, packages, cores and CPUs of two machines, the gravest first."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.machine.change import Fact, Pair, Value, is_whole, regrouped, text
from numatune.machine.change_meaning import (
    memory_means,
    nodes_mean,
    numbering_means,
    threads_mean,
)
from numatune.machine.cpuset import CpuSet
from numatune.machine.machine import Machine

MACHINE = "the machine"


def node_ids(machine: Machine) -> CpuSet | None:
    """Return the ids of all nodes; None where it is not known that these are all."""
    if not machine.nodes:
        warned = any(w.code == "no-numa-information" for w in machine.warnings)
        return CpuSet() if warned or machine.shows_nodes is False else None
    return CpuSet(n.id for n in machine.nodes) if is_whole(machine, "nodes") else None


def hidden_nodes(pair: Pair) -> CpuSet:
    """Return the nodes of one side that the format of the other may not show: without CPUs."""
    before, after = node_ids(pair.before), node_ids(pair.after)
    if before is None or after is None or pair.same_reader("nodes"):
        return CpuSet()
    nodes = (*pair.before.nodes, *pair.after.nodes)
    return CpuSet(n.id for n in nodes if not n.cpus) - (before & after)


def nodes(pair: Pair) -> Iterator[Fact]:
    """Compare which nodes there are."""
    before, after, hidden = node_ids(pair.before), node_ids(pair.after), hidden_nodes(pair)
    for number in hidden:
        before_has, after_has = shows(pair.before, number), shows(pair.after, number)
        yield Fact("node", f"node {number}", before_has, after_has)
    if before is not None and after is not None:
        before, after = before - hidden, after - hidden
    yield Fact("nodes", MACHINE, text(before), text(after), nodes_mean(pair))


def shows(machine: Machine, number: int) -> Value:
    """Return True for a node that is shown; where it is not, it may be there all the same."""
    return None if machine.node(number) is None else True


def node_cpus(pair: Pair) -> Iterator[Fact]:
    """Compare the CPUs of each node."""
    for one, other in pair.common_nodes():
        yield Fact("node-cpus", f"node {one.id}", text(one.cpus), text(other.cpus))


def node_memory(pair: Pair) -> Iterator[Fact]:
    """Compare the memory of each node, and of the machine where it has other nodes now."""
    for one, other in pair.common_nodes():
        sizes = one.memory_total_bytes, other.memory_total_bytes
        yield size_fact(pair, "node-memory", f"node {one.id}", sizes, memory_means(other))
    before, after = node_ids(pair.before), node_ids(pair.after)
    if before is not None and after is not None and before != after and not hidden_nodes(pair):
        totals = total_memory(pair.before), total_memory(pair.after)
        yield size_fact(pair, "memory", MACHINE, totals, "")


def size_fact(
    pair: Pair, what: str, subject: str, sizes: tuple[int | None, int | None], meaning: str
) -> Fact:
    """Return a fact of two sizes, which are the same within the tolerance."""
    before, after = sizes
    if before is not None and after is not None and pair.is_close(before, after):
        after = before
    return Fact(what, subject, before, after, meaning)


def total_memory(machine: Machine) -> int | None:
    """Return the memory of all nodes, None where that of one is not known."""
    sizes = [n.memory_total_bytes for n in machine.nodes]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def node_kinds(pair: Pair) -> Iterator[Fact]:
    """Compare what kind of memory each node has."""
    for one, other in pair.common_nodes():
        before, after = (None if n.kind == "unknown" else n.kind for n in (one, other))
        yield Fact("node-kind", f"node {one.id}", before, after)


def distances(pair: Pair) -> Iterator[Fact]:
    """Compare the distances between nodes that both have; equal changes are told together."""
    one, other = pair.before.distances, pair.after.distances
    if one is None or other is None:
        yield pair.fact("distances", MACHINE, table_words)
        return
    ids = sorted({*one.node_ids} & {*other.node_ids})
    places = [{number: place for place, number in enumerate(t.node_ids)} for t in (one, other)]
    groups: dict[tuple[int | None, int | None], list[tuple[int, int]]] = {}
    for start in ids:
        rows = one.values[places[0][start]], other.values[places[1][start]]
        for end in ids:
            values = rows[0][places[0][end]], rows[1][places[1][end]]
            groups.setdefault(values, []).append((start, end))
    for (before, after), ways in groups.items():
        yield Fact("distance", way_words(ways), before, after)


def table_words(machine: Machine) -> Value:
    """Say how many nodes a table of distances is of."""
    return None if machine.distances is None else f"of {len(machine.distances.node_ids)} nodes"


def way_words(ways: list[tuple[int, int]]) -> str:
    """Return "node 0 to node 1", "nodes 0 and 1" for both ways, "12 ways, as node 0 to node 1"."""
    (start, end), *others = ways
    if others == [(end, start)]:
        return f"nodes {start} and {end}"
    words = f"node {start} to node {end}"
    return f"{len(ways)} ways, as {words}" if others else words


def packages(pair: Pair) -> Iterator[Fact]:
    """Compare the number of packages, and which CPUs that both have form one."""
    yield pair.fact("packages", MACHINE, package_count)
    one, other = pair.before.packages, pair.after.packages
    if one is not None and other is not None:
        before, after = regrouped((p.cpus for p in one), (p.cpus for p in other))
        yield Fact("package-cpus", "packages", before, after, numbering_means("packages"))


def package_count(machine: Machine) -> Value:
    """Return the number of packages, None where some may be missing."""
    is_some = machine.packages is not None and not is_whole(machine, "packages")
    return None if is_some else machine.packages_known


def cores(pair: Pair) -> Iterator[Fact]:
    """Compare the number of cores, their SMT threads, and which CPUs that both have form one."""
    yield pair.fact("cores", MACHINE, core_count)
    before, after = threads(pair.before), threads(pair.after)
    yield Fact("threads-per-core", MACHINE, before, after, threads_mean(before, after))
    one, other = pair.before.cores, pair.after.cores
    if one is not None and other is not None:
        sets = regrouped((c.cpus for c in one), (c.cpus for c in other))
        yield Fact("core-cpus", "cores", sets[0], sets[1], numbering_means("cores"))


def core_count(machine: Machine) -> Value:
    """Return the number of cores, None where some may be missing."""
    is_some = machine.cores is not None and not is_whole(machine, "cores")
    return None if is_some else machine.cores_known


def threads(machine: Machine) -> Value:
    """Return the SMT threads of a core, as "1-2" where cores differ."""
    if machine.cores is None or machine.threads_per_core is not None:
        return machine.threads_per_core
    return str(CpuSet(len(core.cpus) for core in machine.cores)) or None


def cpus(pair: Pair) -> Iterator[Fact]:
    """Compare which CPUs are online, and which are present and offline."""
    yield pair.fact("online-cpus", MACHINE, lambda m: text(m.cpus))
    yield pair.fact("offline-cpus", MACHINE, lambda m: text(m.offline_cpus))


STEPS = (nodes, node_cpus, node_memory, node_kinds, distances, packages, cores, cpus)
