"""The text formats, in the order in which they are tried."""

from __future__ import annotations

from types import ModuleType

from numatune.errors import MachineError
from numatune.machine import Machine


def text_formats() -> tuple[ModuleType, ...]:
    """Return the modules that read a text: NAME, recognises(text) and read(text, label)."""
    from numatune.sources import numactl

    return (numactl,)


def read_any(text: str, label: str) -> Machine:
    """Read a text in whichever format it is. Raises MachineError."""
    for module in text_formats():
        if module.recognises(text):
            machine: Machine = module.read(text, label)
            return machine
    known = ", ".join(f"`{module.NAME}`" for module in text_formats())
    raise MachineError(f"{label} shows no topology; what is read here: {known}, or a /sys tree")
