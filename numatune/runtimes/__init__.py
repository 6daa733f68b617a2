"""Runtimes: one module each, and the registry of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from numatune.errors import UsageError

if TYPE_CHECKING:
    from numatune.runtimes.runtime import Runtime

#: The name that users type -> the module, which is imported when it is chosen.
MODULES = {
    "ktransformers": "numatune.runtimes.ktransformers",
    "kt-kernel": "numatune.runtimes.kt_kernel",
    "llama.cpp": "numatune.runtimes.llama_cpp",
    "ik_llama.cpp": "numatune.runtimes.ik_llama_cpp",
    "openmp": "numatune.runtimes.openmp",
    "sglang": "numatune.runtimes.sglang",
    "vllm": "numatune.runtimes.vllm",
}

NAMES = tuple(MODULES)


def named(name: str) -> Runtime:
    """Return the runtime of that name. Raises UsageError that lists the known ones."""
    known = canonical(name)
    if known is None:
        from numatune.words import shown, suggestion

        raise UsageError(
            f"there is no runtime {shown(name)!r}{suggestion(name, NAMES)}; known are "
            f"{', '.join(NAMES)}"
        )
    import importlib

    return cast("Runtime", importlib.import_module(MODULES[known]))


def canonical(name: str) -> str | None:
    """Return a runtime's name as it is written here, None for one that is not known.

    >>> canonical("KT_Kernel"), canonical("ktransformer")
    ('kt-kernel', None)
    """
    plain = name.strip().lower().replace("_", "-")
    return next((known for known in NAMES if known.replace("_", "-") == plain), None)
