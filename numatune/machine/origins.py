"""Which reader an origin of a machine names, whatever the file or folder was called."""

from __future__ import annotations

from numatune.machine.machine import Machine

LIVE = "live host"
TREE = "tree"
#: What the user stated with --assume.
ASSUMED = "assumed"


def labels_of(machine: Machine) -> list[str]:
    """Return how each source of a machine is named to the user."""
    return machine.source.split(" + ")


def reader_of(machine: Machine, part: str) -> str | None:
    """Return what read a part: LIVE, TREE or a format; None where no source states the part.

    A tree, in a folder or an archive, has its label as the origin. In a merged reading the label
    follows the format in parentheses. A snapshot names its readers as this function does.

    >>> reader_of(Machine("tree /data/host7", origins={"nodes": "tree /data/host7"}), "nodes")
    'tree'
    """
    origin = machine.origins.get(part)
    if origin is None:
        return None
    name = origin.partition(" (")[0] if origin.endswith(")") else origin
    if name in ("this host", LIVE):
        return LIVE
    is_label = name in labels_of(machine) or name.partition(" ")[0] == TREE
    return TREE if is_label else name
