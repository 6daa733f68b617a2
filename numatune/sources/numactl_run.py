"""One run of `numactl --hardware`: from what its lines state to nodes, distances and warnings."""

from __future__ import annotations

from typing import NamedTuple

from numatune.machine import CpuSet, Distances, Node, Warning
from numatune.sources.numactl_fields import Values, distrusts_nodes, read_values
from numatune.sources.numactl_outputs import Output
from numatune.sources.numactl_table import Table, read_table
from numatune.sources.numactl_values import JOINED, NODE_LIMIT, Value, read_nodes

SUPPLY = "paste the whole output of `numactl --hardware`"
MEMINFO = "see /sys/devices/system/node/node*/meminfo on the machine"

#: Warning code -> what is said of the parts it lists, and what would supply them.
SAID = {
    "incomplete": ("the text does not state {}", SUPPLY),
    "elided": ("the text leaves out {}", SUPPLY),
    "cut": ("the text seems to be cut in {}, unknown here", SUPPLY),
    "damaged": ("what the text gives as {} is nothing that numactl prints; unknown here", SUPPLY),
    "contradiction": ("the text gives two values for {}; unknown here", SUPPLY),
    "not-available": ("numactl could not tell {}", MEMINFO),
}
#: Problem of a value -> warning code.
CODES = {"elided": "elided", "damaged": "damaged", "cut": "cut", "absent": "not-available",
         "twice": "contradiction"}  # fmt: skip
PARTS = (("cpus", "the CPUs"), ("size", "the memory"), ("free", "the free memory"))


class Reading(NamedTuple):
    """What one run states. `is_no_numa`: it says that the kernel shows no NUMA nodes."""

    nodes: tuple[Node, ...] = ()
    distances: Distances | None = None
    warnings: tuple[Warning, ...] = ()
    undone: frozenset[str] = frozenset()
    is_no_numa: bool = False

    @property
    def is_whole(self) -> bool:
        """True where nothing is missing and nothing contradicts."""
        return not self.warnings and not self.is_no_numa

    @property
    def is_useless(self) -> bool:
        """True where it states nothing but ids."""
        return self.distances is None and all(
            node.cpus is None and node.memory_total_bytes is None for node in self.nodes
        )

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, bool]:
        """How much is known; the greater, the more."""
        return (
            self.is_whole,
            not self.is_no_numa and not self.is_useless,
            bool(self.nodes) and all(node.cpus is not None for node in self.nodes),
            bool(self.nodes) and all(node.memory_total_bytes is not None for node in self.nodes),
            self.distances is not None,
        )


class Losses:
    """The parts that a run lacks, by warning code, in the order in which they were found."""

    def __init__(self) -> None:
        self.parts: dict[str, list[str]] = {}
        self.others: list[Warning] = []

    def add(self, code: str, part: str) -> None:
        """Note that a part is missing or unusable."""
        self.parts.setdefault(code, []).append(part)

    def warn(self, code: str, message: str) -> None:
        """Note anything else."""
        self.others.append(Warning(code, message))

    def warnings(self) -> tuple[Warning, ...]:
        """Return one warning a code."""
        from numatune.words import listed

        lost = (
            Warning(code, f"{SAID[code][0].format(listed(parts))}; {SAID[code][1]}")
            for code, parts in self.parts.items()
        )
        return (*lost, *self.others)


def of_nodes(ids: list[int]) -> str:
    """Return "of node 0" or "of nodes 0-3"."""
    return f"of node{'s' if len(ids) > 1 else ''} {CpuSet(ids)}"


def read_run(run: Output, ends_open: bool) -> Reading:
    """Read one run. `ends_open` says that its text ends without a line end."""
    losses = Losses()
    values = read_values(run)
    table = read_table(run.table.value, ends_open) if run.table else Table()
    ids = node_ids(run, table, losses)
    if is_no_numa(run, ids, values):
        return Reading(is_no_numa=True)
    undone = set(table.undone)
    for value in values.values():
        undone.update(value.undone)
    if run.is_broken:
        undone.add(JOINED)
    note_lost_values(run, ids, values, losses)
    note_table(run, table, ids, losses)
    nodes = tuple(node_of(number, values) for number in ids)
    note_overlap(nodes, losses)
    if run.is_merged:
        losses.warn("reflowed", "lines were run together and were told apart by their labels; "
                    f"to be sure, {SUPPLY} with its line ends")  # fmt: skip
    return Reading(nodes, table.distances, losses.warnings(), frozenset(undone))


