from hypothesis import given
from hypothesis import strategies as st

from numatune.views.blocks import BAR_WIDTH, bar


def drawn(used: int, size: int, largest: int) -> tuple[int, int, int]:
    text = "".join(span.text for span in bar(used, size, largest))
    over = sum(len(span.text) for span in bar(used, size, largest)[1:] if "█" in span.text)
    return text.count("█") - over, text.count("·"), over


def test_a_small_node_has_a_glyph_a_core() -> None:
    assert drawn(16, 24, 25) == (16, 8, 0)
    assert drawn(25, 24, 25) == (24, 0, 1)
    assert drawn(24, 24, 25) == (24, 0, 0)


@given(st.integers(0, 5000), st.integers(1, 5000))
def test_a_bar_never_lies_about_idle_and_too_many(used: int, size: int) -> None:
    full, empty, over = drawn(used, size, max(used, size))
    assert (over > 0) == (used > size)
    assert full + empty <= BAR_WIDTH
    assert over <= BAR_WIDTH
    if 1 < size <= BAR_WIDTH:
        assert (empty > 0) == (used < size)
        assert (full > 0) == (used > 0)
