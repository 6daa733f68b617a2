"""Reading the text that `lstopo` (`lstopo-no-graphics`, `hwloc-ls`) writes to a terminal.

Format: output_console_obj in utils/lstopo/lstopo-text.c at https://github.com/open-mpi/hwloc:
one object a line, indented below the object that it is in, with objects of the same CPUs joined by
" + ". P# is the kernel's number, L# hwloc's own order: by default CPUs and nodes have both, with
-l only L#, and then no CPU is known; the ids of packages are there with -p or -v alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from numatune.errors import MachineError
from numatune.machine import Cpu, CpuSet, Limits, Machine, Node, Package, Warning
from numatune.sources.hwloc_nodes import (
    NODE_LIMIT,
    Spot,
    cpus_without_node,
    is_dax,
    kind_of,
    owned,
)
from numatune.sources.lstopo_lines import Object, Tree, tree_of
from numatune.words import clean

NAME = "lstopo"
SUPPLY = "save `lstopo -p` to a file and give that, or the XML that `lstopo x.xml` writes"

#: Begins with the one literal character, and looks back from there, which is fast on long texts.
SIGN = re.compile(
    r"#[0-9](?:(?<=PU[ \xa0][LP]#[0-9])|(?<=Core[ \xa0][LP]#[0-9])|(?<=Package[ \xa0][LP]#[0-9])"
    r"|(?<=Socket[ \xa0][LP]#[0-9])|(?<=NUMANode[ \xa0][LP]#[0-9])|(?<=\)[ \xa0][LP]#[0-9]))"
)
#: What -v prints for 8192 CPUs.
TEXT_LIMIT = 1 << 23
SIZE = re.compile(r"(?:[( ]|local=)([0-9]{1,12})([KM]i?B)\b")
#: What has a number of its own from the kernel; cores and, on some machines, packages do not.
IDS = ("PU", "NUMANode")
INFO = re.compile(r"\b(CPUVendor|CPUModel|Architecture)=(?:\"([^\"]{0,200})\"|([^\s\")]{1,200}))")


def recognises(text: str) -> bool:
    """Tell whether there is console output of lstopo in a text."""
    return SIGN.search(text) is not None


def read(text: str, label: str) -> Machine:
    """Read a machine from the text; `label` becomes its source.

    Raises MachineError where it shows nothing, or shows an object twice, as two machines would.
    """
    from numatune.sources.parts import Window, excerpt

    tree = tree_of(excerpt(text, SIGN, Window(4, 12, TEXT_LIMIT), SUPPLY))
    if not tree.objects:
        raise MachineError(f"there is no line of lstopo in this text that can be read; {SUPPLY}")
    refuse_twice(tree)
    if not any(each.physical is not None for each in tree.of("PU", "NUMANode")):
        return without_ids(tree, label)
    return with_ids(tree, label)


def with_ids(tree: Tree, label: str) -> Machine:
    """Read a text that has the kernel's numbers."""
    from numatune.sources.parts import described
    from numatune.sources.sysfs import cores_of

    pus = tree.of("PU")
    offline = CpuSet(numbers(p for p in pus if p.mark == "offline"))
    cpus = CpuSet(numbers(pus)) - offline
    forbidden = CpuSet(numbers(p for p in pus if p.mark in ("disallowed", "forbidden")))
    knows_all = bool(pus) and all(p.physical is not None for p in pus) and not tree.is_cut
    nodes, doubts = owned(spots_of(tree, cpus, knows_all))
    packages = packages_of(tree, cpus) if knows_all else None
    warnings = [*tree.warnings, *doubts]
    if not nodes:
        warnings.append(no_node())
    elif knows_all:
        warnings += cpus_without_node(nodes, cpus) or gaps_in_nodes(nodes)
    if knows_all:
        warnings += gaps_in_cpus(cpus | offline)
    bad_nodes = CpuSet(numbers(n for n in tree.of("NUMANode") if n.mark == "disallowed"))
    allowed = cpus - forbidden if forbidden else None
    mems = CpuSet(n.id for n in nodes) - bad_nodes if bad_nodes else None
    machine = Machine(
        source=label,
        cpu=cpu_of(tree),
        nodes=nodes,
        cores=cores_of(core_sets(tree, cpus), packages, nodes) if knows_all else None,
        packages=packages,
        online_cpus=cpus if knows_all else None,
        offline_cpus=offline or None,
        package_count=None if packages or tree.is_cut else count(tree, "Package"),
        limits=Limits(allowed or None, mems or None),
        warnings=tuple(warnings),
    )
    return described(machine, NAME)


def without_ids(tree: Tree, label: str) -> Machine:
    """Read a text that has hwloc's own numbers alone: it tells how many there are of each."""
    from numatune.sources.parts import described

    cores, pus = count(tree, "Core"), count(tree, "PU")
    sizes = {len(core.inner) for core in tree.of("Core")}
    text = (
        "the text has hwloc's own numbers (L#) and not the kernel's (P#), so that neither CPUs nor "
        f"nodes are known; {SUPPLY}"
    )
    whole = not tree.is_cut
    machine = Machine(
        source=label,
        cpu=cpu_of(tree),
        core_count=cores if whole else None,
        package_count=count(tree, "Package") if whole else None,
        smt=sizes.pop() if whole and cores and pus and len(sizes) == 1 else None,
        warnings=(*tree.warnings, Warning("logical-ids-only", text)),
    )
    return described(machine, NAME)


