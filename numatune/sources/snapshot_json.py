"""The JSON of a snapshot, read with bounds; each value is checked as it is taken.

A snapshot may come from anybody: depth, number of elements, length of numbers and of texts, and the
total of all lists of ids are bounded before or while they are read, and whatever is wrong is named
by its place ("nodes[1].cpus").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from numatune.errors import MachineError
from numatune.machine.cpuset import ID_LIMIT, CpuSet
from numatune.words import clean, shown

T = TypeVar("T")

SUPPLY = "record it again with `numatune snapshot -o FILE`"

#: A machine of 16384 cores and 1024 nodes has 6 MB, most of it the table of distances.
TEXT_LIMIT = 8 << 20
#: Objects, lists and names of values: such a machine has 75000.
ELEMENT_LIMIT = 1 << 17
#: Values: a table of distances of 1024 nodes has a million.
VALUE_LIMIT = 1_200_000
#: All lists of ids together: 16384 CPUs, each in its core, package and node, take 0.3 MB.
LIST_LIMIT = 1 << 20
#: The longest list of objects: cores, of which Linux knows 8192.
ITEM_LIMIT = 1 << 14
#: One text: the flags of a CPU have 2 kB, a list of CPUs in a warning may have more.
STRING_LIMIT = 1 << 16
#: Objects and lists in each other: a snapshot has four.
DEPTH_LIMIT = 16
#: No number here is longer: sizes are below 2**60.
NUMBER_LIMIT = 24

#: So many names are kept of those that are missing, and of those that are not known.
NOTED = 100

START = re.compile(r'\{\s*"numatune_snapshot"\s*:')


def decoded(text: str, start: int, label: str) -> tuple[dict[str, Any], int]:
    """Return the object that starts at a place of a text, and where it ends.

    Raises MachineError where it is not whole, or more than any machine's.
    """
    import json

    def refuse(what: str) -> NoReturn:
        raise MachineError(f"{label}: {what}; {SUPPLY}")

    def number(digits: str, kind: Callable[[str], T]) -> T:
        if len(digits) > NUMBER_LIMIT:
            refuse(f"{digits[:12]}... is a number of {len(digits)} digits, as no snapshot has")
        return kind(digits)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) == len(pairs):
            return values
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                break
            seen.add(name)
        refuse(f"{shown(name)!r} is stated twice in one object")

    if len(text) - start > TEXT_LIMIT:
        refuse(f"the snapshot is larger than {TEXT_LIMIT >> 20} MB, as no machine's is")
    if sum(text.count(mark, start) for mark in "{[:") > ELEMENT_LIMIT:
        refuse(f"the snapshot has more than {ELEMENT_LIMIT} parts, as no machine's has")
    if text.count(",", start) > VALUE_LIMIT:
        refuse(f"the snapshot has more than {VALUE_LIMIT} values, as no machine's has")
    decoder = json.JSONDecoder(
        object_pairs_hook=once,
        parse_int=lambda digits: number(digits, int),
        parse_float=lambda digits: number(digits, float),
        parse_constant=lambda word: refuse(f"{word} is no number"),
    )
    try:
        values, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        refuse(f"the snapshot is not whole ({error.msg}, line {error.lineno})")
    except RecursionError:
        refuse("the snapshot is nested too deeply")
    if is_deep(values):
        # How deep Python itself goes differs between its versions.
        refuse("the snapshot is nested too deeply")
    if type(values) is not dict:
        refuse("the text is no snapshot")
    return values, end


def is_deep(values: object) -> bool:
    """Tell whether there are more than DEPTH_LIMIT objects or lists, each in the one before."""
    level = [values] if isinstance(values, dict | list) else []
    for _ in range(DEPTH_LIMIT):
        inside = (one.values() if isinstance(one, dict) else one for one in level)
        level = [value for part in inside for value in part if type(value) in (dict, list)]
        if not level:
            return False
    return True


class Notes:
    """What the parts of one snapshot share: its label, and what was found odd on the way."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.missing: list[str] = []
        self.unknown: list[str] = []
        self.list_left = LIST_LIMIT


