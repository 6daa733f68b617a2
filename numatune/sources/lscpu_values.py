"""The values on the lines of lscpu: numbers, lists and masks of CPUs, names, flags."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from numatune.machine import CpuSet
from numatune.sources.lscpu_losses import Losses
from numatune.sources.numactl_values import is_elision, read_cpus, tail_problem

#: What people put between a name and a note on it.
REMARK = re.compile(r" (?:#|//|<[-=]|--|[-=]+>|\u2190|\u2192)")


class Statement(NamedTuple):
    """One field of lscpu and its value; `node` is the number in "NUMA node0 CPU(s)".

    A value has "\\n" where it was wrapped. `problem` says why it can't be taken: "cut" where the
    text ends in it, "damaged", "elided". `is_last` says that the text ends behind the value, and
    without a line end.
    """

    field: str
    value: str
    node: int = -1
    problem: str = ""
    is_last: bool = False


def read_number(statement: Statement | None, part: str, losses: Losses) -> int | None:
    """Return a count; None where it is unknown, with a note unless lscpu itself says so."""
    if statement is None:
        return None
    value = statement.value.strip(" *_`\"'|,")
    found = re.match(r"([0-9]{1,6})(?![0-9])(.*)", value, re.ASCII | re.DOTALL)
    if statement.problem or value in ("-", "") or not found:
        code = statement.problem or ("not-available" if value in ("-", "") else "damaged")
        losses.add("elided" if is_elision(value) else code, part)
        return None
    problem = tail_problem(found[2]) or ("damaged" if found[1][0] == "0" != found[1] else "")
    if problem:
        losses.add(problem, part)
        return None
    if int(found[1]) == 0:
        losses.add("not-available", part)
    return int(found[1]) or None


def read_set(
    statement: Statement | None, part: str, is_mask: bool, losses: Losses
) -> CpuSet | None:
    """Return a list of CPUs, or a mask as `lscpu -x` prints it; None where it is not whole."""
    if statement is None:
        return None
    value = statement.value.strip(" *_`\"'|\n")
    cpus, problem = None, statement.problem
    if not problem and is_mask:
        try:
            cpus = CpuSet.parse_mask(split_mask(value.removeprefix("0x")))
        except ValueError:
            problem = "damaged"
    elif not problem and value:
        read = read_cpus("".join(value.split("\n")))
        cpus, problem = read.cpus, read.problem
        losses.undone.update(read.undone)
    elif not problem:
        cpus = CpuSet()
    if problem:
        losses.add(problem, part)
    return cpus


def split_mask(digits: str) -> str:
    """Return a mask in the kernel's groups of eight digits."""
    digits = digits.replace(",", "")
    head = len(digits) % 8
    groups = [digits[i : i + 8] for i in range(head, len(digits), 8)]
    return ",".join(([digits[:head]] if head else []) + groups)


def read_word(statement: Statement | None) -> str | None:
    """Return a name without a note behind it, None where it is unknown."""
    if statement is None or statement.problem:
        return None
    value = REMARK.split(" ".join(statement.value.split()))[0].strip(" *_`\"'|,")
    return None if value in ("-", "") or is_elision(value) else value


def flags_of(value: str) -> frozenset[str] | None:
    """Return the words of a list of flags, None where it is none.

    A list that was cut at a terminal's last column is broken inside words. Unless its lines are
    ragged, as only wrapping between words leaves them, each broken word is taken both ways: a name
    that is none hurts nobody, while a lost one would hide an instruction set.
    """
    lines = [line for line in value.split("\n") if line.strip()]
    words = value.split()
    lengths = [len(line.strip()) for line in lines[1:-1]]
    if len(lengths) < 2 or max(lengths) - min(lengths) < 4:
        words += [one.split()[-1] + other.split()[0] for one, other in pairwise(lines)]
    if not all(re.fullmatch(r"[a-z0-9_.,]{1,64}", word) and word.strip(".") for word in words):
        return None
    return frozenset(words) if not value.rstrip().endswith("..") else None
