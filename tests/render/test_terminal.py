"""What a narrow terminal shows."""

import io

import pytest

from numatune.render import terminal
from numatune.views.blocks import Block, Line, Span, Table

BAR = (Span("█" * 20, "good"), Span("·" * 4, "dim"))
ROWS = (
    ((Span("node 0"),), BAR, (Span("20 workers / 24 cores"),)),
    ((Span("node 1"),), (Span("-", "dim"),), (Span("no CPU"),)),
)


def shown(monkeypatch: pytest.MonkeyPatch, columns: int, block: Block) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    file = io.StringIO()
    terminal.render([block], file, colour=False)
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize(("columns", "bar"), [(80, 24), (50, 17), (45, 12), (38, 5)])
def test_a_bar_is_drawn_shorter_where_room_is_short(
    monkeypatch: pytest.MonkeyPatch, columns: int, bar: int
) -> None:
    lines = shown(monkeypatch, columns, Table(("",) * 3, ROWS))
    assert len(lines) == 2
    drawn = "".join(c for c in lines[0] if c in "█·")
    assert len(drawn) == bar
    assert drawn.count("·") in (bar // 6, bar // 6 + 1)  # a sixth of the cores is idle
    assert lines[0].endswith("20 workers / 24 cores")


def test_a_folded_line_has_single_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    words = " ".join(f"word{i}" for i in range(40))
    lines = shown(monkeypatch, 33, Line((Span(words),), 4))
    assert len(lines) > 5
    assert " ".join(" ".join(lines).split()) == words
    assert all("  " not in line.strip() for line in lines)