class Part:
    """One object of a snapshot. Its values are taken by name; null and what is missing is None."""

    def __init__(self, values: dict[str, Any], path: str, notes: Notes) -> None:
        self.values, self.path, self.notes = values, path, notes
        self.taken: set[str] = set()

    def place(self, name: str) -> str:
        """Return how a value is named in a message."""
        return f"{self.path}.{name}" if self.path else name

    def fault(self, name: str, what: str) -> MachineError:
        """Return the error that names a value and what is wrong with it."""
        return MachineError(f"{self.notes.label}: {self.place(name)} {what}; {SUPPLY}")

    def take(self, name: str) -> Any:
        """Return a value as it stands there, None where it is missing, which is noted."""
        self.taken.add(name)
        if name not in self.values and len(self.notes.missing) < NOTED:
            self.notes.missing.append(self.place(name))
        return self.values.get(name)

    def end(self) -> None:
        """Note the names that nobody took."""
        for name in self.values:
            if name not in self.taken and len(self.notes.unknown) < NOTED:
                self.notes.unknown.append(self.place(shown(name)))

    def whole(self, name: str, least: int, most: int) -> int | None:
        """Return a whole number within bounds."""
        value = self.take(name)
        if value is None:
            return None
        if type(value) is not int or not least <= value <= most:
            raise self.fault(
                name, f"is {said(value)}, and must be a whole number from {least} to {most}"
            )
        return value

    def needed(self, name: str, least: int, most: int) -> int:
        """Return a whole number that must be there."""
        value = self.whole(name, least, most)
        if value is None:
            raise self.fault(name, "is missing")
        return value

    def number(self, name: str, most: float) -> float | None:
        """Return a number above 0."""
        value = self.take(name)
        if value is None:
            return None
        if type(value) not in (int, float) or not 0 < value <= most:
            raise self.fault(name, f"is {said(value)}, and must be a number above 0")
        return float(value)

    def flag(self, name: str) -> bool | None:
        """Return true or false."""
        value = self.take(name)
        if value is not None and type(value) is not bool:
            raise self.fault(name, f"is {said(value)}, and must be true or false")
        return value

    def text(self, name: str) -> str | None:
        """Return a text without control characters."""
        value = self.take(name)
        return None if value is None else self.checked_text(name, value)

    def needed_text(self, name: str) -> str:
        """Return a text that must be there."""
        value = self.text(name)
        if value is None:
            raise self.fault(name, "is missing")
        return value

    def checked_text(self, name: str, value: object) -> str:
        """Return a value that must be a text of bounded length."""
        if type(value) is not str:
            raise self.fault(name, f"is {said(value)}, and must be a text")
        if len(value) > STRING_LIMIT:
            raise self.fault(name, f"has more than {STRING_LIMIT} characters")
        return clean(value)

    def ids(self, name: str) -> CpuSet | None:
        """Return a set of ids that stands there as a kernel list."""
        value = self.text(name)
        if value is None:
            return None
        self.notes.list_left -= len(value)
        if self.notes.list_left < 0:
            raise self.fault(name, "is too much: all lists of ids together are more than 1 MB")
        try:
            return CpuSet.parse(value)
        except ValueError as error:
            raise self.fault(name, f"is no list of ids below {ID_LIMIT} ({error})") from None

    def needed_ids(self, name: str) -> CpuSet:
        """Return a set of ids that must be there and not be empty."""
        value = self.ids(name)
        if not value:
            raise self.fault(name, "is missing" if value is None else "is empty")
        return value

    def list(self, name: str, most: int = ITEM_LIMIT) -> list[Any] | None:
        """Return a list as it stands there."""
        value = self.take(name)
        if value is not None and type(value) is not list:
            raise self.fault(name, f"is {said(value)}, and must be a list")
        if value is not None and len(value) > most:
            raise self.fault(name, f"has more than {most} entries")
        return value

    def part(self, name: str) -> Part | None:
        """Return an object."""
        value = self.take(name)
        return None if value is None else self.object(name, value)

    def object(self, name: str, value: object) -> Part:
        """Return a value that must be an object."""
        if type(value) is not dict:
            raise self.fault(name, f"is {said(value)}, and must be an object")
        return Part(value, self.place(name), self.notes)

    def items(self, name: str, read: Callable[[Part], T]) -> tuple[T, ...] | None:
        """Return what a function reads from each object of a list."""
        values = self.list(name, ITEM_LIMIT)
        if values is None:
            return None
        found = []
        for index, value in enumerate(values):
            part = self.object(f"{name}[{index}]", value)
            found.append(read(part))
            part.end()
        return tuple(found)


def said(value: object) -> str:
    """Return a value in words; of lists and objects, which may be deep, only that they are one."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"the text {shown(value)!r}" if isinstance(value, str) else shown(value)
