"""The machine in words and in one picture: what every view starts with."""

from __future__ import annotations

from itertools import pairwise

from numatune.machine import CpuSet, Limits, Machine, Node
from numatune.machine.instruction_sets import INSTRUCTION_SETS
from numatune.machine.likely import likely_packages, likely_threads_per_core
from numatune.machine.origins import ASSUMED
from numatune.views.blocks import BAR_WIDTH, Block, Line, Span, Table, cells, line
from numatune.words import clean, counted, listed, size

#: What a source did not state -> how to say it, and what would supply it.
GAPS = {
    "cores": ("which CPUs share a core", "`lscpu -e`, or --assume smt=2"),
    "packages": ("packages", "`lscpu`, or --assume packages=2"),
    "cpu": ("CPU model", "`lscpu`"),
    "distances": ("distances", "`numactl --hardware`"),
    "memory": ("memory sizes", "`numactl --hardware`"),
    "nodes": ("NUMA nodes", "`numactl --hardware`"),
    "cpus": ("CPUs of some nodes", "`numactl --hardware`"),
    "limits": ("limits of a process", "numatune on that host"),
    "settings": ("kernel settings", "numatune on that host"),
}


def summary(machine: Machine) -> Line:
    """Return the one line that says what the machine is."""
    parts = []
    if machine.packages_known:
        parts.append(counted(machine.packages_known, "package"))
    parts.append(node_words(machine))
    parts.append(cpu_words(machine))
    sizes = [n.memory_total_bytes for n in machine.nodes if n.memory_total_bytes]
    if sizes:
        same = len(set(sizes)) == 1 and len(sizes) > 1
        parts.append(f"{len(sizes)} x {size(sizes[0])}" if same else size(sum(sizes)))
    distances = distance_words(machine)
    if distances:
        parts.append(distances)
    if machine.is_guest:
        parts.append("virtual machine")
    told = [part for part, where in sorted(machine.origins.items()) if where == ASSUMED]
    by_hand = f", {listed(told)} as stated by --assume" if told else ""
    return line(
        Span(" · ".join(part for part in parts if part), "strong"),
        Span(f"   from {clean(machine.source)}{by_hand}", "dim"),
        hang=2,
    )


def node_words(machine: Machine) -> str:
    """Return "2 NUMA nodes", "no NUMA nodes" or "NUMA nodes unknown"."""
    if machine.shows_nodes is None:
        return "NUMA nodes unknown"
    return counted(len(machine.nodes), "NUMA node") if machine.nodes else "no NUMA nodes"


def cpu_words(machine: Machine) -> str:
    """Return "48 cores, no SMT", "24 CPUs", "12 cores with 2 threads each"."""
    cores, threads, cpus = machine.cores_known, machine.threads_per_core, machine.cpus
    small = machine.cpu.efficiency_cpus
    if cores and cpus is not None and small and machine.cores is not None:
        count = sum(1 for core in machine.cores if core.cpus <= small)
        return f"{counted(cores, 'core')}, {count} of them efficiency cores, {len(cpus)} CPUs"
    if cores and threads == 1:
        return f"{counted(cores, 'core')}, no SMT"
    if cores and threads:
        return f"{counted(cores, 'core')} with {threads} threads each"
    if cores and cpus is not None:
        return f"{counted(cores, 'core')}, {counted(len(cpus), 'CPU')}"
    return counted(len(cpus), "CPU") if cpus is not None else "CPUs unknown"


def distance_words(machine: Machine) -> str:
    """Return "distance 10/21": the values between nodes with CPUs, ascending."""
    table = machine.distances
    nodes = [n.id for n in machine.cpu_nodes]
    if table is None or len(nodes) < 2:
        return ""
    found = {table.between(a, b) for a in nodes for b in nodes}
    values = sorted(v for v in found if v is not None)
    return f"distance {'/'.join(map(str, values))}" if 0 < len(values) <= 6 else ""


