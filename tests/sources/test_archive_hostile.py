"""Archives that mean harm or came to harm: one clear line, nothing written, nothing waited for."""

from __future__ import annotations

import gzip
import lzma
import tempfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import CpuSet, Machine
from numatune.sources import archive_members, archive_stream, archive_tree
from numatune.sources.archive import is_archive, read_archive
from tests.sources.archives import (
    ONLINE,
    PACKERS,
    archive_of,
    header,
    member,
    pack_small,
    pax,
    read_bytes,
    read_watched,
    refusal,
)
from tests.sources.trees import CPU

# What is refused

SECRET = b"../../secret"
NEEDED = f"m/{CPU}/cpu0/topology/core_cpus_list".encode()
UNSAFE = {
    "is not taken: the path /etc/online in it is absolute": member(b"/etc/online", b"0"),
    f'is not taken: the path m/../../{ONLINE} in it has ".."': member(f"m/../../{ONLINE}".encode()),
    'is not taken: the path .. in it has ".."': member(b"..", kind=b"5"),
    "is not taken: the link m/sys/x in it leads out of it": member(
        b"m/sys/x", kind=b"2", target=b"../../../secret"
    ),
    "is not taken: the link m/y in it leads out of it": member(b"m/y", kind=b"2", target=b"/etc"),
    "is not taken: the link m/z in it leads out of it": member(
        b"m/z", kind=b"2", target=b"sys/../../../m/sys"
    ),
    f"is not taken: the link {CPU}/cpu3 leads out of its tree": member(
        f"m/{CPU}/cpu3".encode(), kind=b"2", target=b"../../../../../other"
    ),
    "is not taken: the path /etc/passwd in it is absolute": member(
        b"m/x", kind=b"1", target=b"/etc/passwd"
    ),
    'is not taken: the path ../secret in it has ".."': member(
        NEEDED, kind=b"1", target=b"../secret"
    ),
    f"holds {NEEDED.decode()} only as a hard link to secret, which is not read; unpack it and give "
    "the folder": member(NEEDED, kind=b"1", target=b"secret"),
    "is not taken: m/null in it is a device": member(b"m/null", kind=b"3"),
    "is not taken: m/disk in it is a device": member(b"m/disk", kind=b"4"),
    "is not taken: m/pipe in it is a FIFO": member(b"m/pipe", kind=b"6"),
    "is not taken: m/odd in it is of an unknown kind": member(b"m/odd", kind=b"Q"),
    "is not taken: m/holes in it is a sparse file": member(b"m/holes", kind=b"S"),
    "is not taken: it holds a sparse file": pax(b"GNU.sparse.major=1") + member(b"m/holes"),
    "is not taken: the name m/a?[31m in it has characters that cannot be shown": member(
        b"m/a\x1b[31m"
    ),
    "is not taken: the name m/a?b in it has characters that cannot be shown": (
        pax(b"path=m/a\0b") + member(b"q")
    ),
    "is not taken: the name m/c?d in it has characters that cannot be shown": (
        member(b"long", b"m/c\0d\0", b"L") + member(b"q")
    ),
    "is not taken: the name m/\\xff\\xfe in it is not UTF-8": member(b"m/\xff\xfe"),
    "is not taken: a name in it has more than 1024 bytes": (
        pax(b"path=" + b"m/" * 600) + member(b"q")
    ),
    "holds a header of 300000000 bytes, as no recorded tree does": header(b"p", 300_000_000, b"x"),
    "holds a header of 70000 bytes, as no recorded tree does": header(b"p", 70_000, b"L"),
    "holds a header of more than 64 records": pax(*[b"a=b"] * 65) + member(b"q"),
    "is damaged: a pax header in it is wrong": member(b"p", b"99 path=x\n", b"x"),
    "is damaged: a size in it is no number": pax(b"size=-1") + member(b"q"),
    "is damaged: a header in it is wrong": member(b"q") + b"x" * 512,
}


@pytest.mark.parametrize("reason", UNSAFE)
def test_what_no_recorded_tree_holds_is_refused(reason: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, archive_of(UNSAFE[reason])) == reason
    assert refusal(tmp_path, gzip.compress(UNSAFE[reason] + archive_of())) == reason


def test_a_size_that_is_no_number_is_refused(tmp_path: Path) -> None:
    for size in (b"-0000000001", b"\xff" * 12, b"0x200", b"1_000", b"888"):
        block = bytearray(header(b"m/x"))
        block[124:136], block[148:156] = size.ljust(12, b"\0"), b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
        reason = refusal(tmp_path, archive_of(bytes(block)))
        assert reason == "is damaged: a size in it is no number"


