"""The few kinds of block that a view is made of. A block knows meaning, not colour or width."""

from __future__ import annotations

from typing import NamedTuple

#: good, warn and bad carry a judgement; strong and dim guide the eye; "" is plain.
STYLES = ("", "good", "warn", "bad", "strong", "dim")

#: Most glyphs that a bar takes; a larger node is drawn to scale.
BAR_WIDTH = 32


class Span(NamedTuple):
    """A piece of text in one style."""

    text: str
    style: str = ""


class Line(NamedTuple):
    """One line. A terminal may fold it, indented by `hang`; elsewhere it stays one line."""

    spans: tuple[Span, ...]
    hang: int = 0


class Table(NamedTuple):
    """Rows of cells under optional headings; `right` holds the columns that align right."""

    header: tuple[str, ...]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]
    right: frozenset[int] = frozenset()
    indent: int = 2


Block = Line | Table


def line(*parts: str | Span, hang: int = 0) -> Line:
    """Make a line of texts and spans."""
    return Line(tuple(Span(p) if isinstance(p, str) else p for p in parts), hang)


def heading(text: str) -> Line:
    """Make the line that opens a part of a view."""
    return Line((Span(text, "strong"),))


BLANK = Line(())


def cells(*parts: str | Span) -> tuple[tuple[Span, ...], ...]:
    """Make one table row, a span a cell."""
    return tuple((Span(p) if isinstance(p, str) else p,) for p in parts)


def bar(used: int, size: int, largest: int) -> tuple[Span, ...]:
    """Draw `used` of `size`: full, empty, and what is too many.

    `largest` is the largest number drawn beside it, so that bars of one picture share a scale of at
    most BAR_WIDTH glyphs. What is too many takes at least one glyph.
    """
    scale = 1.0 if largest <= BAR_WIDTH else BAR_WIDTH / largest
    total = max(1, round(size * scale)) if size else 0
    full = total if used >= size else round(used * scale)
    if 0 < used < size and total > 1:
        full = min(max(full, 1), total - 1)
    over = max(1, min(BAR_WIDTH, round((used - size) * scale))) if used > size else 0
    style = "bad" if over else "good"
    spans = (Span("█" * full, style), Span("·" * (total - full), "dim"), Span("█" * over, "bad"))
    return tuple(span for span in spans if span.text)
