"""Keeping what was found out about a machine while one and the same is asked about."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from numatune.machine import Machine

T = TypeVar("T")


def kept(function: Callable[[Machine], T]) -> Callable[[Machine], T]:
    """Keep a function's value for the last machine: a sweep asks thousands of times for one."""
    last: list[tuple[Machine, T]] = []

    @wraps(function)
    def asked(machine: Machine) -> T:
        if not last or last[0][0] is not machine:
            last[:] = [(machine, function(machine))]
        return last[0][1]

    return asked
