"""The launch that the options of a command describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numatune.commands.machine import pairs
from numatune.errors import UsageError

if TYPE_CHECKING:
    from numatune.placement.request import Request


def request_from(
    threads: int | None,
    numa_build: bool | None,
    model: str | None,
    inner_size: int | None,
    hidden_size: int | None,
    pools: int | None,
    numa_nodes: str | None,
    env: list[str] | None,
) -> Request:
    """Return the request, its runtime still open. Raises UsageError."""
    from numatune.placement.requests import request_of

    flags: dict[str, object] = {}
    if pools is not None:
        flags["threadpool_count"] = pools
    if numa_nodes is not None:
        flags["numa_nodes"] = node_list(numa_nodes)
    return request_of(
        {
            "runtime": "kt-kernel",
            "threads": threads,
            "numa_build": numa_build,
            "model": model_from(model, inner_size, hidden_size),
            "env": pairs("--env", env),
            **flags,
        }
    )._replace(runtime="")


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
