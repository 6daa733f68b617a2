"""From the rows of `lscpu -e` and `lscpu -p`, as text or as JSON, to a machine.

CORE, SOCKET, BOOK and DRAWER are numbers that lscpu gives itself, by order of appearance, and anew
for each type of CPU: on a machine of unlike cores two of them share a number. With `-y` they are
the kernel's ids, of which a core's need not be unique in its package. So CPUs with one number are
taken for one core only where nothing else in the table speaks against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from numatune.errors import MachineError
from numatune.machine import Core, Cpu, CpuSet, Machine, Node, Package
from numatune.machine.cpuset import ID_LIMIT
from numatune.sources.lscpu_labels import NO, YES
from numatune.sources.lscpu_losses import Losses, described_counts

SUPPLY = "paste the whole output of `lscpu -e`"
#: Columns of which one besides CPU makes a table worth reading.
TELLING = frozenset(("CORE", "SOCKET", "CLUSTER", "NODE", "BOOK", "DRAWER", "ONLINE"))
#: CONFIG_NODES_SHIFT is at most 10 (arch/*/Kconfig of Linux).
NODE_LIMIT = 1 << 10
#: No CPU has more threads a core (POWER).
MOST_THREADS = 8
#: Columns whose cells are the same for all threads of a core.
SHARED = ("MODELNAME", "MAXMHZ", "MINMHZ")


class Table(NamedTuple):
    """The columns of a table, its rows by CPU, and what was lost or undone."""

    columns: tuple[str, ...]
    rows: dict[int, tuple[str, ...]]
    losses: Losses


class View:
    """The cells of a table by column."""

    def __init__(self, table: Table) -> None:
        names = [name.upper() for name in table.columns]
        self.rows = {cpu: row for cpu, row in sorted(table.rows.items()) if cpu < ID_LIMIT}
        self.places = {name: i for i, name in enumerate(names)}
        self.caches = [i for i, name in enumerate(names) if name[:1] == "L" and name[1:2].isdigit()]
        self.cache_names = [names[i].split(":") for i in self.caches]
        self.every = CpuSet(self.rows)

    def has(self, name: str) -> bool:
        """Tell whether there is a column."""
        return name in self.places

    def text(self, cpu: int, name: str) -> str | None:
        """Return a cell, None where it is empty, or there is no such column."""
        place = self.places.get(name)
        cell = "" if place is None else self.rows[cpu][place]
        return None if cell in ("", "-") else cell

    def number(self, cpu: int, name: str) -> int | None:
        """Return a cell as a number, None where it is none."""
        cell = self.text(cpu, name)
        return int(cell) if cell is not None and cell.isascii() and cell.isdigit() else None

    def near_caches(self, cpu: int) -> set[tuple[str, str]]:
        """Return the caches of levels 1 and 2 that a CPU uses, as pairs of name and id."""
        found = set()
        for place, names in zip(self.caches, self.cache_names, strict=True):
            cell = self.rows[cpu][place]
            for name, number in zip(names, cell.split(":"), strict=False):
                if number not in ("", "-") and name[1] in "12":
                    found.add((name, number))
        return found


def read_tables(
    tables: Sequence[Table], label: str, name: str, undone: Iterable[str] = ()
) -> Machine:
    """Return the machine of the fullest table, of equal ones the last.

    Raises MachineError where no table has a row.
    """
    machines = []
    for table in tables:
        table.losses.undone.update(undone)
        if table.rows:
            machines.append((fullness(table), machine_of(table, label, name)))
    if not machines:
        raise MachineError(f"{label} has the header of a table of lscpu, but no row; {SUPPLY}")
    best = max(enumerate(machines), key=lambda pair: (pair[1][0], pair[0]))[1][1]
    if any(differ(best, other) for _, other in machines):
        best = best.warned(
            "two-outputs",
            f"there are {len(machines)} tables of lscpu in the text, and they differ; the fullest "
            "one was taken; paste one alone",
        )
    return best


def fullness(table: Table) -> int:
    """Return how many cells of interest are known."""
    places = [i for i, name in enumerate(table.columns) if name.upper() in TELLING]
    return sum(row[i] not in ("", "-") for row in table.rows.values() for i in places)


def differ(one: Machine, other: Machine) -> bool:
    """Tell whether two tables can't be of one machine at one time."""
    parts = (
        [m.online_cpus for m in (one, other)],
        [m.nodes or None for m in (one, other)],
        [None if m.cores is None else {c.cpus for c in m.cores} for m in (one, other)],
        [None if m.packages is None else {p.cpus for p in m.packages} for m in (one, other)],
    )
    return any(None not in pair and pair[0] != pair[1] for pair in parts)


