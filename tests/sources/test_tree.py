"""Bounded access to the files of a tree that somebody else made."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from numatune.errors import MachineError
from numatune.machine import CpuSet
from numatune.sources import tree as module
from numatune.sources.sysfs import read_tree
from numatune.sources.tree import Tree, printable
from tests.sources.trees import CPU, NODE, small_machine, write_files, write_tree


def tree_of(root: Path, files: dict[str, str | bytes]) -> Tree:
    (root / "sys").mkdir(parents=True, exist_ok=True)
    return Tree(str(write_files(root, files)))


def test_what_a_file_holds(tmp_path: Path) -> None:
    tree = tree_of(
        tmp_path,
        {
            "sys/text": " some text \n\0",
            "sys/number": "-1\n",
            "sys/list": "0-2,8\n",
            "sys/mask": "1,00000007\n",
            "sys/old_mask": "1,7\n",
            "sys/empty": "\n",
            "sys/latin": b"caf\xe9",
        },
    )
    assert tree.text("sys/text") == "some text"
    assert tree.number("sys/number") == -1
    assert tree.ids("sys/list") == CpuSet([0, 1, 2, 8])
    assert tree.mask("sys/mask") == tree.mask("sys/old_mask") == CpuSet([0, 1, 2, 32])
    assert tree.ids("sys/empty") == CpuSet()
    assert tree.text("sys/latin") == "caf\ufffd"
    assert tree.text("sys/missing") is None
    assert tree.text("sys/text/below") is None
    assert tree.text("sys/nul\0byte") is None
    assert tree.refused == {}


def test_what_a_file_should_not_hold(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"sys/words": "no\x1b[31m\n", "sys/high": "65536\n", "sys/none": "\n"})
    assert tree.number("sys/words") is None
    assert tree.refused.pop("sys/words") == "holds no number but 'no?[31m'"
    assert tree.ids("sys/words") is None
    assert tree.mask("sys/words") is None
    assert tree.ids("sys/high") is None
    assert tree.mask("sys/none") is None
    assert set(tree.refused) == {"sys/words", "sys/high", "sys/none"}


def test_the_head_ends_with_a_whole_line(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"proc/cpuinfo": "first: 1\nsecond: 2\nthird: 3\n"})
    assert tree.head("proc/cpuinfo", 20) == "first: 1\nsecond: 2\n"
    assert tree.head("proc/cpuinfo", 4096) == "first: 1\nsecond: 2\nthird: 3\n"


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"sys/cpumap": "ffffffff," * 1_200_000})
    assert tree.mask("sys/cpumap") is None
    assert tree.refused == {"sys/cpumap": "is larger than 65536 bytes"}


def test_links_inside_a_tree_lead_on(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"sys/devices/virtual/dmi/id/sys_vendor": "QEMU\n"})
    (tmp_path / "sys/class/dmi").mkdir(parents=True)
    (tmp_path / "sys/class/dmi/id").symlink_to("../../devices/virtual/dmi/id")
    (tmp_path / "sys/vendor").symlink_to("class/dmi/id/sys_vendor")
    assert tree.text("sys/class/dmi/id/sys_vendor") == "QEMU"
    assert tree.text("sys/vendor") == "QEMU"
    assert tree.target("sys/class/dmi/id") == "/sys/devices/virtual/dmi/id"
    assert tree.is_folder("sys/class/dmi/id")


@pytest.mark.parametrize("link", ["relative", "absolute", "folder", "loop", "through"])
def test_no_link_leads_out_of_a_tree(tmp_path: Path, link: str) -> None:
    root, outside = tmp_path / "tree", tmp_path / "tree-secret"
    tree = tree_of(root, {"sys/kernel/uevent": ""})
    write_files(outside, {"file": "7\n"})
    targets = {
        "relative": ("sys/file", "../../tree-secret/file", "sys/file"),
        "absolute": ("sys/file", f"{outside}/file", "sys/file"),
        "folder": ("sys/out", "../../tree-secret", "sys/out/file"),
        "loop": ("sys/loop", "loop", "sys/loop/file"),
        "through": ("sys/out", f"../../tree-secret/../{outside.name}", "sys/out/file"),
    }
    name, target, path = targets[link]
    (root / name).symlink_to(target)
    assert tree.text(path) is None
    assert tree.names(name) == []
    assert tree.folders("sys") == ["kernel"]
    assert tree.refused[name] == (
        "could not be read: too many levels of symbolic links"
        if link == "loop"
        else "leads out of the tree"
    )


def test_dots_lead_nowhere(tmp_path: Path) -> None:
    tree = tree_of(tmp_path / "tree", {"sys/uevent": ""})
    write_files(tmp_path, {"file": "7\n"})
    assert tree.text("../file") is None
    assert tree.text("sys/../../file") is None
    assert tree.text("sys/./uevent") is None


def test_what_is_no_file_does_not_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tree_of(tmp_path, {"sys/folder/uevent": ""})
    os.mkfifo(tmp_path / "sys/fifo")
    monkeypatch.chdir(tmp_path)  # The address of a socket must be short.
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sys/socket")
    assert tree.text("sys/fifo") is None
    assert tree.text("sys/socket") is None
    assert tree.text("sys/folder") is None
    assert tree.refused == {
        "sys/fifo": "is not a regular file",
        "sys/socket": "is not a regular file",
        "sys/folder": "could not be read: is a directory",
    }


def test_a_folder_may_not_have_too_many_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ENTRY_LIMIT", 60)
    tree = tree_of(tmp_path, {f"{CPU}/cpu{n}/uevent": "" for n in range(61)})
    with pytest.raises(MachineError, match="more than 60 entries"):
        tree.names(CPU)


def test_a_tree_may_not_hold_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TREE_LIMIT", 1 << 20)
    tree = tree_of(tmp_path, {"sys/file": "x" * 60_000})
    for _ in range(17):
        assert tree.text("sys/file")
    with pytest.raises(MachineError, match="more than 1 MB of topology"):
        tree.text("sys/file")


def test_lists_may_not_hold_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIST_LIMIT", 1 << 20)
    tree = tree_of(tmp_path, {"sys/file": "7," * 29_999 + "7"})
    for _ in range(17):
        assert tree.ids("sys/file") == CpuSet([7])
    with pytest.raises(MachineError, match="more than 1 MB of lists"):
        tree.ids("sys/file")


def test_a_copy_of_sys_has_no_proc(tmp_path: Path) -> None:
    tree = Tree(str(write_files(tmp_path, {"devices/system/cpu/online": "0\n", "proc/x": "1\n"})))
    assert tree.ids(f"{CPU}/online") == CpuSet([0])
    assert tree.text("proc/x") is None


def test_printable() -> None:
    assert printable("a\nb\x1b\u202e\ud800c") == "a?b???c"
    assert printable("x" * 300) == "x" * 200 + "..."


@pytest.mark.usefixtures("untraced")
def test_a_tree_of_traps_is_read_at_once(tmp_path: Path) -> None:
    """Every trap at once: what is whole is read, what is not is named, and nothing takes long."""
    root = write_tree(small_machine(), tmp_path / "tree")
    for path in (f"{NODE}/online", f"{CPU}/isolated", "proc/cmdline", "proc/self/status"):
        (root / path).unlink()
        os.mkfifo(root / path)
    (root / f"{NODE}/node0/cpumap").write_bytes(b"ffffffff," * 1_200_000)
    (root / f"{NODE}/node0/distance").unlink()
    (root / f"{NODE}/node0/distance").symlink_to("/etc/hostname")
    (root / f"{NODE}/node2").symlink_to("node2")
    (root / f"{NODE}/node3").symlink_to("/sys/devices/system/node/node0")
    (root / f"{CPU}/cpu99").symlink_to("/sys/devices/system/cpu/cpu0")
    with (root / "proc/cpuinfo").open("ab") as file:
        file.truncate(100 << 20)
    start = time.process_time()
    machine = read_tree(str(root), "tree")
    assert time.process_time() - start < 5
    assert [n.id for n in machine.nodes] == [0, 1]
    assert str(machine.nodes[0].cpus) == "0-1,4-5"
    assert machine.cpu.model == "Made-up Xeon"
    assert machine.cores_known == 4
    assert machine.distances is None
    assert [w.code for w in machine.warnings] == ["distances-missing", "unreadable"]


def test_a_cpuinfo_of_100_mb_alone_is_no_machine(tmp_path: Path) -> None:
    root = write_files(tmp_path, {"proc/cpuinfo": "processor : 0\n", "sys/uevent": ""})
    with (root / "proc/cpuinfo").open("ab") as file:
        file.truncate(100 << 20)
    with pytest.raises(MachineError, match="no CPU and no NUMA node"):
        read_tree(str(root), "tree")


@pytest.mark.usefixtures("untraced")
def test_a_thousand_nodes_and_cpus_without_a_file_are_read_soon(tmp_path: Path) -> None:
    folders = [f"{NODE}/node{n}" for n in range(1100)] + [f"{CPU}/cpu{n}" for n in range(300)]
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    start = time.process_time()
    machine = read_tree(str(tmp_path), "tree")
    assert time.process_time() - start < 5
    assert len(machine.nodes) == 1024
    assert machine.cores is None
    assert [w.code for w in machine.warnings] == [
        "cores-unknown",
        "packages-unknown",
        "odd-node-folder",
        "node-cpus-unknown",
        "memory-unknown",
        "distances-missing",
    ]