def test_names_that_differ_by_case_alone_are_refused(tmp_path: Path) -> None:
    group = "m/sys/fs/cgroup/{}/cpu.max"
    data = archive_of(*(member(group.format(name).encode(), b"max 1") for name in ("box", "Box")))
    reason = refusal(tmp_path, data)
    assert reason == (
        "is not taken: m/sys/fs/cgroup/box and m/sys/fs/cgroup/Box in it differ only by case"
    )


TWICE = [
    [
        member(b"m/sys/fs", kind=b"2", target=b"elsewhere"),
        member(b"m/sys/fs/cgroup/cpu.max", b"1 1"),
    ],
    [
        member(b"m/sys/fs/cgroup/cpu.max", b"1 1"),
        member(b"m/sys/fs", kind=b"2", target=b"elsewhere"),
    ],
    [member(NEEDED, kind=b"2", target=b"x"), member(NEEDED, b"0")],
    [member(NEEDED, b"0"), member(NEEDED, kind=b"2", target=b"x")],
    [member(NEEDED, b"0"), member(NEEDED, b"0-1")],
    [member(f"m/{CPU}/cpu0".encode(), kind=b"2", target=b"cpu1"), member(NEEDED, b"0")],
    [member(b"m/dev/cpus", b"0"), member(b"m/dev/cpus/a/mems", b"0")],
    [member(b"m/dev/cpus/a/mems", b"0"), member(b"m/dev/cpus", b"0")],
]


@pytest.mark.parametrize("blocks", TWICE)
def test_a_path_that_is_two_things_is_refused(blocks: list[bytes], tmp_path: Path) -> None:
    assert "in it is two different things" in refusal(tmp_path, archive_of(*blocks))


def test_several_trees_are_named(tmp_path: Path) -> None:
    trees = {f"{name}/{ONLINE}": b"0\n" for name in ("old", "new/er")}
    reason = refusal(tmp_path, archive_of(tree=trees))
    assert reason == ("holds 2 trees (old, new/er): unpack it and give the folder of one of them")
    many = {f"n{i}/{ONLINE}": b"0\n" for i in range(8)} | {ONLINE: b"0\n"}
    assert "holds 9 trees (n0, n1, n2, n3, n4 and 4 more):" in refusal(
        tmp_path, archive_of(tree=many)
    )


def test_an_archive_without_a_tree_says_so(tmp_path: Path) -> None:
    assert refusal(tmp_path, archive_of(tree={"README": b"hello"})) == (
        "holds no recorded /sys tree"
    )
    (tmp_path / "a").write_bytes(archive_of(tree={f"{CPU}/uevent": b"", f"{CPU}/cpu0/x": b""}))
    machine, _ = read_watched(tmp_path / "a")
    assert isinstance(machine, Machine)
    (tmp_path / "a").write_bytes(archive_of(tree={f"m/{ONLINE}": b"none"}))
    error, _ = read_watched(tmp_path / "a")
    assert str(error).startswith("it shows no CPU and no NUMA node in sys or proc; ")


