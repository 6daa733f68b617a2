"""The commands that judge only read: no file is written, no program run, no network used."""

import subprocess
import sys
from pathlib import Path

import pytest

NUMACTL = str(Path(__file__).parents[2] / "fixtures/machines/pr685-2x24/numactl.txt")

#: Runs a command line under an audit hook, and tells what was forbidden.
WATCHED = """
import os, sys
import numatune.main

def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes and path != os.devnull:
            forbidden.append(f"open {path} {mode} {flags}")
    elif event.startswith(FORBIDDEN):
        forbidden.append(f"{event} {arguments}")

FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.spawn", "os.system",
             "os.fork", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.kill",
             "os.truncate", "os.link", "os.symlink", "shutil.", "os.putenv", "ctypes.dlopen")
forbidden = []
sys.addaudithook(watch)
status = numatune.main.main(sys.argv[1:])
sys.stdout.flush()
sys.exit(f"forbidden: {forbidden}" if forbidden else status)
"""


@pytest.mark.parametrize(
    "words",
    [
        ("inspect",),
        ("inspect", "--json", "-v"),
        ("plan", "--cpu-infer", "2"),
        ("plan", "--runtime", "llama.cpp", "--frame", "taskset -c 0"),
        ("check",),
        ("check", "--runtime", "kt-kernel", "--threads", "2"),
        ("inspect", "--from", NUMACTL),
        ("plan", "--cpu-infer", "42", "--from", NUMACTL),
        ("check", "--from", NUMACTL, "--json"),
        ("explain", "NT101"),
        ("diff", NUMACTL, "/"),
    ],
    ids=" ".join,
)
def test_a_command_only_reads(words: tuple[str, ...]) -> None:
    # -B: what is imported is not compiled to files.
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCHED, *words], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode in (0, 1)
    assert done.stdout


def test_the_hook_sees_what_is_forbidden(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCHED, "snapshot", "-o", f"{tmp_path}/host.json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "forbidden: [" in done.stderr
    assert str(tmp_path) in done.stderr
