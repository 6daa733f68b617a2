"""Keeping what was found out about a machine or a case while one and the same is asked about."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def kept(function: Callable[[S], T]) -> Callable[[S], T]:
    """Keep a function's value for the last subject, which never changes.

    A sweep asks thousands of times for one machine, and several rules ask for one case.
    """
    last: list[tuple[S, T]] = []

    @wraps(function)
    def asked(subject: S) -> T:
        if not last or last[0][0] is not subject:
            last[:] = [(subject, function(subject))]
        return last[0][1]

    return asked
