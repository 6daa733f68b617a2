"""A machine built from a description in hwloc's synthetic grammar.

The part of the grammar that matters to placement (hwloc(7), "Synthetic topologies"): levels from
the machine down as `type:number`, a NUMA node attached to each object of the level before it as
`[numa(memory=SIZE)]`, and the order of CPU numbers as `pu:2(indexes=core:pack)`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numatune.errors import UsageError
from numatune.machine import Core, CpuSet, Machine, Node, Package
from numatune.words import clean

#: Every spelling of a level -> its name here; cache levels only multiply.
TYPES = {
    "pack": "pack", "package": "pack", "socket": "pack",
    "group": "group", "die": "group",
    "numa": "numa", "numanode": "numa", "node": "numa",
    "l3": "cache", "l3cache": "cache", "l2": "cache", "l2cache": "cache",
    "l1": "cache", "l1d": "cache", "l1dcache": "cache",
    "core": "core",
    "pu": "pu",
}  # fmt: skip

UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip

CPU_LIMIT = 1 << 14
#: The kernel's own limit (CONFIG_NODES_SHIFT).
NODE_LIMIT = 1 << 10

WORD = re.compile(r"\[?[a-z0-9]+(?::\d{1,6})?(?:\([^()\[\]]*\))?\]?")

EXAMPLE = 'write it like "pack:2 [numa(memory=512GB)] core:24 pu:2"'


class Level(NamedTuple):
    """One level: its type, its number below each parent, and what stands in parentheses."""

    type: str
    arity: int
    attributes: dict[str, str]


class Attached(NamedTuple):
    """A NUMA node on each object of one level; `depth` counts the levels above it."""

    depth: int
    memory: int | None


def build(description: str) -> Machine:
    """Build the machine. Raises UsageError where the description can't be understood."""
    description = " ".join(clean(description).split())
    levels, attached = parse(description)
    total = 1
    for level in levels:
        total *= level.arity
        if total > CPU_LIMIT:
            raise UsageError(f"--synthetic makes more than {CPU_LIMIT} CPUs")
    numbers = numbering(levels, total)
    nodes_at = attached or Attached(0, None)
    if width(levels, nodes_at.depth) > NODE_LIMIT:
        raise UsageError(f"--synthetic makes more than {NODE_LIMIT} NUMA nodes")
    nodes = tuple(
        Node(i, cpus, nodes_at.memory, None, "dram")
        for i, cpus in enumerate(blocks(levels, nodes_at.depth, numbers))
    )
    pack_depth = depth_of(levels, "pack")
    packages = None
    if pack_depth is not None:
        packages = tuple(Package(i, c) for i, c in enumerate(blocks(levels, pack_depth, numbers)))
    core_depth = depth_of(levels, "core") or len(levels)
    cores = []
    for index, cpus in enumerate(blocks(levels, core_depth, numbers)):
        first = index * (total // width(levels, core_depth))
        package = None if pack_depth is None else first // (total // width(levels, pack_depth))
        cores.append(Core(cpus, package, first // (total // width(levels, nodes_at.depth))))
    gaps = ["distances", "cpu", "limits", "settings"]
    if nodes_at.memory is None:
        gaps.append("memory")
    if packages is None:
        gaps.append("packages")
    return Machine(
        source=f"synthetic {description}",
        nodes=nodes,
        cores=tuple(cores),
        packages=packages,
        online_cpus=CpuSet(range(total)),
        offline_cpus=CpuSet(),
        gaps=tuple(gaps),
        origins=dict.fromkeys(("nodes", "memory", "cores", "packages"), "synthetic"),
    )


def parse(description: str) -> tuple[list[Level], Attached | None]:
    """Split a description into levels and the place of the NUMA nodes. Raises UsageError."""
    if len(description) > 2000:
        raise UsageError(f"--synthetic is too long; {EXAMPLE}")
    levels: list[Level] = []
    attached: Attached | None = None
    for word in description.lower().split():
        if not WORD.fullmatch(word) or word.startswith("[") != word.endswith("]"):
            raise UsageError(f"--synthetic: {word[:40]!r} is not understood; {EXAMPLE}")
        head, _, inside = word.strip("[]").partition("(")
        name, _, count = head.partition(":")
        attributes = dict(part.partition("=")[::2] for part in inside.rstrip(")").split() if part)
        kind = TYPES.get(name)
        if kind is None:
            raise UsageError(
                f"--synthetic: there is no level {name[:20]!r}; known: {', '.join(TYPES)}"
            )
        is_attached = word.startswith("[")
        if is_attached and (kind != "numa" or count not in ("", "1")):
            raise UsageError(
                f"--synthetic: only one NUMA node can stand in brackets, not {word[:40]}"
            )
        if kind == "numa" and attached is not None:
            raise UsageError("--synthetic: NUMA nodes can stand at one level only")
        if not is_attached:
            if not count or int(count) < 1:
                raise UsageError(f"--synthetic: say how many, as in {name}:2")
            levels.append(Level(kind, int(count), attributes))
        if kind == "numa":
            attached = Attached(len(levels), memory_of(attributes))
    names = [level.type for level in levels if level.type not in ("cache", "group")]
    if not names or len(set(names)) != len(names):
        raise UsageError(f"--synthetic names a level twice, or none; {EXAMPLE}")
    if "pu" in names[:-1] or ("core" in names and set(names[names.index("core") + 1 :]) - {"pu"}):
        raise UsageError(f"--synthetic has its levels out of order; {EXAMPLE}")
    return levels, attached


def memory_of(attributes: dict[str, str]) -> int | None:
    """Return the size stated for each node in bytes. Raises UsageError."""
    text = attributes.get("memory")
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,18})([a-z]*)", text)
    if match is None or match[2] not in UNITS:
        raise UsageError(f"--synthetic: memory={text[:40]} is not a size such as 512GB or 384GiB")
    return int(match[1]) * UNITS[match[2]]


def depth_of(levels: list[Level], kind: str) -> int | None:
    """Return how many levels it takes to reach a type, None where there is no such level."""
    return next((i + 1 for i, level in enumerate(levels) if level.type == kind), None)


def width(levels: list[Level], depth: int) -> int:
    """Return how many objects there are at a depth."""
    result = 1
    for level in levels[:depth]:
        result *= level.arity
    return result


def blocks(levels: list[Level], depth: int, numbers: list[int]) -> list[CpuSet]:
    """Return the CPUs below each object at a depth, in order."""
    size = len(numbers) // width(levels, depth)
    return [CpuSet(numbers[i : i + size]) for i in range(0, len(numbers), size)]


def numbering(levels: list[Level], total: int) -> list[int]:
    """Return the kernel's number of each CPU, in the order of the tree. Raises UsageError.

    `indexes=core:pack` numbers the fastest along the first type, then the next, the rest slowest.
    """
    order = next((lv.attributes["indexes"] for lv in levels if "indexes" in lv.attributes), None)
    if order is None:
        return list(range(total))
    if re.fullmatch(r"\d{1,6}(,\d{1,6})*", order):
        numbers = [int(n) for n in order.split(",")]
        if sorted(numbers) != list(range(total)):
            raise UsageError(f"--synthetic: indexes must name each of 0-{total - 1} once")
        return numbers
    depths = [depth_of(levels, TYPES.get(name, "")) for name in order.split(":")]
    if None in depths:
        raise UsageError(f"--synthetic: indexes={order[:40]} names a level that is not there")
    sizes = [total // width(levels, depth or 0) for depth in depths]
    descending = sorted(set(sizes), reverse=True)

    def key(position: int) -> tuple[int, ...]:
        along: dict[int, int] = {}
        rest = position
        for size in descending:
            along[size], rest = divmod(rest, size)
        return (rest, *(along[size] for size in reversed(sizes)))

    numbers = [0] * total
    for number, position in enumerate(sorted(range(total), key=key)):
        numbers[position] = number
    return numbers
