from __future__ import annotations

import pytest

from numatune.errors import UsageError
from numatune.machine import CpuSet
from numatune.runtimes.options import numbers, whole
from numatune.words import shown, suggestion


@pytest.mark.parametrize(("value", "read"), [(3, 3), ("3", 3), (" 12 ", 12)])
def test_whole_numbers(value: object, read: int) -> None:
    assert whole("--x", value, 1, 12, "a number") == read


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (0, "0 is too small; give a number, 1 or more"),
        ("-1", "-1 is too small"),
        (13, "13 is beyond what is simulated, 12"),
        ("x", "x is not a whole number; give a number"),
        (True, "True is not a whole number"),
        (1.5, "1.5 is not"),
        (None, "None is not"),
        ("", " is not"),
        ("٣", "is not"),
        ("9" * 5000, "9999... is not"),
        ([], "is not"),
    ],
)
def test_what_is_none(value: object, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        whole("--x", value, 1, 12, "a number")


@pytest.mark.parametrize("value", [[0, 2], (0, 2), "0,2", "0 2", "0, 2", CpuSet([0, 2])])
def test_sequences_of_numbers(value: object) -> None:
    assert numbers("--x", value, 9, "ids") == (0, 2)


def test_a_single_number_is_a_sequence_of_one() -> None:
    assert numbers("--x", 2, 9, "ids") == (2,)


def test_values_are_quoted_short_and_printable() -> None:
    assert shown("a\x1b[31mb\n") == "a?[31mb?"
    assert len(shown("x" * 9999)) == 43


def test_suggestions() -> None:
    assert suggestion("treadpool_count", ["threadpool_count", "numa_nodes"]) == (
        ", did you mean threadpool_count?"
    )
    assert suggestion("zzz", ["threadpool_count"]) == ""
