"""A short run of the fuzzer over every reader, the same each time; docs/fuzzing.md has the long."""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from fuzzing import oracle, tar
from fuzzing.mutation import mutated
from fuzzing.oracle import Broken, check
from fuzzing.readers import ALL, FIXTURES, READERS, Reader
from numatune.errors import MachineError
from numatune.machine import Machine
from numatune.sources.formats import FORMATS
from numatune.sources.synthetic import build

ROOT = Path(__file__).parents[1]
RUNS = 500


def change_and_check(reader: Reader, runs: int) -> None:
    """Check changes of the seeds, each drawn from a generator of the same start."""
    rng = random.Random(runs)
    seeds = sorted(set(reader.seeds([FIXTURES])), key=lambda seed: (len(seed), seed))
    assert seeds
    for run in range(runs):
        check(reader.read, mutated(seeds[run % len(seeds)], seeds, rng))


@pytest.mark.parametrize("name", READERS)
def test_changed_seeds(name: str) -> None:
    change_and_check(READERS[name], 25)


def test_guided_by_coverage() -> None:
    """Where there is no atheris, which is made for few platforms, more changes stand in for it."""
    if importlib.util.find_spec("atheris") is None:
        change_and_check(ALL, RUNS)
        return
    result = subprocess.run(
        [sys.executable, "-m", "fuzzing", "all", "100", "--runs", str(RUNS), "--seed", "1"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    assert f"Done {RUNS} runs" in result.stderr


def test_every_format_is_fuzzed() -> None:
    from fuzzing.readers import FORMATS as FUZZED

    assert set(FUZZED.values()) == {one.module for one in FORMATS}


@pytest.mark.parametrize("name", READERS)
def test_seeds_are_read(name: str) -> None:
    """At least one seed comes through to the end, else the fuzzer would test refusals alone."""
    reader = READERS[name]

    def is_read(data: bytes) -> bool:
        try:
            reader.read(data)
        except Exception:
            return False
        return True

    assert any(map(is_read, reader.seeds([FIXTURES])))


# The oracle

MACHINE = build("pack:2 [numa(memory=64GiB)] core:4 pu:2")


def read_escape(_: bytes) -> Machine:
    raise MachineError("it says \x1b[2J")


def test_what_is_clean_passes() -> None:
    check(lambda _: MACHINE, b"")
    check(lambda _: None, b"")


def test_control_characters_are_found() -> None:
    with pytest.raises(Broken, match="the error has a control character"):
        check(read_escape, b"")
    with pytest.raises(Broken, match="the view has a control character"):
        oracle.printable("the view", "one\ntwo\u202e")


def test_other_errors_get_through() -> None:
    with pytest.raises(KeyError):
        check(lambda _: {"": MACHINE}["0"], b"")


def test_slowness_and_hunger_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "SECONDS", 0.0)
    with pytest.raises(Broken, match=r"took 0\.\d s"):
        check(lambda _: MACHINE, b"")
    monkeypatch.setattr(oracle, "SECONDS", 100.0)
    peaks = iter((1 << 20, 900 << 20))
    monkeypatch.setattr(oracle, "peak", lambda: next(peaks))
    with pytest.raises(Broken, match="took 899 MB"):
        check(lambda _: MACHINE, b"")


def test_the_same_start_gives_the_same_changes() -> None:
    seeds = list(READERS["numactl"].seeds([FIXTURES]))

    def changes() -> list[bytes]:
        rng = random.Random(7)
        return [mutated(seed, seeds, rng) for seed in seeds]

    assert changes() == changes() != seeds


def test_check_sums_are_put_right() -> None:
    data = next(iter(READERS["archive"].seeds([FIXTURES])))
    assert tar.put_right(data[:100] + b"\1" + data[101:]) != data
    broken = data[:148] + b"000000\0 " + data[156:]
    assert tar.put_right(broken) == tar.put_right(data)
    READERS["archive"].read(broken)