# Bounds


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_a_bomb_is_read_to_the_bound_and_no_further(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 256 if kind == "gz" else 8
    monkeypatch.setattr(archive_stream, "UNPACKED_LIMIT", limit << 20)
    zeros = PACKERS[kind](bytes(1 << 20)) * 400
    skipped = PACKERS[kind](header(b"big", (1 << 33) - 1))
    reason = f"unpacks to more than {limit} MB, as no recorded tree does"
    assert refusal(tmp_path, skipped + zeros) == reason
    assert refusal(tmp_path, PACKERS[kind](archive_of()) + zeros) == reason


def test_a_file_of_any_size_is_read_to_the_bound(tmp_path: Path) -> None:
    with open(tmp_path / "a", "wb") as file:
        file.write(archive_of())
        file.truncate(1 << 40)
    with pytest.raises(MachineError, match=r"^it is larger than 256 MB, as no recorded tree is; "):
        read_archive(str(tmp_path / "a"), "it")


def test_memory_work_and_counts_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = bytearray(lzma.compress(archive_of()))
    huge[16] = 40  # The dictionary: 4 GB, of which xz would take as much memory.
    huge[20:24] = zlib.crc32(huge[12:20]).to_bytes(4, "little")
    assert "Memory usage limit exceeded" in refusal(tmp_path, bytes(huge))
    streams = gzip.compress(archive_of()) + gzip.compress(b"") * 10_000
    assert refusal(tmp_path, streams) == "has more than 10000 compressed streams"
    assert archive_members.MEMBER_LIMIT == 200_000
    monkeypatch.setattr(archive_members, "MEMBER_LIMIT", 1000)
    many = b"".join(member(b"m/%d" % i) for i in range(999))
    reason = refusal(tmp_path, archive_of(many))
    assert reason == "holds more than 1000 files, as no recorded tree does"
    assert read_bytes(tmp_path, archive_of(many[:-512]))
    monkeypatch.setattr(archive_tree, "ENTRY_LIMIT", 10)
    assert refusal(tmp_path, archive_of(member(NEEDED))) == (
        "holds more topology than any machine has"
    )
    monkeypatch.setattr(archive_stream, "WORK_LIMIT", -1)
    assert refusal(tmp_path, archive_of()) == "takes more than -1 seconds to unpack"


def test_deep_and_long_paths_are_no_harm(tmp_path: Path) -> None:
    deep = b"d/" * 480
    data = archive_of(member(b"n", deep + b"cpu.max", b"L"), member(b"q"))
    assert read_bytes(tmp_path, data) == read_bytes(tmp_path, archive_of())
    wide = b"m/" + b"w" * 300 + b"/cpu.max"
    (tmp_path / "a").write_bytes(archive_of(member(b"n", wide, b"L"), member(b"q")))
    error, _ = read_watched(tmp_path / "a")
    assert str(error).startswith("it could not be unpacked into a private folder (File name too")


# Damage


@pytest.mark.parametrize("kind", PACKERS)
def test_an_archive_that_is_cut_is_refused(kind: str, tmp_path: Path) -> None:
    whole = archive_of()
    data = PACKERS[kind](whole)
    end = len(whole) - 1024 + 512 if kind == "tar" else len(data)
    for size in {*range(10, end, max(1, end // 50)), *range(0, end, 512), end - 1} - {0}:
        assert refusal(tmp_path, data[:size])
    assert read_bytes(tmp_path, data[:end])


def test_what_follows_an_archive_is_not_passed_over(tmp_path: Path) -> None:
    again = archive_of(tree={f"other/{ONLINE}": b"0\n"})
    for data in (archive_of() + again, gzip.compress(archive_of()) + gzip.compress(again)):
        assert refusal(tmp_path, data) == "goes on after the end of its archive"
    assert "is damaged: its gzip data" in refusal(tmp_path, pack_small("gz") + b"garbage")
    assert read_bytes(tmp_path, pack_small("gz") + bytes(1024))


@given(st.sampled_from(["gz", "bz2", "xz"]), st.integers(0), st.integers(1, 255))
@settings(max_examples=80, deadline=None)
def test_a_damaged_byte_gives_the_same_machine_or_none(kind: str, place: int, change: int) -> None:
    data = bytearray(pack_small(kind))
    data[place % len(data)] ^= change
    assert read_loosely(bytes(data)) in (None, read_loosely(archive_of()))


@given(st.lists(st.tuples(st.integers(0), st.binary(max_size=40)), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_any_damage_is_a_machine_or_one_line(changes: list[tuple[int, bytes]]) -> None:
    data = bytearray(archive_of(pax(b"path=m/x", b"size=3"), member(b"q", b"abc")))
    for place, change in changes:
        place %= len(data)
        data[place : place + len(change)] = change
        block = place // 512 * 512
        data[block + 148 : block + 156] = b" " * 8
        data[block + 148 : block + 156] = b"%06o\0 " % sum(data[block : block + 512])
    read_loosely(bytes(data))


def read_loosely(data: bytes) -> Machine | None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a")
        file.write_bytes(data)
        result, _ = read_watched(file)
    return result if isinstance(result, Machine) else None


# Compression that a Python may lack


def test_zstd_is_read_where_this_python_can(tmp_path: Path) -> None:
    codec = archive_stream.codec("zstd")
    if codec is None:
        frame = b"\x28\xb5\x2f\xfd" + bytes(600)
        assert refusal(tmp_path, frame) == (
            "is compressed with zstd, which this Python cannot read; unpack it with zstd"
        )
    else:
        # One frame with raw blocks, as RFC 8878 describes: size unknown, window of 1 KB.
        data = archive_of()
        blocks = [data[i : i + 1024] for i in range(0, len(data), 1024)]
        frame = b"\x28\xb5\x2f\xfd\x00\x00"
        for i, block in enumerate(blocks):
            frame += (len(block) << 3 | (i == len(blocks) - 1)).to_bytes(3, "little") + block
        assert read_bytes(tmp_path, frame).online_cpus == CpuSet([0, 1])
    (tmp_path / "a").write_bytes(frame)
    assert is_archive(str(tmp_path / "a"))
