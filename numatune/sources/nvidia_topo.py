"""Reading `nvidia-smi topo -m`: the NUMA node and the CPUs that each GPU is near.

The table is separated by tabs, with an empty column before "GPU NUMA ID" (which is the node of the
GPU's own memory, and not read), or by blanks once it was pasted. "CPU Affinity" alone is what old
drivers print; guests print N/A, or nothing.

nvidia-smi prints six parts of a CPU list at most, and does not say so: on machines whose nodes take
turns in the numbering it prints "0,2,4,6,8,10" for a node with 24 or 40 CPUs. A list with six
parts or more is therefore not read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numatune.errors import MachineError
from numatune.machine import CpuSet, Gpu, Machine, Warning

NAME = "nvidia-smi topo -m"
SUPPLY = "give the whole output of `nvidia-smi topo -m`, unwrapped"

AFFINITY = re.compile(r"CPU\s{1,20}Affinity\b")
COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
#: What stands between two devices.
LINK = re.compile(r"X|SYS|NODE|PHB|PXB|PIX|PSB|SOC|NV[0-9]{1,3}|C2C|N/A")
FIRST_ROW = re.compile(
    r"GPU[0-9]{1,3}[ \t\xa0]{1,40}X[ \t\xa0]{1,40}"
    r"(?:SYS|NODE|PHB|PXB|PIX|PSB|SOC|NV[0-9]|C2C|N/A|[0-9]{1,5}(?:[-,][0-9]|[ \t\xa0\r\n]))"
)
#: The words at which the window around the table starts and ends.
WORDS = re.compile(rf"{FIRST_ROW.pattern}|{AFFINITY.pattern}|GPU[0-9]{{1,3}}[ \t\xa0]+[NPS][A-Z]")
TAIL = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
GPU = re.compile(r"GPU[0-9]{1,3}")
MARKS = " \t\xa0>|#*`"
#: A line number before a line.
NUMBERED = re.compile(r"[0-9]{1,6}[:.|)]?")
ROW = re.compile(rf"(?:^|(?<=[^\w]))(GPU[0-9]{{1,3}})(?=[ \t]+(?:{LINK.pattern})(?!\w))")
#: What a row may go on with in a next line.
CELL = re.compile(rf"(?:{LINK.pattern}|[0-9][0-9,.-]{{0,300}})")
WIDTH_LIMIT = 1000
TEXT_LIMIT = 1 << 20
#: The most parts of a list that nvidia-smi prints.
PARTS = 6


class Row(NamedTuple):
    """One GPU: its name, and what stands in the columns behind the links."""

    name: str
    tail: list[str]
    is_clear: bool


def recognises(text: str) -> bool:
    """Tell whether there is output of `nvidia-smi topo -m` in a text."""
    return FIRST_ROW.search(text) is not None or bool(head_of(text)[0])


def read(text: str, label: str) -> Machine:
    """Read the GPUs; `label` becomes the source. Raises MachineError where there is none."""
    from numatune.sources.parts import Window, described, excerpt
    from numatune.sources.paste import plain_characters, without_terminal_codes

    part = (
        excerpt(text, WORDS, Window(6, 12, TEXT_LIMIT), SUPPLY)
        .replace("\r\n", "\n")
        .replace("\0", "")
    )
    part = plain_characters(without_terminal_codes(part))
    names, columns = head_of(part)
    links = len(names) if names else None
    rows = rows_of(part, links, columns)
    if not rows:
        raise MachineError(f"there is no GPU with its place in this text; {SUPPLY}")
    gpus: dict[str, Gpu] = {}
    unsure: dict[str, list[str]] = {}
    for row in rows:
        gpu = gpu_of(row, columns, unsure)
        if gpus.setdefault(gpu.name, gpu) != gpu:
            raise MachineError(f"{gpu.name} is in the text twice; {SUPPLY} of one machine")
    warnings = [
        Warning(code, SAID[code].format(", ".join(names))) for code, names in unsure.items()
    ]
    lost = [name for name in names if GPU.fullmatch(name) and name not in gpus]
    if lost:
        text = f"{', '.join(lost[:8])} of the table's head have no row; {SUPPLY}"
        warnings.append(Warning("incomplete", text))
    elif not names:
        text = f"the head of the table is missing, and with it, maybe, GPUs; {SUPPLY}"
        warnings.append(Warning("incomplete", text))
    return described(Machine(label, gpus=tuple(gpus.values()), warnings=tuple(warnings)), NAME)


SAID = {
    "affinity-cut": "the CPUs near {} are not known: nvidia-smi prints six parts of a list at most;"
    " `numactl --hardware` tells those of its node",
    "damaged": f"the columns of {{}} can't be told apart, or hold no list; {SUPPLY}",
}


def head_of(text: str) -> tuple[list[str], list[str]]:
    """Return the names of the devices in the table's head, and of the columns behind them.

    Without a head there is no name, and the columns are those of current drivers.
    """
    for found, _ in zip(AFFINITY.finditer(text), range(100), strict=False):
        names: list[str] = []
        for line in reversed(text[max(0, found.start() - 8000) : found.start()].split("\n")[-6:]):
            names = [*COLOUR.sub("", line).strip(MARKS).split(), *names]
            if len(names) > 1 and NUMBERED.fullmatch(names[0]):
                del names[0]
            if names and GPU.fullmatch(names[0]):
                return names, columns_of(text[found.start() : found.start() + 200])
    return [], list(TAIL)


def columns_of(text: str) -> list[str]:
    """Return the columns of the head that follow the devices."""
    rest = " ".join(word for word in text.split() if word not in MARKS)
    columns = []
    for name in TAIL:
        if rest.startswith(name):
            columns.append(name)
            rest = rest[len(name) :].lstrip()
    return columns


def rows_of(text: str, links: int | None, columns: list[str]) -> list[Row]:
    """Return the rows of GPUs; what follows in a next line belongs to the row before it."""
    rows: list[Row] = []
    lines = text.split("\n")
    for place, line in enumerate(lines):
        found = ROW.search(line)
        if found is None:
            continue
        before = line[: found.start()].strip(MARKS)
        if before and not NUMBERED.fullmatch(before):
            continue
        cells = line[found.end() :]
        for more in lines[place + 1 : place + 8]:
            rest = more.strip(MARKS)
            if not rest or not all(map(CELL.fullmatch, rest.split())):
                break
            cells += "\n" + rest
        row = row_of(found[1], cells.rstrip("\r\n "), links, columns)
        if row is not None:
            may_go_on = not row.tail or columns[-1:] != ["GPU NUMA ID"]
            is_cut = place == len(lines) - 1 and may_go_on
            rows.append(row._replace(is_clear=row.is_clear and not is_cut))
        if len(rows) > WIDTH_LIMIT:
            raise MachineError(f"there are more than {WIDTH_LIMIT} GPUs in this text; {SUPPLY}")
    if any(row.tail for row in rows):
        return [row if row.tail else row._replace(is_clear=False) for row in rows]
    return rows


def row_of(name: str, cells: str, links: int | None, columns: list[str]) -> Row | None:
    """Split one row; None where it has no link, and so is of another table."""
    words = cells.split()
    count = links
    if count is None:
        count = next((i for i, word in enumerate(words) if not LINK.fullmatch(word)), len(words))
    if not words or not LINK.fullmatch(words[0]):
        return None
    if len(words) < count or not all(map(LINK.fullmatch, words[:count])):
        return Row(name, [], False)
    tail = words[count:]
    if "\t" in cells and "\n" not in cells:
        split = [cell.strip() for cell in cells.split("\t")][1 + count :]
        if len(split) == len(columns) + 1 and columns[-1:] == ["GPU NUMA ID"]:
            split = [*split[:-2], split[-1]]
        if len(split) == len(columns):
            tail = split
    return Row(name, tail, len(tail) in (len(columns), 0))


def gpu_of(row: Row, columns: list[str], unsure: dict[str, list[str]]) -> Gpu:
    """Return one GPU; what is not sure is None, and noted."""
    if not row.is_clear or (row.tail and "CPU Affinity" not in columns):
        unsure.setdefault("damaged", []).append(row.name)
        return Gpu(row.name)
    values = dict(zip(columns, row.tail, strict=False))
    affinity, node = (values.get(name, "").replace("N/A", "") for name in TAIL[:2])
    cpus, nodes = id_list(affinity), id_list(node)
    if affinity.endswith("...") or affinity.count(",") >= PARTS - 1:
        unsure.setdefault("affinity-cut", []).append(row.name)
        cpus = None
    elif bool(affinity) > bool(cpus):
        unsure.setdefault("damaged", []).append(row.name)
    if bool(node) > bool(nodes):
        unsure.setdefault("damaged", []).append(row.name)
    return Gpu(row.name, nodes.first() if nodes and len(nodes) == 1 else None, cpus)


def id_list(text: str) -> CpuSet | None:
    """Return a list of ids, None where it is none."""
    try:
        return CpuSet.parse(text) or None
    except ValueError:
        return None
