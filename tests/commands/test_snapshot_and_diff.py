"""`snapshot` and `diff` as their users meet them: output, files, exit statuses."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from numatune.main import main
from numatune.sources.snapshot import read

ROOT = Path(__file__).parents[2]
TREE = str(ROOT / "fixtures/machines/pr685-2x24/tree")
NUMACTL = str(ROOT / "fixtures/machines/pr685-2x24/numactl.txt")
TWO = str(ROOT / "fixtures/snapshots/two-nodes.json")
ONE = str(ROOT / "fixtures/snapshots/interleaved.json")
SYNTHETIC = "pack:2 [numa(memory=512GB)] core:24 pu:1"

Run = Any


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process: its status, output and messages."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(list(arguments))
        captured = capsys.readouterr()
        assert "bug" not in captured.err
        return status, captured.out, captured.err

    return call


def assert_one_clear_line(result: tuple[int, str, str], status: int) -> None:
    assert result[0] == status, result
    assert result[1] == ""
    assert result[2].startswith("numatune: ")
    assert result[2].count("\n") == 1


# snapshot -----------------------------------------------------------------------------------------


def test_a_snapshot_reads_as_the_machine_elsewhere(run: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "host.json")
    assert run("snapshot", "--root", TREE, "-o", file) == (0, "", "")
    live = json.loads(run("inspect", "--root", TREE, "--json")[1])
    there = json.loads(run("inspect", "--from", file, "--json")[1])
    assert there["source"] == "host.json"
    for document in (live, there):
        del document["source"], document["topology"]["origins"], document["settings"]["cmdline"]
        for finding in document["findings"]:
            del finding["evidence"]
    assert there == live
    plans = [
        json.loads(run("plan", "--cpu-infer", "42", "--json", *source)[1])["placements"]
        for source in (("--root", TREE), ("--from", file))
    ]
    first, second = ([p["nodes"] for p in plan] for plan in plans)
    assert first == second


def test_without_a_file_it_is_printed(run: Run, tmp_path: Path) -> None:
    status, text, _ = run("snapshot", "--root", TREE)
    assert status == 0
    assert text.startswith('{\n  "numatune_snapshot": 1,\n')
    assert run("snapshot", "--root", TREE, "-o", str(tmp_path / "f"))[0] == 0
    assert (tmp_path / "f").read_text() == text
    assert str(tmp_path) not in text


def test_the_live_host_has_a_snapshot(run: Run) -> None:
    status, text, messages = run("snapshot")
    assert (status, messages) == (0, "")
    assert json.loads(text)["source"] == "live host"
    assert os.uname().nodename not in json.dumps(json.loads(text), ensure_ascii=False).split('"')
    assert read(text, "x").cpus


@pytest.mark.parametrize("source", [("--from", NUMACTL), ("--synthetic", SYNTHETIC)])
def test_any_source_gives_a_snapshot(run: Run, source: tuple[str, str]) -> None:
    status, text, _ = run("snapshot", *source)
    assert status == 0
    assert [len(n.cpus or ()) for n in read(text, "x").nodes] == [24, 24]


def test_what_was_assumed_is_in_it(run: Run) -> None:
    text = run("snapshot", "--from", NUMACTL, "--assume", "smt=1")[1]
    assert len(read(text, "x").cores or ()) == 48


def test_a_snapshot_of_a_snapshot_is_the_same_machine(run: Run) -> None:
    again = json.loads(run("snapshot", "--from", TWO)[1])
    first = json.loads(Path(TWO).read_text())
    assert again.pop("source") == "file"
    del first["source"], first["tool_version"], again["tool_version"]
    assert again == first


def test_the_command_line_is_cut_unless_all_of_it_is_asked_for(run: Run, tmp_path: Path) -> None:
    line = "root=UUID=77 ip=10.1.2.3 numa_balancing=disable"
    source = ("--from", NUMACTL, "--assume", f"cmdline={line}")
    assert json.loads(run("snapshot", *source)[1])["settings"]["cmdline"] == (
        "numa_balancing=disable ..."
    )
    whole = json.loads(run("snapshot", "--full-command-line", *source)[1])
    assert whole["settings"]["cmdline"] == line


def test_what_contradicts_itself_is_not_recorded(run: Run, tmp_path: Path) -> None:
    nodes, cpus = tmp_path / "sys/devices/system/node", tmp_path / "sys/devices/system/cpu"
    topology = cpus / "cpu0/topology"
    topology.mkdir(parents=True)
    nodes.mkdir(parents=True)
    (cpus / "online").write_text("0\n")
    (topology / "thread_siblings_list").write_text("0\n")
    (topology / "core_siblings_list").write_text("0\n")
    (topology / "physical_package_id").write_text(f"{10**17}\n")
    target = tmp_path / "s.json"
    result = run("snapshot", "--root", str(tmp_path), "-o", str(target))
    assert_one_clear_line(result, 3)
    assert "id" in result[2]
    assert not target.exists()


def test_statuses_of_snapshot(run: Run, tmp_path: Path) -> None:
    assert_one_clear_line(run("snapshot", "--from", str(tmp_path / "missing")), 3)
    assert_one_clear_line(run("snapshot", "--root", TREE, "-o", str(tmp_path / "no/x")), 5)
    assert_one_clear_line(run("snapshot", "--root", TREE, "--from", NUMACTL), 2)
    assert_one_clear_line(run("snapshot", "--bogus"), 2)
    target = tmp_path / "kept"
    target.write_text("before")
    run("snapshot", "--from", str(tmp_path / "missing"), "-o", str(target))
    assert target.read_text() == "before"


def test_a_damaged_snapshot_is_read_as_nothing_else(run: Run, tmp_path: Path) -> None:
    text = Path(TWO).read_text()
    paste = "available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 100 MB\n"
    file = tmp_path / "s.json"
    for damaged, words in (
        (text[: len(text) // 2] + paste, "not whole"),
        (text.replace('"0-47"', '"0-40"') + paste, "not online"),
        (text.replace('"numatune_snapshot": 1', '"numatune_snapshot": 9'), "upgrade"),
    ):
        file.write_text(damaged)
        result = run("inspect", "--from", str(file))
        assert_one_clear_line(result, 3)
        assert words in result[2]


# diff ---------------------------------------------------------------------------------------------


def test_a_firmware_that_interleaves_now(run: Run) -> None:
    status, text, messages = run("diff", TWO, ONE)
    assert (status, messages) == (1, "")
    assert text.splitlines()[:2] == [
        "two-nodes.json → interleaved.json: 3 differences",
        "  NUMA nodes: 0-1 → 0; 2 nodes became 1 over 2 packages:"
        " the firmware now interleaves the memory of the packages",
    ]


def test_the_document_of_diff(run: Run) -> None:
    status, text, _ = run("diff", TWO, ONE, "--json")
    document = json.loads(text)
    assert status == 1
    assert document["command"] == "diff"
    assert document["schema_version"] == 1
    assert (document["before"], document["after"]) == ("two-nodes.json", "interleaved.json")
    assert (document["equal"], document["tolerance"]) == (False, 0.02)
    assert document["differences"][0] == {
        "what": "nodes",
        "subject": "the machine",
        "before": "0-1",
        "after": "0",
        "meaning": "2 nodes became 1 over 2 packages: the firmware now interleaves the memory of"
        " the packages",
    }
    assert document["not_comparable"] == []
    mixed = json.loads(run("diff", NUMACTL, TREE, "--json")[1])
    assert mixed["equal"]
    assert {"what": "cores", "subject": "the machine", "before": None, "after": 48} in (
        mixed["not_comparable"]
    )


def test_equal_machines_are_0(run: Run, tmp_path: Path) -> None:
    status, text, _ = run("diff", TREE, TREE)
    assert status == 0
    assert "no difference in" in text
    assert run("diff", TREE, NUMACTL)[0] == 0
    assert run("diff", TREE, TREE, "-q") == (0, "", "")
    out = str(tmp_path / "out")
    assert run("diff", TREE, TREE, "-o", out) == (0, "", "")
    assert "no difference in" in Path(out).read_text(encoding="utf-8")


def test_this_host_is_the_root_folder(run: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "now.json")
    run("snapshot", "-o", file)
    status, text, _ = run("diff", file, "/")
    assert status == 0
    assert text.startswith("now.json → this host: no difference")
    assert run("diff", TREE, "/")[0] == 1


def test_the_tolerance_is_a_percentage(run: Run, tmp_path: Path) -> None:
    document = json.loads(Path(TWO).read_text())
    document["nodes"][0]["memory_total_bytes"] = int(405664694272 * 0.97)
    file = tmp_path / "less.json"
    file.write_text(json.dumps(document))
    for tolerance, status in (("2%", 1), ("2.9", 1), ("3.1 %", 0), ("100", 0), ("0", 1)):
        assert run("diff", TWO, str(file), "--tolerance", tolerance)[0] == status, tolerance
    assert "memory of node 0: 377.8 GiB → 366.5 GiB" in run("diff", TWO, str(file))[1]
    for wrong in ("x", "", "-1", "101", "nan", "inf", "1e400", "٣", "2%%"):
        assert_one_clear_line(run("diff", TWO, TWO, f"--tolerance={wrong}"), 2)


def test_machines_without_anything_in_common_are_not_equal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "gpu.json").write_text(
        '{"numatune_snapshot": 1, "nodes": [], "gpus": [{"name": "GPU0"}], "gaps": ["nodes"]}'
    )
    result = run("diff", NUMACTL, str(tmp_path / "gpu.json"))
    assert_one_clear_line(result, 3)
    assert "nothing in common" in result[2]


def test_statuses_of_diff(run: Run, tmp_path: Path) -> None:
    assert_one_clear_line(run("diff", TWO, str(tmp_path / "missing")), 3)
    assert_one_clear_line(run("diff", str(tmp_path), TWO), 3)
    assert_one_clear_line(run("diff", TWO), 2)
    assert_one_clear_line(run("diff", "-", "-"), 2)
    assert_one_clear_line(run("diff", TWO, ONE, "--format", "xml"), 2)
    assert_one_clear_line(run("diff", TWO, ONE, "-q", "-v"), 2)
    assert_one_clear_line(run("diff", TWO, ONE, "-o", str(tmp_path / "no/x")), 5)
