"""From the fields that `lscpu` states, as text or as JSON, to a machine.

What the numbers mean is read in sys-utils/lscpu.c and lscpu-topology.c of
https://github.com/util-linux/util-linux (39465c7): "Thread(s) per core" is that of the largest
core; "Core(s) per socket" is the number of cores divided by that of sockets, rounded down, so it
lies where CPUs are offline; 0 and "-" mean unknown; each type of CPU has figures of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from numatune.errors import MachineError
from numatune.machine import Cpu, CpuSet, Machine, Node
from numatune.sources.lscpu_counts import Counts, Type, counts_of
from numatune.sources.lscpu_losses import SUPPLY, Losses, described_counts, of_nodes
from numatune.sources.lscpu_values import (
    Statement,
    flags_of,
    read_number,
    read_set,
    read_word,
)

#: CONFIG_NODES_SHIFT is at most 10 (arch/*/Kconfig of Linux).
NODE_LIMIT = 1 << 10

#: Fields that stand once in one output; a second one begins another output.
ONCE = frozenset(("architecture", "cpus", "online", "online_mask", "offline", "offline_mask",
                  "nodes", "node_cpus", "virsh"))  # fmt: skip
#: What every output states, under one label or another.
EXPECTED = (
    (("architecture",), "the architecture"),
    (("cpus",), "the number of CPUs"),
    (("threads",), "the threads of a core"),
    (("cores", "cluster_cores"), "the cores of a package"),
    (("sockets", "book_sockets"), "the number of packages"),
)

#: Fields that stand once for each type of CPU, before the nodes.
EACH_TYPE = frozenset(("model", "threads", "cores", "cluster_cores", "sockets", "flags"))


Key = tuple[str, int]


class Output:
    """What one run of lscpu states."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.statements = statements
        #: By field, without those that are of no use here: the clock differs from run to run.
        self.values: dict[Key, list[Statement]] = {}
        for each in statements:
            if each.field:
                self.values.setdefault((each.field, each.node), []).append(each)

    def first(self, field: str) -> Statement | None:
        """Return the first statement of a field, None where there is none."""
        return next(iter(self.values.get((field, -1), ())), None)

    def contradicts(self, other: Output) -> bool:
        """Tell whether two runs give different values for one field."""
        return any(
            [plain(s) for s in stated] != [plain(s) for s in other.values[key]]
            for key, stated in self.values.items()
            if key in other.values
        )

    def with_cut_end(self) -> Output:
        """Return the same without its last value, in which the text ends."""
        *before, last = self.statements
        return Output([*before, last._replace(problem="cut")])

    @property
    def fullness(self) -> int:
        """How many fields are stated, leaving out those of `virsh nodeinfo`."""
        return 0 if self.first("virsh") else len(self.values)


def plain(statement: Statement) -> str:
    """Return a value for comparison: what was wrapped or cut is equal to anything alike."""
    return "".join(statement.value.split())


def outputs_of(statements: Iterable[Statement]) -> list[Output]:
    """Tell one run of lscpu from the next."""
    runs: list[list[Statement]] = [[]]
    seen: set[Key] = set()
    has_nodes = False
    for each in statements:
        key = (each.field, each.node)
        again = key in seen and (each.field in ONCE or (has_nodes and each.field in EACH_TYPE))
        if again or (each.field == "architecture" and seen):
            runs.append([])
            seen, has_nodes = set(), False
        seen.add(key)
        has_nodes |= each.field == "nodes"
        runs[-1].append(each)
    return [Output(run) for run in runs if run]