def picture(machine: Machine) -> list[Block]:
    """Draw packages, nodes and cores: a glyph a core, full where this process may use it."""
    rows: list[tuple[tuple[Span, ...], ...]] = []
    before: tuple[int, ...] = ()
    cores = machine.cores_by_node()
    for node in machine.nodes:
        packages = packages_of(machine, node)
        rows.append(
            (
                (Span(package_words(packages) if packages != before else "", "dim"),),
                (Span(f"node {node.id}"),),
                glyphs(machine, node, cores[node.id]),
                (Span(node_cpu_words(machine, node, cores[node.id])),),
                (Span(memory_words(node)),),
                (Span(f"CPUs {node.cpus}" if node.cpus else ""),),
            )
        )
        before = packages
    if not any(row[0][0].text for row in rows):
        rows = [row[1:] for row in rows]
    width = len(rows[0]) if rows else 0
    return [Table(("",) * width, tuple(rows), frozenset((width - 2,)))] if rows else []


def packages_of(machine: Machine, node: Node) -> tuple[int, ...]:
    """Return the ids of the packages whose CPUs a node holds."""
    cpus = node.cpus or CpuSet()
    return tuple(p.id for p in machine.packages or () if p.cpus & cpus)


def package_words(ids: tuple[int, ...]) -> str:
    """Return "package 0", or "packages 0-1" for a node that spans them."""
    if len(ids) < 2:
        return f"package {ids[0]}" if ids else ""
    # Ids are the firmware's and may be far apart: no range of them is made.
    is_run = all(later == before + 1 for before, later in pairwise(ids))
    return f"packages {ids[0]}-{ids[-1]}" if is_run else f"packages {', '.join(map(str, ids))}"


