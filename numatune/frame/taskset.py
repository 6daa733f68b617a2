"""taskset: the affinity that a program starts with, whatever it was before.

Source: https://github.com/util-linux/util-linux/blob/39465c780eed56034ed1440068a2722fc3331343/schedutils/taskset.c
It hands its mask to sched_setaffinity as it is: the kernel drops CPUs that are not there or not in
the cpuset, and refuses a mask that leaves none. A program may replace the affinity.
"""

from __future__ import annotations

from numatune.errors import UsageError
from numatune.frame import kernel
from numatune.frame.frame import Entered, Framed
from numatune.frame.lists import hex_mask, taskset_list
from numatune.frame.options import Options, read_options
from numatune.machine import Machine

OPTIONS = Options(
    values=frozenset(),
    flags=frozenset(("all-tasks", "pid", "cpu-list", "help", "version")),
    short={"a": "all-tasks", "p": "pid", "c": "cpu-list", "h": "help", "V": "version"},
)


def enter(frame: Framed, words: list[str], host: Machine) -> Entered:
    """Return the frame inside of taskset. Raises UsageError."""
    found, rest = read_options("taskset", words[1:], OPTIONS)
    given = {name for name, _ in found}
    if given & {"pid", "help", "version"}:
        raise UsageError("taskset with -p, -h or -V starts no program")
    if not rest:
        raise UsageError("taskset needs CPUs: -c 0-7, or a mask such as ff")
    read = taskset_list if "cpu-list" in given else hex_mask
    frame = kernel.with_affinity(frame, "taskset", read("taskset", rest[0]))
    return Entered(frame, rest[1:], kernel.affinity_in_words(frame))
