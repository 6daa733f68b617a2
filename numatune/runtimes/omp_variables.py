"""The variables of libgomp, read as its own parser reads them: what is valid, and what it means.

Names are compared without regard to case, white space is C's, and a number is what `strtoul`
makes of the text, so that "-1" is the largest number there is. Source: GCC 12 to 14,
https://github.com/gcc-mirror/gcc/blob/releases/gcc-12.2.0/libgomp/env.c (`parse_places_var`,
`parse_one_place`, `parse_affinity`, `parse_bind_var`, `parse_unsigned_long_list`, `parse_boolean`,
`parse_wait_policy`, `parse_spincount`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: The kinds of place that have a name.
LEVELS = ("threads", "cores", "sockets", "ll_caches", "numa_domains")
FALSE, TRUE, PRIMARY, CLOSE, SPREAD = "false", "true", "primary", "close", "spread"
#: The words of OMP_PROC_BIND, and what they mean.
BINDS = {
    "false": FALSE,
    "true": TRUE,
    "master": PRIMARY,
    "primary": PRIMARY,
    "close": CLOSE,
    "spread": SPREAD,
}

#: `unsigned long` and `long` of 64 bits.
ULONG_MAX = (1 << 64) - 1
LONG_MAX = (1 << 63) - 1
#: No list of places is longer.
MOST_PLACES = 65536

SPACE = " \t\n\v\f\r"
DECIMAL = re.compile(r"[ \t\n\v\f\r]*([+-]?)([0-9]+)", re.ASCII)
#: As C writes numbers: 0x is hexadecimal, a leading 0 octal.
ANY_BASE = re.compile(r"[ \t\n\v\f\r]*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", re.ASCII)


class InvalidValue(ValueError):
    """The runtime rejects the value of a variable, and warns."""


class Level(NamedTuple):
    """Places of a named kind, the first `number` of them; None stands for all."""

    name: str
    number: int | None


class Interval(NamedTuple):
    """CPUs `first`, `first` + `stride` and so on, `length` of them."""

    first: int
    length: int = 1
    stride: int = 1


class PlaceItem(NamedTuple):
    """One entry of an explicit list: CPUs added and then removed, and copies shifted by a stride.

    `is_removed` says that an equal place is taken out of the list in place of adding one.
    """

    is_removed: bool
    added: tuple[Interval, ...]
    removed: tuple[int, ...]
    copies: int
    stride: int


class Cursor:
    """A place in a text, moved on as its parts are read."""

    def __init__(self, text: str) -> None:
        self.text = text.split("\0", 1)[0]
        self.at = 0

    def skip(self) -> None:
        """Pass over white space."""
        while self.at < len(self.text) and self.text[self.at] in SPACE:
            self.at += 1

    def ends(self) -> bool:
        """Tell whether nothing but white space is left."""
        self.skip()
        return self.at == len(self.text)

    def takes(self, sign: str) -> bool:
        """Pass over one character if it is the next one."""
        found = self.text.startswith(sign, self.at)
        self.at += len(sign) if found else 0
        return found

    def takes_word(self, word: str) -> bool:
        """Pass over a word if it is the next one, in upper or lower case."""
        found = self.text[self.at : self.at + len(word)].lower() == word
        self.at += len(word) if found else 0
        return found

    def unsigned(self, pattern: re.Pattern[str] = DECIMAL) -> int:
        """Read a number as `strtoul` does: one below 0 wraps round. Raises InvalidValue."""
        value = self.number(pattern)
        if abs(value) > ULONG_MAX:
            raise InvalidValue("a number is too large")
        return value & ULONG_MAX

    def signed(self) -> int:
        """Read a number as `strtol` does. Raises InvalidValue."""
        value = self.number(DECIMAL)
        if not -LONG_MAX - 1 <= value <= LONG_MAX:
            raise InvalidValue("a number is too large")
        return value

    def number(self, pattern: re.Pattern[str]) -> int:
        """Read a whole number. Raises InvalidValue."""
        match = pattern.match(self.text, self.at)
        if match is None:
            raise InvalidValue("a number is missing")
        self.at = match.end()
        digits, base = match[2].lower(), 10
        if pattern is ANY_BASE and digits.startswith("0"):
            base = 16 if digits.startswith("0x") else 8
        digits = digits.removeprefix("0x").lstrip("0")
        if len(digits) > 40:
            raise InvalidValue("a number is too large")
        return int(digits or "0", base) * (-1 if match[1] == "-" else 1)


def count(text: str) -> int:
    """Read OMP_THREAD_LIMIT. Raises InvalidValue."""
    found = counts(text)
    if len(found) > 1:
        raise InvalidValue("a number is followed by something else")
    return found[0]


def counts(text: str) -> tuple[int, ...]:
    """Read OMP_NUM_THREADS: the count of each level of nesting. Raises InvalidValue."""
    cursor = Cursor(text)
    found: list[int] = []
    while True:
        value = cursor.unsigned()
        if not 0 < value <= LONG_MAX:
            raise InvalidValue("a number must be 1 or more")
        found.append(value)
        if cursor.ends():
            return tuple(found)
        if not cursor.takes(","):
            raise InvalidValue("a number is followed by something else")


def binds(text: str) -> tuple[str, ...]:
    """Read OMP_PROC_BIND: the policy of each level of nesting. Raises InvalidValue."""
    cursor = Cursor(text)
    found: list[str] = []
    while True:
        cursor.skip()
        known = BINDS if not found else [w for w in BINDS if BINDS[w] not in (FALSE, TRUE)]
        word = next((word for word in known if cursor.takes_word(word)), None)
        if word is None:
            raise InvalidValue("a policy is not known")
        found.append(BINDS[word])
        if cursor.ends():
            return tuple(found)
        if found[0] in (FALSE, TRUE) or not cursor.takes(","):
            raise InvalidValue("a policy is followed by something else")


def truth(text: str) -> bool:
    """Read OMP_DYNAMIC. Raises InvalidValue."""
    return one_of(text, {"true": True, "false": False})


def wait_policy(text: str) -> bool:
    """Read OMP_WAIT_POLICY: whether it is "active". Raises InvalidValue."""
    return one_of(text, {"active": True, "passive": False})


def one_of(text: str, known: dict[str, bool]) -> bool:
    """Read one word. Raises InvalidValue."""
    cursor = Cursor(text)
    cursor.skip()
    word = next((word for word in known if cursor.takes_word(word)), None)
    if word is None or not cursor.ends():
        raise InvalidValue("the word is not known")
    return known[word]


def spin_count(text: str) -> int:
    """Read GOMP_SPINCOUNT, "infinite" being the largest number. Raises InvalidValue."""
    cursor = Cursor(text)
    cursor.skip()
    if cursor.takes_word("infinite") or cursor.takes_word("infinity"):
        value = ULONG_MAX
    else:
        value = cursor.unsigned()
        cursor.skip()
        scales = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
        value *= next((size for unit, size in scales.items() if cursor.takes_word(unit)), 1)
    if not cursor.ends():
        raise InvalidValue("the number is followed by something else")
    return min(value, ULONG_MAX)


def places(text: str) -> Level | tuple[PlaceItem, ...]:
    """Read OMP_PLACES: a named kind, or a list of places. Raises InvalidValue."""
    cursor = Cursor(text)
    cursor.skip()
    name = next((name for name in LEVELS if cursor.takes_word(name)), None)
    if name is not None:
        return level(cursor, name)
    items: list[PlaceItem] = []
    total = 0
    while True:
        item = place_item(cursor)
        # However many places are removed, they count as one.
        total += item.copies if not item.is_removed or not any(i.is_removed for i in items) else 0
        items.append(item)
        if total > MOST_PLACES:
            raise InvalidValue("there are too many places")
        if cursor.at == len(cursor.text):
            return tuple(items)
        if not cursor.takes(","):
            raise InvalidValue("a place is followed by something else")


def level(cursor: Cursor, name: str) -> Level:
    """Read what follows the name of a kind of place, such as "(4)". Raises InvalidValue."""
    if cursor.ends():
        return Level(name, None)
    if not cursor.takes("("):
        raise InvalidValue("a kind of place is followed by something else")
    count = cursor.unsigned()
    cursor.skip()
    if not cursor.takes(")") or not cursor.ends():
        raise InvalidValue("the number of places is followed by something else")
    return Level(name, count)


def place_item(cursor: Cursor) -> PlaceItem:
    """Read one entry of a list, such as "{0:4}:2:8" or "!{4}" or "7". Raises InvalidValue."""
    cursor.skip()
    is_removed = cursor.takes("!")
    cursor.skip()
    added: list[Interval] = []
    removed: list[int] = []
    if cursor.takes("{"):
        cursor.skip()
        read_resources(cursor, added, removed)
    else:
        added.append(Interval(cursor.unsigned()))
    cursor.skip()
    copies, stride = 1, 1
    if not is_removed:
        copies, stride = length_and_stride(cursor)
    elif cursor.takes(":"):
        raise InvalidValue("a place that is removed has no length")
    if copies >= MOST_PLACES:
        raise InvalidValue("there are too many places")
    return PlaceItem(is_removed, tuple(added), tuple(removed), copies, stride)


def read_resources(cursor: Cursor, added: list[Interval], removed: list[int]) -> None:
    """Read the CPUs of one place up to its closing brace. Raises InvalidValue."""
    while True:
        is_removed = cursor.takes("!")
        first = cursor.unsigned()
        cursor.skip()
        if is_removed:
            removed.append(first)
        else:
            added.append(Interval(first, *length_and_stride(cursor)))
        if cursor.takes("}"):
            return
        if not cursor.takes(","):
            raise InvalidValue("a CPU is followed by something else")


def length_and_stride(cursor: Cursor) -> tuple[int, int]:
    """Read ":length:stride", both of which may be missing. Raises InvalidValue."""
    length, stride = 1, 1
    if cursor.takes(":"):
        length = cursor.unsigned()
        cursor.skip()
        if not length:
            raise InvalidValue("a length must be 1 or more")
        if cursor.takes(":"):
            stride = cursor.signed()
            cursor.skip()
    return length, stride


def cpu_affinity(text: str) -> tuple[range, ...]:
    """Read GOMP_CPU_AFFINITY: CPUs and ranges such as "0 3 4-15:2". Raises InvalidValue."""
    cursor = Cursor(text)
    found: list[range] = []
    while True:
        first = cursor.unsigned(ANY_BASE)
        last, stride = first, 1
        if cursor.takes("-"):
            last = cursor.unsigned(ANY_BASE)
            if cursor.takes(":"):
                stride = cursor.unsigned(ANY_BASE)
        if not first <= last < MOST_PLACES or not 0 < stride < MOST_PLACES:
            raise InvalidValue("a range runs backwards or beyond every CPU")
        found.append(range(first, last + 1, stride))
        cursor.skip()
        if not cursor.takes(",") and cursor.at == len(cursor.text):
            return tuple(found)