def glyphs(machine: Machine, node: Node, cores: list[CpuSet]) -> tuple[Span, ...]:
    """Draw a node's cores (its CPUs where cores are unknown), those not allowed as empty."""
    if not node.cpus:
        return (Span("-" if node.cpus is not None else "?", "dim"),)
    usable = machine.inherited_cpus
    groups = cores or [CpuSet((cpu,)) for cpu in node.cpus]
    free = [bool(g.mask & usable.mask) if usable is not None else True for g in groups]
    step = -(-len(free) // BAR_WIDTH)
    shown = [any(free[i : i + step]) for i in range(0, len(free), step)]
    runs: list[Span] = []
    for allowed in shown:
        glyph, style = ("█", "good") if allowed else ("~", "dim")
        if runs and runs[-1].style == style:
            runs[-1] = Span(runs[-1].text + glyph, style)
        else:
            runs.append(Span(glyph, style))
    return tuple(runs)


def node_cpu_words(machine: Machine, node: Node, cores: list[CpuSet]) -> str:
    """Return "24 cores", "12 CPUs" or "no CPU"."""
    if node.cpus is None:
        return "CPUs unknown"
    if not node.cpus:
        return "no CPU"
    count: int | None = len(cores)
    if machine.cores is None:
        count = machine._replace(limits=Limits()).node_core_count(node.id)
    return counted(len(node.cpus), "CPU") if count is None else counted(count, "core")


def memory_words(node: Node) -> str:
    """Return the size of a node's memory, with what is free of it."""
    if node.memory_total_bytes == 0:
        return "no memory"
    words = size(node.memory_total_bytes)
    if node.memory_free_bytes is not None and node.memory_total_bytes:
        words += f" ({size(node.memory_free_bytes)} free)"
    return words


def distance_table(machine: Machine) -> list[Block]:
    """Return the distances as a table, nothing where there are none worth showing."""
    table = machine.distances
    if table is None or len(table.node_ids) < 2:
        return []
    header = ("distance", *(f"n{i}" for i in table.node_ids))
    rows = tuple(
        cells(f"n{start}", *("?" if v is None else str(v) for v in row))
        for start, row in zip(table.node_ids, table.values, strict=True)
    )
    return [Table(header, rows, frozenset(range(1, len(header))))]


def cpu_line(machine: Machine) -> list[Block]:
    """Return the CPU model with the instruction sets that matter to inference."""
    if machine.cpu.model is None and machine.cpu.features is None:
        return []
    parts = [clean(machine.cpu.model or "model unknown")]
    if machine.cpu.architecture:
        parts.append(clean(machine.cpu.architecture))
    found = instruction_sets(machine)
    if found is not None:
        parts.append(listed(found) if found else "no AVX2, no AVX-512, no AMX")
    return [line("  CPU  ", " · ".join(parts), hang=7)]


def gpu_line(machine: Machine) -> list[Block]:
    """Return which GPUs hang on which node."""
    homes: dict[str, list[str]] = {}
    for gpu in machine.gpus or ():
        home = "node unknown" if gpu.node_id is None else f"node {gpu.node_id}"
        homes.setdefault(home, []).append(clean(gpu.name))
    parts = [f"{home}: {', '.join(names)}" for home, names in sorted(homes.items())]
    return [line("  GPUs  ", "; ".join(parts), hang=8)] if parts else []


def dimm_line(machine: Machine) -> list[Block]:
    """Return how many memory slots are filled, and with what."""
    slots = machine.dimms or ()
    filled = [d for d in slots if d.size_bytes]
    if not slots:
        return []
    kinds = {f"{size(d.size_bytes)} {clean(d.type or '')}".strip() for d in filled}
    speeds = {d.speed_mts for d in filled if d.speed_mts}
    words = f"{len(filled)} of {counted(len(slots), 'slot')} filled"
    words += f" with {listed(sorted(kinds))}" if 0 < len(kinds) < 4 else ""
    words += f" at {listed([str(s) for s in sorted(speeds)])} MT/s" if 0 < len(speeds) < 4 else ""
    return [line("  DIMMs  ", words, hang=9)]


def memory_lines(machine: Machine) -> list[Block]:
    """Return how fast the firmware rates each node, its caches, and the kernel's tiers."""
    stated = machine.memory
    if stated is None:
        return []
    blocks: list[Block] = []
    ratings: dict[str, list[str]] = {}
    for access in stated.accesses:
        words = [
            f"{access.read_bandwidth_mib_s / 1024:.4g} GiB/s"
            if access.read_bandwidth_mib_s
            else "",
            f"{access.read_latency_ns} ns" if access.read_latency_ns else "",
        ]
        ratings.setdefault(", ".join(w for w in words if w), []).append(str(access.node_id))
    parts = [f"node {', '.join(ids)}: {rating}" for rating, ids in ratings.items() if rating]
    if parts:
        text = f"{'; '.join(parts)} (rated by the firmware, from the nearest CPUs)"
        blocks.append(line("  Reads  ", text, hang=9))
    parts = [f"{size(c.size_bytes)} in front of node {c.node_id}" for c in stated.caches]
    if parts:
        blocks.append(line("  Memory-side cache  ", listed(parts), hang=21))
    if len(stated.tiers) > 1:
        parts = [f"nodes {tier.nodes} (tier {tier.id})" for tier in stated.tiers]
        blocks.append(line("  Memory tiers, the fastest first  ", ", ".join(parts), hang=9))
    if stated.generic_initiators:
        text = f"a device without a CPU that uses memory, at node {stated.generic_initiators}"
        blocks.append(line("  Generic initiator  ", text, hang=21))
    return blocks


def instruction_sets(machine: Machine) -> list[str] | None:
    """Return the instruction sets that matter, best first; None where the flags are unknown."""
    flags = machine.cpu.features
    if flags is None:
        return None
    return [name for name, any_of in INSTRUCTION_SETS.items() if flags.intersection(any_of)]


def unknowns(machine: Machine) -> list[Block]:
    """Say what is only likely, and what is not known with what would supply it."""
    blocks: list[Block] = []
    guesses = []
    threads, packages = likely_threads_per_core(machine), likely_packages(machine)
    if packages:
        guesses.append(f"{packages} packages (from the distances)")
    if threads and machine.cpus is not None:
        cores = len(machine.cpus) // threads
        guesses.append(f"{cores} cores with {threads} threads each (from the CPU numbers)")
    if guesses:
        blocks.append(line("  Likely  ", listed(guesses), "; `lscpu -e` would tell", hang=10))
    gaps: dict[str, list[str]] = {}
    for gap in machine.gaps:
        is_known = (gap == "packages" and machine.packages_known) or (
            gap in ("nodes", "memory", "distances") and machine.shows_nodes is False
        )
        if gap in GAPS and not is_known:
            gaps.setdefault(GAPS[gap][1], []).append(GAPS[gap][0])
    if gaps:
        told = [f"{listed(what)} ({supply})" for supply, what in gaps.items()]
        blocks.append(line(Span("  Not known  ", "dim"), "; ".join(told), hang=13))
    return blocks
