"""What is read of archives: the same as of the folder that was packed, or one line that refuses."""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import CpuSet, Machine, Node
from numatune.sources import archive, sysfs
from numatune.sources.archive import is_archive, read_archive
from numatune.sources.archive_tree import FILES, FOLDERS
from numatune.sources.sysfs import read_tree
from numatune.sources.tree import Tree
from tests.sources.archives import (
    ONLINE,
    PACKERS,
    TREE,
    archive_of,
    header,
    member,
    pack,
    pack_small,
    read_bytes,
    refusal,
)
from tests.sources.drawn import machines
from tests.sources.trees import CPU, MACHINES, NODE, small_machine, write_files, write_tree

RECORDED = ("pr685-2x24", "two-node-smt", "one-node-two-packages")
# Whole trees


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_machine_reads_as_from_its_folder(name: str, kind: str, tmp_path: Path) -> None:
    tree = MACHINES / name / "tree"
    file = pack(tree, tmp_path / "a", kind, prefix=f"made/by/{name}")
    assert is_archive(file)
    assert read_archive(file, "tree") == read_tree(str(tree), "tree")


FORMS = st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
PREFIXES = st.sampled_from(["", ".", "box", "./box", "deep/" * 7 + "box", "a+b:c", "größe", "sys"])


@given(machines(), st.sampled_from([*PACKERS]), FORMS, PREFIXES, st.booleans())
@settings(max_examples=30, deadline=None)
def test_any_machine_reads_as_from_its_folder(
    machine: Machine, kind: str, form: int, prefix: str, with_folders: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree = write_tree(machine, Path(folder, "tree"))
        (tree / "sys").mkdir(exist_ok=True)
        file = pack(tree, Path(folder, "a"), kind, form, prefix, with_folders)
        assert read_archive(file, "tree") == read_tree(str(tree), "tree")


def test_a_copy_of_sys_alone_is_a_tree(tmp_path: Path) -> None:
    tree = write_tree(small_machine(), tmp_path / "tree")
    file = pack(tree / "sys", tmp_path / "a", prefix="copy")
    assert read_archive(file, "tree") == read_tree(str(tree / "sys"), "tree")


def test_a_tree_of_proc_alone_lists_its_cpus(tmp_path: Path) -> None:
    files = {"m/proc/cpuinfo": b"processor : 0\nprocessor : 3\n"}
    files["m/proc/sys/kernel/numa_balancing"] = b"1\n"
    machine = read_bytes(tmp_path, archive_of(tree=files))
    assert machine.online_cpus == CpuSet([0, 3])
    assert machine.settings.numa_balancing == 1


def test_files_padded_to_a_page_read_as_they_are(tmp_path: Path) -> None:
    padded = {path: data.ljust(4096, b"\0") for path, data in TREE.items()}
    assert read_bytes(tmp_path, archive_of(tree=padded)) == read_bytes(tmp_path, archive_of())


def test_a_file_that_is_too_large_is_named(tmp_path: Path) -> None:
    tree = {**TREE, f"m/{CPU}/cpu0/topology/core_cpus_list": b"0" * 70_000}
    write_files(tmp_path / "tree", {p.removeprefix("m/"): d for p, d in tree.items()})
    expected = read_tree(str(tmp_path / "tree"), "it")
    assert any("is larger than 65536 bytes" in w.message for w in expected.warnings)
    assert read_bytes(tmp_path, archive_of(tree=tree)) == expected


def test_links_that_a_reader_follows_are_kept(tmp_path: Path) -> None:
    tree = write_tree(small_machine(), tmp_path / "tree")
    device = "sys/devices/platform/ACPI0017:00/root0/dax0.0"
    write_files(tree, {
        f"{NODE}/node2/meminfo": "Node 2 MemTotal: 1024 kB\n", f"{NODE}/node2/cpumap": "0\n",
        f"{device}/target_node": "2\n", "sys/devices/virtual/dmi/id/sys_vendor": "QEMU\n",
        "sys/bus/dax/devices/uevent": "", "sys/class/dmi/uevent": "",
        "proc/7/status": (tree / "proc/self/status").read_text(),
    })  # fmt: skip
    (tree / "sys/bus/dax/devices/dax0.0").symlink_to(f"../../../../{device}")
    (tree / "sys/class/dmi/id").symlink_to("../../devices/virtual/dmi/id")
    (tree / "sys/class/dmi/nowhere").symlink_to("../none")
    (tree / "proc/self/status").unlink()
    (tree / "proc/self").rmdir()
    (tree / "proc/self").symlink_to("7")
    machine = read_archive(pack(tree, tmp_path / "a", prefix="m"), "tree")
    assert machine.nodes[2] == Node(2, CpuSet(), 1 << 20, None, "cxl")
    assert machine.is_guest is True
    assert machine.limits.cpuset_mems == CpuSet([0, 1])
    assert machine == read_tree(str(tree), "tree")


def test_a_hard_link_to_a_file_that_was_read_is_that_file(tmp_path: Path) -> None:
    link = f"m/{CPU}/cpu1/topology/core_cpus_list"
    data = archive_of(
        member(f"m/{CPU}/cpu0/topology/core_cpus_list".encode(), b"0-1\n"),
        member(link.encode(), kind=b"1", target=f"./m/{CPU}/cpu0/topology/core_cpus_list".encode()),
        member(b"m/other", kind=b"1", target=b"m/none"),
    )
    assert [str(core.cpus) for core in read_bytes(tmp_path, data).cores or ()] == ["0-1"]


def test_the_same_member_twice_is_no_harm(tmp_path: Path) -> None:
    again = member(f"m/{ONLINE}".encode(), b"0-1\n"), member(f"m/{CPU}/".encode(), kind=b"5")
    assert read_bytes(tmp_path, archive_of(*again)) == read_bytes(tmp_path, archive_of())


def test_all_that_the_readers_ask_for_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()
    folders: set[str] = set()
    read, is_folder = Tree._read, Tree.is_folder

    def noting_read(self: Tree, path: str, size: int) -> bytes | None:
        asked.add(path)
        return read(self, path, size)

    def noting_folder(self: Tree, path: str) -> bool:
        folders.add(path)
        return is_folder(self, path)

    monkeypatch.setattr(Tree, "_read", noting_read)
    monkeypatch.setattr(Tree, "is_folder", noting_folder)
    full = write_tree(small_machine(), tmp_path / "full")
    bare = write_files(tmp_path / "bare", {
        f"{CPU}/cpu0/topology/uevent": "", f"{NODE}/node0/uevent": "", f"{NODE}/node1/cpumap": "0",
        f"{NODE}/node1/meminfo": "", "sys/bus/dax/devices/dax0.0/uevent": "",
        "proc/driver/nvidia/gpus/0000:01:00.0/information": "", "proc/self/cgroup": "0::/\n",
        "sys/devices/system/edac/mc/mc0/max_location": "channel 0 slot 0\n",
        "sys/devices/system/edac/mc/mc0/dimm0/uevent": "", "sys/fs/cgroup/cgroup.controllers": "",
    })  # fmt: skip
    write_files(bare, {f"{CPU}/present": "0\n", "sys/devices/virtual/dmi/id/uevent": ""})
    old = write_files(tmp_path / "old", {
        f"{CPU}/online": "0-1\n", "proc/self/cgroup": "2:cpuset:/a\n1:cpu:/a\n",
        "proc/mounts": "x /sys/fs/cgroup/cpuset cgroup cpuset 0 0\nx /cpu cgroup cpu 0 0\n",
        "cpu/a/cpu.cfs_quota_us": "-1\n", f"{CPU}/cpu0/topology/physical_package_id": "0\n",
    })  # fmt: skip
    noprefix = write_files(tmp_path / "noprefix", {
        f"{CPU}/online": "0\n", "proc/self/cpuset": "/\n",
        "proc/mounts": "none /dev/cpuset cpuset rw 0 0\n",
    })  # fmt: skip
    for tree in (full, bare, old, noprefix):
        read_tree(str(tree), "tree")
    names = {path.rpartition("/")[2] for path in asked}
    assert len(names) > 40
    assert {"target_node", "numa_status", "mems", "cpu.max", "core_siblings", "size"} <= names
    assert [path for path in asked if not FILES.search(f"m/{path}")] == []
    mounted = ("sys/fs/cgroup", "cpu", "dev/cpuset")
    lost = [p for p in folders if not p.startswith(mounted) and not FOLDERS.search(f"m/{p}")]
    assert lost == []


# Is it one?


def test_archives_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    file = tmp_path / "a"
    for data in [pack_small(kind) for kind in PACKERS]:
        file.write_bytes(data)
        assert is_archive(str(file))
    old = bytearray(archive_of())
    old[257:265] = bytes(8)
    old[148:156] = b" " * 8
    old[148:156] = b"%06o\0 " % sum(old[:512])
    file.write_bytes(old)
    assert is_archive(str(file))
    assert read_archive(str(file), "it").online_cpus == CpuSet([0, 1])
    # Its check sum as of signed bytes, which some old programs wrote.
    signed = header("grüße".encode())
    total = sum(signed) - sum(signed[148:156]) + 8 * 32 - 256 * sum(byte > 127 for byte in signed)
    file.write_bytes(signed[:148] + b"%06o\0 " % total + signed[156:] + archive_of())
    assert is_archive(str(file))
    assert read_archive(str(file), "it").online_cpus == CpuSet([0, 1])
    texts = [
        b"",
        b"BZh is a name",
        b"ustar" * 200,
        bytes(10240),
        b"available: 2 nodes (0-1)\n" * 99,
    ]
    for data in [*texts, b"PK\x03\x04", b"\x1f\x8b", archive_of()[:511]]:
        file.write_bytes(data)
        assert not is_archive(str(file))
    os.mkfifo(tmp_path / "fifo")
    for path in [tmp_path, tmp_path / "none", tmp_path / "fifo", "/dev/zero", "a\0b", "\udc80"]:
        assert not is_archive(str(path))
        with pytest.raises(MachineError, match=r"^it could not be read"):
            read_archive(str(path), "it")


def test_a_compressed_text_is_no_archive(tmp_path: Path) -> None:
    for kind in ("gz", "bz2", "xz"):
        text = PACKERS[kind](b"available: 2 nodes (0-1)\n" * 100)
        assert refusal(tmp_path, text) == "holds no tar archive"
    assert "no tar archive" in refusal(tmp_path, gzip.compress(b"short"))


# The private folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have an empty folder for temporary ones."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_the_folder_is_private_and_holds_only_what_is_needed(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, int] = {}

    def look(root: str, label: str) -> Machine:
        assert os.path.dirname(root) == str(temporary)
        seen.update((str(p.relative_to(root)), p.lstat().st_mode) for p in Path(root).rglob("*"))
        seen[""] = os.stat(root).st_mode
        return read_tree(root, label)

    monkeypatch.setattr(sysfs, "read_tree", look)
    noise = [member(b"m/sys/kernel/notes", b"x" * 999), member(b"m/home/user/.ssh/id", b"x")]
    noise.append(member(b"m/sys/bus/cpu/devices/cpu0", kind=b"2", target=b"../../../devices/cpu0"))
    read_bytes(tmp_path, archive_of(*noise))
    files = [path for path, mode in seen.items() if stat.S_ISREG(mode)]
    assert sorted(files) == [ONLINE, f"{NODE}/node0/cpulist"]
    assert {stat.S_IMODE(mode) for mode in seen.values() if stat.S_ISDIR(mode)} == {0o700}
    assert {stat.S_IMODE(seen[path]) for path in files} == {0o600}
    assert not any(stat.S_ISLNK(mode) for mode in seen.values())


@pytest.mark.parametrize("error", [KeyboardInterrupt, MachineError, MemoryError])
def test_the_folder_goes_whatever_happens(
    error: type[BaseException], tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(root: str, label: str) -> Machine:
        assert os.listdir(temporary) == [os.path.basename(root)]
        raise error(f"{root} is wrong")

    monkeypatch.setattr(sysfs, "read_tree", fail)
    (tmp_path / "a").write_bytes(archive_of())
    with pytest.raises(error) as caught:
        read_archive(str(tmp_path / "a"), "it")
    assert os.listdir(temporary) == []
    assert (str(caught.value) == "it is wrong") == (error is MachineError)


def test_an_interrupted_removal_is_made_up_for(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = os.rmdir
    calls: list[str] = []

    def interrupted(path: str, **options: int) -> None:
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        remove(path, **options)

    (tmp_path / "a").write_bytes(archive_of())
    monkeypatch.setattr(os, "rmdir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read_archive(str(tmp_path / "a"), "it")
    assert os.listdir(temporary) == []


def test_a_disk_that_is_full_or_missing_is_one_line(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(archive_of())

    def full(path: str, mode: int = 0) -> None:
        if path.endswith("/sys"):
            raise OSError(28, "No space left on device")
        make(path, mode)

    make = os.mkdir
    monkeypatch.setattr(os, "mkdir", full)
    with pytest.raises(MachineError, match=r"a private folder \(No space left on device\); "):
        read_archive(str(tmp_path / "a"), "it")
    assert os.listdir(temporary) == []
    monkeypatch.setattr(os, "mkdir", make)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(MachineError, match=r"a private folder .No such file or directory.; "):
        read_archive(str(tmp_path / "a"), "it")


def test_memory_is_used_where_it_has_room(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots: list[str] = []

    def look(root: str, label: str) -> Machine:
        roots.append(os.path.dirname(root))
        return read_tree(root, label)

    memory = tmp_path / "memory"
    memory.mkdir()
    (tmp_path / "a").write_bytes(archive_of())
    monkeypatch.setattr(sysfs, "read_tree", look)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(archive, "MEMORY_FOLDER", str(memory))
    read_archive(str(tmp_path / "a"), "it")
    monkeypatch.delenv("TMPDIR")
    read_archive(str(tmp_path / "a"), "it")
    monkeypatch.setattr(archive, "PAGE", 1 << 60)
    read_archive(str(tmp_path / "a"), "it")
    monkeypatch.setattr(archive, "MEMORY_FOLDER", str(tmp_path / "none"))
    read_archive(str(tmp_path / "a"), "it")
    assert roots == [str(temporary), str(memory), str(temporary), str(temporary)]
    assert os.listdir(memory) == os.listdir(temporary) == []
