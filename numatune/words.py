"""Numbers and lists in words, the same way everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized

GIB = 1 << 30


def size(count: int | None) -> str:
    """Return a size in GiB with one decimal, below 1 GiB in MiB; "?" where it is unknown."""
    if count is None:
        return "?"
    if count < GIB:
        return f"{count / (1 << 20):.0f} MiB"
    return f"{count / GIB:.1f} GiB"


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return "1 node", "2 nodes"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def named(ids: Sized, one: str = "CPU") -> str:
    """Return a set of ids behind its word: "CPU 3", "CPUs 0-3", "nodes 0-1"; "no CPU" if empty."""
    if not len(ids):
        return f"no {one}"
    return f"{one} {ids}" if len(ids) == 1 else f"{one}s {ids}"


def listed(parts: Sequence[str], joiner: str = "and") -> str:
    """Return "a", "a and b", "a, b and c"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {joiner} {parts[-1]}"


def clean(text: str) -> str:
    """Return text from outside without control characters, so that it can't steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def shown(value: object) -> str:
    """Return a value as it is quoted in a message: printable and short."""
    text = "".join(c if c.isprintable() else "?" for c in str(value)[:41])
    return text if len(text) <= 40 else text[:40] + "..."


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ", did you mean X?" where a known word is close, else an empty text."""
    from difflib import get_close_matches

    close = get_close_matches(word[:60].strip().lower(), list(known), 1, 0.6)
    return f", did you mean {close[0]}?" if close else ""