def machine_of(table: Table, label: str, name: str) -> Machine:
    """Return the machine that one table shows."""
    view, losses = View(table), table.losses
    if len(view.rows) < len(table.rows):
        losses.warn("damaged", f"rows of CPUs beyond {ID_LIMIT - 1}, the highest that is read "
                    f"here, are left out; {SUPPLY}")  # fmt: skip
    online, offline = read_online(view, losses)
    nodes = read_nodes(view, online, losses)
    groups = read_groups(view, online, nodes, losses)
    packages = read_packages(view, online, groups, losses)
    note_rows(view, offline, groups, packages, nodes, losses)
    models = dict.fromkeys(view.text(cpu, "MODELNAME") for cpu in online)
    machine = Machine(
        label,
        cpu=Cpu(model=" + ".join(model for model in models if model) or None),
        nodes=nodes,
        cores=cores_of(groups, packages, nodes),
        packages=packages,
        online_cpus=online or None,
        offline_cpus=offline,
        warnings=losses.warnings(),
    )
    return described_counts(machine, name)


# CPUs and nodes -----------------------------------------------------------------------------------


def read_online(view: View, losses: Losses) -> tuple[CpuSet, CpuSet | None]:
    """Return the online CPUs, and the offline ones where the table shows some.

    Without the column ONLINE a CPU is offline that has no core while others have one. A table
    that shows none offline may have been asked not to (`-b`, and `-p` by itself).
    """
    if any(view.text(cpu, "ONLINE") for cpu in view.rows):
        words = {cpu: (view.text(cpu, "ONLINE") or "").lower() for cpu in view.rows}
        unclear = CpuSet(cpu for cpu, word in words.items() if word not in YES | NO)
        if unclear:
            losses.warn("damaged", f"whether the CPUs {unclear} are online can't be read, and "
                        f"they are left out; {SUPPLY} with LC_ALL=C")  # fmt: skip
        online = CpuSet(cpu for cpu, word in words.items() if word in YES)
        if not online:
            losses.add("incomplete", "any online CPU")
        return online, (view.every - online - unclear) or None
    if view.has("CORE"):
        online = CpuSet(cpu for cpu in view.rows if view.text(cpu, "CORE") is not None)
        if online:
            return online, (view.every - online) or None
    return view.every, None


def read_nodes(view: View, online: CpuSet, losses: Losses) -> tuple[Node, ...]:
    """Return the nodes that have an online CPU; others do not show in a table."""
    nodes: dict[int, list[int]] = {}
    strays = []
    for cpu in online:
        number = view.number(cpu, "NODE")
        if number is None:
            strays.append(cpu)
        elif number < NODE_LIMIT:
            nodes.setdefault(number, []).append(cpu)
        else:
            losses.add("damaged", f"node {number}")
    if not nodes:
        why = (
            "NODE is empty, as on a kernel without NUMA and in some containers"
            if view.has("NODE")
            else "there is no column NODE, so lscpu was not asked, or the kernel knows no nodes"
        )
        losses.warn("no-numa-information", f"the table shows no NUMA node: {why}; `numactl "
                    "--hardware` on the host tells")  # fmt: skip
    elif strays:
        losses.warn("cpus-without-node", f"the online CPUs {CpuSet(strays)} belong to no node; "
                    "`numactl --hardware` tells")  # fmt: skip
    return tuple(Node(number, CpuSet(nodes[number])) for number in sorted(nodes))


def note_rows(
    view: View,
    offline: CpuSet | None,
    groups: tuple[CpuSet, ...] | None,
    packages: tuple[Package, ...] | None,
    nodes: tuple[Node, ...],
    losses: Losses,
) -> None:
    """Note CPUs without a row, and parts of unlike size, as where the end of a table is cut."""
    holes = CpuSet(range(max(view.rows, default=0))) - view.every
    if holes:
        losses.warn("incomplete", f"the table has no row for the CPUs {holes}: they are offline "
                    f"or not there, or the rows are lost; `lscpu -a -e` tells")  # fmt: skip
    if holes or offline:
        return
    scattered = any(len(cpus) > 1 and len(list(cpus.ranges())) > 1 for cpus in groups or ())
    parts = {
        "packages": [len(p.cpus) for p in packages or ()],
        "nodes": [len(n.cpus or ()) for n in nodes] if packages is None else [],
        "cores": [len(cpus) for cpus in groups or ()] if scattered else [],
    }
    for what, sizes in parts.items():
        if len(set(sizes)) > 1:
            losses.warn("incomplete", f"some {what} have {max(sizes)} CPUs and some {min(sizes)}: "
                        f"the end of the table may be cut; {SUPPLY}")  # fmt: skip
            return