def node_of(number: int, values: Values) -> Node:
    """Return the node of that id with what is known of it."""
    cpus, size, free = (values.get((number, field), Value()) for field, _ in PARTS)
    return Node(number, cpus.cpus, size.size, free.size)


def note_lost_values(run: Output, ids: list[int], values: Values, losses: Losses) -> None:
    """Name the nodes of which a part is missing or unusable."""
    missing = "elided" if run.is_elided else "incomplete"
    if run.header is None:
        losses.add("incomplete", "which nodes there are (the line `available: ...`)")
    for field, part in PARTS:
        lost: dict[str, list[int]] = {}
        for number in ids:
            value = values.get((number, field))
            code = missing if value is None else CODES.get(value.problem, "")
            if code:
                lost.setdefault(code, []).append(number)
        for code, nodes in lost.items():
            losses.add(code, f"{part} {of_nodes(nodes)}")


# Nodes --------------------------------------------------------------------------------------------


def node_ids(run: Output, table: Table, losses: Losses) -> list[int]:
    """Return the ids of all nodes that a run names, and note where they contradict each other."""
    named = {node for node, _ in run.fields if node < NODE_LIMIT}
    if len(named) < len({node for node, _ in run.fields}):
        losses.warn("damaged", f"a node id is beyond {NODE_LIMIT - 1}, the highest that Linux "
                    f"knows; its lines are left out; {SUPPLY}")  # fmt: skip
    in_table = set(table.ids)
    if run.header is None:
        return sorted(named | in_table)
    count, text = run.header
    listed = read_nodes(text)
    announced = set(listed or ())
    if listed is None:
        if not text.endswith("-)") or count < len(named):
            losses.warn(
                "damaged", f"the list of nodes in the line `available: ...` is cut; {SUPPLY}"
            )
        elif count > len(named):
            losses.add("incomplete", f"{count - len(named)} of the {count} nodes")
    elif count != len(listed):
        losses.warn("contradiction", f"`available:` announces {count} nodes and lists "
                    f"{len(listed)}; {SUPPLY}")  # fmt: skip
    extra = (named | in_table) - announced
    if listed is not None and extra:
        losses.warn("contradiction", f"the text goes on {of_nodes(sorted(extra))}, which "
                    f"`available:` does not list; {SUPPLY}")  # fmt: skip
    return sorted(announced | named | in_table)


def is_no_numa(run: Output, ids: list[int], values: Values) -> bool:
    """Tell whether a run says that there are no NUMA nodes, or libnuma made its one node up.

    Nodes without a CPU and without known memory, with no others beside them, are its invention.
    """
    count = run.header[0] if run.header else None
    if not run.fields:
        return run.says_no_numa or (count == 0 and not ids)
    if count != len(ids) and not distrusts_nodes(run):
        return False
    for number in ids:
        cpus = values.get((number, "cpus"), Value(problem="missing"))
        size = values.get((number, "size"), Value(problem="missing"))
        if cpus.cpus or cpus.problem not in ("", "absent"):
            return False
        if size.size or size.problem not in ("", "absent"):
            return False
    return True


def note_overlap(nodes: tuple[Node, ...], losses: Losses) -> None:
    """Warn of CPUs that are in several nodes."""
    seen = CpuSet()
    shared: list[int] = []
    for node in nodes:
        if node.cpus and node.cpus & seen:
            shared.append(node.id)
        seen |= node.cpus or CpuSet()
    if shared:
        losses.warn("overlapping-nodes", f"CPUs {of_nodes(shared)} are in other nodes, too, as "
                    "with numa=fake on the kernel command line; see /proc/cmdline")  # fmt: skip


def note_table(run: Output, table: Table, ids: list[int], losses: Losses) -> None:
    """Say why there are no distances, or that they are not those of the nodes."""
    if table.distances is not None:
        missing = sorted(set(ids) - set(table.distances.node_ids))
        if missing:
            losses.add("incomplete", f"the distances {of_nodes(missing)}")
    elif run.says_no_distances:
        losses.warn("no-distances", "numactl found no distances; the firmware or hypervisor gives "
                    "none; see /sys/devices/system/node/node*/distance")  # fmt: skip
    elif table.problem:
        losses.warn("damaged-table", f"the distance table is left out, for {table.problem}; "
                    f"{SUPPLY}")  # fmt: skip
    else:
        losses.add("elided" if run.is_elided else "incomplete", "the distances")
