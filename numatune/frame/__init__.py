"""The frame a process starts in: what launchers, written as a command line, leave of a machine."""

from typing import TYPE_CHECKING, Any

from numatune.frame.frame import Framed as Framed
from numatune.frame.frame import Layer as Layer
from numatune.frame.frame import MemoryPolicy as MemoryPolicy
from numatune.frame.frame import Refusal as Refusal

if TYPE_CHECKING:
    from numatune.frame.registry import framed as framed


def __getattr__(name: str) -> Any:
    """Import the reading of launchers when it is asked for: rules need the values alone."""
    if name == "framed":
        from numatune.frame.registry import framed

        return framed
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
