"""The command line as its users meet it: whole processes, exit statuses, one clear line."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PR685 = ROOT / "fixtures/machines/pr685-2x24"
NUMACTL = str(PR685 / "numactl.txt")
SYNTHETIC = "pack:2 [numa(memory=512GB)] core:24 pu:1"


def numatune(
    *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(
        [sys.executable, "-m", "numatune", *arguments],
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **(env or {})},
    )
    return subprocess.CompletedProcess(
        result.args, result.returncode, result.stdout.decode(), result.stderr.decode()
    )


def assert_one_clear_line(result: subprocess.CompletedProcess[str], status: int) -> None:
    assert result.returncode == status, result.stderr
    assert result.stderr.startswith("numatune: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    assert "bug" not in result.stderr


@pytest.mark.parametrize(
    "source",
    [("--from", NUMACTL), ("--root", str(PR685 / "tree")), ("--synthetic", SYNTHETIC)],
)
def test_the_cliff_shows_from_every_source(source: tuple[str, str]) -> None:
    result = numatune("plan", "--cpu-infer", "42", "--json", *source)
    document = json.loads(result.stdout)
    by_version = {p["version"]: p for p in document["placements"]}

    def workers(version: str) -> list[int]:
        return [n["workers"] for n in by_version[version]["nodes"]]

    assert workers("0.2.1") == [16, 25]
    assert workers("0.2.2") == [21, 20]
    assert workers("0.7.0") == [21, 21]
    sweeps = {s["version"]: s for s in document["sweep"]}
    assert sweeps["0.2.1"]["safe"] == "2-41"
    assert sweeps["0.2.1"]["cliffs"][0] == {
        "from": 41, "to": 42, "node": 1, "workers": 25, "cpus": 24, "kind": "oversubscribed",
    }  # fmt: skip
    assert sweeps["0.2.2"]["safe"] == "2-49"
    assert sweeps["0.7.0"]["safe"] == "2-48"
    assert (sweeps["0.2.2"]["recommended"], sweeps["0.7.0"]["recommended"]) == (47, 46)
    names = {f["name"] for f in by_version["0.2.1"]["findings"]}
    assert "node-oversubscribed" in names
    assert not {f["name"] for f in by_version["0.2.2"]["findings"] if f["severity"] == "critical"}


def test_the_plan_says_the_answer_in_words() -> None:
    text = numatune("plan", "--cpu-infer", "42", "--from", NUMACTL).stdout
    assert "25 workers for 24 CPUs" in text
    assert "41 to 42: node 1 gets 25 workers for 24 CPUs" in text
    assert "--cpu_infer 47" in text
    assert "--kt-cpuinfer 46" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "--cpu-infer", "0", "--from", NUMACTL),
        ("plan", "--cpu-infer", "-1", "--from", NUMACTL),
        ("plan", "--cpu-infer", "x", "--from", NUMACTL),
        ("plan", "--cpu-infer", "4", "--runtime", "nonesuch", "--from", NUMACTL),
        ("plan", "--cpu-infer", "4", "--runtime", "ktransformers==9.9", "--from", NUMACTL),
        ("plan", "--cpu-infer", "4", "--runtime", "==1", "--from", NUMACTL),
        ("plan", "--cpu-infer", "4", "--model", "nonesuch", "--from", NUMACTL),
        ("plan", "--cpu-infer", "4", "--numa-nodes", "a", "--from", NUMACTL),
        ("plan", "--cpu-infer", "4", "--env", "X", "--from", NUMACTL),
        ("plan", "--cpu-infer"),
        ("plan", "--bogus"),
        ("inspect", "--from", NUMACTL, "--root", "/"),
        ("inspect", "--synthetic", "rack:2"),
        ("inspect", "--assume", "smt", "--from", NUMACTL),
        ("inspect", "--assume", "smt=7", "--from", NUMACTL),
        ("inspect", "--assume", "smt=1", "--assume", "smt=2", "--from", NUMACTL),
        ("inspect", "--format", "xml", "--from", NUMACTL),
        ("inspect", "--color", "red", "--from", NUMACTL),
        ("inspect", "-q", "-v", "--from", NUMACTL),
        ("check", "--fail-on", "never", "--from", NUMACTL),
        ("check", "--cpu-infer", "42", "--from", NUMACTL),
        ("explain",),
        ("explain", "NT999"),
        ("explain", "NT101", "--list"),
        ("bogus",),
        (),
    ],
)
def test_a_wrong_command_line_is_2(arguments: tuple[str, ...]) -> None:
    assert_one_clear_line(numatune(*arguments), 2)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0",
        b"hello",
        b"\xff\xfe\0\0",
        b"available: x nodes",
    ],
)
def test_an_input_without_a_machine_is_3(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "input").write_bytes(data)
    assert_one_clear_line(numatune("inspect", "--from", str(tmp_path / "input")), 3)
    assert_one_clear_line(numatune("check", "--from", "-", stdin=data), 3)


def test_missing_files_and_folders_are_3(tmp_path: Path) -> None:
    assert_one_clear_line(numatune("inspect", "--from", str(tmp_path / "missing")), 3)
    assert_one_clear_line(numatune("inspect", "--from", str(tmp_path)), 3)
    assert_one_clear_line(numatune("inspect", "--root", str(tmp_path / "missing")), 3)
    assert_one_clear_line(numatune("inspect", "--from", "a\x1b[31mb\nc"), 3)


def test_absurd_ids_and_sizes_end_in_time() -> None:
    huge = b"available: 1 nodes (0)\nnode 0 cpus: 0-4294967295\nnode 0 size: 100 MB\n"
    result = numatune("inspect", "--json", "--from", "-", stdin=huge)
    assert result.returncode == 3 or json.loads(result.stdout)["warnings"]
    large = b"node 0 cpus: " + b"1 " * (25 << 20)
    assert numatune("inspect", "--from", "-", stdin=large).returncode == 3


@pytest.mark.parametrize("count", ["1", "99999"])
def test_extreme_counts_are_answered(count: str) -> None:
    result = numatune("plan", "--cpu-infer", count, "--json", "--from", NUMACTL)
    assert result.returncode == 0
    placements = json.loads(result.stdout)["placements"]
    old = next(p for p in placements if p["version"] == "0.2.1")
    assert ("refused" in old) == (count == "1")


def test_a_tree_without_node_folders_is_a_machine(tmp_path: Path) -> None:
    cpu = tmp_path / "sys/devices/system/cpu"
    (cpu / "cpu0/topology").mkdir(parents=True)
    (cpu / "online").write_text("0\n")
    result = numatune("inspect", "--json", "--root", str(tmp_path))
    assert result.returncode == 0
    document = json.loads(result.stdout)
    assert document["topology"]["nodes"] == []
    assert "no-numa-information" in {w["code"] for w in document["warnings"]}
    assert "no-numa-information" in {f["name"] for f in document["findings"]}
    launch = ("--runtime", "kt-kernel", "--cpu-infer", "2")
    assert numatune("check", "--root", str(tmp_path), *launch).returncode == 1
    assert "no NUMA nodes" in numatune("inspect", "--root", str(tmp_path)).stdout.splitlines()[0]


def test_check_gates_a_script() -> None:
    bad = numatune(
        "check", "--from", NUMACTL, "--runtime", "ktransformers==0.2.1", "--cpu-infer", "42"
    )
    assert bad.returncode == 1
    assert bad.stdout.splitlines()[0].startswith("critical NT101 node-oversubscribed node 1: 25")
    good = numatune(
        "check",
        "--from",
        NUMACTL,
        "--runtime",
        "ktransformers==0.2.2",
        "--cpu-infer",
        "42",
        "--json",
    )
    assert good.returncode == 0
    document = json.loads(good.stdout)
    assert (document["verdict"], document["command"]) == ("pass", "check")
    assert all(s["reason"] for s in document["skipped"])
    alone = numatune("check", "--from", NUMACTL)
    assert alone.returncode == 0
    assert "skipped" in alone.stdout
    assert "skipped NT101" in numatune("check", "--from", NUMACTL, "-v").stdout
    assert numatune("check", "--from", NUMACTL, "-q").stdout == ""


def test_fail_on_lowers_the_gate() -> None:
    lopsided = (
        "check",
        "--from",
        NUMACTL,
        "--runtime",
        "ktransformers==0.2.1",
        "--cpu-infer",
        "41",
    )
    assert numatune(*lopsided).returncode == 0
    assert numatune(*lopsided, "--fail-on", "warning").returncode == 1


def test_explain_knows_rules_by_id_and_name() -> None:
    page = numatune("explain", "nt101").stdout
    assert page == numatune("explain", "node-oversubscribed").stdout
    assert "https://" in page
    assert "NT101" in numatune("explain", "--list").stdout
    assert json.loads(numatune("explain", "NT101", "--json").stdout)["rules"][0]["rule"] == "NT101"


def test_the_same_input_gives_the_same_bytes() -> None:
    arguments = ("plan", "--cpu-infer", "42", "--from", NUMACTL)
    assert numatune(*arguments).stdout == numatune(*arguments, env={"PYTHONHASHSEED": "7"}).stdout
    assert numatune(*arguments, "--json").stdout == numatune(*arguments, "--format", "json").stdout


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("before")
    assert numatune("inspect", "--from", NUMACTL, "--json", "-o", str(target)).returncode == 0
    json.loads(target.read_text())
    target.write_text("before")
    assert numatune("inspect", "--from", "missing", "-o", str(target)).returncode == 3
    assert target.read_text() == "before"
    assert_one_clear_line(numatune("inspect", "--from", NUMACTL, "-o", str(tmp_path / "no/x")), 5)
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_is_5() -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "numatune", "inspect", "--from", NUMACTL],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 5
    assert result.stderr.count("\n") == 1


def test_a_closed_pipe_ends_quietly() -> None:
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run(
        [sys.executable, "-m", "numatune", "plan", "--cpu-infer", "42", "--from", NUMACTL],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (result.returncode, result.stderr) == (141, "")


def test_a_bug_is_4_and_names_its_traceback(tmp_path: Path) -> None:
    code = (
        "import numatune.sources.read as r, numatune.main as m\n"
        "def read_machine(*a, **k): raise ZeroDivisionError('boom')\n"
        "r.read_machine = read_machine\n"
        "raise SystemExit(m.main(['inspect']))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert result.returncode == 4
    assert result.stderr.count("\n") == 1
    saved = next(tmp_path.glob("numatune-bug-*"))
    assert str(saved) in result.stderr
    assert "ZeroDivisionError" in saved.read_text()


def test_ascii_and_colour_follow_the_environment() -> None:
    plan = ("plan", "--cpu-infer", "42", "--from", NUMACTL)
    assert numatune(*plan, env={"PYTHONIOENCODING": "ascii"}).stdout.isascii()
    assert "\x1b" not in numatune(*plan).stdout
    assert "\x1b" in numatune(*plan, env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b" not in numatune(*plan, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout
    assert "\x1b" in numatune(*plan, "--color", "always", env={"NO_COLOR": "1"}).stdout


def on_a_terminal(*arguments: str, columns: int) -> str:
    pid, fd = pty.fork()
    if pid == 0:
        os.environ |= {
            "COLUMNS": str(columns),
            "TERM": "xterm-256color",
            "PYTHONIOENCODING": "utf-8",
        }
        os.execv(sys.executable, [sys.executable, "-m", "numatune", *arguments])
    data = b""
    try:
        while chunk := os.read(fd, 65536):
            data += chunk
    except OSError:
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return data.decode()


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_terminal_gets_colour_and_its_own_width(columns: int) -> None:
    text = on_a_terminal("plan", "--cpu-infer", "42", "--from", NUMACTL, columns=columns)
    assert "\x1b[" in text
    words = " ".join(text.split())
    assert "25" in words
    assert "…" not in text