def read_summary(
    runs: Iterable[Iterable[Statement]], label: str, name: str, undone: Iterable[str] = ()
) -> Machine:
    """Return the machine that the fields state; of several outputs the fullest, then the last.

    `runs` are statements of one source each; `undone` says what was undone to read them. Raises
    MachineError where none states anything of a machine.
    """
    outputs = [output for run in runs for output in outputs_of(run) if output.fullness]
    best = max(enumerate(outputs), key=lambda pair: (pair[1].fullness, pair[0]), default=None)
    if best is None:
        raise MachineError(f"{label} states nothing that lscpu prints; {SUPPLY}")
    machine = machine_of(best[1], label, name, undone)
    if any(best[1].contradicts(other) for other in outputs):
        machine = machine.warned(
            "two-outputs",
            f"there are {len(outputs)} outputs of lscpu in the text, and they differ; the fullest "
            "one was taken; paste one alone",
        )
    return machine


def machine_of(output: Output, label: str, name: str, undone: Iterable[str]) -> Machine:
    """Return the machine that one run states."""
    if not is_end_whole(output):
        output = output.with_cut_end()
    losses = Losses()
    losses.undone.update(undone)
    total, online, offline = read_cpu_sets(output, losses)
    read = read_nodes(output, losses)
    if output.first("online") is None and output.first("online_mask") is None:
        online = all_online(total, read)
        if offline:
            losses.add("incomplete", "the online CPUs")
    online, offline = agreed(total, online, offline, losses)
    nodes = checked_nodes(output, read, total, online, offline, losses)
    cpu = read_cpu(output, losses)
    counts = read_counts(output, online, known_count(total, online, nodes), offline, losses)
    machine = Machine(
        label,
        cpu=cpu,
        nodes=nodes,
        online_cpus=online,
        offline_cpus=offline,
        core_count=counts.cores,
        package_count=counts.packages,
        smt=counts.threads,
        is_guest=read_is_guest(output, cpu),
        warnings=losses.warnings(),
    )
    return described_counts(machine, name)


def is_end_whole(output: Output) -> bool:
    """Tell whether the last value can be taken although the text may end in it.

    It can where others confirm it. Flags stand last in outputs before 2.37, behind the nodes.
    """
    last = output.statements[-1]
    silent = Losses()
    if last.field == "flags":
        may_be_cut = last.is_last or "\n" in last.value
        return not may_be_cut or bool(output.first("nodes")) or output.first("cpus") is None
    if not last.is_last or last.field in ("model", "vendor", "architecture", "hypervisor", ""):
        return True
    total, online, _ = read_cpu_sets(output, silent)
    nodes = read_nodes(output, silent)
    if last.field == "node_cpus":
        sizes = [len(cpus) for cpus in nodes.values() if cpus is not None]
        if total is None and online is None:
            return len(sizes) > 1 and sizes[-1] in sizes[:-1]
        return sum(sizes) in (total, len(online or ()))
    if last.field == "sockets":
        product = read_type(output, type_count(output) - 1, silent).product
        return product is not None and product in (total, len(online or ()))
    return False


# CPUs and nodes -----------------------------------------------------------------------------------


def read_cpu_sets(
    output: Output, losses: Losses
) -> tuple[int | None, CpuSet | None, CpuSet | None]:
    """Return the number of CPUs, the online ones and the offline ones, as they are stated."""
    sets = []
    for field, part in (("online", "the online CPUs"), ("offline", "the offline CPUs")):
        mask = output.first(f"{field}_mask")
        sets.append(read_set(mask or output.first(field), part, mask is not None, losses))
    return read_number(output.first("cpus"), "the number of CPUs", losses), sets[0], sets[1]


def all_online(total: int | None, nodes: dict[int, CpuSet | None]) -> CpuSet | None:
    """Return the CPUs of all nodes where they are as many as there are: then none is offline.

    lscpu lists the online CPUs only since 2.20.
    """
    every = CpuSet()
    for cpus in nodes.values():
        every |= cpus or CpuSet()
    return every if len(every) == total else None


