"""The launch that the options of a command describe."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from numatune.commands.machine import pairs
from numatune.errors import UsageError

if TYPE_CHECKING:
    from numatune.machine import Machine
    from numatune.placement.request import Request


#: Options of runtimes whose values are plain numbers.
COUNTS = ("threadpool_count", "threads_batch", "prio", "poll")


def request_from(
    threads: int | None,
    numa_build: bool | None,
    model: str | None,
    inner_size: int | None,
    hidden_size: int | None,
    env: list[str] | None,
    frame: str | None,
    own: Mapping[str, object],
) -> Request:
    """Return the request, its runtime still open; `own` are options of the runtimes themselves.

    Raises UsageError.
    """
    from numatune.placement.requests import request_of

    options = {
        name: int(str(value)) if name in COUNTS and str(value).isdecimal() else value
        for name, value in own.items()
    }
    if "numa_nodes" in options:
        options["numa_nodes"] = node_list(str(options["numa_nodes"]))
    request = request_of(
        {
            "runtime": "any",
            "threads": threads,
            "numa_build": numa_build,
            "launcher": frame,
            "model": model_from(model, inner_size, hidden_size),
            "env": pairs("--env", env),
        }
    )
    return request._replace(runtime="", options=MappingProxyType(options))


def framed(machine: Machine, text: str | None) -> None:
    """Check that a frame can be read. Raises UsageError."""
    if text is not None:
        from numatune.frame.registry import framed as read

        read(machine, text)


def model_from(
    name: str | None, inner_size: int | None, hidden_size: int | None
) -> str | dict[str, object] | None:
    """Return a model by its name, or by the sizes of its experts. Raises UsageError."""
    if inner_size is None and hidden_size is None:
        return name
    if inner_size is None or hidden_size is None or min(inner_size, hidden_size) < 1:
        raise UsageError("give both --moe-intermediate-size and --hidden-size, above 0")
    sizes = {"moe_intermediate_size": inner_size, "hidden_size": hidden_size}
    return {"name": name or "the model given by its sizes", **sizes}


def node_list(text: str) -> list[int]:
    """Read "0,1" or "0 1". Raises UsageError."""
    parts = text.replace(",", " ").split()
    if not parts or not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
        raise UsageError(f"--numa-nodes {text[:40]!r}: write node ids such as 0,1")
    return [int(part) for part in parts]


def chosen_runtimes(runtimes: list[str] | None) -> tuple[tuple[str, str | None], ...]:
    """Split NAME[==VERSION] arguments. Raises UsageError."""
    chosen = []
    for text in runtimes or ():
        name, sign, version = text.partition("==")
        if not name.strip() or (sign and not version.strip()):
            raise UsageError(f"--runtime {text[:60]!r}: write it as NAME or NAME==VERSION")
        chosen.append((name.strip(), version.strip() or None))
    return tuple(chosen)
