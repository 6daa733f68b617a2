"""The distance table of `numactl --hardware`, read by its words and never by its columns.

`print_distances` in numactl.c, https://github.com/numactl/numactl: cells are three or four wide,
wider ones push the others aside, so that header and rows need not align.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from numatune.machine.topology import Distances
from numatune.sources.numactl_values import DOTS, JOINED, NODE_LIMIT, NOTE, NOTED

CELL = re.compile(r"[ ]*(?:([0-9]{1,9})(?:([ ]*:)|(?=[\s|,\"'`;*\]]|$))|(\n)|(\S))", re.ASCII)
ROW = r"(?a)[ ]*[0-9]+[ ]*:(?:[ ]+[0-9]+)+[ ]*$"
CLOSING = frozenset("\"'`|*,;]")

#: ACPI 6.5, section 5.2.17: distances are bytes, and 0 to 9 are reserved.
LEAST, MOST = 10, 255


class Table(NamedTuple):
    """The distances, or None and in words what is wrong with the table.

    `ids` are the nodes of its header row, also where only rows are missing.
    """

    distances: Distances | None = None
    problem: str = ""
    undone: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()


class Cells:
    """The table as read so far: ids from the header row, then rows of values."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.rows: list[tuple[int, list[int]]] = []
        self.undone: set[str] = set()

    @property
    def row_is_full(self) -> bool:
        """True where the next word can only be the start of the next row."""
        return bool(self.rows) and len(self.rows[-1][1]) >= len(self.ids)

    @property
    def is_full(self) -> bool:
        """True where no row is missing."""
        return self.row_is_full and len(self.rows) >= len(self.ids)

    def add(self, number: int, is_label: bool) -> bool:
        """Add a number; False where it has no place."""
        if is_label:
            fits = not self.rows or self.row_is_full
            self.rows.append((number, []))
            return fits and not self.is_overfull
        if not self.rows:
            self.ids.append(number)
        else:
            self.rows[-1][1].append(number)
        return not self.is_overfull

    @property
    def is_overfull(self) -> bool:
        """True where a row, or the table, has more than the header row announces."""
        return len(self.rows) > len(self.ids) or (
            bool(self.rows) and len(self.rows[-1][1]) > len(self.ids)
        )


def read_table(text: str, is_cut: bool) -> Table:
    """Read a table from its header row on, `text` being what follows the word "node".

    `is_cut` says that the text ends in its last cell, without even a line end.
    """
    cells = Cells()
    position = 0
    while position < len(text):
        found = CELL.match(text, position)
        if not found:
            break
        number, colon, line_end, other = found.groups()
        position = found.end()
        if number:
            if not cells.add(int(number), bool(colon)):
                return Table(problem="its rows are longer or more than its header row says")
        elif line_end:
            if cells.is_full:
                if re.match(ROW, text[position : line_after(text, position)]):
                    return Table(problem="it has more rows than its header row says")
                is_cut = False
                break
            if cells.rows and cells.rows[-1][1] and not cells.row_is_full:
                cells.undone.add(JOINED)
        elif re.match(DOTS, text[found.start(4) : found.start(4) + 20]):
            return Table(problem="part of it was left out")
        elif not skips(cells, text, found.start(4), other):
            break
        else:
            position = line_after(text, position)
    return checked(cells, is_cut and position >= len(text))


def skips(cells: Cells, text: str, start: int, other: str) -> bool:
    """Tell whether the rest of a line behind a full row is a note or closes a string or cell."""
    if cells.rows and not cells.row_is_full:
        return False
    line = text[start : line_after(text, start)]
    if re.match(NOTE, line) and len(line) > 1:
        cells.undone.add(NOTED)
        return True
    return other in CLOSING and not line.strip("\"'`|*,;] ")


def line_after(text: str, position: int) -> int:
    """Return where the line ends."""
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def checked(cells: Cells, is_cut: bool) -> Table:
    """Return the table if it is whole and can be what the firmware said."""
    ids = cells.ids
    if not cells.rows:
        return Table(problem="it has no rows")
    if any(high <= low for low, high in pairwise(ids)) or ids[-1] >= NODE_LIMIT:
        return Table(problem="its header row is no ascending list of nodes")
    if [label for label, _ in cells.rows] != ids[: len(cells.rows)]:
        return Table(problem="its rows do not follow its header row")
    if not cells.is_full:
        whole = len(cells.rows) - (not cells.row_is_full)
        return Table(problem=f"it is cut after {whole} of {len(ids)} rows", ids=tuple(ids))
    values = tuple(tuple(row) for _, row in cells.rows)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if not LEAST <= value <= MOST and not (value == 0 and i == j):
                return Table(problem=f"{value} is no distance")
    if is_cut and len(ids) > 1 and values[-1][-1] != values[-2][-2]:
        return Table(problem="its last value may be cut")
    return Table(Distances(tuple(ids), values), "", tuple(sorted(cells.undone)), tuple(ids))
