"""Blocks on a terminal: rich draws them, folded to its width, in colour where that is wanted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TextIO

from numatune.views.blocks import Block, Line, Span, Table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

#: How a style of a block looks.
LOOKS = {
    "good": "green",
    "warn": "yellow",
    "bad": "bold red",
    "strong": "bold",
    "dim": "bright_black",
}


#: What bars are made of, and the shortest to which one is drawn.
BAR_GLYPHS, LEAST_BAR = "█·~-?", 4


def render(blocks: Iterable[Block], file: TextIO, *, colour: bool) -> None:
    """Print blocks to a terminal."""
    from rich.console import Console

    console = Console(
        file=file,
        force_terminal=True,
        no_color=not colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for block in blocks:
        if isinstance(block, Line):
            print_line(console, block)
        else:
            console.print(table(narrowed(block, console.width)))


def styled(spans: Iterable[Span]) -> Text:
    """Return spans as rich's text."""
    from rich.text import Text

    whole = Text()
    for span in spans:
        whole.append(span.text, LOOKS.get(span.style, ""))
    return whole


def print_line(console: Console, line: Line) -> None:
    """Print one line, folded at blanks; the lines after the first are indented by its `hang`."""
    from rich.text import Text

    text = styled(line.spans)
    if text.cell_len <= console.width:
        console.print(text, no_wrap=True, crop=False, overflow="ignore")
        return
    hang = min(line.hang, console.width // 2)
    first, *rest = text.wrap(console, console.width)
    console.print(first, no_wrap=True, crop=False, overflow="ignore")
    for part in rest:
        part.rstrip()
    tail = Text(" ").join(rest)
    for part in tail.wrap(console, console.width - hang):
        console.print(Text(" " * hang) + part, no_wrap=True, crop=False, overflow="ignore")


def narrowed(block: Table, width: int) -> Table:
    """Return a table whose bars are drawn shorter where they leave no room for the words."""
    widths = [
        max(len(text_of(cell)) for cell in column) for column in zip(*block.rows, strict=True)
    ]
    excess = sum(widths) + 2 * (len(widths) - 1) + block.indent - width
    bars = {i for i, column in enumerate(zip(*block.rows, strict=True)) if all(map(is_bar, column))}
    if excess <= 0 or not bars:
        return block
    rows = tuple(
        tuple(
            drawn_as(cell, max(LEAST_BAR, widths[i] - excess), widths[i]) if i in bars else cell
            for i, cell in enumerate(row)
        )
        for row in block.rows
    )
    return block._replace(rows=rows)


def text_of(cell: tuple[Span, ...]) -> str:
    """Return the text of a cell."""
    return "".join(span.text for span in cell)


def is_bar(cell: tuple[Span, ...]) -> bool:
    """Tell whether a cell is a bar, or the mark of a node that has none."""
    text = text_of(cell)
    return text != "" and not text.strip(BAR_GLYPHS)


def drawn_as(cell: tuple[Span, ...], width: int, whole: int) -> tuple[Span, ...]:
    """Draw a bar of `whole` glyphs on `width` of them, each standing for several."""
    glyphs = [(glyph, span.style) for span in cell for glyph in span.text]
    count = -(-len(glyphs) * width // whole)
    return tuple(Span(*glyphs[(i + 1) * len(glyphs) // count - 1]) for i in range(count))


def table(block: Table) -> RenderableType:
    """Return a table without frames, whose cells fold and are never cut."""
    from rich.padding import Padding
    from rich.table import Table as RichTable

    drawn = RichTable(
        box=None,
        show_header=any(block.header),
        header_style=LOOKS["dim"],
        padding=(0, 2, 0, 0),
        pad_edge=False,
    )
    for i, name in enumerate(block.header):
        justify: Literal["left", "right"] = "right" if i in block.right else "left"
        drawn.add_column(name, justify=justify, overflow="fold")
    for row in block.rows:
        drawn.add_row(*(styled(cell) for cell in row))
    return Padding(drawn, (0, 0, 0, block.indent))
