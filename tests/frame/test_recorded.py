"""Lines that were run for real: what the program inside had, or that it never started."""

import json
from pathlib import Path

from numatune.errors import UsageError
from numatune.frame import framed
from numatune.machine import CpuSet, Limits, Machine, Node

RECORDED = Path(__file__).parent.parent.parent / "fixtures/frames/launchers.json"

#: The machine of the recording.
MACHINE = Machine(
    "one node",
    nodes=(Node(0, CpuSet([0, 1]), 1 << 32),),
    online_cpus=CpuSet([0, 1]),
    limits=Limits(cpuset_cpus=CpuSet([0, 1]), cpuset_mems=CpuSet([0])),
)

#: numactl -s shows --balancing as the flag it is, MPOL_BIND | MPOL_F_NUMA_BALANCING.
POLICIES = {"preferred-many": "preferred", "[8194]": "bind"}


def outcome(line: str) -> list[str] | None:
    """What the frame comes to, as the recording has it."""
    try:
        frame = framed(MACHINE, f"{line} program")
    except UsageError:
        return None
    if frame.refusal is not None:
        return None
    return [str(frame.machine.inherited_cpus), frame.memory.kind]


def test_every_recorded_line_comes_to_what_it_came_to() -> None:
    launches = json.loads(RECORDED.read_text(encoding="utf-8"))["launches"]
    started = [launch for launch in launches if launch[1] is not None]
    assert len(started) > 150
    assert len(launches) - len(started) > 150
    wrong = []
    for line, real in launches:
        expected = real and [real[0], POLICIES.get(real[1], real[1])]
        if outcome(line) != expected:
            wrong.append((line, real, outcome(line)))
    assert wrong == []
