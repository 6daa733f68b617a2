"""Versions as users write them: "0.2.1", "v0.2.1", "0.2.2rc1", "0.2.3post1", or a commit."""

from __future__ import annotations

import re
from typing import NamedTuple

#: Order of the stages of one release; a final one is 0.
STAGES = {
    "dev": -4,
    "a": -3, "alpha": -3,
    "b": -2, "beta": -2,
    "rc": -1, "c": -1, "pre": -1, "preview": -1,
    "": 0,
    "post": 1, "rev": 1, "r": 1,
}  # fmt: skip

#: How a stage is written (https://packaging.python.org/en/latest/specifications/version-specifiers)
SPELLED = {-4: ".dev", -3: "a", -2: "b", -1: "rc", 0: "", 1: ".post"}

VERSION = re.compile(
    r"v?(?P<release>[0-9]{1,6}(?:\.[0-9]{1,6}){0,4})"
    r"(?:[-_.]?(?P<stage>alpha|beta|preview|pre|post|dev|rev|rc|a|b|c|r)[-_.]?(?P<number>[0-9]{0,6}))?"
    r"(?:\+[a-z0-9][a-z0-9._-]{0,80})?"
)
COMMIT = re.compile(r"[0-9a-f]{7,40}")


class Version(NamedTuple):
    """A version that sorts as releases follow each other; 0.3 and 0.3.0 are the same one."""

    release: tuple[int, ...]
    stage: int = 0
    number: int = 0

    @property
    def series(self) -> tuple[int, ...]:
        """The first two numbers, such as (0, 2)."""
        return (*self.release, 0, 0)[:2]


def parse(text: str) -> Version | None:
    """Read a version, None where the text is none. A local part ("+cu121") is left out.

    >>> parse("v0.2.3post1") == parse("0.2.3.post1"), parse("0.3.0") == parse("0.3")
    (True, True)
    >>> parse("0.2.2rc1") < parse("0.2.2") < parse("0.2.2.post1") < parse("0.3")
    True
    """
    match = VERSION.fullmatch(text.strip().lower())
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while release and not release[-1]:
        release.pop()
    return Version(tuple(release), STAGES[match["stage"] or ""], int(match["number"] or 0))


def canonical(text: str) -> str | None:
    """Return a version in its usual spelling, with the numbers as given; None where it is none.

    >>> canonical("v0.2.3post1"), canonical("0.7.0"), canonical("0.2.1+cu121torch23avx2")
    ('0.2.3.post1', '0.7.0', '0.2.1')
    """
    match = VERSION.fullmatch(text.strip().lower())
    if match is None:
        return None
    stage = SPELLED[STAGES[match["stage"] or ""]]
    return match["release"] + stage + (match["number"] or "0" if stage else "")


def commit_of(text: str) -> str | None:
    """Return a commit prefix of 7 or more hex digits in lower case, None where the text is none.

    >>> commit_of("99F6E421"), commit_of("0.2.1")
    ('99f6e421', None)
    """
    text = text.strip().lower()
    return text if COMMIT.fullmatch(text) else None


def same_commit(prefix: str, commits: tuple[str, ...]) -> bool:
    """Tell whether a prefix names one of the commits, which may be shortened themselves."""
    return any(full.startswith(prefix) or prefix.startswith(full) for full in commits)
