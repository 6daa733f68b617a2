"""A request as the Python API takes it, a mapping, read and checked as a `Request`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from numatune.errors import UsageError
from numatune.placement.request import Model, Request

KEYS = (
    "runtime", "version", "commit", "threads", "cpu_infer", "flags", "env", "launcher",
    "instances", "gpus", "numa_build", "numa_requested", "model",
)  # fmt: skip

#: Key of a model -> the field of `Model`.
MODEL_KEYS = {
    "name": "name",
    "bytes": "total_bytes",
    "active_bytes_per_token": "active_bytes_per_token",
    "moe_intermediate_size": "moe_intermediate_size",
    "hidden_size": "hidden_size",
    "experts": "experts",
    "experts_per_token": "experts_per_token",
}

#: The longest text or list that a value may be, and the most entries of a mapping.
LONGEST = 4096

Spellings = Mapping[str, tuple[str, ...]]


def request_of(mapping: Mapping[str, object]) -> Request:
    """Read a request.

    Keys: `runtime`, `version`, `commit`, `threads` or `cpu_infer`, `flags` (by the names that the
    command line uses), `env`, `launcher`, `instances`, `gpus`, `numa_build`, `numa_requested`,
    `model` (a name, or a mapping of `name`, `bytes`, `active_bytes_per_token`,
    `moe_intermediate_size`, `hidden_size`), and the runtime's own options under Python's spelling
    of their names. A flag that the runtime's module does not know has no effect on placement; it
    is kept under Python's spelling. A runtime that is not known is kept as it is.

    Raises UsageError where a key or a value is wrong.
    """
    if not isinstance(mapping, Mapping):
        raise UsageError("a request is a mapping of runtime, version, threads and so on")
    runtime, spellings = runtime_of(mapping.get("runtime"))
    options = own_options(mapping, runtime, spellings)
    threads = one_count(
        [mapping.get("threads"), mapping.get("cpu_infer"), options.pop("threads", None)]
    )
    return Request(
        runtime=runtime,
        version=text_of("version", mapping.get("version")),
        commit=text_of("commit", mapping.get("commit")),
        threads=threads,
        options=MappingProxyType(options),
        env=environment_of(mapping.get("env")),
        launcher=text_of("launcher", mapping.get("launcher")),
        instances=count_of("instances", mapping.get("instances"), 1) or 1,
        gpus=count_of("gpus", mapping.get("gpus"), 0),
        numa_build=truth_of("numa_build", mapping.get("numa_build")),
        numa_requested=truth_of("numa_requested", mapping.get("numa_requested")),
        model=model_of(mapping.get("model")),
    )


def runtime_of(value: object) -> tuple[str, Spellings | None]:
    """Return the runtime's name and its options, None for one that is not known."""
    from numatune.runtimes import canonical, named

    name = text_of("runtime", value)
    if not name:
        raise UsageError("the request names no runtime, such as ktransformers")
    own = canonical(name)
    return (name, None) if own is None else (own, named(own).OPTIONS)


def own_options(
    mapping: Mapping[str, object], runtime: str, spellings: Spellings | None
) -> dict[str, object]:
    """Return the runtime's own options, from keys and from flags. Raises UsageError."""
    options: dict[str, object] = {}
    for key, value in mapping.items():
        if key in KEYS:
            continue
        if not isinstance(key, str) or (spellings is not None and key not in spellings):
            raise wrong_key(key, runtime, (*KEYS, *(spellings or ())))
        add_option(options, key, key, value)
    for flag, value in entries("flags", mapping.get("flags")):
        add_option(options, option_name(flag, runtime, spellings or {}), flag, value)
    return options


def add_option(options: dict[str, object], name: str, written: str, value: object) -> None:
    """Add one option. Raises UsageError where it was given before with another value."""
    if value is None:
        return
    if name in options and options[name] != value:
        raise UsageError(f"{shown(written)} is given twice, with different values")
    options[name] = value