# Cores and packages -------------------------------------------------------------------------------


def read_groups(
    view: View, online: CpuSet, nodes: tuple[Node, ...], losses: Losses
) -> tuple[CpuSet, ...] | None:
    """Return the CPUs of each core, None where the table does not tell them for certain."""
    if not view.has("CORE") or not online:
        return None
    groups: dict[tuple[int | None, ...], list[int]] = {}
    for cpu in online:
        if view.number(cpu, "CORE") is None:
            note_cores(f"CPU {cpu} is online and has no core in the table", losses)
            return None
        key = tuple(view.number(cpu, name) for name in
                    ("DRAWER", "BOOK", "SOCKET", "CLUSTER", "CORE"))  # fmt: skip
        groups.setdefault(key, []).append(cpu)
    node_of = {cpu: node.id for node in nodes for cpu in node.cpus or ()}
    sizes = {len(cpus) for cpus in groups.values()}
    for cpus in groups.values():
        reason = doubt(view, cpus, node_of, len(sizes) > 1) if len(cpus) > 1 else ""
        if reason:
            note_cores(reason, losses)
            return None
    return tuple(CpuSet(cpus) for cpus in groups.values())


def doubt(view: View, cpus: list[int], node_of: dict[int, int], is_uneven: bool) -> str:
    """Say why CPUs with one core number may not be one core, "" where nothing says so."""
    those = f"the CPUs {CpuSet(cpus)} have one core number, but"
    caches = [view.near_caches(cpu) for cpu in cpus]
    if all(caches) and not set.intersection(*caches):
        return f"{those} share no cache of level 1 or 2"
    if len({node_of.get(cpu) for cpu in cpus}) > 1:
        return f"{those} are on different nodes"
    for name in SHARED:
        if len({view.text(cpu, name) for cpu in cpus}) > 1:
            return f"{those} differ in {name}"
    if len(cpus) > MOST_THREADS:
        return f"{those} no core has that many threads"
    if all(caches):
        return ""
    is_run = cpus[-1] - cpus[0] == len(cpus) - 1
    has_socket = view.number(cpus[0], "SOCKET") is not None
    if (has_socket or not view.has("SOCKET")) and is_run:
        return ""
    if has_socket and len(cpus) == 2 and not is_uneven:
        return ""
    return f"{those} nothing in the table shows that they share anything"


def note_cores(reason: str, losses: Losses) -> None:
    """Say that cores are not known, and why."""
    losses.warn(
        "cores-unknown",
        f"which CPUs share a core is not known: {reason}. lscpu numbers the cores of each type of "
        "CPU anew, and `-y` shows ids that repeat; `lscpu -e` without options, or "
        "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list tells",
    )


def read_packages(
    view: View, online: CpuSet, groups: tuple[CpuSet, ...] | None, losses: Losses
) -> tuple[Package, ...] | None:
    """Return the packages and their online CPUs, None where the table does not tell them."""
    if not view.has("SOCKET") or not online:
        return None
    packages: dict[int, list[int]] = {}
    reason = ""
    for cpu in online:
        number = view.number(cpu, "SOCKET")
        if number is None:
            reason = reason or f"CPU {cpu} has none in the table"
        else:
            packages.setdefault(number, []).append(cpu)
    if not reason and groups is None and view.has("CORE"):
        reason = "lscpu numbers them anew for each type of CPU, as its cores"
    sets = {CpuSet(cpus) for cpus in packages.values()}
    if len(sets) > 1 and sets == set(groups or ()) and any(len(cpus) > 1 for cpus in sets):
        reason = "each would have one core, as where the kernel knows no packages"
    if reason:
        losses.warn("packages-unknown", f"the number of packages is not known: {reason}. The data "
                    "sheet of the machine tells; --assume packages=N passes it")  # fmt: skip
        return None
    return tuple(Package(number, CpuSet(packages[number])) for number in sorted(packages))


def cores_of(
    groups: tuple[CpuSet, ...] | None,
    packages: tuple[Package, ...] | None,
    nodes: tuple[Node, ...],
) -> tuple[Core, ...] | None:
    """Name the package and the node of each core."""
    if groups is None:
        return None
    package_of = {cpu: package.id for package in packages or () for cpu in package.cpus}
    node_of = {cpu: node.id for node in nodes for cpu in node.cpus or ()}
    return tuple(
        Core(cpus, package_of.get(cpus.first()), node_of.get(cpus.first()))
        for cpus in sorted(groups, key=CpuSet.first)
    )
