"""What a user asks for: a runtime, a number of threads, and the circumstances of the launch."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

EMPTY: Mapping[str, object] = MappingProxyType({})
NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({})


class Model(NamedTuple):
    """The facts of a model that placement and memory depend on; sizes in bytes, None is unknown."""

    name: str
    total_bytes: int | None = None
    active_bytes_per_token: int | None = None
    moe_intermediate_size: int | None = None
    hidden_size: int | None = None
    experts: int | None = None
    experts_per_token: int | None = None


#: The option for the threads of a phase, where it has one of its own.
PHASE_OPTIONS: Mapping[str, str] = MappingProxyType({"prompt": "-tb"})


class Request(NamedTuple):
    """One launch.

    `threads` is in the unit of the runtime's own option (for ktransformers cpu_infer, of which one
    is not a worker). `options` holds the runtime's own options under Python's spelling of their
    names (`threadpool_count`, `numa_nodes`). `numa_build` says whether the build in use has NUMA
    support, `numa_requested` whether the user meant it to. `phase` is "prompt" for prompts that
    have threads of their own, else "generation".
    """

    runtime: str
    version: str | None = None
    commit: str | None = None
    threads: int | None = None
    options: Mapping[str, object] = EMPTY
    env: Mapping[str, str] = NO_ENVIRONMENT
    launcher: str | None = None
    instances: int = 1
    gpus: int | None = None
    numa_build: bool | None = None
    numa_requested: bool | None = None
    model: Model | None = None
    phase: str = "generation"
