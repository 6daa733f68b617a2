"""The frame a process starts in: what launchers, written as a command line, leave of a machine."""

from numatune.frame.frame import Framed as Framed
from numatune.frame.frame import Layer as Layer
from numatune.frame.frame import MemoryPolicy as MemoryPolicy
from numatune.frame.frame import Refusal as Refusal
from numatune.frame.registry import framed as framed
