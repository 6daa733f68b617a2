"""Undoing paste damage, whatever program printed the text."""

from __future__ import annotations

import quopri
import re

import pytest

from numatune.sources.paste import LOST, clean
from numatune.sources.paste_lines import glued, unprefixed

#: A format of its own: lines that start with `cell N:`, and others.
START = re.compile(r"cell [0-9]+:")
TEXT = "cell 1: 10 20\n30 40\ncell 2: 50\n  tail 60\ncell 3: 70\ncell 4: 80\n"
BARE = [line.strip() for line in TEXT.split("\n")]


def lines_of(text: str) -> list[list[str]]:
    return [[line.text for line in source] for source in unprefixed(text, START).sources]


def prefixed(*prefixes: str) -> str:
    """Put the prefixes before the lines of the text, one each in turn."""
    lines = TEXT.split("\n")
    return "\n".join(f"{prefixes[i % len(prefixes)]}{line}" for i, line in enumerate(lines))


# Characters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pasted", "text"),
    [
        ("a\r\nb\rc\r\r\nd", "a\nb\nc\nd"),
        ("\ufeffa\u00a0b\u3000c\td", "a b c d"),
        ("a\u200bb\u2060\u00adc", "abc"),
        ("a\u00c2\u00a0b\u00c2 c\u00c2\nd", "a b c \nd"),
        ("0\u20133 \u2014note", "0-3 --note"),
        ("\uff12\uff1a\uff08\uff13\uff09", "2:(3)"),
        ("a\0b\u2028c\x0cd", "ab\nc\nd"),
        ("\u2502 a \u2502", "| a |"),
    ],
)
def test_harmless_characters_become_plain_without_a_word(pasted: str, text: str) -> None:
    assert clean(pasted) == (text, ())


def test_an_invisible_mark_between_digits_leaves_no_number() -> None:
    assert clean("1\u200b2 a\u200bb").text == f"1{LOST}2 ab"


@pytest.mark.parametrize(
    ("pasted", "text"),
    [
        ("\x1b[01;31m\x1b[Kcell\x1b[m\x1b[K 1", "cell 1"),
        ("cell\x1b[3C1\x1b[2;1Hcell 2", "cell 1\ncell 2"),
        ("\x1b]0;title\x07cell", "cell"),
        ("[01;31m[Kcell[m[K 1", "cell 1"),
        ("^[[1mcell^[[0m 1", "cell 1"),
        ("_\x08cell", "cell"),
    ],
)
def test_terminal_codes(pasted: str, text: str) -> None:
    assert clean(pasted) == (text, ("terminal colours",))


@pytest.mark.parametrize(
    ("pasted", "text"),
    [
        ("a&nbsp;&lt;b&gt;&#32;c", "a <b> c".replace("<b>", "")),
        ("1 &lt;not available&gt;", "1 <not available>"),
        ("a<br>b<br />\nc", "a\nb\nc"),
        ('<p class="x">a <code>b</code></p>', "\na b\n"),
        ("<tr><td>a</td><td>1</td></tr>", "\n a  1 \n"),
        ("&amp;lt;br&amp;gt;", "\n"),
    ],
)
def test_html(pasted: str, text: str) -> None:
    assert clean(pasted) == (text, ("HTML",))


def test_words_in_angle_brackets_stay() -> None:
    assert clean("size: <not available> <= 3 & more").undone == ()


LONG = "cell 1: " + " ".join(map(str, range(100, 140))) + "\u00a0\u00e9"


@pytest.mark.parametrize("quote", ["", "> ", "# ", "> > "])
def test_quoted_printable(quote: str) -> None:
    encoded = quopri.encodestring(LONG.encode()).decode()
    assert "=\n" in encoded
    pasted = "\n".join(quote + line for line in encoded.split("\n"))
    assert clean(pasted) == (quote + LONG.replace("\u00a0", " "), ("quoted-printable",))


def test_quoted_printable_below_a_quote() -> None:
    """The quote was encoded, too, so only the first of the broken lines has its mark."""
    encoded = quopri.encodestring(f"> {LONG}\n> b".encode()).decode()
    assert clean(encoded).text == f"> {LONG}\n> b".replace("\u00a0", " ")


@pytest.mark.parametrize("text", ["a = b", "======\ntitle\n======", "x=\ny", "?a=3Z&b=c", "<=20"])
def test_equal_signs_are_no_encoding(text: str) -> None:
    assert clean(text) == (text, ())


@pytest.mark.parametrize(
    "pasted",
    [
        '{"rc": 0, "out": "cell 1: 1\\ncell 2: 2\\n\\tcell 3: 3\\n"}',
        '["x", "cell 1: 1", "cell 2: 2", "cell 3: 3"]',
        "  - 'x'\n  - 'cell 1: 1'\n  - 'cell 2: 2'\n  - 'cell 3: 3'\n",
    ],
)
def test_strings(pasted: str) -> None:
    cleaned = clean(pasted)
    assert cleaned.undone == ("backslash escapes",)
    (lines,) = lines_of(cleaned.text)
    assert {"cell 2: 2", "cell 3: 3"} <= set(lines)


def test_a_pager_and_empty_pages_leave_nothing() -> None:
    assert clean("a\n--More--(40%)\nb\n\n\n\n\nc").text == "a\nb\n\nc"


