"""The ways in which launchers write sets of CPUs and nodes."""

from __future__ import annotations

import re
from typing import NamedTuple

from numatune.errors import UsageError
from numatune.machine import CpuSet
from numatune.machine.cpuset import ID_LIMIT
from numatune.words import shown

#: A number as strtoul reads it with base 0.
NUMBER = re.compile(r"[ \t]*(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
HEX_GROUPS = re.compile(r"[0-9a-fA-F]+(?:,[0-9a-fA-F]+)*")
LONGEST_NUMBER = 10


class Parsed(NamedTuple):
    """The ids that a list means, and those in it that its launcher refuses.

    In a list that counts with "+", what is refused are places and not ids.
    """

    ids: CpuSet
    refused: tuple[int, ...] = ()


def value_of(launcher: str, digits: str, base: int) -> int:
    """Return a number. Raises UsageError where it is far too long to be an id."""
    if len(digits) > LONGEST_NUMBER:
        raise UsageError(f"{launcher}: {shown(digits)} is beyond any id")
    return int(digits, base)


def strtoul(launcher: str, text: str, at: int) -> tuple[int, int]:
    """Return the number at a place, in base 0, and where it ends. Raises UsageError."""
    match = NUMBER.match(text, at)
    if match is None:
        raise UsageError(f"{launcher}: {shown(text)} is no list such as 0-3,8 or all")
    digits = match[1]
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
    return value_of(launcher, digits, base), match.end()


def numactl_list(launcher: str, text: str, allowed: CpuSet, configured: int) -> Parsed:
    """Read a list as `numa_parse_cpustring` and `numa_parse_nodestring` do.

    "!" inverts within the first `configured` ids, "+" counts within `allowed`, "all" is `allowed`.
    The ends of a range must be allowed; what lies between and is not is left out. Raises
    UsageError for what is no list. Source:
    https://github.com/numactl/numactl/blob/93c1fe5fabf38502ca315598bf74699c41300df9/libnuma.c
    """
    if not text:
        return Parsed(CpuSet())
    at = 0
    inverts = text[at] == "!"
    at += inverts
    order = list(allowed) if text[at : at + 1] == "+" else None
    at += order is not None
    mask, refused = 0, 0
    beyond: list[int] = []
    while True:
        if text[at:] == "all":
            mask |= allowed.mask
            break
        first, at = strtoul(launcher, text, at)
        last = first
        if text[at : at + 1] == "-":
            last, at = strtoul(launcher, text, at + 1)
        low, high = nth(order, first), nth(order, last)
        bad = [n for n, end in ((first, low), (last, high)) if end not in allowed]
        if bad and (order is not None or max(first, last) >= ID_LIMIT):
            beyond += bad
        elif bad:
            refused |= ones(low, high) & ~allowed.mask
        else:
            mask |= ones(low, high) & allowed.mask
        if at >= len(text):
            break
        if text[at] != ",":
            raise UsageError(f"{launcher}: {shown(text)} is no list such as 0-3,8 or all")
        at += 1
    if inverts:
        mask ^= (1 << configured) - 1
    wrong = sorted({*CpuSet.of_mask(refused), *beyond})
    return Parsed(CpuSet.of_mask(mask), tuple(wrong))


def nth(order: list[int] | None, number: int) -> int:
    """Return the id of that place in the allowed ones, -1 where it is no place."""
    if order is None:
        return number
    return order[number] if number < len(order) else -1


def ones(first: int, last: int) -> int:
    """Return a mask of a range; one that runs backwards has its first id alone."""
    return (1 << first) if last < first else (1 << (last + 1)) - (1 << first)


def taskset_list(launcher: str, text: str) -> CpuSet:
    """Read the list of `taskset -c`: "0-7:2,16"; ids beyond any kernel's are left out.

    Raises UsageError. Source: cpulist_parse of
    https://github.com/util-linux/util-linux/blob/39465c780eed56034ed1440068a2722fc3331343/lib/cpuset.c
    """
    mask = 0
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]+)(?:-([0-9]+)(?::([0-9]+))?)?", part)
        if match is None or not part.isascii():
            raise UsageError(f"{launcher}: {shown(text)} is no CPU list such as 0-3,8 or 0-15:2")
        first, last, stride = (value_of(launcher, group or "0", 10) for group in match.groups())
        if match[2] is None:
            last = first
        if match[3] is None:
            stride = 1
        stride = min(stride, ID_LIMIT)
        if last < first or stride == 0:
            raise UsageError(f"{launcher}: {shown(part)} is no range of CPUs")
        count = (min(last, ID_LIMIT - 1) - first) // stride + 1
        if count > 0:  # one bit in every `stride`, `count` times, as a quotient
            mask |= ((1 << count * stride) - 1) // ((1 << stride) - 1) << first
    return CpuSet.of_mask(mask)


def hex_mask(launcher: str, text: str) -> CpuSet:
    """Read a mask in hex, with or without 0x and the commas of /sys. Raises UsageError.

    Source: cpumask_parse of the same file.
    """
    digits = text.removeprefix("0x")
    if HEX_GROUPS.fullmatch(digits) is None:
        raise UsageError(f"{launcher}: {shown(text)} is no mask of CPUs in hex, such as ff")
    digits = digits.replace(",", "")
    if len(digits) > ID_LIMIT // 4:
        raise UsageError(f"{launcher}: the mask has more digits than there are CPUs")
    return CpuSet.of_mask(int(digits, 16))


def kernel_list(launcher: str, option: str, text: str) -> CpuSet:
    """Read a list as cpuset files have it: "0-3,8". Raises UsageError."""
    try:
        return CpuSet.parse(text)
    except ValueError as error:
        raise UsageError(
            f"{launcher}: {option}: {error}; write a list such as 0-23,48-71"
        ) from None


def systemd_list(launcher: str, option: str, text: str) -> CpuSet:
    """Read the list of a systemd property, with blanks or commas between ranges."""
    return kernel_list(launcher, option, ",".join(text.replace(",", " ").split()))
