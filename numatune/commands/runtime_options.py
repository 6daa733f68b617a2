"""The options of the runtimes themselves, taken out of a command line before typer sees it."""

from __future__ import annotations

from collections.abc import Mapping

from numatune.errors import UsageError
from numatune.runtimes.spellings import SPELLINGS

#: How numatune spells the thread count, which typer would take from the last of several.
COUNTS = ("--cpu-infer", "--threads", "--cpu_infer", "--kt-cpuinfer", "-t")


def split(arguments: list[str]) -> tuple[dict[str, object], list[str]]:
    """Return the runtimes' own options by Python's names, and the arguments that are left.

    An option may be written with a blank or, if it is a long one, with `=` before its value. What
    follows `--` is left as it is. Raises UsageError where a value is missing, or an option is there
    twice with two values.
    """
    options: dict[str, object] = {}
    rest: list[str] = []
    counts: set[str] = set()
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
            break
        spelled, sign, value = word.partition("=")
        if spelled in COUNTS:
            count = value if sign else next(words, "")
            if counts and counts != {count}:
                raise UsageError("the thread count is given twice, with different values")
            counts.add(count)
            rest += [word] if sign else [word, count][: 2 if count else 1]
            continue
        if spelled not in SPELLINGS or (sign and not spelled.startswith("--")):
            rest.append(word)
            continue
        name, takes_value = SPELLINGS[spelled]
        found: object = True
        if takes_value:
            found = value if sign else next(words, None)
            if found is None or found == "":
                raise UsageError(f"{spelled} needs a value")
        elif sign:
            raise UsageError(f"{spelled} takes no value")
        if options.setdefault(name, found) != found:
            raise UsageError(f"{spelled} is given twice, with different values")
    return options, rest


def known_to(options: Mapping[str, object], runtimes: list[str]) -> None:
    """Check that each option is one of a runtime in question. Raises UsageError."""
    from numatune.runtimes import NAMES, named

    for name in options:
        if any(name in named(runtime).OPTIONS for runtime in runtimes):
            continue
        owners = [one for one in NAMES if name in named(one).OPTIONS]
        spelled = next(s for s, (python, _) in SPELLINGS.items() if python == name)
        raise UsageError(
            f"{spelled} is no option of {' or '.join(runtimes)} but of {' and '.join(owners)}; add"
            f" --runtime {owners[0]}"
        )