# Prefixes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prefixes",
    [
        ("> ",),
        ("> > >>",),
        ("# ",),
        ("\t* ",),
        ("// ",),
        ("Nov 30 19:59:59 box-2 sh[81]: ", "Dec  1 08:00:00 box-2 sh[81]: "),
        ("2031-02-03T04:05:06.789+01:00 box-2 sh: ",),
        ("[   12.003456] ", "[ 1234.000001] "),
        ("04:05:06 ",),
        ("box-2: ",),
        ("0: ",),
        ("> Nov 30 19:59:59 box-2 sh[81]: > ",),
    ],
)
def test_prefixes_come_off_every_line(prefixes: tuple[str, ...]) -> None:
    found = unprefixed(prefixed(*prefixes), START)
    assert found.marked
    assert [[line.text for line in source] for source in found.sources] == [BARE]


@pytest.mark.parametrize("form", ["{}:", "  {}\t", "{}. ", "[{}] ", "run.txt:{}:"])
def test_line_numbers_come_off(form: str) -> None:
    lines = TEXT.split("\n")
    text = "\n".join(form.format(i + 19) + line for i, line in enumerate(lines))
    assert lines_of(clean(text).text) == [BARE]


def test_a_number_that_does_not_fit_the_count_is_no_line_number() -> None:
    """`cat -n` wrapped by the terminal: the second line has no number of its own."""
    text = "1  cell 1: 1 2\n3 4 5\n2  cell 2: 6\n3  cell 3: 7\n4  end 8\n5 9\n"
    assert lines_of(text) == [["cell 1: 1 2", "3 4 5", "cell 2: 6", "cell 3: 7", "end 8", "9", ""]]


def test_numbers_before_a_label_are_no_prefix() -> None:
    """Lines of a paragraph that was filled anew start with what belongs to the line before."""
    text = "cell 1: 1 2\n3 4 cell 2: 5\n6 7 cell 3: 8\n9 10 cell 4: 11\n"
    assert lines_of(text) == [text.split("\n")]


def test_without_prefixes_nothing_is_marked() -> None:
    assert not unprefixed(TEXT, START).marked
    assert not unprefixed("some - text\n> of 1\n", START).marked


def test_a_table_loses_its_bars_and_rules() -> None:
    text = "+------+\n| cell 1: | 10 |\n|---|:--:|\n| 20 | 30 |\n| cell 2: 4 | |\n$ a | b\n"
    (lines,) = lines_of(text)
    assert [" ".join(line.split()) for line in lines] == [
        "+------+", "cell 1: 10", "20 30", "cell 2: 4", "$ a | b", ""
    ]  # fmt: skip


@pytest.mark.parametrize("pair", ["**", "`", '"'])
def test_marks_on_both_sides(pair: str) -> None:
    text = "".join(f"{pair}{line}{pair}\n" for line in ("cell 1: 10", "20", "cell 2: 30"))
    assert lines_of(text) == [["cell 1: 10", "20", "cell 2: 30", ""]]


def test_the_dash_of_a_range_is_no_bullet() -> None:
    assert lines_of("- cell 1: 2\n-15\n- 16\n") == [["cell 1: 2", "-15", "16", ""]]


def test_dots_are_no_mark() -> None:
    assert lines_of("... cell 1: 2\n...\n") == [["... cell 1: 2", "...", ""]]


@pytest.mark.parametrize(
    ("one", "two"),
    [("n1: ", "n2: "), ("0: ", "1: "), ("a.log:", "b.log:"),
     ("Jan  2 03:04:05 n1 sh[7]: ", "Jan  2 03:04:06 n2 sh[9]: ")],
)  # fmt: skip
def test_sources_come_apart(one: str, two: str) -> None:
    text = "".join(f"{one}cell {i}: {i}\n{two}cell {i}: {i + 50}\n" for i in range(3))
    first, second = lines_of(text)
    assert [line for line in first if line] == ["cell 0: 0", "cell 1: 1", "cell 2: 2"]
    assert [line for line in second if line] == ["cell 0: 50", "cell 1: 51", "cell 2: 52"]


def test_times_and_counters_name_no_source() -> None:
    text = "".join(f"Jan  2 03:04:0{i} n1 sh[{i}]: cell {i}: {i}\n" for i in range(6))
    assert len(lines_of(text)) == 1


# Wrapping -----------------------------------------------------------------------------------------


def cut(text: str, columns: int, prefix: str = "") -> str:
    return "\n".join(
        prefix + line[i : i + columns]
        for line in text.split("\n")
        for i in range(0, len(line) or 1, columns)
    )


WIDE = "cell 1: 10 20 30 40 500 6000 7000 80000\ncell 2: 1\ncell 3: 3"


@pytest.mark.parametrize("columns", [n for n in range(12, 39) if " " not in WIDE[n - 1 : n + 1]])
@pytest.mark.parametrize("prefix", ["", "> ", "    "])
def test_lines_cut_at_the_last_column_are_glued(columns: int, prefix: str) -> None:
    (source,) = unprefixed(cut(WIDE, columns, prefix), START).sources
    joined = glued(source, START)
    assert joined is not None
    # Where a blank stood at the seam, the parts stay apart for the reader to join.
    words = " ".join(line.text for line in joined).split()
    assert words == WIDE.split()


def test_lines_that_end_at_words_are_not_glued() -> None:
    (source,) = unprefixed("cell 1: 10\n20 30\ncell 2: 40 50\ncell 3: 6\n", START).sources
    assert glued(source, START) is None
