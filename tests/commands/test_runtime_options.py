"""Options of the runtimes on the command line of numatune."""

import subprocess
import sys
from pathlib import Path

import pytest

from numatune.commands.runtime_options import known_to, split
from numatune.errors import UsageError
from numatune.main import main
from numatune.runtimes import NAMES, named
from numatune.runtimes.spellings import ALONE, SPELLINGS, WITH_VALUE

ROOT = Path(__file__).parents[2]
TEXT = str(ROOT / "fixtures/machines/pr685-2x24/numactl.txt")

#: Spellings that numatune's own options have, whatever the runtime; and what no command line has.
OWN = {"threads", "cpu_infer", "current_cpu", "implementation", "world_size"}


def test_the_table_is_what_the_runtimes_say() -> None:
    stated: dict[str, set[str]] = {}
    for runtime in NAMES:
        for name, spellings in named(runtime).OPTIONS.items():
            if name not in OWN:
                stated.setdefault(name, set()).update(spellings)
    assert {name: set(spellings) for name, spellings in (WITH_VALUE | ALONE).items()} == stated
    assert len(SPELLINGS) == sum(map(len, stated.values()))


def test_the_page_lists_every_spelling() -> None:
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    for spelled, (_, takes_value) in SPELLINGS.items():
        assert f"`{spelled}{' ' if takes_value else '`'}" in page, spelled


@pytest.mark.parametrize(
    ("arguments", "options", "rest"),
    [
        ([], {}, []),
        (["-tb", "64", "-t", "32"], {"threads_batch": "64"}, ["-t", "32"]),
        (["--numa=distribute", "--mlock"], {"numa": "distribute", "mlock": True}, []),
        (["-C", "ff", "--cpu-mask", "ff"], {"cpu_mask": "ff"}, []),
        (["-t", "5", "--threads=5"], {}, ["-t", "5", "--threads=5"]),
        (["-t"], {}, ["-t"]),
        (["--json", "--", "--numa", "x"], {}, ["--json", "--", "--numa", "x"]),
        (["--frame", "numactl -C 0-3"], {}, ["--frame", "numactl -C 0-3"]),
    ],
)
def test_they_are_taken_out(
    arguments: list[str], options: dict[str, object], rest: list[str]
) -> None:
    assert split(arguments) == (options, rest)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--numa"], "--numa needs a value"),
        (["--numa="], "--numa needs a value"),
        (["--mlock=1"], "--mlock takes no value"),
        (["-tb", "1", "--threads-batch", "2"], "given twice"),
        (["-t", "5", "-t", "6"], "thread count is given twice"),
        (["-t", "5", "--threads=7"], "thread count is given twice"),
    ],
)
def test_a_wrong_use_is_said(arguments: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        split(arguments)


def test_an_option_of_another_runtime_names_its_owner() -> None:
    known_to({"numa": "distribute"}, ["openmp", "llama.cpp"])
    with pytest.raises(UsageError, match=r"--numa is no option of openmp but of llama\.cpp"):
        known_to({"numa": "distribute"}, ["openmp"])


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("plan --runtime llama.cpp --numa distribute -t 46 -tb 48", 0),
        ("plan --runtime llama.cpp", 0),
        ("plan --runtime ik_llama.cpp -rtr -t 24", 0),
        ("plan --runtime openmp --env OMP_PROC_BIND=spread --assume smt=1", 0),
        ("plan --runtime openmp --env OMP_PROC_BIND=spread", 3),
        ("plan --runtime openmp==libiomp -t 8", 0),
        ("plan --runtime llama.cpp --numa banana -t 46", 2),
        ("plan --runtime llama.cpp -C xyz -t 46", 2),
        ("plan --runtime llama.cpp --numa", 2),
        ("plan --numa distribute -t 46", 2),
        ("plan --runtime llama.cpp --kt-numa-nodes 0,1 -t 46", 2),
        ("plan --runtime kt-kernel --kt-threadpool-count many -t 46", 2),
        ("check --runtime llama.cpp --numa distribute -t 60", 1),
        ("check --numa distribute", 2),
        ("inspect --numa distribute", 2),
    ],
)
def test_the_commands_take_them(
    words: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words.split(), "--from", TEXT]) == status
    printed = capsys.readouterr()
    assert bool(printed.err) == (status in (2, 3))
    assert "Traceback" not in printed.err


def test_a_frame_is_entered(capsys: pytest.CaptureFixture[str]) -> None:
    frame = ["--frame", "numactl -N 1 -m 1", "--from", TEXT]
    assert main(["check", "--runtime", "llama.cpp", "-t", "20", *frame]) == 0
    assert "workers-unbound" not in capsys.readouterr().out
    assert main(["check", "--runtime", "llama.cpp", "-t", "30", *frame]) == 1
    assert "30 workers for 24 CPUs" in capsys.readouterr().out
    for wrong in ("mpirun -n 2", "numactl --nonsense", "numactl -N '"):
        assert main(["plan", "-t", "20", "--frame", wrong, "--from", TEXT]) == 2
        assert capsys.readouterr().err.startswith("numatune: ")


def test_a_launch_that_could_not_be_placed_is_not_passed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["--runtime", "llama.cpp", "--numa", "isolate", "-t", "480", "--from", TEXT]
    assert main(["check", *asked]) == 3
    assert "--assume start_cpu=N" in capsys.readouterr().err
    assert main(["check", *asked, "--assume", "start_cpu=1"]) == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a POSIX shell")
@pytest.mark.parametrize("command", ["check", "inspect", "explain --list", "--version"])
def test_a_closed_standard_output_is_no_bug(command: str) -> None:
    line = f"'{sys.executable}' -m numatune {command} >&-"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr.startswith("numatune: standard output is closed")
    assert "Traceback" not in done.stderr
