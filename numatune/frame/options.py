"""Taking a command line apart: words as a shell has them, then a launcher's own options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from numatune.errors import UsageError
from numatune.words import shown, suggestion

#: Longer texts are refused: no launcher's line comes near.
LONGEST = 16_384

#: What word processors and web pages make of the hyphens of an option.
DASHES = ("\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212")


class Options(NamedTuple):
    """The options of a launcher, by long name.

    `values` take a value, `flags` none, `optional` one after "=" only. `short` gives the long name
    of each letter. `shortens` tells whether a unique beginning of a long name is enough, as it is
    for getopt_long.
    """

    values: frozenset[str]
    flags: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    short: Mapping[str, str] = {}
    shortens: bool = True

    @property
    def names(self) -> frozenset[str]:
        """All long names."""
        return self.values | self.flags | self.optional


def names(text: str) -> frozenset[str]:
    """Return the names that stand in a text, with blanks between them."""
    return frozenset(text.split())


def split(text: str) -> list[str]:
    """Return the words of a command line. Raises UsageError where no shell would read it so."""
    import shlex

    if len(text) > LONGEST:
        raise UsageError(f"the frame is longer than {LONGEST} characters")
    text = text.replace("\\\r\n", " ").replace("\\\n", " ").replace("\u00a0", " ")
    strange = next((c for c in text if not c.isprintable() and c not in " \t\r\n"), None)
    if strange is not None:
        raise UsageError(f"the frame has the control character {strange!r}")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"the frame is no command line: {error}") from None
    if not words:
        raise UsageError("the frame is empty; write a launcher, such as numactl -N 0 -m 0")
    return words


def joined(words: list[str]) -> str:
    """Return words as a shell would read them."""
    import shlex

    return shlex.join(words)


def read_options(
    launcher: str, words: list[str], options: Options
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the options in their order, by long name, and the words from the program on.

    A flag has the value "". Raises UsageError for an option that the launcher does not have.
    """
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word[:1] in DASHES:
            raise UsageError(f"{launcher}: {shown(word)} begins with a dash that is no hyphen")
        if not word.startswith("-") or word == "-":
            break
        at += 1
        if word.startswith("--"):
            written, given, value = word[2:].partition("=")
            name = long_name(launcher, written, options)
            if given and name in options.flags:
                raise UsageError(f"{launcher}: --{name} takes no value")
            if not given and name in options.values:
                value, at = next_word(launcher, f"--{name}", words, at), at + 1
            found.append((name, value))
            continue
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            name = options.short.get(letter, "")
            if not name:
                raise UsageError(f"{launcher} has no option -{shown(letter)}")
            value = ""
            if name in options.values:
                value, letters = letters, ""
                if not value:
                    value, at = next_word(launcher, f"-{letter}", words, at), at + 1
            elif name in options.optional:
                value, letters = letters, ""
            found.append((name, value))
    return found, words[at:]


def next_word(launcher: str, option: str, words: list[str], at: int) -> str:
    """Return the value of an option that stands in the next word. Raises UsageError."""
    if at >= len(words):
        raise UsageError(f"{launcher}: {option} needs a value")
    return words[at]


def long_name(launcher: str, written: str, options: Options) -> str:
    """Return the name of a long option, also where it is shortened. Raises UsageError."""
    names = options.names
    if written in names:
        return written
    likely = [name for name in names if options.shortens and written and name.startswith(written)]
    if len(likely) == 1:
        return likely[0]
    if likely:
        raise UsageError(f"{launcher}: --{shown(written)} may be --{' or --'.join(sorted(likely))}")
    hint = suggestion(written, names)
    raise UsageError(f"{launcher} has no option --{shown(written)}{hint}")


def number(launcher: str, option: str, text: str, least: float, most: float) -> float:
    """Return a number of an option, such as 1.5. Raises UsageError."""
    plain = text.strip()
    digits = plain.replace(".", "", 1)
    if len(plain) > 16 or not (digits.isascii() and digits.isdigit()):
        raise UsageError(f"{launcher}: {option} must be a number, not {shown(text)}")
    value = float(plain)
    if not least <= value <= most:
        raise UsageError(f"{launcher}: {option} must be from {least:g} to {most:g}")
    return value
