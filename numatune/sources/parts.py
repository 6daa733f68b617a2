"""What the readers of texts share: what a reading states and does not, and where it starts."""

from __future__ import annotations

import re
from collections.abc import Collection

from numatune.errors import MachineError
from numatune.machine import Limits, Machine, Settings

#: How much of a text is read before the first words of a format, for its head and its prefixes.
BEFORE = 8000


def excerpt(text: str, sign: re.Pattern[str], limit: int, supply: str) -> str:
    """Return the part of a text that starts shortly before a format's first words.

    It has at most `limit` characters. Raises MachineError, with `supply` as what to do, where the
    words are not there.
    """
    found = sign.search(text)
    if found is None:
        raise MachineError(f"there is nothing of this format in the text; {supply}")
    start = max(0, found.start() - BEFORE)
    return text[start : start + limit]


def described(machine: Machine, name: str, partial: Collection[str] = ()) -> Machine:
    """Return the machine with its gaps, and `name` as the origin of every part that it states.

    A part in `partial` is stated, but not whole, and so both has an origin and is a gap.
    """
    nodes = machine.nodes
    stated = {
        "nodes": bool(nodes),
        "cpus": bool(nodes) and all(node.cpus is not None for node in nodes),
        "memory": bool(nodes) and all(node.memory_total_bytes is not None for node in nodes),
        "distances": machine.distances is not None,
        "cores": machine.cores is not None,
        "packages": machine.packages is not None,
        "cpu": machine.cpu.model is not None or machine.cpu.vendor is not None,
        "limits": machine.limits != Limits(),
        "settings": machine.settings != Settings(),
    }
    gaps = tuple(part for part, known in stated.items() if not known or part in partial)
    some = {
        "cpus": any(node.cpus is not None for node in nodes),
        "memory": any(node.memory_total_bytes is not None for node in nodes),
    }
    beside = {"gpus": machine.gpus is not None, "dimms": machine.dimms is not None}
    origins = {
        part: name for part, known in {**stated, **beside}.items() if known or some.get(part)
    }
    return machine._replace(gaps=gaps, origins=origins)
