"""Blocks as plain text: no colour, no dependence on width, no CPU list ever cut."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from numatune.views.blocks import Block, Line, Span, Table

#: What stands for a glyph where the output can't encode it.
ASCII = str.maketrans(
    {"█": "#", "·": ".", "✔": "ok", "✖": "!", "→": "->", "×": "x", "—": "-", "–": "-", "…": "..."}
)


#: The SGR codes of the styles, for those who want colour in a file.
COLOURS = {"good": "32", "warn": "33", "bad": "1;31", "strong": "1", "dim": "90"}

Cell = tuple[Span, ...]


def render(blocks: Iterable[Block], *, unicode: bool = True, colour: bool = False) -> str:
    """Return the text of some blocks, each line ended; in ASCII where `unicode` is false."""
    rows: list[Cell] = []
    for block in blocks:
        rows += [block.spans] if isinstance(block, Line) else table_lines(block)
    text = "".join(f"{joined(row, colour).rstrip()}\n" for row in rows)
    return text if unicode else text.translate(ASCII).encode("ascii", "replace").decode()


def joined(spans: Iterable[Span], colour: bool = False) -> str:
    """Return the text of spans, with or without their colours."""
    if not colour:
        return "".join(span.text for span in spans)
    return "".join(
        f"\x1b[{COLOURS[s.style]}m{s.text}\x1b[0m" if s.style in COLOURS else s.text for s in spans
    )


def table_lines(table: Table) -> list[Cell]:
    """Return the rows of a table, its columns padded to their widest cell."""
    rows = list(table.rows)
    if any(table.header):
        rows.insert(0, tuple((Span(name, "dim"),) for name in table.header))
    widths = [max(width(joined(cell)) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        spans = [Span(" " * table.indent)]
        for i, cell in enumerate(row):
            blanks = Span(" " * (widths[i] - width(joined(cell))))
            spans += (blanks, *cell) if i in table.right else (*cell, blanks)
            spans.append(Span("  "))
        lines.append(tuple(spans))
    return lines


def width(text: str) -> int:
    """Return the columns that a text takes; Chinese characters take two."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
