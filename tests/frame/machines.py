"""The machines of these tests: captures under fixtures/, as numactl text or as a /sys tree."""

from functools import cache
from pathlib import Path
from typing import Any

import numatune
from numatune.machine import CpuSet, Machine

MACHINES = Path(__file__).parent.parent.parent / "fixtures/machines"


@cache
def text_of(name: str) -> Machine:
    """A machine as `numactl --hardware` prints it."""
    return numatune.read_machine(str(MACHINES / name / "numactl.txt"))


@cache
def tree_of(name: str) -> Machine:
    """A machine as /sys and /proc show it, with the limits of a process there."""
    packed = MACHINES / name / "tree.tar.xz"
    return numatune.read_machine(str(packed if packed.exists() else MACHINES / name / "tree"))


def limited(machine: Machine, **limits: str) -> Machine:
    """The machine with limits, written as lists."""
    sets: dict[str, Any] = {name: CpuSet.parse(text) for name, text in limits.items()}
    return machine._replace(limits=machine.limits._replace(**sets))
