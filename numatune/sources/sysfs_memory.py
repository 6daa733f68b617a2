"""What the kernel tells of memory itself: HMAT ratings, memory-side caches, memory tiers.

Formats: https://docs.kernel.org/admin-guide/mm/numaperf.html and
https://docs.kernel.org/admin-guide/abi-testing.html (sys/devices/virtual/memory_tiering).
"""

from __future__ import annotations

from collections.abc import Sequence

from numatune.machine import Access, CpuSet, Memory, MemoryCache, MemoryTier, Node
from numatune.sources.tree import Tree, numbered

NODE = "sys/devices/system/node"
TIERS = "sys/devices/virtual/memory_tiering"
#: Ids of tiers are abstract distances divided by 128; a device may be any number of times slower.
TIER_LIMIT = 1 << 16
#: Levels of caches in front of memory; the HMAT can name 15.
CACHE_LIMIT = 16
#: No memory is as fast, or as slow: 1 EiB/s, and 4 s.
RATING_LIMIT = 1 << 40


def read_memory(tree: Tree, nodes: Sequence[Node]) -> Memory | None:
    """Return what a tree states beyond sizes, None where it states nothing.

    Nodes that the firmware does not rate have no such folders, which costs a look each.
    """
    rated = [read_access(tree, n.id, nodes) for n in nodes]
    accesses = [access for access in rated if access is not None]
    caches = [cache for n in nodes for cache in read_caches(tree, n.id)]
    memory = Memory(tuple(accesses), tuple(caches), read_tiers(tree))
    if any(n.cpus is not None and not n.cpus for n in nodes):
        present = CpuSet(n.id for n in nodes)
        found = tree.ids(f"{NODE}/has_generic_initiator") or CpuSet()
        memory = memory._replace(generic_initiators=found & present)
    return memory if any(memory) else None


def read_access(tree: Tree, number: int, nodes: Sequence[Node]) -> Access | None:
    """Read how fast a node is for its nearest initiators.

    Class 1 counts only initiators with CPUs, class 0 devices, too; old kernels have class 0 alone.
    """
    for access in ("access1", "access0"):
        folder = f"{NODE}/node{number}/{access}/initiators"
        if not tree.is_folder(folder):
            continue
        # The initiators are links to the folders of nodes.
        near = numbered(tree.names(folder), "node", 1 << 14)
        values = [
            rating(tree.number(f"{folder}/{name}"))
            for name in ("read_bandwidth", "write_bandwidth", "read_latency", "write_latency")
        ]
        if any(value is not None for value in values):
            return Access(number, near & CpuSet(n.id for n in nodes), *values)
    return None


def rating(value: int | None) -> int | None:
    """Return a rating; 0 is how the kernel writes one that the firmware does not give."""
    return value if value is not None and 0 < value < RATING_LIMIT else None


def read_caches(tree: Tree, number: int) -> list[MemoryCache]:
    """Read the memory-side caches of a node, the nearest to the memory first."""
    folder = f"{NODE}/node{number}/memory_side_cache"
    if not tree.is_folder(folder):
        return []
    levels = numbered(tree.folders(folder), "index", CACHE_LIMIT)
    sizes = [(level, tree.number(f"{folder}/index{level}/size")) for level in levels]
    return [
        MemoryCache(number, level, size if size is not None and 0 < size < 1 << 60 else None)
        for level, size in sizes
    ]


def read_tiers(tree: Tree) -> tuple[MemoryTier, ...]:
    """Read the memory tiers that have nodes, the fastest first."""
    if not tree.is_folder(TIERS):
        return ()
    ids = numbered(tree.folders(TIERS), "memory_tier", TIER_LIMIT)
    tiers = (MemoryTier(i, tree.ids(f"{TIERS}/memory_tier{i}/nodelist") or CpuSet()) for i in ids)
    return tuple(tier for tier in tiers if tier.nodes)
