"""Machines made up, and written as each kind of lscpu output shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numatune.machine import CpuSet


class Made(NamedTuple):
    """A machine: its cores with the node and package of each, and what its CPU is."""

    cores: tuple[tuple[CpuSet, int, int], ...]
    offline: CpuSet = CpuSet()
    empty_nodes: tuple[int, ...] = ()
    model: str = "Example(R) Core 9000 @ 2.50GHz"
    flags: tuple[str, ...] = ("fpu", "tsc", "msr", "lm", "avx2", "avx512f")

    @property
    def online(self) -> CpuSet:
        every = CpuSet()
        for cpus, _, _ in self.cores:
            every |= cpus
        return every

    def groups(self, place: int) -> dict[int, CpuSet]:
        """Return the online CPUs by node (1) or package (2)."""
        groups: dict[int, CpuSet] = {}
        for core in self.cores:
            key = (core[1], core[2])[place - 1]
            groups[key] = groups.get(key, CpuSet()) | core[0]
        return groups

    @property
    def nodes(self) -> dict[int, CpuSet]:
        nodes = {**{number: CpuSet() for number in self.empty_nodes}, **self.groups(1)}
        return dict(sorted(nodes.items()))

    @property
    def threads(self) -> int:
        return max(len(cpus) for cpus, _, _ in self.cores)


def uniform(
    packages: int, nodes_each: int, cores_each: int, threads: int, adjacent: bool = False
) -> Made:
    """Make a machine of equal packages, nodes and cores; siblings last, or side by side."""
    count = packages * nodes_each * cores_each
    cores = []
    for core in range(count):
        node = core // cores_each
        ids = [core * threads + t if adjacent else core + t * count for t in range(threads)]
        cores.append((CpuSet(ids), node, node // nodes_each))
    return Made(tuple(cores))


def without(made: Made, offline: CpuSet) -> Made:
    """Take CPUs offline."""
    cores = [(cpus - offline, node, package) for cpus, node, package in made.cores]
    nodes = tuple(sorted(set(made.nodes) - {node for cpus, node, _ in cores if cpus}))
    return made._replace(
        cores=tuple(core for core in cores if core[0]),
        offline=made.offline | (offline & made.online),
        empty_nodes=nodes,
    )


def fields(made: Made) -> list[tuple[str, str]]:
    """Return what `lscpu` states, in its order."""
    packages = len(made.groups(2))
    rows = [
        ("Architecture:", "x86_64"),
        ("CPU op-mode(s):", "32-bit, 64-bit"),
        ("Byte Order:", "Little Endian"),
        ("CPU(s):", str(len(made.online) + len(made.offline))),
        ("On-line CPU(s) list:", str(made.online)),
    ]
    if made.offline:
        rows.append(("Off-line CPU(s) list:", str(made.offline)))
    rows += [
        ("Vendor ID:", "GenuineExample"),
        ("Model name:", made.model),
        ("CPU family:", "6"),
        ("Model:", "85"),
        ("Thread(s) per core:", str(made.threads)),
        ("Core(s) per socket:", str(len(made.cores) // packages)),
        ("Socket(s):", str(packages)),
        ("Stepping:", "7"),
        ("BogoMIPS:", "5000.00"),
        ("Flags:", " ".join(made.flags)),
        ("L1d cache:", "768 KiB (24 instances)"),
        ("L3 cache:", "71.5 MiB (2 instances)"),
        ("NUMA node(s):", str(len(made.nodes))),
    ]
    rows += [(f"NUMA node{number} CPU(s):", str(cpus)) for number, cpus in made.nodes.items()]
    rows.append(("Vulnerability Meltdown:", "Not affected"))
    rows.append(("Vulnerability Spectre v2:", "Mitigation; Retpolines; RSB filling: on"))
    return rows


def as_text(rows: Sequence[tuple[str, str]]) -> str:
    """Write the summary as text."""
    width = max(len(label) for label, _ in rows) + 2
    return "".join(f"{label:{width}}{value}\n" for label, value in rows)


HEADS = {
    "CPU(s):": 0, "Architecture:": 0, "Vendor ID:": 0, "On-line CPU(s) list:": 2,
    "Off-line CPU(s) list:": 2, "CPU op-mode(s):": 2, "Byte Order:": 2, "Model name:": 2,
}  # fmt: skip


def as_tree(rows: Sequence[tuple[str, str]], columns: int = 10_000) -> str:
    """Write the summary as 2.37 and later do on a terminal: indented, and wrapped by itself."""
    lines = []
    for label, value in rows:
        if label == "NUMA node(s):":
            lines.append(("NUMA:", ""))
        if label == "L1d cache:":
            lines.append(("Caches (sum of all):", ""))
        label = label.replace(" cache:", ":")
        lines.append((" " * HEADS.get(label, 4 if label[0] in "TCSM" else 2) + label, value))
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

    def entry(label: str, value: str) -> str:
        data = f'"{value}"' if value else "null"
        return f'{{\n         "field": "{label}",\n         "data": {data}'

    if not nested:
        return _array("lscpu", [entry(*row) + "\n      }" for row in rows])
    plain = [entry(*row) + "\n      }" for row in rows if not row[0].startswith("NUMA")]
    inner = ",".join(entry(*row) + "\n      }" for row in rows if row[0].startswith("NUMA"))
    head = entry("NUMA:", "")
    return _array("lscpu", [*plain, f'{head},\n         "children": [\n      {inner}]\n      }}'])


def _array(name: str, entries: Sequence[str]) -> str:
    return f'{{\n   "{name}": [\n      ' + ",".join(entries) + "\n   ]\n}\n"


def cells(made: Made, with_offline: bool = True) -> list[dict[str, str]]:
    """Return what `lscpu -e` shows of each CPU; "" is unknown."""
    of = {cpu: (i, core) for i, core in enumerate(made.cores) for cpu in core[0]}
    order: dict[str, list[int]] = {"core": [], "socket": []}
    rows = []
    for cpu in made.online | made.offline:
        if cpu not in of:
            if with_offline:
                rows.append(dict.fromkeys(("NODE", "SOCKET", "CORE", "CACHES"), "")
                            | {"CPU": str(cpu), "ONLINE": "no"})  # fmt: skip
            continue
        core, (_, node, package) = of[cpu]
        numbers = []
        for name, number in (("core", core), ("socket", package)):
            if number not in order[name]:
                order[name].append(number)
            numbers.append(order[name].index(number))
        rows.append({
            "CPU": str(cpu), "NODE": str(node), "SOCKET": str(numbers[1]), "CORE": str(numbers[0]),
            "CACHES": f"{numbers[0]}:{numbers[0]}:{numbers[0]}:{numbers[1]}", "ONLINE": "yes",
        })  # fmt: skip
    return rows


DEFAULT = ("CPU", "NODE", "SOCKET", "CORE", "CACHES", "ONLINE")


def as_table(rows: Sequence[dict[str, str]], columns: Sequence[str] = DEFAULT) -> str:
    """Write `lscpu -e`."""
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


PARSABLE = (
    "# The following is the parsable format, which can be fed to other\n"
    "# programs. Each different item in every column has an unique ID\n"
    "# starting usually from zero.\n"
)


def as_parsable(
    rows: Sequence[dict[str, str]], columns: Sequence[str] = ("CPU", "CORE", "SOCKET", "NODE")
) -> str:
    """Write `lscpu -p=...`, or with the default columns `lscpu -p`, which adds the caches."""
    default = tuple(columns) == ("CPU", "CORE", "SOCKET", "NODE")
    head = ",".join(c if c == "CPU" else c.capitalize() for c in columns)
    text = PARSABLE + f"# {head}{',,L1d,L1i,L2,L3' if default else ''}\n"
    for row in rows:
        caches = "," + "," * 4 if not row["CACHES"] else ",," + row["CACHES"].replace(":", ",")
        online = {"yes": "Y", "no": "N"}
        line = ",".join(online.get(row[c], row[c]) if c == "ONLINE" else row[c] for c in columns)
        text += line + (caches if default else "") + "\n"
    return text


def as_json_rows(rows: Sequence[dict[str, str]], style: str = "bare") -> str:
    """Write `lscpu -J -e`: `bare` numbers (2.38, unknown ones as a bare dash), or `quoted`."""
    names = {"CACHES": "l1d:l1i:l2:l3"}
    entries = []
    for row in rows:
        pairs = []
        for column in DEFAULT:
            value = row[column] or "-"
            if column == "ONLINE" and style == "bare":
                value = {"yes": "true", "no": "false"}[value]
            elif column == "CACHES" or style == "quoted":
                value = f'"{value}"'
            pairs.append(f'         "{names.get(column, column.lower())}": {value}')
        entries.append("{\n" + ",\n".join(pairs) + "\n      }")
    return _array("cpus", entries)
