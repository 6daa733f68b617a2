"""Reading the tables of `lscpu -e` and `lscpu -p`, with any choice of columns.

Formats: print_cpus_readable and print_cpus_parsable in sys-utils/lscpu.c of
https://github.com/util-linux/util-linux. `-e` fills what it does not know with "-"; `-p` leaves it
empty, separates by commas, and by default puts one more comma before the caches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from numatune.machine import Machine
from numatune.machine.cpuset import ID_LIMIT
from numatune.sources.lscpu_labels import COLUMNS, NO, YES
from numatune.sources.lscpu_losses import Losses
from numatune.sources.lscpu_rows import TELLING, Table, read_tables
from numatune.sources.numactl_values import is_elision, tail_problem
from numatune.sources.paste import clean
from numatune.sources.paste_lines import Line, unprefixed

NAME = "lscpu -e"

#: 8192 CPUs with all columns have 1.2 MB; of a longer text the part from the first header is read.
TEXT_LIMIT = 2 << 20
BEFORE = 4000
#: As much is parsed to tell whether a header has rows.
GLANCE = 1 << 16
GLANCES = 10
#: So many lines with "CPU" may stand before a header, and so long may one be.
MOST_LINES = 100_000
LONGEST = 1000

CACHES = r"L[0-9][a-z]?(?::L[0-9][a-z]?)*"
COLUMN = rf"(?:{'|'.join(map(re.escape, sorted(COLUMNS, reverse=True)))}|{CACHES})"
#: The header of a table: one column of ids besides CPU at least.
SPACED = re.compile(rf"(?<![^\W_]){COLUMN}(?:[ \t]+{COLUMN}){{1,30}}(?![^\s|\"'`*])")
COMMAED = re.compile(rf"(?<![^\W_])(?i:{COLUMN})(?:,(?i:{COLUMN})?){{1,30}}(?![^\s|\"'`*])")
HEADER = re.compile(f"{SPACED.pattern}|{COMMAED.pattern}")
#: The mark before the header of `-p`.
COMMENT = re.compile(rf"^# *(?={COMMAED.pattern})", re.MULTILINE)
#: The command itself, which names the columns where `grep -v "#"` took the header away.
COMMAND = re.compile(
    rf"\blscpu\b[^|\n]*?(?:-p|-e|--parse|--extended)[= ]((?i:{COLUMN})(?:,(?i:{COLUMN}))+)"
)
ID = re.compile(r"[0-9]{1,7}|-|", re.ASCII)
CACHE_IDS = re.compile(r"[0-9]{1,7}(?::[0-9]{1,7})*|-|", re.ASCII)
DECIMAL = re.compile(r"[0-9.,]{1,20}%?|-|", re.ASCII)
DECIMALS = frozenset(("BOGOMIPS", "MHZ", "SCALMHZ%", "MAXMHZ", "MINMHZ"))
IDS = frozenset(("CORE", "SOCKET", "CLUSTER", "NODE", "BOOK", "DRAWER", "ADDRESS"))
#: How many lines of something else may stand between two rows.
STRANGERS = 3

JOINED = "wrapped lines"
TOGETHER = "rows that were run together"
NOTED = "notes after values"


def recognises(text: str) -> bool:
    """Tell whether there is a table of lscpu with a row in a text, damaged or not."""
    for start in islice(headers(text), GLANCES):
        if any(table.rows for table in parsed(text[start : start + GLANCE])[0]):
            return True
    first = text[:GLANCE]
    return clean(first).text != first and any(table.rows for table in parsed(first)[0])


def headers(text: str) -> Iterator[int]:
    """Yield where lines start that have the header of a table. lscpu writes "CPU" in capitals."""
    place = text.find("CPU")
    for _ in range(MOST_LINES):
        if place < 0:
            return
        start = text.rfind("\n", 0, place) + 1
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        found = HEADER.search(text, max(start, place - LONGEST), min(end, place + LONGEST))
        if found and header_of(found.group()):
            yield start
        place = text.find("CPU", max(end, place + 1))


def header_of(words: str) -> tuple[str, ...]:
    """Return the columns that a header names, () where they are no table of CPUs."""
    columns = tuple(each.strip() for each in (words.split(",") if "," in words else words.split()))
    names = tuple(each.upper() for each in columns)
    return columns if names.count("CPU") == 1 and TELLING.intersection(names) else ()


def read(text: str, label: str) -> Machine:
    """Read a machine from the tables in a text; `label` becomes its source.

    Raises MachineError where there is no table with a row.
    """
    start = max(0, next(headers(text), 0) - BEFORE) if len(text) > TEXT_LIMIT else 0
    part = text[start : start + TEXT_LIMIT]
    tables, undone = parsed(part, start + len(part) >= len(text))
    machine = read_tables(tables, label, NAME, undone)
    if start + len(part) < len(text):
        machine = machine.warned("too-long", f"only {len(part)} of {len(text)} characters were "
                                 "read; paste the table alone")  # fmt: skip
    return machine


def parsed(text: str, is_end: bool = False) -> tuple[list[Table], list[str]]:
    """Return the tables of a text and what was undone to read it; nothing follows an `is_end`."""
    cleaned = clean(text)
    lines = unprefixed(COMMENT.sub("", cleaned.text), starts_of(cleaned.text))
    ends_open = is_end and cleaned.text[-1:] not in (" ", "\n", "")
    tables = [table for source in lines.sources for table in tables_of(source, ends_open)]
    return tables, [*cleaned.undone, *(["prefixes of lines"] if lines.marked else [])]


def starts_of(text: str) -> re.Pattern[str]:
    """Return a pattern for where a header or a row of its columns starts behind a prefix."""
    rows = {HEADER.pattern: None}
    for start in islice(headers(text), GLANCES):
        found = HEADER.search(text, start)
        columns = header_of(found.group()) if found else ()
        if found and columns:
            between = "," if "," in found.group() else " +"
            rows[rf"(?<![\w.]){between.join(map(cell_pattern, columns))} *$"] = None
    return re.compile("|".join(rows), re.ASCII)


def cell_pattern(column: str) -> str:
    """Return the pattern of the cells of a column."""
    name = column.upper()
    if name == "CPU":
        return "[0-9]+"
    if name in IDS:
        return "(?:[0-9]+|-|)" if name != column else "(?:[0-9]+|-)"
    if name in DECIMALS:
        return r"(?:[0-9.,]+%?|-)"
    if name == "MODELNAME":
        return ".*?"
    return r"(?:[0-9]+(?::[0-9]+)*|-|)" if name not in COLUMNS else r"[^\s,]*"


def tables_of(lines: Iterable[Line], ends_open: bool) -> list[Table]:
    """Return the tables in the lines of one source."""
    collectors: list[Collector] = []
    header = last = ""
    for line in lines:
        text = line.text.strip("\"'`*,")
        found = HEADER.match(text) or COMMAND.search(text)
        columns = header_of(found[found.lastindex or 0]) if found else ()
        if found and columns:
            header, rest = found.group(), text[found.end() :].strip()
            collectors.append(Collector(columns, "," in header and "-e" not in header))
            if rest and not found.lastindex:
                collectors[-1].add_behind_header(rest)
        elif header and is_more_header(text) and (more := header_of(f"{header} {text}")):
            collectors[-1] = Collector(more, False)
            collectors[-1].losses.undone.add(JOINED)
        elif collectors:
            header = ""
            collectors[-1].add(line.text)
        last = line.text or last
    for each in collectors:
        each.finish(last if ends_open and each is collectors[-1] else "")
    return [Table(each.columns, each.rows, each.losses) for each in collectors]


def is_more_header(text: str) -> bool:
    """Tell whether a line has nothing but names of columns: the rest of a wrapped header."""
    return all(re.fullmatch(COLUMN, word) for word in text.split()) and bool(text)


class Collector:
    """Collects the rows of one table."""

    def __init__(self, columns: Sequence[str], commas: bool) -> None:
        self.columns = tuple(columns)
        self.names = [column.upper() for column in columns]
        self.place = self.names.index("CPU")
        self.commas = commas
        #: As many cells as a row needs, so that none of interest may be cut.
        self.enough = 2 + max(i for i, name in enumerate(self.names) if name in TELLING)
        self.rows: dict[int, tuple[str, ...]] = {}
        self.losses = Losses()
        self.last = -1
        self.open: list[str] = []
        self.strangers = 0

    def add(self, text: str) -> None:
        """Take a line in."""
        if not text or self.strangers > STRANGERS or len(self.rows) > ID_LIMIT:
            return
        if is_elision(text):
            self.losses.add("elided", "some rows")
            return
        pieces = text.split()
        if self.commas and len(pieces) > 1 and all(self.fitted(p.split(",")) for p in pieces):
            self.losses.undone.add(TOGETHER)
            for piece in pieces:
                self.add(piece)
            return
        cells = self.cells_of(text)
        rows = self.fitted(cells)
        if not rows and self.open and self.fitted(self.open + cells):
            rows = self.fitted(self.open + cells)
            self.losses.undone.add(JOINED)
        if rows:
            self.open = []
            self.take(rows)
        elif self.is_start(cells) and (
            not self.strangers or int(cells[self.place]) == self.last + 1
        ):
            self.note_open()
            self.open = cells
        elif not self.open:
            words = text.split()[:1] if self.commas else text.split()
            if self.rows and not self.strangers and all(map(is_any_cell, words)):
                self.losses.add("damaged", f"a row after that of CPU {self.last}")
            self.strangers += 1

    def add_behind_header(self, text: str) -> None:
        """Take in what stands on the line of the header: rows, a note, or a column that is cut."""
        word = text.split()[0]
        is_name = any(name.startswith(word) for name in COLUMNS) or word[:2] in ("L1", "L2", "L3")
        if is_name or (tail_problem(f" {text}") and not self.fitted(self.cells_of(text))):
            self.losses.add("damaged", f"the columns behind {self.columns[-1]}")
        self.add(text)

    def cells_of(self, text: str) -> list[str]:
        """Return the cells of a line."""
        if not self.commas:
            return text.split()
        words = text.strip("\"'`*").split(" ", 1)
        is_noted = len(words) > 1 and "MODELNAME" not in self.names
        if is_noted and tail_problem(f" {words[1]}"):
            return text.split()
        cells = [cell.strip() for cell in (words[0] if is_noted else text).split(",")]
        if is_noted and self.fitted(cells):
            self.losses.undone.add(NOTED)
        return cells

    def is_start(self, cells: list[str]) -> bool:
        """Tell whether cells may be the start of a row, or a damaged row."""
        cell = cells[self.place] if self.place < len(cells) else ""
        return cell.isascii() and cell.isdigit() and len(cell) < 7 and int(cell) not in self.rows

    def note_open(self) -> None:
        """Note a row that could not be read."""
        if self.open:
            self.losses.add("damaged", f"the row of CPU {self.open[self.names.index('CPU')]}")
        self.open = []

    def take(self, rows: list[tuple[str, ...]]) -> None:
        """Take rows in; one that does not go on where others stopped is of something else."""
        for row in rows:
            cpu = int(row[self.place])
            if self.rows.get(cpu, row) != row:
                self.losses.warn("contradiction", f"the table has two rows of CPU {cpu}; the first "
                                 "one is taken; paste one table alone")  # fmt: skip
                self.strangers = STRANGERS + 1
                return
            if self.strangers and cpu != self.last + 1:
                self.losses.add("damaged", f"the rows between CPU {self.last} and CPU {cpu}")
            self.strangers = 0
            self.rows[cpu] = row
            self.last = cpu

    def fitted(self, cells: list[str]) -> list[tuple[str, ...]]:
        """Return the rows that some cells are, [] where they are none."""
        count = len(self.columns)
        if "MODELNAME" in self.names and len(cells) > count:
            place = self.names.index("MODELNAME")
            end = len(cells) - (count - 1 - place)
            joiner = "," if self.commas else " "
            cells = [*cells[:place], joiner.join(cells[place:end]), *cells[end:]]
        if len(cells) == count:
            return [tuple(cells)] if self.is_row(cells) else []
        if len(cells) < count:
            if len(cells) < self.enough or not self.is_row(cells):
                return []
            self.losses.undone.add(JOINED)
            return [(*cells, *[""] * (count - len(cells)))]
        if cells[0] == "-" and len(cells) == count + 1 and self.is_row(cells[1:]):
            self.losses.undone.add("list marks")
            return [tuple(cells[1:])]
        parts = [cells[i : i + count] for i in range(0, len(cells), count)]
        if all(map(self.is_row, parts)) and len(parts[-1]) == count:
            self.losses.undone.add(TOGETHER)
            return [tuple(part) for part in parts]
        if self.is_row(parts[0]) and not tail_problem(f" {' '.join(cells[count:])}"):
            self.losses.undone.add(NOTED)
            return [tuple(parts[0])]
        return []

    def is_row(self, cells: Sequence[str]) -> bool:
        """Tell whether every cell is something that its column may hold."""
        return all(map(is_cell, self.names, cells))

    def finish(self, cut: str) -> None:
        """Note what is missing at the end; `cut` is the last line of a text without a line end."""
        self.note_open()
        rows = self.fitted(self.cells_of(cut)) if cut else []
        if not rows or int(rows[-1][self.place]) != self.last:
            return
        name = next(name for name in reversed(self.names) if name)
        cells = [row[-1] for row in self.rows.values()]
        is_cut = name in IDS and not is_even(cells)
        if name not in IDS:
            least = 1 if any(rows[-1][-2:-1]) else 0
            is_cut = len(cells[-1]) < min(map(len, cells[:-1]), default=least)
        if is_cut:
            self.rows.pop(self.last, None)
            self.losses.add("cut", f"the row of CPU {self.last}")


def is_cell(name: str, cell: str) -> bool:
    """Tell whether a column may hold a cell."""
    if name == "CPU":
        return cell.isascii() and cell.isdigit() and len(cell) < 7
    if name == "ONLINE":
        return cell.lower() in YES or cell.lower() in NO or cell == "-" or len(cell) < 2
    if name in IDS:
        return bool(ID.fullmatch(cell))
    if name in DECIMALS:
        return bool(DECIMAL.fullmatch(cell))
    return name in COLUMNS or bool(CACHE_IDS.fullmatch(cell))


def is_any_cell(word: str) -> bool:
    """Tell whether a word may be a cell, or several with commas, of some table."""
    return word.upper() in ("YES", "NO") or not word.strip("0123456789-,:YN")


def is_even(cells: Iterable[str]) -> bool:
    """Tell whether every value in a column stands there equally often."""
    counts: dict[str, int] = {}
    for cell in cells:
        counts[cell] = counts.get(cell, 0) + 1
    return len(set(counts.values())) < 2
