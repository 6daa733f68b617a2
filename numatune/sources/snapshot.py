"""Reading a snapshot, as `numatune snapshot` writes it: docs/snapshots.md describes it.

What it states is taken as data of a stranger. It is refused where a value is of the wrong kind or
where facts contradict each other. A name that this version does not know is left out with a
warning, and so is text around the snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping

from numatune.errors import MachineError
from numatune.machine import (
    Access,
    Core,
    Cpu,
    CpuSet,
    Dimm,
    Distances,
    Gpu,
    Limits,
    Machine,
    Memory,
    MemoryCache,
    MemoryTier,
    Node,
    Package,
    Settings,
    Warning,
)
from numatune.machine.cpuset import ID_LIMIT
from numatune.sources.snapshot_facts import check
from numatune.sources.snapshot_json import START, SUPPLY, Notes, Part, decoded
from numatune.words import counted, listed

NAME = "numatune snapshot"

#: The newest version that is read here.
VERSION = 1

KINDS = ("dram", "hbm", "cxl", "device", "unknown")

#: Bytes of a node: the kernel addresses 2**57 at most.
MEMORY_LIMIT = 1 << 60
COUNT_LIMIT = 1 << 20
#: Ids of packages are the firmware's: an Itanium server has them up to 983297.
PACKAGE_LIMIT = (1 << 31) - 1
#: Settings are whatever the kernel says.
KERNEL_LIMIT = 10**18
#: The distance of a table is one byte.
DISTANCE_LIMIT = 1 << 16
#: Parts of a machine that may have a source or be a gap; there are 11.
PARTS_LIMIT = 100
#: Names that say nothing of the machine, and so may be missing.
BESIDE = frozenset(("tool_version", "about", "source"))
#: Names that snapshots of the first versions of numatune lack; for most machines they are null.
LATER = frozenset(("memory", "efficiency_cpus"))
#: Names without which a part of the machine is not known, by that part.
GAPS = {"distances", "cores", "packages", "limits", "settings"}


def recognises(text: str) -> bool:
    """Tell whether there is a snapshot in a text."""
    return START.search(text) is not None or (
        '"numatune_snapshot"' in text and text.lstrip().startswith("{")
    )


def read(text: str, label: str) -> Machine:
    """Read a machine from a snapshot; `label` becomes its source.

    Raises MachineError where the snapshot is of a newer version, not whole, or contradicts itself.
    """
    found = START.search(text)
    start = found.start() if found else len(text) - len(text.lstrip())
    values, end = decoded(text, start, label)
    if START.search(text, end):
        raise MachineError(f"{label} holds more than one snapshot; give one machine at a time")
    notes = Notes(label)
    part = Part(values, "", notes)
    version = part.needed("numatune_snapshot", 1, KERNEL_LIMIT)
    if version > VERSION:
        raise MachineError(
            f"{label} is a snapshot of version {version}, and this numatune reads {VERSION};"
            " upgrade numatune (pip install --upgrade numatune)"
        )
    machine = machine_of(part, label)
    part.end()
    check(machine)
    machine = machine._replace(nodes=tuple(sorted(machine.nodes, key=lambda node: node.id)))
    around = (text[:start] + text[end:]).strip(" \t\r\n`")
    return noted(machine, notes, around not in ("", "json"))


def machine_of(part: Part, label: str) -> Machine:
    """Return the machine that a snapshot states."""
    for name in BESIDE:
        part.text(name)
    nodes = part.items("nodes", node)
    if nodes is None:
        raise part.fault("nodes", "is missing")
    return Machine(
        source=label,
        cpu=cpu(part),
        nodes=nodes,
        cores=part.items("cores", core),
        packages=part.items("packages", package),
        distances=distances(part),
        online_cpus=part.ids("online_cpus"),
        offline_cpus=part.ids("offline_cpus"),
        core_count=part.whole("core_count", 1, COUNT_LIMIT),
        package_count=part.whole("package_count", 1, COUNT_LIMIT),
        smt=part.whole("smt", 1, COUNT_LIMIT),
        is_guest=part.flag("is_guest"),
        gpus=part.items("gpus", gpu),
        dimms=part.items("dimms", dimm),
        memory=memory(part),
        limits=limits(part),
        settings=settings(part),
        warnings=part.items("warnings", warning) or (),
        gaps=tuple(part.checked_text("gaps", g) for g in part.list("gaps", PARTS_LIMIT) or ()),
        origins=origins(part),
    )


def cpu(part: Part) -> Cpu:
    """Return what the CPU is."""
    features = part.text("cpu_features")
    return Cpu(
        part.text("architecture"),
        part.text("cpu_vendor"),
        part.text("cpu_model"),
        None if features is None else frozenset(features.split()),
        part.ids("efficiency_cpus"),
    )


def node(part: Part) -> Node:
    """Return one node."""
    kind = part.needed_text("kind")
    if kind not in KINDS:
        raise part.fault("kind", f"is none of {listed(KINDS, 'or')}")
    return Node(
        part.needed("id", 0, ID_LIMIT - 1),
        part.ids("cpus"),
        part.whole("memory_total_bytes", 0, MEMORY_LIMIT),
        part.whole("memory_free_bytes", 0, MEMORY_LIMIT),
        kind,
    )


def core(part: Part) -> Core:
    """Return one core."""
    return Core(
        part.needed_ids("cpus"),
        part.whole("package_id", 0, PACKAGE_LIMIT),
        part.whole("node_id", 0, ID_LIMIT - 1),
    )


def package(part: Part) -> Package:
    """Return one package."""
    return Package(part.needed("id", 0, PACKAGE_LIMIT), part.needed_ids("cpus"))


def distances(whole: Part) -> Distances | None:
    """Return the table of distances."""
    part = whole.part("distances")
    if part is None:
        return None
    node_ids = part.list("node_ids") or []
    rows = part.list("values") or []
    part.end()
    is_square = len(rows) == len(node_ids) and all(
        type(row) is list and len(row) == len(node_ids) for row in rows
    )
    if not is_square:
        raise part.fault("values", f"is no table of {counted(len(node_ids), 'row')} as long")
    for number in node_ids:
        if type(number) is not int:
            raise part.fault("node_ids", "must hold whole numbers")
    for row in rows:
        for value in row:
            if value is not None and (type(value) is not int or not 0 <= value < DISTANCE_LIMIT):
                raise part.fault("values", f"must hold whole numbers from 0 to {DISTANCE_LIMIT}")
    return Distances(tuple(node_ids), tuple(tuple(row) for row in rows))


def gpu(part: Part) -> Gpu:
    """Return one GPU."""
    return Gpu(part.needed_text("name"), part.whole("node_id", 0, ID_LIMIT - 1), part.ids("cpus"))


def dimm(part: Part) -> Dimm:
    """Return one memory slot."""
    return Dimm(
        part.needed_text("locator"),
        part.whole("size_bytes", 0, MEMORY_LIMIT),
        part.text("type"),
        part.whole("speed_mts", 0, COUNT_LIMIT),
    )


def memory(whole: Part) -> Memory | None:
    """Return what was stated of memory."""
    part = whole.part("memory")
    if part is None:
        return None
    found = Memory(
        part.items("accesses", access) or (),
        part.items("caches", cache) or (),
        part.items("tiers", tier) or (),
        part.ids("generic_initiators") or CpuSet(),
    )
    part.end()
    return found


def access(part: Part) -> Access:
    """Return one rating of the firmware."""
    return Access(
        part.needed("node_id", 0, ID_LIMIT - 1),
        part.ids("initiators") or CpuSet(),
        *(part.whole(name, 1, MEMORY_LIMIT) for name in Access._fields[2:]),
    )


def cache(part: Part) -> MemoryCache:
    """Return one memory-side cache."""
    return MemoryCache(
        part.needed("node_id", 0, ID_LIMIT - 1),
        part.needed("level", 0, COUNT_LIMIT),
        part.whole("size_bytes", 0, MEMORY_LIMIT),
    )


def tier(part: Part) -> MemoryTier:
    """Return one memory tier."""
    return MemoryTier(part.needed("id", 0, COUNT_LIMIT), part.needed_ids("nodes"))


def limits(whole: Part) -> Limits:
    """Return what the process that took the snapshot could use."""
    part = whole.part("limits")
    if part is None:
        return Limits()
    own = Limits(
        part.ids("cpuset_cpus"),
        part.ids("cpuset_mems"),
        part.ids("affinity"),
        part.number("cpu_quota", COUNT_LIMIT),
        part.whole("start_cpu", 0, ID_LIMIT - 1),
    )
    part.end()
    return own


def settings(whole: Part) -> Settings:
    """Return the settings."""
    part = whole.part("settings")
    if part is None:
        return Settings()
    read = Settings(
        part.text("cmdline"),
        part.whole("numa_balancing", -KERNEL_LIMIT, KERNEL_LIMIT),
        part.whole("zone_reclaim_mode", -KERNEL_LIMIT, KERNEL_LIMIT),
        part.text("transparent_hugepage"),
        part.text("smt_control"),
        part.ids("isolated_cpus"),
        part.whole("dimms_populated", 0, COUNT_LIMIT),
        part.whole("memory_channels", 0, COUNT_LIMIT),
    )
    part.end()
    return read


def warning(part: Part) -> Warning:
    """Return one warning of the reading that was recorded."""
    return Warning(part.needed_text("code"), part.needed_text("message"))


def origins(whole: Part) -> Mapping[str, str]:
    """Return where each part was read when the snapshot was taken."""
    part = whole.part("origins")
    if part is None:
        return {}
    if len(part.values) > PARTS_LIMIT:
        raise whole.fault("origins", f"has more than {PARTS_LIMIT} entries")
    return {whole.checked_text("origins", name): part.needed_text(name) for name in part.values}


def noted(machine: Machine, notes: Notes, has_more: bool) -> Machine:
    """Return the machine with a warning of what is missing, not known, or left out around it."""
    missing = [name for name in notes.missing if name not in BESIDE | LATER]
    if missing:
        gaps = dict.fromkeys((*machine.gaps, *sorted(GAPS.intersection(missing))))
        machine = machine._replace(gaps=tuple(gaps)).warned(
            "incomplete",
            f"the snapshot does not state {some(missing)}, of which nothing is known then; "
            f"{SUPPLY}",
        )
    if notes.unknown:
        machine = machine.warned(
            "snapshot-newer",
            f"the snapshot states {some(notes.unknown)}, which this version does not know and "
            "leaves out; a newer numatune reads it",
        )
    if has_more:
        machine = machine.warned("repaired", "the text around the snapshot was left out")
    return machine


def some(names: list[str]) -> str:
    """Name the first few of many."""
    first = [name[:60] for name in names[:6]]
    return listed([*first, f"{len(names) - 6} more"] if len(names) > 6 else first)