def agreed(
    total: int | None, online: CpuSet | None, offline: CpuSet | None, losses: Losses
) -> tuple[CpuSet | None, CpuSet | None]:
    """Return the online and offline CPUs where both and their number agree.

    lscpu prints the offline CPUs only where there are some, and the number of all of them.
    """
    if total is None or online is None:
        return online, offline
    if total == len(online | (offline or CpuSet())) and not online & (offline or CpuSet()):
        return online, offline or CpuSet()
    beside = f" and the offline CPUs {offline}" if offline else ""
    losses.warn(
        "contradiction",
        f"the text announces {total} CPUs and lists the online CPUs {online}{beside}; which are "
        f"online is unknown here; {SUPPLY}",
    )
    return None, None


def read_nodes(output: Output, losses: Losses) -> dict[int, CpuSet | None]:
    """Return the CPUs of each node that has a line."""
    is_mask = output.first("online_mask") is not None
    nodes: dict[int, CpuSet | None] = {}
    for (field, number), stated in output.values.items():
        if field == "node_cpus" and number < NODE_LIMIT:
            part = f"the CPUs of node {number}"
            nodes[number] = read_set(stated[0], part, is_mask, losses)
        elif field == "node_cpus":
            losses.add("damaged", f"node {number}")
    return nodes


def checked_nodes(
    output: Output,
    read: dict[int, CpuSet | None],
    total: int | None,
    online: CpuSet | None,
    offline: CpuSet | None,
    losses: Losses,
) -> tuple[Node, ...]:
    """Return the nodes with their online CPUs, and note where they contradict other lines.

    Kernels before 4.14 list offline CPUs, too, and some hypervisors CPUs that do not exist.
    """
    stated = output.first("nodes")
    count = read_number(stated, "the number of nodes", losses)
    if count is not None and count > len(read):
        losses.add("nodes-incomplete", f"the CPUs of {count - len(read)} of {count} nodes")
    elif count is not None and count < len(read):
        losses.warn("contradiction", f"the text announces {count} nodes and lists "
                    f"{CpuSet(read)}; {SUPPLY}")  # fmt: skip
    elif stated is None and read:
        losses.add("nodes-incomplete", "how many nodes there are")
    elif stated is None and not read:
        losses.warn("no-numa-information", "lscpu shows no NUMA node here: this kernel knows none, "
                    "a container hides them, or the lines are lost; `ls /sys/devices/system/node` "
                    "on the host tells")  # fmt: skip
    nodes = {number: read[number] for number in sorted(read)}
    every = CpuSet()
    shared: list[int] = []
    for number, cpus in nodes.items():
        if cpus and cpus & every:
            shared.append(number)
        every |= cpus or CpuSet()
    if shared:
        losses.warn("nodes-overlap", f"CPUs {of_nodes(shared)} are in other nodes, too, as with "
                    "numa=fake on the kernel command line; see /proc/cmdline")  # fmt: skip
    if online is not None and nodes:
        note_strays(every, online, offline, None not in nodes.values(), losses)
        nodes = {n: None if cpus is None else cpus & online for n, cpus in nodes.items()}
    elif total is not None and nodes and None not in nodes.values() and len(every) != total:
        losses.warn("contradiction", f"the text announces {total} CPUs, and its nodes have "
                    f"{len(every)} ({every}); {SUPPLY}")  # fmt: skip
    return tuple(Node(number, cpus) for number, cpus in nodes.items())


def note_strays(
    every: CpuSet, online: CpuSet, offline: CpuSet | None, is_whole: bool, losses: Losses
) -> None:
    """Note CPUs of nodes that are not online, and online CPUs that are in no node."""
    strange = every - online - (offline or CpuSet())
    if strange:
        losses.warn("contradiction", f"the CPUs {strange} are in nodes, but not online; of the "
                    f"nodes' CPUs those online ({online}) are taken; {SUPPLY}, outside of any "
                    "container")  # fmt: skip
    if is_whole and online - every:
        losses.warn("cpus-without-node", f"the online CPUs {online - every} belong to no node: "
                    f"`lscpu -e=CPU,NODE` shows it, or a line is cut; {SUPPLY}")  # fmt: skip


