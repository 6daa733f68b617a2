"""Changes of an input, drawn at random; the same seed of the generator gives the same changes.

What libFuzzer does to bytes is blind to lines and numbers, and makes nothing long. These changes
are for that: they move lines, put in numbers that are at a limit, and repeat a piece so often that
a reader whose time grows with the square of its input is found.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

NUMBER = re.compile(rb"\d+")
LONG = 64 << 10
PIECES = (
    b"-1", b"0", b"1", b"255", b"1023", b"2147483648", b"4294967295", b"9" * 25, b"9" * 5000,
    b"0x", b"1e999", b"0-16383", b"0-99999999", b"-", b",", b":", b"\n", b"\r", b"\t", b" " * 70,
    b"\x1b[2J", b"\x1b]0;", b"\xe2\x80\xae", b"\xc2\xa0", b"\xc2\x85", b"\xc2\x9b", b"\xff",
    b"\xf0\x9f\x92\xa9", b"\xd9\xa3", b"\xc2\xb2", b"...", b"[red]", b"<br>", b"&lt;", b"=\n",
    b"=3D", b"> ", b"\\n", b"\\u001b", b'"', b"'", b"{", b"[", b"}", b"]", b"null", b"true",
    b"NaN", b"<!ENTITY", b"</", b"../", b"/",
)  # fmt: skip


def mutated(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Return an input after one to four changes; `others` are inputs that pieces come from."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        change = rng.choice(CHANGES)
        data = change(data, rng.choice(others) if others else data, rng)
    return data[:LONG]


def span(data: bytes, rng: random.Random, most: int = 64) -> tuple[int, int]:
    """Draw a place and an end after it."""
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randint(1, most))


def without(data: bytes, _: bytes, rng: random.Random) -> bytes:
    """Leave a piece out."""
    start, end = span(data, rng)
    return data[:start] + data[end:]


def cut(data: bytes, _: bytes, rng: random.Random) -> bytes:
    """Keep only what is before a place, or after it."""
    place = rng.randrange(len(data) + 1)
    return data[:place] if rng.random() < 0.5 else data[place:]


def with_piece(data: bytes, _: bytes, rng: random.Random) -> bytes:
    """Put in a piece that is special to some format, in place of others or between."""
    start, end = span(data, rng, 4)
    return data[:start] + rng.choice(PIECES) + data[end if rng.random() < 0.5 else start :]


def with_number(data: bytes, _: bytes, rng: random.Random) -> bytes:
    """Change a number."""
    found = [*NUMBER.finditer(data)]
    if not found:
        return data
    one = rng.choice(found)
    value = int(one.group()[:18])
    new = rng.choice((b"%d" % (value + 1), b"%d" % (value << 10), b"-1", *PIECES[:9]))
    return data[: one.start()] + new + data[one.end() :]


def with_lines_moved(data: bytes, _: bytes, rng: random.Random) -> bytes:
    """Move a line, double it, or join it with the next."""
    lines = data.split(b"\n")
    line = lines.pop(rng.randrange(len(lines)))
    place = rng.randrange(len(lines) + 1)
    how = rng.randrange(3)
    if how == 2 and lines:
        lines[place % len(lines)] += line
    else:
        lines[place:place] = [line] * (how + 1)
    return b"\n".join(lines)


def with_other(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Put in lines of another input, or go on as that."""
    lines = other.split(b"\n")
    start = rng.randrange(len(lines))
    piece = b"\n".join(lines[start : start + rng.choice((1, 1, 3, 1000))])
    place = rng.randrange(len(data) + 1)
    if rng.random() < 0.5:
        place = data.find(b"\n", place) + 1
    return data[:place] + piece + data[place:]


def with_byte(data: bytes, _: bytes, rng: random.Random) -> bytes:
    """Change one byte."""
    if not data:
        return data
    place = rng.randrange(len(data))
    return data[:place] + bytes((rng.randrange(256),)) + data[place + 1 :]


def with_repeats(data: bytes, _: bytes, rng: random.Random) -> bytes:
    """Repeat a piece, mostly a few times, seldom until the input is long."""
    start, end = span(data, rng, rng.choice((1, 2, 8, 200)))
    piece = data[start:end]
    times = rng.choice((2, 8, 64, 1000, LONG if rng.random() < 0.05 else 300))
    return data[:start] + piece * min(times, LONG // (len(piece) or 1)) + data[end:]


Change = Callable[[bytes, bytes, random.Random], bytes]
CHANGES: tuple[Change, ...] = (
    without, cut, with_piece, with_piece, with_number, with_number, with_lines_moved, with_other,
    with_byte, with_repeats,
)  # fmt: skip
