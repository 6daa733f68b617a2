"""Undoing what quoting, logging, numbering and wrapping do to the lines of a paste.

A reader says, with one pattern, what a line of its format starts with. What stands before that
on a line is a prefix: marks (quotes, comments, table bars), or a log's or line number's prefix,
which is known by its shape, because other lines have the same.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

WORDS = r"[^\W\d_]+"
DIGITS = r"[0-9]+"
SPACES = r" +"
ALPHANUMERIC = r"[^\W_]"

#: What tells a log's prefix from values that only happen to stand before a label.
LOG = r"[^\W\d_]|[\[\]]|[0-9]:[0-9]{2}|[0-9]\.[0-9]"
LINE_NUMBER = r"[^\w]*([0-9]{1,9})[^\w]*"

#: Parts of a log's prefix that change from line to line.
TIMES = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:[.,][0-9]+)?"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +[0-9]{1,2}|\[ *[0-9.]+\]"
    r"|[:-][0-9]+[:-]|[0-9]+\.[0-9]+"
)


class Line(NamedTuple):
    """One line without its prefix; as pasted, it was `width` long and its text began at `start`."""

    text: str
    start: int
    width: int


def line_of(pasted: str) -> Line:
    """Return a line without the blanks around it."""
    pasted = pasted.rstrip(" ")
    text = pasted.lstrip(" ")
    return Line(text, len(pasted) - len(text), len(pasted))


def shortened(line: Line, text: str) -> Line:
    """Return a line that keeps only its end."""
    return Line(text, line.width - len(text), line.width)


class Lines(NamedTuple):
    """The lines of each source that the prefixes name, and whether there were prefixes."""

    sources: tuple[tuple[Line, ...], ...]
    marked: bool


def unprefixed(text: str, start: re.Pattern[str]) -> Lines:
    """Split a text into lines and take their prefixes off.

    `start` finds where the format's own words start on a line. Lines of several hosts or files
    (`pdsh`, `grep` over files) come back apart, each source by itself.
    """
    lines = [line_of(line) for line in text.split("\n")]
    bare = without_marks(without_bars(lines) if "|" in text else lines, start)
    sources = without_log_prefixes(bare, start)
    if sources != [bare]:
        sources = [without_marks(source, start) for source in sources]
    return Lines(tuple(map(tuple, sources)), sources != [lines])


def heads_of(lines: list[Line], start: re.Pattern[str]) -> list[str | None]:
    """Return what stands before the first known words of each line, None where there are none."""
    found = (start.search(line.text) for line in lines)
    return [m.string[: m.start()] if m else None for m in found]


# Marks --------------------------------------------------------------------------------------------

#: Never marks: what stands for text that was left out, and what belongs to lists.
NO_MARKS = frozenset(" .…,()")
#: Marks that stand on both sides.
PAIRED = ("**", "__", "`", '"', "'")
LEADING = r"[\W_]*"


def without_bars(lines: list[Line]) -> list[Line]:
    """Take the bars out of lines that are rows of a table, and leave out a table's rules.

    A row ends in a bar and has another that does not follow on a word, as one of a shell would.
    """
    bare = []
    for line in lines:
        if "|" in line.text and not line.text.strip("|+=_:- "):
            continue
        first = line.text.find("|")
        head = line.text[: max(first, 0)].rstrip(" ")
        if 0 <= first < len(line.text) - 1 and line.text[-1] == "|" and not head[-1:].isalpha():
            line = shortened(line, line.text.replace("|", " ").strip(" "))
        bare.append(line)
    return bare


def without_marks(lines: list[Line], start: re.Pattern[str]) -> list[Line]:
    """Take the marks that stand first before known words off every line that starts with them.

    What comes in pairs (quotes, bold type) goes on both sides of the words.
    """
    found = (re.match(LEADING, head or "") for head in heads_of(lines, start))
    leads = {lead.group() for lead in found if lead}
    marks = {char for lead in leads for char in lead} - NO_MARKS
    if not marks:
        return lines
    for pair in PAIRED:
        if any(pair in lead for lead in leads):
            lines = [shortened(line, line.text.replace(pair, "").rstrip(" ")) for line in lines]
    taken = "".join(marks | {" "})
    bare = (line.text.lstrip(taken) for line in lines)
    return [
        shortened(line, f"-{text}" if is_range_end(line.text, text) else text)
        for line, text in zip(lines, bare, strict=True)
    ]


def is_range_end(text: str, bare: str) -> bool:
    """Tell whether a dash before the bare text is no mark but that of a range, cut before it."""
    return bare[:1].isdigit() and text[-len(bare) - 1 : -len(bare)] == "-"


# Log prefixes -------------------------------------------------------------------------------------


def shape(head: str) -> str:
    """Return a prefix with its words, numbers and blanks made alike."""
    return re.sub(SPACES, " ", re.sub(DIGITS, "0", re.sub(WORDS, "a", head)))


def log_shapes(heads: list[str]) -> list[str]:
    """Return the shapes that are a log's or a line number's prefix, the most frequent first."""
    counts: dict[str, int] = {}
    numbers: dict[str, list[int]] = {}
    for head in heads:
        is_number = re.fullmatch(LINE_NUMBER, head)
        if is_number or re.search(LOG, head):
            name = shape(head)
            counts[name] = counts.get(name, 0) + 1
            if is_number:
                numbers.setdefault(name, []).append(int(is_number.group(1)))
    for name, seen in numbers.items():
        if len(seen) < len(heads) * 3 / 4 or (name.strip() == "0" and not ascending(seen)):
            counts[name] = 0
    enough = max(2, len(heads) / 4)
    return sorted((s for s, n in counts.items() if n >= enough), key=lambda s: -counts[s])


def ascending(numbers: list[int]) -> bool:
    """Tell whether each number is greater than the one before."""
    return all(low < high for low, high in pairwise(numbers))


def pattern(name: str) -> re.Pattern[str]:
    """Return a pattern for a prefix of that shape; blanks and marks at its end come off later."""
    # More digits are no time or line number, and int() refuses thousands of them.
    parts = {"a": r"[^\W\d_]+", "0": "[0-9]{1,40}(?![0-9])", " ": " +"}
    return re.compile("".join(parts.get(char) or re.escape(char) for char in name.rstrip(" |>#")))


def without_log_prefixes(lines: list[Line], start: re.Pattern[str]) -> list[list[Line]]:
    """Take log prefixes off, and the lines of each source apart."""
    heads = heads_of(lines, start)
    shapes = log_shapes([head for head in heads if head is not None])
    if not shapes:
        return [lines]
    patterns = [pattern(name) for name in shapes]
    numbered = all(re.fullmatch(LINE_NUMBER, name) for name in shapes)
    cuts = [prefix_end(line.text, head, patterns)
            for line, head in zip(lines, heads, strict=True)]  # fmt: skip
    names = [line.text[:cut] for line, cut in zip(lines, cuts, strict=True)]
    if numbered:
        numbers = [int(re.findall(DIGITS, name)[0]) if name else None for name in names]
        if ascending([n for n, head in zip(numbers, heads, strict=True)
                      if n is not None and head is not None]):  # fmt: skip
            cuts = [cut if real else 0 for cut, real in zip(cuts, in_order(numbers, heads),
                                                            strict=True)]  # fmt: skip
            names = [""] * len(lines)
    bare = [shortened(line, line.text[cut:].lstrip(" "))
            for line, cut in zip(lines, cuts, strict=True)]  # fmt: skip
    return apart(bare, names, heads, numbered)


def prefix_end(text: str, head: str | None, patterns: list[re.Pattern[str]]) -> int:
    """Return where the log prefix of a line ends, 0 where it has none."""
    for each in patterns:
        found = each.match(text)
        if found and (head is None or found.end() <= len(head)):
            return found.end()
    return 0


def in_order(numbers: list[int | None], heads: list[str | None]) -> list[bool]:
    """Tell for each line whether its first number is a line number.

    It is one before known words; elsewhere only if it fits between those of the lines around it,
    so that the first CPU of a wrapped line is not taken for one.
    """
    after: list[int | None] = [None] * len(numbers)
    upcoming: int | None = None
    for i in reversed(range(len(numbers))):
        after[i] = upcoming
        if heads[i] is not None and numbers[i] is not None:
            upcoming = numbers[i]
    real = []
    last: int | None = None
    for number, head, limit in zip(numbers, heads, after, strict=True):
        if number is None:
            fits = False
        elif head is not None or last is None:
            fits = head is not None
        else:
            fits = last < number < limit if limit is not None else number == last + 1
        real.append(fits)
        last = number if fits else last
    return real


def apart(
    lines: list[Line], names: list[str], heads: list[str | None], numbered: bool
) -> list[list[Line]]:
    """Return the lines of each source that the prefixes name, in order of appearance.

    Names must recur to be names, for a log may count its lines. A line without one belongs to
    the source of the line before it.
    """
    keys = [name if numbered else re.sub(TIMES, "", name) for name in names]
    counts: dict[str, int] = {}
    for key, head in zip(keys, heads, strict=True):
        if head is not None and key.strip():
            counts[key] = counts.get(key, 0) + 1
    sources: dict[str, list[Line]] = {key: [] for key, count in counts.items() if count > 1}
    if len(sources) < 2 or sum(counts[key] for key in sources) < sum(counts.values()) * 3 / 4:
        return [lines]
    current = next(iter(sources))
    for line, key in zip(lines, keys, strict=True):
        current = key if key in sources else current
        sources[current].append(line)
    return list(sources.values())


# Wrapping -----------------------------------------------------------------------------------------


def glued(lines: tuple[Line, ...], start: re.Pattern[str]) -> tuple[Line, ...] | None:
    """Return the lines as a terminal wraps them: cut at its last column, inside a word or number.

    Every line of the full width is joined to the next without a blank, unless a blank stood there
    or the next line starts with known words; None where no line is cut so.
    """
    own = [line for line in lines if line.text[:1].isdigit() or start.match(line.text)]
    width = max((line.width for line in own), default=0)
    margin = min((line.start for line in own), default=0)
    joined: list[Line] = []
    seams = 0
    is_cut = False
    for line in lines:
        if is_cut and line.text and line.start <= margin and not start.match(line.text):
            joined[-1] = joined[-1]._replace(text=joined[-1].text + line.text)
            seams += 1
        else:
            joined.append(line)
        is_cut = line.width == width
    return tuple(joined) if seams else None