def known_count(total: int | None, online: CpuSet | None, nodes: tuple[Node, ...]) -> int | None:
    """Return how many CPUs are online: by their list, else by their number where nodes agree."""
    if online is not None:
        return len(online)
    if not nodes:
        return total
    every = CpuSet()
    for node in nodes:
        if node.cpus is None:
            return None
        every |= node.cpus
    return len(every) if total in (None, len(every)) else None


# Cores and packages -------------------------------------------------------------------------------


def read_counts(
    output: Output, online: CpuSet | None, count: int | None, offline: CpuSet | None, losses: Losses
) -> Counts:
    """Return what the figures of all types of CPU come to."""
    for fields, part in EXPECTED:
        if not any(output.first(field) for field in fields):
            losses.add("incomplete", part)
    architecture = read_word(output.first("architecture")) or ""
    types = [read_type(output, i, losses) for i in range(type_count(output))]
    physical = read_number(output.first("physical_sockets"), "the physical packages", losses)
    has_books = output.first("book_sockets") is not None
    return counts_of(types, count, offline, losses, physical=physical,
                     is_virtual=has_books, is_power=architecture.startswith("ppc"))  # fmt: skip


def type_count(output: Output) -> int:
    """Return how many types of CPU have figures of their own."""
    return max((len(output.values.get((field, -1), ())) for field in
                ("threads", "cores", "cluster_cores", "sockets")), default=0)  # fmt: skip


def read_type(output: Output, place: int, losses: Losses) -> Type:
    """Return the figures of one type of CPU; None where they are unknown."""

    def figure(field: str, part: str) -> int | None:
        stated = output.values.get((field, -1), [])
        return read_number(stated[place], part, losses) if place < len(stated) else None

    threads = figure("threads", "the threads of a core")
    sockets = figure("sockets", "the number of packages")
    if output.first("clusters"):
        clusters = figure("clusters", "the number of clusters")
        return Type(threads, figure("cluster_cores", "the cores of a cluster"), clusters, sockets)
    return Type(threads, figure("cores", "the cores of a package"), sockets, sockets)


# What the CPU is ----------------------------------------------------------------------------------


def read_cpu(output: Output, losses: Losses) -> Cpu:
    """Return what the CPU is; on a machine of several types both models, and what all can do."""
    models: list[str] = []
    for stated in output.values.get(("model", -1), ()):
        model = read_word(stated)
        if stated.problem:
            losses.add(stated.problem, "the CPU model")
        elif model is not None and ": " in model:
            losses.add("damaged", "the CPU model")
        elif model is not None and model not in models:
            models.append(model)
    architecture = read_word(output.first("architecture"))
    if architecture is not None and not re.fullmatch(r"[A-Za-z0-9_]{2,20}", architecture):
        losses.add("damaged", "the architecture")
        architecture = None
    vendor = read_word(output.first("vendor"))
    return Cpu(architecture, None if vendor and ": " in vendor else vendor,
               " + ".join(models) or None, read_features(output, losses))  # fmt: skip


def read_features(output: Output, losses: Losses) -> frozenset[str] | None:
    """Return the flags that all types of CPU have, None where the list is not whole."""
    sets = []
    for stated in output.values.get(("flags", -1), ()):
        words = flags_of(stated.value.strip(" *_`\"'|"))
        if stated.problem or words is None:
            losses.add(stated.problem or "damaged", "the CPU's flags")
            return None
        if words:
            sets.append(words)
    return frozenset.intersection(*sets) if sets else None


def read_is_guest(output: Output, cpu: Cpu) -> bool | None:
    """Tell whether the machine is virtual; False only where an x86 CPU shows no hypervisor."""
    if read_word(output.first("hypervisor")) or "hypervisor" in (cpu.features or ()):
        return True
    is_x86 = cpu.architecture in (None, "x86_64", "i686", "i586", "i486", "i386")
    if is_x86 and cpu.features and {"fpu", "tsc", "msr"} <= cpu.features:
        return False
    return None
