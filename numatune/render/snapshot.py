"""The snapshot of a machine as a document: all that was read of it, and nothing about its owner.

Names of files and folders, which may hold the names of users and hosts, become the kind of source;
the kernel command line is cut to the parameters that tell something; what a warning quotes of its
input or names below a control group is left out.
"""

from __future__ import annotations

import re
from typing import Any

import numatune
from numatune.machine import CpuSet, Limits, Machine, Node, Settings, Warning
from numatune.machine.command_line import cut
from numatune.machine.origins import LIVE, TREE, labels_of, reader_of
from numatune.words import clean

#: Raised where a reader of the older version could not read the newer one.
VERSION = 1

ABOUT = (
    "one machine as numatune read it, without host name, user names, serial numbers and names of"
    " files"
)
#: The same where all of the kernel command line was asked for.
ABOUT_FULL = f"{ABOUT}, except for what the kernel command line may hold"

#: Sources that are named by their kind already.
KINDS = frozenset(("file", LIVE, "standard input", "synthetic", "text", TREE))

#: A piece of the input that a warning quotes; an apostrophe inside of a word starts none.
QUOTED = re.compile(r"""(?<!\w)(?P<mark>['"]).*?(?P=mark)(?!\w)""")
#: The folder of a control group, which may bear the name of a user, a job or a container.
GROUP = re.compile(r"sys/fs/cgroup/.*/")

Document = dict[str, Any]


def snapshot_document(machine: Machine, *, full_command_line: bool = False) -> Document:
    """Return the document, its keys in the order in which a person reads them."""
    cpu = machine.cpu
    features = None if cpu.features is None else " ".join(sorted(cpu.features))
    return {
        "numatune_snapshot": VERSION,
        "tool_version": numatune.__version__,
        "about": ABOUT_FULL if full_command_line else ABOUT,
        "source": " + ".join(kind_of(label) for label in labels_of(machine)),
        "warnings": [warning(machine, w) for w in machine.warnings],
        "architecture": text(cpu.architecture),
        "cpu_vendor": text(cpu.vendor),
        "cpu_model": text(cpu.model),
        "cpu_features": text(features),
        "efficiency_cpus": ids(cpu.efficiency_cpus),
        "is_guest": machine.is_guest,
        "nodes": [node(n) for n in machine.nodes],
        "distances": distances(machine),
        "packages": packages(machine),
        "package_count": machine.package_count,
        "core_count": machine.core_count,
        "smt": machine.smt,
        "online_cpus": ids(machine.online_cpus),
        "offline_cpus": ids(machine.offline_cpus),
        "limits": limits(machine.limits),
        "settings": settings(machine.settings, full_command_line),
        "gpus": gpus(machine),
        "dimms": dimms(machine),
        "memory": None if machine.memory is None else machine.memory.document(),
        "gaps": list(machine.gaps),
        "origins": {part: text(reader_of(machine, part)) for part in sorted(machine.origins)},
        "cores": cores(machine),
    }


def text(value: str | None) -> str | None:
    """Return a text of the machine as it may be printed anywhere."""
    return None if value is None else clean(value)


def ids(cpus: CpuSet | None) -> str | None:
    """Return a set of CPUs or nodes as a kernel list."""
    return None if cpus is None else str(cpus)


def node(one: Node) -> Document:
    """Return one node."""
    return {
        "id": one.id,
        "cpus": ids(one.cpus),
        "memory_total_bytes": one.memory_total_bytes,
        "memory_free_bytes": one.memory_free_bytes,
        "kind": one.kind,
    }


def distances(machine: Machine) -> Document | None:
    """Return the table of distances, a row a list."""
    table = machine.distances
    if table is None:
        return None
    return {"node_ids": list(table.node_ids), "values": [list(row) for row in table.values]}


def packages(machine: Machine) -> list[Document] | None:
    """Return the packages."""
    if machine.packages is None:
        return None
    return [{"id": p.id, "cpus": str(p.cpus)} for p in machine.packages]


def cores(machine: Machine) -> list[Document] | None:
    """Return the cores."""
    if machine.cores is None:
        return None
    return [
        {"cpus": str(c.cpus), "package_id": c.package_id, "node_id": c.node_id}
        for c in machine.cores
    ]


def gpus(machine: Machine) -> list[Document] | None:
    """Return the GPUs."""
    if machine.gpus is None:
        return None
    return [
        {"name": clean(g.name), "node_id": g.node_id, "cpus": ids(g.cpus)} for g in machine.gpus
    ]


def dimms(machine: Machine) -> list[Document] | None:
    """Return the memory slots."""
    if machine.dimms is None:
        return None
    return [
        {
            "locator": clean(d.locator),
            "size_bytes": d.size_bytes,
            "type": text(d.type),
            "speed_mts": d.speed_mts,
        }
        for d in machine.dimms
    ]


def limits(own: Limits) -> Document:
    """Return what the process that took the snapshot may use."""
    return {
        "cpuset_cpus": ids(own.cpuset_cpus),
        "cpuset_mems": ids(own.cpuset_mems),
        "affinity": ids(own.affinity),
        "cpu_quota": own.cpu_quota,
        "start_cpu": own.start_cpu,
    }


def settings(read: Settings, full_command_line: bool) -> Document:
    """Return the settings, the command line cut unless all of it is asked for."""
    values: Document = dict(read._asdict())
    values["isolated_cpus"] = ids(read.isolated_cpus)
    if read.cmdline is not None:
        values["cmdline"] = clean(read.cmdline if full_command_line else cut(read.cmdline))
    values["transparent_hugepage"] = text(read.transparent_hugepage)
    values["smt_control"] = text(read.smt_control)
    return values


def kind_of(label: str) -> str:
    """Return what kind of source a label names: a file or a folder loses its name."""
    if label == "this host":
        return LIVE
    if label.startswith("tree "):
        return TREE
    if label.startswith("synthetic "):
        return "synthetic"
    return label if label in KINDS else "file"


def warning(machine: Machine, one: Warning) -> Document:
    """Return a warning without what it quotes of its input, and without names of its source."""
    message = QUOTED.sub("'...'", clean(one.message))
    message = GROUP.sub("sys/fs/cgroup/.../", message)
    for label in labels_of(machine):
        name = label.removeprefix("tree ")
        if kind_of(label) in ("file", "tree") and len(name) > 1:
            message = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", kind_of(label), message)
    return {"code": one.code, "message": message}
