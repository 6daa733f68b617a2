"""Words that stand before a program and change neither CPUs nor memory: nice, time, env, sudo."""

from __future__ import annotations

import re

from numatune.frame.frame import Entered, Framed
from numatune.frame.options import Options, names, read_options
from numatune.machine import Machine

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")

OLD_NICE = re.compile(r"--?[0-9]+")

VARIABLES_NOTE = "variables that stand in the frame are not read; give them with --env"


def options(values: str = "", flags: str = "", short: str = "", optional: str = "") -> Options:
    """Return options from words; `short` has letter=name."""
    pairs = dict(word.split("=", 1) for word in short.split())
    return Options(names(values), names(flags), names(optional), short=pairs)


#: The options of each word, and how many words follow them before the program.
PASSED: dict[str, tuple[Options, int]] = {
    "env": (
        options(
            "unset chdir split-string argv0",
            "ignore-environment null debug",
            "u=unset C=chdir S=split-string a=argv0 i=ignore-environment v=debug",
        ),
        0,
    ),
    "nice": (options("adjustment", "", "n=adjustment"), 0),
    "ionice": (options("class classdata", "ignore", "c=class n=classdata t=ignore"), 0),
    "chrt": (
        options(
            "sched-runtime sched-period sched-deadline",
            "fifo rr other batch idle ext deadline reset-on-fork verbose",
            "T=sched-runtime P=sched-period D=sched-deadline f=fifo r=rr o=other b=batch i=idle"
            " e=ext d=deadline R=reset-on-fork v=verbose",
        ),
        1,
    ),
    "stdbuf": (options("input output error", "", "i=input o=output e=error"), 0),
    "time": (
        options("format output", "append portability verbose", "f=format o=output a=append"
                " p=portability v=verbose"),
        0,
    ),
    "timeout": (
        options("kill-after signal", "foreground preserve-status verbose",
                "k=kill-after s=signal v=verbose"),
        1,
    ),
    "sudo": (
        options(
            "user group host prompt chdir chroot close-from role type",
            "login set-home non-interactive background askpass stdin reset-timestamp",
            "u=user g=group h=host p=prompt D=chdir R=chroot C=close-from r=role t=type"
            " E=preserve-env i=login H=set-home n=non-interactive b=background A=askpass S=stdin"
            " k=reset-timestamp",
            "preserve-env",
        ),
        0,
    ),
    "nohup": (options(), 0),
    "setsid": (options("", "ctty fork wait", "c=ctty f=fork w=wait"), 0),
    "exec": (options("name", "clean login", "a=name c=clean l=login"), 0),
}  # fmt: skip


def enter(frame: Framed, words: list[str], host: Machine) -> Entered:
    """Return the frame as it is, and what comes behind the word. Raises UsageError."""
    name = words[0].rsplit("/", 1)[-1]
    known, count = PASSED[name]
    rest = words[1:]
    if name == "nice" and rest and OLD_NICE.fullmatch(rest[0]):
        rest = rest[1:]
    _, rest = read_options(name, rest, known)
    rest = rest[count:]
    if name == "env":
        frame, rest = past_variables(frame, rest)
    return Entered(frame, rest, "nothing that bears on CPUs or memory")


def past_variables(frame: Framed, words: list[str]) -> tuple[Framed, list[str]]:
    """Return the words behind assignments of variables."""
    count = next((i for i, word in enumerate(words) if not VARIABLE.match(word)), len(words))
    return (frame.noted(VARIABLES_NOTE) if count else frame), words[count:]
