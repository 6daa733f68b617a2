"""A set of CPU or node ids, as the kernel writes it: "0-23,48-71"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

#: Ids at or above this are refused. Linux supports 8192 CPUs (x86 MAXSMP) and 1024 nodes; a margin
#: costs little, while "0-4294967295" would cost half a gigabyte.
ID_LIMIT = 1 << 14


class CpuSet:
    """An immutable, ordered set of ids from 0 to ID_LIMIT - 1.

    >>> str(CpuSet.parse("0-3,8") | CpuSet([4]))
    '0-4,8'
    >>> len(CpuSet.parse("0-23,48-71"))
    48
    """

    __slots__ = ("mask",)

    mask: int

    def __init__(self, ids: Iterable[int] = ()) -> None:
        mask = 0
        for number in ids:
            mask |= 1 << checked(number)
        object.__setattr__(self, "mask", mask)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a CpuSet does not change")

    @classmethod
    def of_mask(cls, mask: int) -> CpuSet:
        """Return the set whose bit i stands for id i."""
        if mask < 0 or mask >> ID_LIMIT:
            raise ValueError(f"a mask must stay below {ID_LIMIT} bits")
        made = cls.__new__(cls)
        object.__setattr__(made, "mask", mask)
        return made

    @classmethod
    def parse(cls, text: str) -> CpuSet:
        """Read a kernel list ("0-3,8", "" for the empty set). Raises ValueError."""
        mask = 0
        text = text.strip(" \t\r\n\0")
        for part in text.split(",") if text else ():
            first, dash, last = part.partition("-")
            low = checked(number(first))
            high = checked(number(last)) if dash else low
            if high < low:
                raise ValueError(f"the range {part.strip()!r} runs backwards")
            mask |= (1 << (high + 1)) - (1 << low)
        return cls.of_mask(mask)

    @classmethod
    def parse_mask(cls, text: str) -> CpuSet:
        """Read a kernel mask: groups of 32 bits in hex, highest first. Raises ValueError."""
        mask = 0
        groups = text.strip(" \t\r\n\0").split(",")
        if len(groups) > ID_LIMIT // 32:
            raise ValueError(f"a mask must stay below {ID_LIMIT} bits")
        for group in groups:
            if not group or len(group) > 8 or set(group) - set("0123456789abcdefABCDEF"):
                raise ValueError(f"{group[:20]!r} is not a group of a CPU mask")
            mask = mask << 32 | int(group, 16)
        return cls.of_mask(mask)

    def __iter__(self) -> Iterator[int]:
        rest = self.mask
        while rest:
            low = rest & -rest
            yield low.bit_length() - 1
            rest ^= low

    def __len__(self) -> int:
        return self.mask.bit_count()

    def __bool__(self) -> bool:
        return self.mask != 0

    def __contains__(self, number: int) -> bool:
        return number >= 0 and self.mask >> number & 1 == 1

    def __and__(self, other: CpuSet) -> CpuSet:
        return CpuSet.of_mask(self.mask & other.mask)

    def __or__(self, other: CpuSet) -> CpuSet:
        return CpuSet.of_mask(self.mask | other.mask)

    def __sub__(self, other: CpuSet) -> CpuSet:
        return CpuSet.of_mask(self.mask & ~other.mask)

    def __le__(self, other: CpuSet) -> bool:
        return self.mask & ~other.mask == 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CpuSet) and self.mask == other.mask

    def __hash__(self) -> int:
        # Of powers of two, hash() of an int has only 61 values.
        return hash((self.mask.bit_length(), self.mask))

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield (first, last) of each run of consecutive ids, ascending."""
        rest, base = self.mask, 0
        while rest:
            skip = (rest & -rest).bit_length() - 1
            rest >>= skip
            base += skip
            run = (~rest & (rest + 1)).bit_length() - 1
            yield base, base + run - 1
            rest >>= run
            base += run

    def __str__(self) -> str:
        return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in self.ranges())

    def __repr__(self) -> str:
        return f"CpuSet.parse({str(self)!r})"

    def first(self) -> int:
        """Return the lowest id. Raises ValueError where there is none."""
        if not self.mask:
            raise ValueError("an empty set has no first id")
        return (self.mask & -self.mask).bit_length() - 1


def number(text: str) -> int:
    """Read one decimal id, ASCII digits only. Raises ValueError."""
    text = text.strip()
    if not (text.isascii() and text.isdigit()) or len(text) > 10:
        raise ValueError(f"{text[:20]!r} is not an id")
    return int(text)


def checked(number: int) -> int:
    """Return an id that is small enough to be one. Raises ValueError."""
    if not 0 <= number < ID_LIMIT:
        raise ValueError(f"{number} is beyond the highest id read here, {ID_LIMIT - 1}")
    return number
