"""Reading the values of a runtime's options, with one clear line where a value is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from numatune.errors import UsageError
from numatune.machine import CpuSet
from numatune.placement.request import Request
from numatune.words import shown

#: More threads than this are not simulated. Linux allows 4194304 in all (PID_MAX_LIMIT), and a
#: machine of 8192 CPUs, its largest, 16 times as few as this.
MOST_THREADS = 1 << 17

#: More nodes than Linux can have (MAX_NUMNODES is 1024).
MOST_NODES = 1 << 16


def whole(name: str, value: object, least: int, most: int, what: str) -> int:
    """Return a whole number, as a number or as its digits. Raises UsageError."""
    number: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str):
        digits = value.strip().removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) < 20:
            number = int(value)
    if number is None:
        raise UsageError(f"{name} {shown(value)} is not a whole number; give {what}")
    if number < least:
        raise UsageError(f"{name} {shown(number)} is too small; give {what}, {least} or more")
    if number > most:
        raise UsageError(f"{name} {shown(number)} is beyond what is simulated, {most}")
    return number


def thread_count(request: Request, option: str) -> int:
    """Return the thread count of a request. Raises UsageError."""
    if request.threads is None:
        raise UsageError(f"the request has no thread count; give one with {option}")
    return whole(option, request.threads, 1, MOST_THREADS, "a number of threads")


def numbers(name: str, value: object, most: int, what: str) -> tuple[int, ...]:
    """Return a sequence of whole numbers from 0 on, in the order given. Raises UsageError.

    A text may separate them with commas or spaces ("0,1").
    """
    parts: Iterable[object]
    if isinstance(value, str):
        parts = value.replace(",", " ").split()
    elif isinstance(value, (list, tuple, CpuSet)):
        parts = value
    else:
        parts = (value,)
    found = tuple(whole(name, part, 0, most, what) for part in parts)
    if len(found) > MOST_NODES:
        raise UsageError(f"{name} has more than {MOST_NODES} entries")
    return found
