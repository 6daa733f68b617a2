"""Reading `numastat -m`: the memory of each node in MB, by columns that are folded at the width.

Format: `show_system_info` and `display_table` in numastat.c at https://github.com/numactl/numactl.
One MB there is 2**20 bytes, with two decimals (none with -c), so that a size is known to some KiB.
The tables of `numastat -p` and `-n`, of processes and of counters, are not read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numatune.errors import MachineError
from numatune.machine import CpuSet, Machine, Node, Warning
from numatune.sources.hwloc_nodes import NODE_LIMIT

NAME = "numastat -m"
SUPPLY = "give the whole output of `numastat -m`"

TITLE = re.compile(r"Per-node\s+(system memory usage|process memory usage|numastat info)")
SIGN = re.compile(
    r"Per-node\s{1,9}system\s{1,9}memory\s{1,9}usage"
    r"|MemTotal(?:[ \t\xa0]+[0-9]{1,12}\.[0-9]{2}){2,}"
)
#: What a line starts with; a prefix stands before it.
START = re.compile(
    r"Per-node\s|Node +[0-9]|(?:Mem(?:Total|Free|Used)|(?:Ina|A)ctive|FilePages|AnonPages)\b"
    r"|Token \w"
)
#: Columns, the rule below them, and the two rows that matter. Numbers may go on in a next line.
TOKEN = re.compile(
    r"Node\s+(?P<node>[0-9]{1,9})(?![0-9.])|(?<!\w)(?P<total>Total)\b|(?P<rule>-{4,})"
    r"|(?P<row>MemTotal|MemFree)\b(?P<values>(?:\s+[0-9.,]+(?![\w%]))*)",
)
VALUE = re.compile(r"[0-9]{1,12}(?:\.[0-9]{2})?")
#: The words at which the window around the tables starts and ends.
WORDS = re.compile(rf"{SIGN.pattern}|MemFree|MemUsed|Token ")
TOTAL = -1


class Table(NamedTuple):
    """The values of both rows by node, TOTAL for the sum, and what was found wrong."""

    columns: tuple[int, ...]
    rows: dict[str, dict[int, float]]
    problems: tuple[str, ...]
    is_repeated: bool


def recognises(text: str) -> bool:
    """Tell whether there is output of `numastat -m` in a text."""
    return SIGN.search(text) is not None


def read(text: str, label: str) -> Machine:
    """Read the sizes of the nodes; `label` becomes the source.

    Raises MachineError where no node can be read, or two tables give two sizes for one.
    """
    from numatune.sources.parts import Window, described, excerpt
    from numatune.sources.paste import clean
    from numatune.sources.paste_lines import unprefixed

    cleaned = clean(excerpt(text, WORDS, Window(6, 6, 1 << 21), SUPPLY))
    lines = unprefixed(cleaned.text, START)
    if len(lines.sources) > 1:
        raise MachineError(f"the text holds numastat of several machines; {SUPPLY} of one")
    table = read_table(section("\n".join(line.text for line in lines.sources[0])))
    ids = sorted(set(table.columns) - {TOTAL})
    if not ids or not table.rows:
        reason = table.problems[0] if table.problems else "there is no node's memory in this text"
        raise MachineError(f"{reason}; {SUPPLY}")
    warnings = []
    if cleaned.undone or lines.marked:
        undone = [*cleaned.undone, *(["prefixes of lines"] if lines.marked else [])]
        warnings.append(Warning("repaired", f"undone in the text: {', '.join(undone)}"))
    if table.is_repeated:
        text = f"the text holds several tables of numastat; the last one counts; {SUPPLY} once"
        warnings.append(Warning("two-outputs", text))
    warnings += problems_of(table, ids)
    sizes = [{n: bytes_of(v) for n, v in table.rows.get(row, {}).items()} for row in ROWS]
    nodes = tuple(Node(n, None, sizes[0].get(n), sizes[1].get(n)) for n in ids)
    return described(Machine(label, nodes=nodes, warnings=tuple(warnings)), NAME)


ROWS = ("MemTotal", "MemFree")


def section(text: str) -> str:
    """Return the part of a text with the table of the system's memory, of which it may be none."""
    titles = list(TITLE.finditer(text))
    if not any(title[1].startswith("system") for title in titles):
        return text[: titles[0].start()] if titles else text
    ends = [*(title.start() for title in titles[1:]), len(text)]
    return "\n".join(
        text[title.end() : end]
        for title, end in zip(titles, ends, strict=True)
        if title[1].startswith("system")
    )


def read_table(text: str) -> Table:
    """Read the columns and both rows of every block. Raises MachineError."""
    columns: list[int] = []
    every: dict[int, None] = {}
    rows: dict[str, dict[int, float]] = {}
    problems: list[str] = []
    is_open = is_repeated = False
    for found in TOKEN.finditer(text):
        if found["rule"]:
            continue
        if found["row"]:
            is_open = False
            values = found["values"].split()
            if len(values) != len(columns) or not all(map(VALUE.fullmatch, values)):
                problems.append(f"the values of {found['row']} do not fit the columns")
                continue
            row = rows.setdefault(found["row"], {})
            for column, value in zip(columns, map(float, values), strict=True):
                known = row.get(column)
                is_repeated |= known is not None
                if known not in (None, value) and found["row"] == "MemTotal":
                    raise MachineError(f"node {column} has {known:.2f} MB and {value:.2f} MB in "
                                       f"this text; {SUPPLY} of one machine")  # fmt: skip
                row[column] = value
        else:
            if not is_open:
                columns, is_open = [], True
            column = TOTAL if found["total"] else int(found["node"])
            if column >= NODE_LIMIT:
                raise MachineError(f"node {column} is beyond what Linux knows; {SUPPLY}")
            columns.append(column)
            every[column] = None
    return Table(tuple(every), rows, tuple(dict.fromkeys(problems)), is_repeated)


def problems_of(table: Table, ids: list[int]) -> list[Warning]:
    """Name what is missing, and what does not add up."""
    problems = list(table.problems)
    for name in ROWS:
        row = table.rows.get(name, {})
        lost = CpuSet(n for n in ids if n not in row)
        if lost:
            problems.append(f"{name} of node {lost} is missing")
        elif TOTAL not in row:
            problems.append(f"the last column of {name} (Total) is missing; so may be nodes")
        elif abs(sum(row[n] for n in ids) - row[TOTAL]) > rounding(row) * (len(ids) + 1):
            problems.append(f"{name} of the nodes does not add up to its Total")
    return [Warning("incomplete", f"{problem}; {SUPPLY}") for problem in problems]


def rounding(row: dict[int, float]) -> float:
    """Return what one value may be off: numbers have two decimals, or none with -c."""
    return 1.0 if all(value == int(value) for value in row.values()) else 0.01


def bytes_of(mb: float) -> int:
    """Return MB as bytes, rounded to a KiB."""
    return round(mb * 1024) << 10