def numbers(objects: Iterable[Object]) -> list[int]:
    """Return the kernel's numbers of objects that have one."""
    return [each.physical for each in objects if each.physical is not None]


def count(tree: Tree, kind: str) -> int | None:
    """Return how many objects of a kind there are, None where there is none."""
    return len(tree.of(kind)) or None


def refuse_twice(tree: Tree) -> None:
    """Refuse a text that shows a CPU, node or core twice. Raises MachineError."""
    for kind in ("PU", "NUMANode", "Core", "Package"):
        seen: set[tuple[str, int]] = set()
        for each in tree.of(kind):
            keys = [("L", each.logical), ("P", each.physical if kind in IDS else None)]
            for index, number in keys:
                if number is None:
                    continue
                if (index, number) in seen:
                    raise MachineError(f"{kind} {index}#{number} is in the text twice; give one "
                                       "output of lstopo at a time")  # fmt: skip
                seen.add((index, number))
    if len(tree.of("NUMANode")) > NODE_LIMIT:
        raise MachineError(f"the text shows more than {NODE_LIMIT} NUMA nodes")


def spots_of(tree: Tree, cpus: CpuSet, knows_all: bool) -> list[Spot]:
    """Return the nodes that have the kernel's number, with the CPUs of their places."""
    spots = []
    for node in tree.of("NUMANode"):
        if node.physical is None:
            continue
        place = node if node.inner else node.place
        is_known = knows_all and not tree.is_flat
        local = CpuSet(numbers(place.inner)) & cpus if is_known and place is not None else None
        is_added = "DAXDevice=" in node.attributes or is_dax(node.subtype)
        kind = kind_of(node.subtype)
        spots.append(Spot(node.physical, local, memory_of(node), kind, is_added))
    return spots


def memory_of(node: Object) -> int | None:
    """Return the memory of a node in bytes, None where lstopo rounds it to more than a MiB."""
    found = SIZE.search(node.attributes)
    if found is None:
        return None
    return int(found[1]) << (10 if found[2].startswith("K") else 20)


def packages_of(tree: Tree, cpus: CpuSet) -> tuple[Package, ...] | None:
    """Return the packages by id; None where one has no id of its own, or a CPU is in none."""
    sets = {p.physical: CpuSet(numbers(p.inner)) & cpus for p in tree.of("Package")}
    if None in sets or len(sets) < len(tree.of("Package")):
        return None
    packages = [Package(n, sets[n]) for n in sorted(n for n in sets if n is not None) if sets[n]]
    covered = CpuSet()
    for package in packages:
        covered |= package.cpus
    return tuple(packages) if packages and covered == cpus else None


def core_sets(tree: Tree, cpus: CpuSet) -> tuple[CpuSet, ...] | None:
    """Return the CPUs of each core, by lowest CPU; None where a CPU is in none."""
    sets = [s for s in (CpuSet(numbers(c.inner)) & cpus for c in tree.of("Core")) if s]
    covered = CpuSet()
    for each in sets:
        covered |= each
    return tuple(sorted(sets, key=CpuSet.first)) if sets and covered == cpus else None


def cpu_of(tree: Tree) -> Cpu:
    """Return what -v says of the CPU; a model only where all packages have the same."""
    stated: dict[str, set[str]] = {}
    for each in tree.of("Machine", "Package"):
        for name, quoted, plain in INFO.findall(each.attributes):
            stated.setdefault(name, set()).add(" ".join(clean(quoted or plain).split()))
    one = {name: values.pop() for name, values in stated.items() if len(values) == 1}
    return Cpu(one.get("Architecture"), one.get("CPUVendor"), one.get("CPUModel") or None)


def gaps_in_nodes(nodes: tuple[Node, ...]) -> list[Warning]:
    """Warn where node ids have gaps: hwloc hides nodes without memory, or there is no such node."""
    ids = CpuSet(node.id for node in nodes)
    absent = CpuSet(range(max(ids))) - ids
    if not absent:
        return []
    text = (
        f"lstopo does not show the nodes {absent}: the machine has none of that number, or hwloc "
        "hides them, since they have no memory or a cgroup forbids it. `numactl --hardware` tells"
    )
    return [Warning("nodes-hidden", text)]


def gaps_in_cpus(cpus: CpuSet) -> list[Warning]:
    """Warn where CPU ids have gaps: hwloc leaves out what is offline or forbidden."""
    absent = CpuSet(range(max(cpus, default=0))) - cpus
    if not absent:
        return []
    text = (
        f"lstopo does not show the CPUs {absent}: they are offline, or the cgroup (container, job) "
        "in which it ran forbids them. `lscpu -e` tells"
    )
    return [Warning("cpus-left-out", text)]


def no_node() -> Warning:
    """Say that the text shows no node."""
    text = (
        "lstopo shows no NUMA node here, as hwloc 1.x does where there is one or none. "
        "`numactl --hardware` tells which"
    )
    return Warning("nodes-hidden", text)
