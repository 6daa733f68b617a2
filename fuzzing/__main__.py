"""Fuzz one reader with atheris: `python -m fuzzing READER [SECONDS]`."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import pkgutil
import random
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzing.mutation import LONG, mutated

# It has no type hints, and is not made for every platform.
atheris: Any = importlib.import_module("atheris")

#: Where inputs go; what these import guides the fuzzer, too.
PARTS = [f"numatune.{part}" for part in ("machine", "sources", "policy", "views")]

# Nothing of numatune may have been imported before.
with atheris.instrument_imports(include=["numatune"]):
    # Many modules are imported where they are needed, which would be too late here.
    for part in PARTS:
        package = importlib.import_module(part)
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    from fuzzing import oracle
    from fuzzing.readers import ALL, FIXTURES, READERS, Reader


def main() -> None:
    """Fuzz until the time or the runs are over, or until the first finding."""
    options = arguments()
    oracle.SECONDS *= 2  # what it costs to watch which code is reached
    reader = ALL if options.reader == "all" else READERS[options.reader]
    folders = [FIXTURES, *map(Path, options.seeds)]
    seeds = sorted(set(reader.seeds(folders)))
    print(f"{options.reader}: {len(seeds)} seeds, {sum(map(len, seeds))} bytes", flush=True)
    with tempfile.TemporaryDirectory(prefix="numatune-seeds-") as folder:
        for number, data in enumerate(seeds):
            Path(folder, f"{number:04}").write_bytes(data)
        atheris.Setup(
            [
                sys.argv[0],
                f"-max_total_time={options.seconds}",
                f"-runs={options.runs}",
                f"-seed={options.seed}",
                f"-artifact_prefix={options.findings}/{options.reader}-",
                f"-max_len={LONG}",
                "-timeout=30",
                "-rss_limit_mb=1024",
                "-print_final_stats=1",
                folder,
            ],
            target(reader, options),
            custom_mutator=mutator(seeds),
        )
        atheris.Fuzz()


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("reader", choices=["all", *READERS])
    parser.add_argument("seconds", nargs="?", type=int, default=60)
    parser.add_argument("--seeds", action="append", default=[], metavar="DIR")
    parser.add_argument("--findings", default=".", metavar="DIR", help="where findings are kept")
    parser.add_argument("--keep-going", action="store_true", help="keep one finding of each place")
    parser.add_argument("--runs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def target(reader: Reader, options: argparse.Namespace) -> Callable[[bytes], None]:
    """Return the function that is called with each input."""
    seen: set[str] = set()

    def one_input(data: bytes) -> None:
        try:
            oracle.check(reader.read, data)
        except Exception as error:
            if not options.keep_going:
                raise
            frames = traceback.extract_tb(error.__traceback__)
            last = [f for f in frames if "numatune" in f.filename] or frames
            place = f"{type(error).__name__} {last[-1].filename}:{last[-1].lineno}"
            if place not in seen:
                seen.add(place)
                name = f"{options.reader}-{hashlib.sha1(data).hexdigest()[:12]}"
                Path(options.findings, name).write_bytes(data)
                print(f"FINDING {name}: {place}: {str(error)[:200]}", flush=True)

    return one_input


def mutator(seeds: list[bytes]) -> Callable[[bytes, int, int], bytes]:
    """Return what changes an input: half libFuzzer's own, half those of fuzzing/mutation.py."""

    def change(data: bytes, limit: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.5:
            return bytes(atheris.Mutate(data, limit))
        return mutated(data, seeds, rng)[:limit]

    return change


if __name__ == "__main__":
    main()
