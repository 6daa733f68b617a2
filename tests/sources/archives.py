"""Write archives of trees, good ones and bad ones, and watch how they are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from numatune.errors import MachineError
from numatune.machine import Machine
from numatune.sources.archive import read_archive
from numatune.sources.tree import SUPPLY
from tests.sources.trees import CPU, NODE

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "tar": bytes,
    "gz": lambda data: gzip.compress(data, 1),
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
}
ONLINE = f"{CPU}/online"
#: What an archive of a tree begins with here.
TREE = {f"m/{ONLINE}": b"0-1\n", f"m/{NODE}/node0/cpulist": b"0-1\n"}

WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT
writes: list[str] | None = None


def note_write(event: str, details: tuple[object, ...]) -> None:
    """Note what is written or made anywhere, while somebody watches."""
    if writes is None:
        return
    if (event == "open" and isinstance(details[2], int) and details[2] & WRITE_FLAGS) or event in (
        "os.mkdir",
        "os.chmod",
        "os.rename",
    ):
        writes.append(str(details[0]))
    elif event in ("os.symlink", "os.link"):
        writes.append(str(details[1]))


sys.addaudithook(note_write)


def contents(folder: Path) -> dict[str, str]:
    return {
        str(p): p.read_bytes().hex() if p.is_file() else str(p.lstat().st_mode)
        for p in folder.rglob("*")
    }


def read_watched(file: Path) -> tuple[Machine | MachineError, list[str]]:
    """Read an archive, and return what was written meanwhile.

    That must have been in the folder for temporary ones, and nothing of it may be left.
    """
    global writes
    folder = file.parent / "temporary"
    folder.mkdir(exist_ok=True)
    (file.parent / "secret").write_text("0-63\n")
    before = contents(file.parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        writes = []
        try:
            result: Machine | MachineError = read_archive(str(file), "it")
        except MachineError as error:
            result = error
        finally:
            written, writes = writes, None
    assert contents(file.parent) == before
    assert [path for path in written if not path.startswith(f"{folder}/")] == []
    return result, written


def header(name: bytes, size: int = 0, kind: bytes = b"0", target: bytes = b"") -> bytes:
    """Return a header as no program that means well would write it."""
    block = bytearray(512)
    block[:100] = name[:100].ljust(100, b"\0")
    block[100:108], block[124:136] = b"0000644\0", b"%011o\0" % size
    block[156:157], block[157:257] = kind, target.ljust(100, b"\0")
    block[257:265], block[148:156] = b"ustar\x0000", b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def filled(data: bytes) -> bytes:
    return data.ljust(-(-len(data) // 512) * 512, b"\0")


def member(name: bytes, data: bytes = b"", kind: bytes = b"0", target: bytes = b"") -> bytes:
    return header(name, len(data), kind, target) + filled(data)


def pax(*records: bytes) -> bytes:
    text = b""
    for record in records:
        length = len(record) + 2
        while length != len(b"%d %s\n" % (length, record)):
            length += 1
        text += b"%d %s\n" % (length, record)
    return member(b"pax", text, b"x")


def archive_of(*blocks: bytes, tree: dict[str, bytes] | None = None) -> bytes:
    """Return an archive of a small tree, and whatever else."""
    files = TREE if tree is None else tree
    whole = b"".join(member(path.encode(), data) for path, data in files.items())
    return whole + b"".join(blocks) + bytes(1024)


def read_bytes(folder: Path, data: bytes) -> Machine:
    (folder / "a").write_bytes(data)
    machine, written = read_watched(folder / "a")
    assert isinstance(machine, Machine), machine
    assert written
    return machine


def refusal(folder: Path, data: bytes) -> str:
    """Return the line with which an archive is refused, without the advice at its end."""
    (folder / "a").write_bytes(data)
    error, written = read_watched(folder / "a")
    assert isinstance(error, MachineError)
    assert written == []
    text = str(error)
    assert text.isprintable()
    assert text.startswith("it ")
    assert text.endswith(f"; {SUPPLY}")
    return text.removeprefix("it ").removesuffix(f"; {SUPPLY}")


def pack(folder: Path, file: Path, kind: str = "tar", form: int = tarfile.GNU_FORMAT,
         prefix: str = "", with_folders: bool = True) -> str:  # fmt: skip
    """Pack a folder as the tar of Python does, and return the path of the archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        if with_folders:
            tar.add(folder, arcname=prefix or ".")
        else:
            for path in sorted(p for p in folder.rglob("*") if not p.is_dir() or p.is_symlink()):
                tar.add(path, arcname=f"{prefix or '.'}/{path.relative_to(folder)}")
    file.write_bytes(PACKERS[kind](buffer.getvalue()))
    return str(file)


def pack_small(kind: str) -> bytes:
    return PACKERS[kind](archive_of())
