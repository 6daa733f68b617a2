"""The text formats: how each is told, in the order in which their facts are preferred."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import NamedTuple

from numatune.errors import MachineError
from numatune.machine import Machine


class Format(NamedTuple):
    """One format: the module that reads it, which has NAME, recognises(text), read(text, label).

    Only where one of `hints` occurs in a text is the module imported and asked, so that a text of
    one format costs nothing for the others. `is_translated` formats are asked for any text that is
    not plain ASCII, too. A text of an `is_alone` format is read as nothing else, however damaged.
    """

    module: str
    hints: tuple[str, ...]
    is_translated: bool = False
    is_alone: bool = False


FORMATS = (
    Format("snapshot", ("numatune_snapshot",), is_alone=True),
    Format("numactl", ("node", "NUMA")),
    Format("lscpu_json", ('"field', '"cpu', '"lscpu', '"cpus')),
    Format("lscpu_table", ("CPU",)),
    Format("lscpu_text", ("CPU", "NUMA"), is_translated=True),
    Format("hwloc_xml", ("object",)),
    Format("virsh", ("topology", "cell")),
    Format("lstopo_text", ("#",)),
    Format("numastat", ("MemTotal", "numastat", "Per-node")),
    Format("nvidia_topo", ("GPU",)),
    Format("dmidecode", ("Memory Device", "DIMM", "Locator")),
)


def text_formats() -> tuple[ModuleType, ...]:
    """Return the modules of all text formats."""
    return tuple(map(module_of, FORMATS))


def module_of(one: Format) -> ModuleType:
    """Import the module of a format."""
    return importlib.import_module(f"numatune.sources.{one.module}")


def read_any(text: str, label: str) -> Machine:
    """Read a text, in whichever format it is; what several formats tell in it is joined.

    Raises MachineError where it shows no machine, or where its parts contradict each other.
    """
    readings: list[Machine] = []
    refusal: MachineError | None = None
    for module in recognised(text):
        try:
            readings.append(module.read(text, label))
        except MachineError as error:
            refusal = refusal or error
    if not readings:
        known = ", ".join(f"`{module.NAME}`" for module in text_formats())
        raise refusal or MachineError(
            f"{label} shows no topology; what is read here: {known}, or a /sys tree"
        )
    if len(readings) == 1:
        return readings[0]
    from numatune.sources.merge import merged

    return merged(readings)._replace(source=label)


def recognised(text: str) -> list[ModuleType]:
    """Return the modules that recognise their format in a text."""
    is_ascii = text.isascii()
    asked = [
        one
        for one in FORMATS
        if any(hint in text for hint in one.hints) or (one.is_translated and not is_ascii)
    ]
    found = []
    for one in asked:
        module = module_of(one)
        if module.recognises(text):
            found.append(module)
            if one.is_alone:
                break
    return found
