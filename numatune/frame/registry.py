"""Which word is which launcher, and a command line of several read from the outside in."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from numatune.errors import UsageError
from numatune.frame.frame import Entered, Framed, Layer
from numatune.frame.options import joined, split
from numatune.machine import Machine
from numatune.words import clean, shown, suggestion

Enter = Callable[[Framed, list[str], Machine], Entered]

#: Launchers that limit something: the word that starts one -> the module that reads it.
LIMITING = {
    "numactl": "numactl",
    "taskset": "taskset",
    "docker": "container",
    "podman": "container",
    "systemd-run": "systemd",
    "systemd": "systemd",
    "srun": "slurm",
    "kubernetes": "kubernetes",
}

#: Words that change neither CPUs nor memory, and are passed over by the module of that name.
PASSED = (
    "env",
    "nice",
    "ionice",
    "chrt",
    "stdbuf",
    "time",
    "timeout",
    "sudo",
    "nohup",
    "setsid",
    "exec",
)

LAUNCHERS = LIMITING | dict.fromkeys(PASSED, "passed")


def reader_of(word: str) -> Enter | None:
    """Return what reads the launcher that a word names, None where it names none."""
    module = LAUNCHERS.get(word.rsplit("/", 1)[-1])
    if module is None:
        return None
    enter: Enter = importlib.import_module(f"numatune.frame.{module}").enter
    return enter


def framed(machine: Machine, text: str) -> Framed:
    """Return a machine as a process inside a frame has it.

    `text` is a command line of one launcher or of several, one inside of the other, with or
    without the program at its end: "docker run --cpuset-cpus 0-23 IMAGE numactl -N 0 -m 0".
    Launchers behind one that refuses are not read. Raises UsageError for a text that no shell
    would read, or starts with no launcher, and for options that its launcher does not have.
    """
    words = split(text)
    frame = Framed(machine)
    if words and "=" in words[0]:
        from numatune.frame.passed import past_variables

        frame, words = past_variables(frame, words)
    is_image = False
    is_framed = False
    while words and frame.refusal is None:
        enter = reader_of(words[0])
        if enter is None and is_image:
            words, is_image = words[1:], False
            continue
        if enter is None:
            break
        entered = enter(frame, words, machine)
        own = words[: len(words) - len(entered.rest)]
        name, effect, refusal = own[0].rsplit("/", 1)[-1], entered.effect, entered.frame.refusal
        if refusal is not None:
            effect, refusal = "refused", refusal._replace(launcher=name)
        layer = Layer(name, clean(joined(own)), effect)
        frame = entered.frame._replace(layers=(*frame.layers, layer), refusal=refusal)
        words, is_image, is_framed = entered.rest, entered.takes_image, True
    if not is_framed:
        known = ", ".join(LIMITING)
        first = words[0] if words else text
        hint = suggestion(first, LAUNCHERS)
        raise UsageError(f"{shown(first)} is no launcher{hint or f'; known are {known}'}")
    return frame
