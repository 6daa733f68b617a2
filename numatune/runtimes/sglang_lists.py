"""The CPU lists of SGLANG_CPU_OMP_THREADS_BIND, as libnuma reads those of one rank.

Source: `__numa_parse_cpustring` of libnuma 2.0.16,
https://github.com/numactl/numactl/blob/v2.0.16/libnuma.c
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from numatune.errors import LaunchRefused, UsageError
from numatune.machine import CpuSet
from numatune.machine.cpuset import ID_LIMIT
from numatune.words import shown

#: A number as strtoul reads it with base 0: decimal, octal behind 0, hexadecimal behind 0x.
NUMBER = r"[ \t]*(0[xX][0-9a-fA-F]{1,6}|[0-9]{1,8})"
ENTRY = re.compile(rf"{NUMBER}(?:-{NUMBER})?")


def entries(text: str) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of each entry of a list, in its order.

    Raises LaunchRefused where libnuma can't read it, UsageError where that is not simulated.
    """
    if text[:1] in ("!", "+") or "all" in text.split(","):
        raise UsageError(f"CPU list {shown(text)} is not simulated; write ids such as 0-23,48")
    for part in text.split(",") if text else ():
        found = ENTRY.fullmatch(part)
        if found is None:
            raise LaunchRefused(
                f"libnuma can't read the CPU list {shown(text)}, and sglang crashes", "no-workers"
            )
        first = number(found[1])
        yield first, first if found[2] is None else number(found[2])


def number(text: str) -> int:
    """Return a CPU id. Raises UsageError where it is too large to be one."""
    base = 16 if text[:2].lower() == "0x" else 8 if text[0] == "0" and len(text) > 1 else 10
    try:
        value = int(text, base)
    except ValueError:
        raise UsageError(f"CPU id {shown(text)} is no octal number, as a leading 0 says") from None
    if value >= ID_LIMIT:
        raise UsageError(f"CPU id {shown(text)} is beyond what is simulated, {ID_LIMIT - 1}")
    return value


def asked(text: str, allowed: CpuSet | None) -> CpuSet:
    """Return the CPUs of a list: of a range those that may be used, as long as both its ends may.

    A range that runs backwards is its first CPU. Where `beyond` finds a CPU, all are as written.
    """
    mask = 0
    for first, last in entries(text):
        mask |= (1 << max(first, last) + 1) - (1 << first) if last >= first else 1 << first
    if allowed is None or beyond(text, allowed) is not None:
        return CpuSet.of_mask(mask)
    return CpuSet.of_mask(mask) & allowed


def beyond(text: str, allowed: CpuSet) -> int | None:
    """Return the first end of a range that may not be used, at which libnuma gives up."""
    ends = (cpu for entry in entries(text) for cpu in entry)
    return next((cpu for cpu in ends if cpu not in allowed), None)
