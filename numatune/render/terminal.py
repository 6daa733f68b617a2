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
            console.print(table(block))


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
    tail = Text(" ").join(rest)
    for part in tail.wrap(console, console.width - hang):
        console.print(Text(" " * hang) + part, no_wrap=True, crop=False, overflow="ignore")


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