def option_name(flag: str, runtime: str, spellings: Spellings) -> str:
    """Return Python's spelling of a flag. Raises UsageError where it looks like a known one."""
    plain = flag.strip().replace("_", "-")
    names = {spelled.replace("_", "-"): name for name, s in spellings.items() for spelled in s}
    if plain in names:
        return names[plain]
    from difflib import get_close_matches

    close = get_close_matches(plain[:60], list(names), 1, 0.9)
    if close:
        raise UsageError(f"{runtime} has no option {shown(flag)}, did you mean {close[0]}?")
    return plain.lstrip("-").replace("-", "_")


def wrong_key(key: object, runtime: str, known: tuple[str, ...]) -> UsageError:
    """Say that a key is not known, which is near, and which are known."""
    from numatune.words import suggestion

    return UsageError(
        f"a request for {shown(runtime)} has no {shown(key)}{suggestion(str(key), known)}; known "
        f"are {', '.join(known)}"
    )


def one_count(values: list[object]) -> int | None:
    """Return the thread count that several keys may give. Raises UsageError."""
    from numatune.runtimes.options import MOST_THREADS, whole

    counts = {
        whole("the thread count", value, 1, MOST_THREADS, "a number of threads")
        for value in values
        if value is not None
    }
    if len(counts) > 1:
        raise UsageError(f"the thread count is given as {' and as '.join(map(str, counts))}")
    return counts.pop() if counts else None


def text_of(name: str, value: object) -> str | None:
    """Return a text; a number, as YAML makes one of `version: 0.3`, is taken as it is written."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise UsageError(f"{name} must be a text, not {shown(value)}")
    if len(str(value)) > LONGEST:
        raise UsageError(f"{name} is too long")
    return str(value).strip() or None


def count_of(name: str, value: object, least: int) -> int | None:
    """Return a whole number. Raises UsageError."""
    from numatune.runtimes.options import MOST_THREADS, whole

    return None if value is None else whole(name, value, least, MOST_THREADS, "a number")


def truth_of(name: str, value: object) -> bool | None:
    """Return a truth value, as YAML, JSON or a command line write it. Raises UsageError."""
    if value is None or isinstance(value, bool):
        return value
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    truth = words.get(str(value).strip().lower())
    if truth is None:
        raise UsageError(f"{name} must be true or false, not {shown(value)}")
    return truth


def entries(name: str, value: object) -> list[tuple[str, object]]:
    """Return the entries of a mapping. Raises UsageError."""
    if value is None:
        return []
    if not isinstance(value, Mapping) or len(value) > LONGEST:
        raise UsageError(f"{name} must be a mapping of names to values")
    if not all(isinstance(key, str) and key.strip() for key in value):
        raise UsageError(f"{name} must have names as keys")
    return list(value.items())


def environment_of(value: object) -> Mapping[str, str]:
    """Return the environment variables; one without a value is left out. Raises UsageError."""
    return MappingProxyType(
        {
            name: "" if content == "" else text_of(f"the variable {shown(name)}", content) or ""
            for name, content in entries("env", value)
            if content is not None
        }
    )


def model_of(value: object) -> Model | None:
    """Return a model from its name, or from a mapping; what that leaves out comes from its name."""
    from numatune.knowledge.models import known, named

    if value is None or isinstance(value, Model):
        return value
    if isinstance(value, str):
        return named(value)
    given: dict[str, object] = {}
    for key, content in entries("model", value):
        if key not in MODEL_KEYS:
            raise wrong_key(key, "a model", tuple(MODEL_KEYS))
        given[MODEL_KEYS[key]] = content
    name = text_of("the model's name", given.pop("name", None)) or "a model without a name"
    sizes = {field: size_of(field, content) for field, content in given.items()}
    stated = {field: size for field, size in sizes.items() if size is not None}
    base = known(name) or Model(name)
    if any(getattr(base, field) not in (None, size) for field, size in stated.items()
           if field in ("moe_intermediate_size", "hidden_size")):  # fmt: skip
        base = Model(name)
    return base._replace(**stated)  # type: ignore[arg-type]


def size_of(name: str, value: object) -> int | None:
    """Return a size, a whole number above 0. Raises UsageError."""
    from numatune.runtimes.options import whole

    return None if value is None else whole(f"the model's {name}", value, 1, 1 << 60, "a number")


def shown(value: object) -> str:
    """Return a value as it is quoted in a message."""
    from numatune.words import shown as short

    return short(value)
