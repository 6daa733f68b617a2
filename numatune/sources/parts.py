"""What the readers of texts share: what a reading states and does not, and where it starts."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from numatune.errors import MachineError
from numatune.machine import Limits, Machine, Settings

#: What people put in place of lines that they leave out.
ELISION = re.compile(
    r"[\W_]{0,20}(?:\.{2,}|…)[\W_]{0,20}|\W{0,20}(?:snip|cut|omitted|skipped|etc)\b.{0,40}",
    re.IGNORECASE,
)


class Window(NamedTuple):
    """How much of a text around a format's words is read: lines before and after, characters."""

    before: int
    after: int
    limit: int


def excerpt(text: str, sign: re.Pattern[str], window: Window, supply: str) -> str:
    """Return the lines of a text from a format's first words to its last, and some around them.

    Raises MachineError, with `supply` as what to do, where there are no such words.
    """
    first = sign.search(text)
    if first is None:
        raise MachineError(f"there is nothing of this format in the text; {supply}")
    start = first.start()
    for _ in range(window.before + 1):
        start = max(0, text.rfind("\n", 0, start), first.start() - window.limit // 2)
    stop = start + window.limit
    last = first
    for found in sign.finditer(text, first.end(), stop):
        last = found
    end = last.end()
    for _ in range(window.after + 1):
        place = text.find("\n", end, stop)
        if place < 0:
            return text[start:stop]
        end = place + 1
    return text[start:end]


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
