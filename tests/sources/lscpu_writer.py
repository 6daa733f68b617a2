"""Machines written as each kind of lscpu output shows them.

After print_summary, print_cpus_readable and print_cpus_parsable in sys-utils/lscpu.c of
https://github.com/util-linux/util-linux: cores and sockets are numbered by order of appearance,
the threads of a core are those of the largest, the cores of a socket are divided and rounded down.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from numatune.machine import CpuSet, Machine

Row = dict[str, str]

DEFAULT = ("CPU", "NODE", "SOCKET", "CORE", "CACHES", "ONLINE")
PARSABLE = (
    "# The following is the parsable format, which can be fed to other\n"
    "# programs. Each different item in every column has an unique ID\n"
    "# starting usually from zero.\n"
)
#: What stands under each heading on a terminal.
HEADINGS = {"NUMA node(s):": "NUMA:", "L1d cache:": "Caches (sum of all):"}
TOP = ("CPU(s):", "Architecture:", "Vendor ID:")
SECOND = ("CPU op-mode(s):", "Byte Order:", "On-line CPU(s) list:", "Off-line CPU(s) list:")


def fields(machine: Machine) -> list[tuple[str, str]]:
    """Return what `lscpu` states, in its order."""
    online, offline = machine.online_cpus or CpuSet(), machine.offline_cpus or CpuSet()
    rows = [
        ("Architecture:", machine.cpu.architecture or "x86_64"),
        ("CPU op-mode(s):", "32-bit, 64-bit"),
        ("Byte Order:", "Little Endian"),
        ("CPU(s):", str(len(online | offline))),
        ("On-line CPU(s) list:", str(online)),
    ]
    if offline:
        rows.append(("Off-line CPU(s) list:", str(offline)))
    rows += [
        ("Vendor ID:", machine.cpu.vendor or "GenuineExample"),
        ("Model name:", machine.cpu.model or "Example(R) Core 9000 @ 2.50GHz"),
        ("CPU family:", "6"),
        ("Model:", "85"),
        *figures(machine),
        ("Stepping:", "7"),
        ("CPU max MHz:", "3900.0000"),
        ("BogoMIPS:", "5000.00"),
    ]
    if machine.cpu.features is not None:
        rows.append(("Flags:", " ".join(sorted(machine.cpu.features))))
    rows += [("L1d cache:", "768 KiB (24 instances)"), ("L3 cache:", "71.5 MiB (2 instances)")]
    if machine.nodes:
        rows.append(("NUMA node(s):", str(len(machine.nodes))))
    rows += [(f"NUMA node{node.id} CPU(s):", str(node.cpus)) for node in machine.nodes]
    rows.append(("Vulnerability Meltdown:", "Not affected"))
    rows.append(("Vulnerability Spectre v2:", "Mitigation; Retpolines; RSB filling: on"))
    return rows


def figures(machine: Machine) -> list[tuple[str, str]]:
    """Return threads of a core, cores of a socket and sockets; "-" is unknown."""
    cores, packages = machine.cores, machine.packages
    threads = str(max(len(core.cpus) for core in cores)) if cores else "-"
    each = str(len(cores) // len(packages)) if cores and packages else "-"
    return [
        ("Thread(s) per core:", threads),
        ("Core(s) per socket:", each),
        ("Socket(s):", str(len(packages)) if packages else "-"),
    ]


def as_text(rows: Sequence[tuple[str, str]]) -> str:
    """Write the summary as text."""
    width = max(len(label) for label, _ in rows) + 2
    return "".join(f"{label:{width}}{value}\n" for label, value in rows)


def as_tree(rows: Sequence[tuple[str, str]], columns: int = 10_000) -> str:
    """Write the summary as 2.37 and later do on a terminal: indented, and wrapped by itself."""
    lines = []
    for label, value in rows:
        if label in HEADINGS:
            lines.append((HEADINGS[label], ""))
        indent = 0 if label in TOP else 2 if label in SECOND or label[0] in "MLNV" else 4
        lines.append((" " * indent + label.replace(" cache:", ":"), value))
    width = max(len(label) for label, _ in lines) + 2
    room = columns - width
    text = ""
    for label, value in lines:
        parts = [value[i : i + room] for i in range(0, len(value), room)] or [""]
        text += f"{label:{width}}{parts[0]}\n"
        text += "".join(f"{'':{width}}{part}\n" for part in parts[1:])
    return text


def as_json(rows: Sequence[tuple[str, str]], nested: bool = False) -> str:
    """Write the summary as `lscpu -J`, flat or with the node lines as children."""
    entries: list[dict[str, object]] = []
    top = entries
    for label, value in rows:
        if nested and label in HEADINGS:
            entries = []
            top.append({"field": HEADINGS[label], "data": None, "children": entries})
        elif nested and label.startswith("Vuln"):
            entries = top
        entries.append({"field": label, "data": value or None})
    return json.dumps({"lscpu": top}, indent=3, ensure_ascii=False) + "\n"


def cells(machine: Machine, with_offline: bool = True) -> list[Row]:
    """Return what `lscpu -e` shows of each CPU, "" where it is unknown."""
    online = machine.online_cpus or CpuSet()
    core_of = {cpu: i for i, core in enumerate(machine.cores or ()) for cpu in core.cpus}
    socket_of = {cpu: package.id for package in machine.packages or () for cpu in package.cpus}
    node_of = {cpu: node.id for node in machine.nodes for cpu in node.cpus or ()}
    numbers: dict[int, int] = {}
    for cpu in online & CpuSet(socket_of):
        numbers.setdefault(socket_of[cpu], len(numbers))
    rows = []
    for cpu in online | (machine.offline_cpus or CpuSet()):
        if cpu not in online:
            if with_offline:
                rows.append({**dict.fromkeys(DEFAULT, ""), "CPU": str(cpu), "ONLINE": "no"})
            continue
        core = core_of.get(cpu)
        socket = numbers.get(socket_of.get(cpu, -1), "")
        rows.append({
            "CPU": str(cpu), "NODE": str(node_of.get(cpu, "")), "SOCKET": str(socket),
            "CORE": "" if core is None else str(core),
            "CACHES": "" if core is None else f"{core}:{core}:{core}:{socket or 0}",
            "ONLINE": "yes",
        })  # fmt: skip
    return rows


def as_table(rows: Sequence[Row], columns: Sequence[str] = DEFAULT) -> str:
    """Write `lscpu -e`, or `lscpu -e=...`."""
    head = ["L1d:L1i:L2:L3" if column == "CACHES" else column for column in columns]
    lines = [head] + [[row[column] or "-" for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    text = ""
    for line in lines:
        parts = [
            cell.ljust(width) if column == "CACHES" else cell.rjust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ]
        text += " ".join(parts).rstrip() + "\n"
    return text


def as_parsable(
    rows: Sequence[Row], columns: Sequence[str] = ("CPU", "CORE", "SOCKET", "NODE")
) -> str:
    """Write `lscpu -p=...`, or with the default columns `lscpu -p`, which adds the caches."""
    default = tuple(columns) == ("CPU", "CORE", "SOCKET", "NODE")
    head = ",".join(c if c == "CPU" else c.capitalize() for c in columns)
    text = PARSABLE + f"# {head}{',,L1d,L1i,L2,L3' if default else ''}\n"
    for row in rows:
        caches = ",," + (row["CACHES"].replace(":", ",") or ",,,")
        line = ",".join({"yes": "Y", "no": "N"}.get(row[c], row[c]) for c in columns)
        text += line + (caches if default else "") + "\n"
    return text


def as_json_rows(rows: Sequence[Row], style: str = "null") -> str:
    """Write `lscpu -J -e`: "quoted" before 2.37, then "bare" with a dash for what is unknown,
    now "null".
    """
    entries = []
    for row in rows:
        pairs = []
        for column in DEFAULT:
            value = row[column] or ("null" if style == "null" else "-")
            if column == "ONLINE" and style != "quoted":
                value = {"yes": "true", "no": "false"}[value]
            elif style == "quoted" or (column == "CACHES" and value != "null"):
                value = f'"{value}"'
            name = "l1d:l1i:l2:l3" if column == "CACHES" else column.lower()
            pairs.append(f'         "{name}": {value}')
        entries.append("{\n" + ",\n".join(pairs) + "\n      }")
    return '{\n   "cpus": [\n      ' + ",".join(entries) + "\n   ]\n}\n"
