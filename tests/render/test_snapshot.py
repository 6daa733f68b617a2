"""What a snapshot looks like, and what is not in it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numatune.machine import (
    Access,
    CpuSet,
    Dimm,
    Gpu,
    Machine,
    Memory,
    MemoryCache,
    MemoryTier,
    Warning,
)
from numatune.render.json import render
from numatune.render.snapshot import snapshot_document
from tests.sources.trees import large_machine, small_machine

PAGE = Path(__file__).parents[2] / "docs" / "snapshots.md"


def text_of(machine: Machine, *, full_command_line: bool = False) -> str:
    return render(snapshot_document(machine, full_command_line=full_command_line))


def test_the_version_is_at_the_head_and_each_item_is_one_line() -> None:
    machine = small_machine()._replace(
        gpus=(Gpu("GPU0", 1, CpuSet.parse("2-3")),), dimms=(Dimm("A1", 64 << 30, "DDR5", 4800),)
    )
    lines = text_of(machine).splitlines()
    assert lines[:2] == ["{", '  "numatune_snapshot": 1,']
    for line in (
        '    {"id": 0, "cpus": "0-1,4-5", "memory_total_bytes": 68719476736,'
        ' "memory_free_bytes": 34359738368, "kind": "dram"},',
        "      [10, 21],",
        '    {"cpus": "3,7", "package_id": 1, "node_id": 1}',
        '    {"name": "GPU0", "node_id": 1, "cpus": "2-3"}',
        '    {"locator": "A1", "size_bytes": 68719476736, "type": "DDR5", "speed_mts": 4800}',
    ):
        assert line in lines


def test_it_is_small_on_a_large_machine() -> None:
    assert len(text_of(large_machine(16, 32, 2))) < 64_000


def test_the_same_machine_gives_the_same_bytes() -> None:
    machine = small_machine()
    other = machine._replace(
        cpu=machine.cpu._replace(features=frozenset(machine.cpu.features or ()))
    )
    assert text_of(machine) == text_of(other)


GROUP = "sys/fs/cgroup/user.slice/alice box/job-77/cpuset.cpus.effective"


@pytest.fixture
def private() -> Machine:
    """A machine whose every free text names somebody."""
    label = "tree /home/alice/db7.example.org"
    return small_machine()._replace(
        source=f"{label} + alice-db7.txt",
        warnings=(
            Warning("unreadable", f"{GROUP} is larger than 65536 bytes. `lscpu` tells more"),
            Warning("stray-text", "there is text between ('alice@db7:~$ lstopo'), can't be read"),
            Warning("odd", 'the line "alice@db7" of alice-db7.txt in /home/alice/db7.example.org'),
        ),
        settings=small_machine().settings._replace(
            cmdline="root=/dev/db7/alice ip=10.1.2.3 numa=off"
        ),
        origins={
            "nodes": f"{label} ({label})",
            "cpu": "lscpu (alice-db7.txt)",
            "limits": "alice-db7.txt",
            "cores": label,
            "packages": "numactl --hardware",
            "settings": "this host",
        },
    )


def test_it_names_no_host_no_user_and_no_file(private: Machine) -> None:
    text = text_of(private)
    for word in ("alice", "db7", "10.1.2.3", "/home", "job-77", "this host"):
        assert word not in text, word


def test_it_says_what_kind_of_source_there_was(private: Machine) -> None:
    document = snapshot_document(private)
    assert document["source"] == "tree + file"
    assert document["origins"] == {
        "nodes": "tree",
        "cpu": "lscpu",
        "limits": "tree",
        "cores": "tree",
        "packages": "numactl --hardware",
        "settings": "live host",
    }
    assert [w["message"] for w in document["warnings"]] == [
        "sys/fs/cgroup/.../cpuset.cpus.effective is larger than 65536 bytes. `lscpu` tells more",
        "there is text between ('...'), can't be read",
        "the line '...' of file in tree",
    ]


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("this host", "live host"),
        ("tree /", "tree"),
        ("standard input", "standard input"),
        ("text", "text"),
        ("synthetic pack:2 core:4", "synthetic"),
        ("lscpu.txt", "file"),
        ("this host + lscpu.txt", "live host + file"),
    ],
)
def test_a_source_is_named_by_its_kind(label: str, kind: str) -> None:
    assert snapshot_document(small_machine()._replace(source=label))["source"] == kind


def test_the_command_line_is_whole_where_that_is_asked_for(private: Machine) -> None:
    cut = snapshot_document(private)
    whole = snapshot_document(private, full_command_line=True)
    assert cut["settings"]["cmdline"] == "numa=off ..."
    assert whole["settings"]["cmdline"] == private.settings.cmdline
    assert "command line" not in cut["about"]
    assert "command line" in whole["about"]


def test_control_characters_do_not_get_in() -> None:
    machine = small_machine()
    evil = "x\x1b]0;t\x07\n\u202e\ud800"
    machine = machine._replace(
        cpu=machine.cpu._replace(model=evil, vendor=evil),
        gpus=(Gpu(evil),),
        dimms=(Dimm(evil, None, evil),),
        warnings=(Warning("odd", evil),),
        settings=machine.settings._replace(smt_control=evil, transparent_hugepage=evil),
    )
    text = text_of(machine)
    assert text.replace("\n", "").isprintable()
    assert "\\u" not in text


def keys_of(document: dict[str, Any], front: str = "") -> Iterator[str]:
    for key, value in document.items():
        yield f"{front}{key}"
        one = value[0] if isinstance(value, list) and value else value
        if isinstance(one, dict) and key != "origins":
            yield from keys_of(one, f"{front}{key}{'[]' if isinstance(value, list) else ''}.")


def test_the_page_lists_exactly_the_keys() -> None:
    machine = small_machine()._replace(
        gpus=(Gpu("GPU0"),),
        dimms=(Dimm("A1"),),
        warnings=(Warning("odd", "odd"),),
        memory=Memory(
            (Access(0, CpuSet([0])),), (MemoryCache(0, 1),), (MemoryTier(4, CpuSet([0])),)
        ),
    )
    real = set(keys_of(json.loads(text_of(machine))))
    rows = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    assert {row.split("`")[1] for row in rows} == real
