"""Tar archives for the fuzzer: small ones from recorded trees, and check sums put right."""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path

BLOCK = 512
#: A whole tree is too large to be changed usefully; two nodes and four CPUs have every file.
LEFT_OUT = re.compile(
    r"cpu(?:[4-9]|\d\d+)(?:/|$)|node(?:[2-9]|\d\d+)(?:/|$)|index\d|cpuidle|/hwmon"
)
MEMBER_LIMIT = 60


def small(path: Path) -> bytes:
    """Return a tar archive of the first nodes and CPUs of a recorded tree, a folder or an archive.

    Returns nothing where the file is no archive.
    """
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as small:
        if path.is_dir():
            for file in sorted(path.rglob("*"))[:4096]:
                name = str(file.relative_to(path))
                if file.is_file() and not LEFT_OUT.search(name):
                    small.add(file, name)
            return made.getvalue()
        try:
            with tarfile.open(path) as whole:
                copy_members(whole, small)
        except (tarfile.TarError, OSError, EOFError):
            return b""
    return made.getvalue()


def copy_members(whole: tarfile.TarFile, small: tarfile.TarFile) -> None:
    """Copy what the readers could look at, up to a number of members."""
    from numatune.sources.archive_tree import FILES

    for member in whole:
        if LEFT_OUT.search(member.name) or not FILES.search(member.name):
            continue
        small.addfile(member, whole.extractfile(member) if member.isfile() else None)
        if len(small.getmembers()) >= MEMBER_LIMIT:
            return


def put_right(data: bytes) -> bytes:
    """Return an archive whose headers have the check sums that belong to them.

    Without it hardly any change of a header would come further than to its check sum.
    """
    blocks = bytearray(data + bytes(-len(data) % BLOCK))
    place = 0
    while place < len(blocks) and any(blocks[place : place + BLOCK]):
        header = blocks[place : place + BLOCK]
        header[148:156] = b" " * 8
        blocks[place + 148 : place + 156] = b"%06o\0 " % sum(header)
        try:
            size = int(bytes(header[124:136]).strip(b" \0") or b"0", 8)
        except ValueError:
            size = 0
        if header[156:157] not in b"0\0007xgLKD":
            size = 0
        place += BLOCK + -(-max(size, 0) // BLOCK) * BLOCK
    return bytes(blocks)
