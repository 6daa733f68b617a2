"""The machine that the options of a command name."""

from __future__ import annotations

from numatune.errors import UsageError
from numatune.machine import Machine


def machine_of(
    source: list[str] | None,
    root: str | None,
    synthetic: str | None,
    assume: list[str] | None,
) -> Machine:
    """Read the machine. Raises MachineError, or UsageError where the options contradict."""
    from numatune.sources.read import read_machine

    return read_machine(
        source or None,
        root=root,
        synthetic=synthetic,
        assume=pairs("--assume", assume),
    )


def pairs(option: str, values: list[str] | None) -> dict[str, str]:
    """Split KEY=VALUE arguments. Raises UsageError."""
    result: dict[str, str] = {}
    for value in values or ():
        key, sign, text = value.partition("=")
        if not sign or not key.strip():
            raise UsageError(f"{option} {value[:60]!r}: write it as KEY=VALUE")
        if key.strip() in result:
            raise UsageError(f"{option} {key.strip()} is given twice")
        result[key.strip()] = text.strip()
    return result
