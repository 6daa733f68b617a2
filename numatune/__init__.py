"""numatune: what an LLM runtime will really do with N threads on a machine, and what to change.

The names below are the public API; each is imported when it is first used, so that importing
numatune costs next to nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # as type checkers read it; typing itself costs as much as all the rest here

if TYPE_CHECKING:
    from numatune.api import diagnose as diagnose
    from numatune.api import place as place
    from numatune.api import simulate as simulate
    from numatune.errors import LaunchRefused as LaunchRefused
    from numatune.errors import MachineError as MachineError
    from numatune.errors import NumatuneError as NumatuneError
    from numatune.errors import UsageError as UsageError
    from numatune.machine import CpuSet as CpuSet
    from numatune.machine import Machine as Machine
    from numatune.sources.read import read_machine as read_machine

#: Public name -> the module that defines it.
PUBLIC = {
    "read_machine": "numatune.sources.read",
    "simulate": "numatune.api",
    "place": "numatune.api",
    "diagnose": "numatune.api",
    "CpuSet": "numatune.machine",
    "Machine": "numatune.machine",
    "NumatuneError": "numatune.errors",
    "MachineError": "numatune.errors",
    "UsageError": "numatune.errors",
    "LaunchRefused": "numatune.errors",
}


def __getattr__(name: str) -> object:
    if name not in PUBLIC:
        raise AttributeError(f"module 'numatune' has no attribute {name!r}")
    import importlib

    value: object = getattr(importlib.import_module(PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})
