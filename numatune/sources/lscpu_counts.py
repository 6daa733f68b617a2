"""What the figures of lscpu come to: cores, packages, and threads of a core.

lscpu divides the number of cores by that of packages and drops the rest, and gives as "Thread(s)
per core" that of the largest core (sys-utils/lscpu-topology.c, cputype_read_topology, in
https://github.com/util-linux/util-linux at 39465c7). So a product of its figures is the number of
cores only where it comes to the number of online CPUs.
"""

from __future__ import annotations

from typing import NamedTuple

from numatune.machine import CpuSet
from numatune.sources.lscpu_losses import SUPPLY, Losses


class Type(NamedTuple):
    """The figures of one type of CPU, None where unknown.

    `cores` is the number in each of `groups` groups: of its packages, or on some Arm machines of
    its clusters.
    """

    threads: int | None
    cores: int | None
    groups: int | None
    packages: int | None

    @property
    def product(self) -> int | None:
        """How many CPUs the figures come to."""
        if self.threads is None or self.cores is None or self.groups is None:
            return None
        return self.threads * self.cores * self.groups

    def __str__(self) -> str:
        return f"{self.threads} x {self.cores} x {self.groups}"


class Counts(NamedTuple):
    """Cores and packages of the machine, and threads of every core; None where unknown."""

    cores: int | None = None
    packages: int | None = None
    threads: int | None = None


def counts_of(
    types: list[Type],
    count: int | None,
    offline: CpuSet | None,
    losses: Losses,
    *,
    physical: int | None,
    is_virtual: bool,
    is_power: bool,
) -> Counts:
    """Return what the figures of all types of CPU come to, and note what they don't tell.

    `count` is the number of online CPUs, `physical` that of the packages as POWER firmware gives
    it, `is_virtual` says that the figures are those of a whole s390 machine, not of this part.
    """
    threads = {each.threads for each in types}
    uniform = threads.pop() if len(threads) == 1 else None
    products = [each.product for each in types]
    packages = packages_of(types, count, losses, physical, is_virtual, is_power)
    if uniform == 1 and len(types) == 1 and products == [None]:
        # The largest core has one thread, so every online CPU is a core.
        return Counts(count, packages, 1)
    if uniform is not None and products == [None]:
        losses.warn(
            "cores-unknown",
            f"the number of cores is not known: the largest has {uniform} threads, others may have "
            "fewer; the cores of a package and the number of packages would tell. `lscpu -e` tells",
        )
    if not types or None in products:
        return Counts(None, packages, None)
    total = sum(product or 0 for product in products)
    cores = sum((each.cores or 0) * (each.groups or 0) for each in types)
    if total == count and not is_rounded(types, offline):
        return Counts(cores, packages, uniform)
    if uniform == 1 and len(types) == 1 and count and is_possible(types[0], count):
        # The largest core has one thread, so every online CPU is a core.
        return Counts(count, packages, 1)
    figures = " + ".join(map(str, types))
    compared = f"{count} CPUs are online" if count is not None else "how many are online is unknown"
    losses.warn(
        "cores-unknown",
        f"the number of cores is not known: threads of a core x cores of a package x packages = "
        f"{figures} = {total}, but {compared}; cores differ, or CPUs are offline. `lscpu -e` tells",
    )
    return Counts(None, packages, None)


def is_rounded(types: list[Type], offline: CpuSet | None) -> bool:
    """Tell whether figures may come to the right number by chance: cores of unlike size."""
    return bool(offline) and any(
        (each.threads or 0) > 1 and (each.groups or 0) > 1 for each in types
    )


def packages_of(
    types: list[Type],
    count: int | None,
    losses: Losses,
    physical: int | None,
    is_virtual: bool,
    is_power: bool,
) -> int | None:
    """Return the number of packages, None where the figure is known to lie."""
    if physical is not None:
        return physical
    if not types or types[0].packages is None:
        return None
    first = types[0]
    reason = ""
    if len(types) > 1:
        reason = "each type of CPU has a figure of its own, and types may share packages"
    elif is_virtual:
        reason = "the figures are those of the whole machine, not of this part of it"
    elif first.cores == 1 and (first.packages or 0) > 1 and (is_power or (first.threads or 0) > 1):
        reason = "each has one core, as where the kernel knows no packages"
    elif not is_possible(first, count):
        reason = f"{first} can't be rounded from {count} online CPUs; {SUPPLY}"
    if reason:
        losses.warn(
            "packages-unknown",
            f"the number of packages is not known: lscpu says {first.packages}, but {reason}. "
            "The data sheet of the machine tells; --assume packages=N passes it",
        )
        return None
    return first.packages


def is_possible(each: Type, count: int | None) -> bool:
    """Tell whether some number of cores, rounded as lscpu rounds, gives these figures."""
    if count is None or each.product is None:
        return True
    cores = (each.cores or 0) * (each.groups or 0)
    return cores <= count <= (cores + (each.groups or 0) - 1) * (each.threads or 0)
