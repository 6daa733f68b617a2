"""The members of a tar archive, in order, as a stream.

Python's tarfile module is not used: the fixes of what a hostile header does to it (endless loops,
hours of work) are not in every Python that we run on, it takes a header of any size into memory,
and it needs several times as long.
Format: https://www.gnu.org/software/tar/manual/html_node/Standard.html and, for pax headers,
https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from numatune.sources.archive_stream import Unpacked
from numatune.sources.tree import printable

#: hwloc-gather-topology records up to 60 members for each CPU.
MEMBER_LIMIT = 200_000
#: A header that extends the next one: its bytes, and the records in it.
HEADER_LIMIT = 64 << 10
RECORD_LIMIT = 64
#: The longest name; Linux has none above 4096 bytes, and sysfs none near that.
NAME_LIMIT = 1024
BLOCK = 512
ZEROS = bytes(BLOCK)

FILE, FOLDER, LINK, HARD_LINK = "file", "folder", "link", "hard link"
#: By the type flag: "D" is a folder with a list of names, in archives of `tar --incremental`.
KINDS = {b"0": FILE, b"\0": FILE, b"7": FILE, b"5": FOLDER, b"D": FOLDER, b"2": LINK}
KINDS[b"1"] = HARD_LINK
WITH_DATA = (b"0", b"\0", b"7", b"D")
EXTENSIONS = (b"x", b"X", b"g", b"L", b"K")
LABEL = b"V"
REFUSED = {b"3": "a device", b"4": "a device", b"6": "a FIFO", b"S": "a sparse file"}


class Member(NamedTuple):
    """One file, folder or link.

    `path` is relative, without "." and "..". `target` is what a link leads to, as recorded: seen
    from the link's folder; for a hard link the path of another member. `size` is the bytes of a
    file.
    """

    kind: str
    path: str
    target: str = ""
    size: int = 0


def is_header(block: bytes) -> bool:
    """Tell whether a block is a tar header: 512 bytes whose check sum is the one that it states."""
    field = block[148:156]
    if len(block) != BLOCK or not field.strip(b" \0"):
        return False
    try:
        stated = number(field)
    except ValueError:
        return False
    # The field itself counts as blanks.
    found = sum(block) - sum(field) + 8 * 32
    if stated == found:
        return True
    # Some old programs added up signed bytes.
    return stated == found - 256 * sum(byte > 127 for byte in block)


def number(field: bytes) -> int:
    """Return a number field of a header: octal, or GNU's binary one. Raises ValueError."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0") or b"0"
    if not digits.isdigit():
        raise ValueError("no octal digits")
    return int(digits, 8)


def members(data: Unpacked) -> Iterator[Member]:
    """Yield the members of an archive; before the next is asked for, one's data may be taken.

    Raises MachineError where the archive is damaged, too large, or holds what no tree has.
    """
    common: dict[str, bytes] = {}
    own: dict[str, bytes] = {}
    count = 0
    while (header := data.take(BLOCK)) != ZEROS:
        if not is_header(header):
            whole = "is damaged: a header in it is wrong"
            raise data.refusal(whole if data.position > BLOCK else "holds no tar archive")
        flag = header[156:157]
        if flag in EXTENSIONS:
            extend(data, header, common if flag == b"g" else own)
            continue
        count += 1
        if count > MEMBER_LIMIT:
            raise data.refusal(f"holds more than {MEMBER_LIMIT} files, as no recorded tree does")
        fields = {**common, **own} if common else own
        own = {}
        member = read_member(data, header, fields)
        end = data.position + padded(member.size)
        if flag != LABEL and member.path:
            yield member
        data.skip_to(end)
    data.finish()


def read_member(data: Unpacked, header: bytes, fields: dict[str, bytes]) -> Member:
    """Read a header; `fields` are those that headers before it state in place of its own."""
    flag = header[156:157]
    name = fields.get("path") or header_name(header)
    raw_target = fields.get("linkpath") or header[157:257].partition(b"\0")[0]
    path = clean_path(data, name)
    if flag not in KINDS and flag != LABEL:
        what = REFUSED.get(flag, "of an unknown kind")
        raise data.refusal(f"is not taken: {printable(path)} in it is {what}")
    kind = KINDS.get(flag, FOLDER)
    if kind == FILE and name.endswith(b"/"):
        kind = FOLDER  # As the tar of Unix V7 marks them.
    size = size_of(data, header, fields) if flag in WITH_DATA else 0
    if kind not in (LINK, HARD_LINK):
        return Member(kind, path, "", size)
    target = decoded(data, raw_target)
    return Member(kind, path, clean_path(data, raw_target) if kind == HARD_LINK else target, size)


def header_name(header: bytes) -> bytes:
    """Return the name in a header, of which POSIX puts the front into a field of its own."""
    name = header[:100].partition(b"\0")[0]
    front = header[345:500].partition(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return front + b"/" + name if front else name


def size_of(data: Unpacked, header: bytes, fields: dict[str, bytes]) -> int:
    """Return the bytes that follow a header."""
    try:
        stated = fields.get("size")
        if stated is None:
            return number(header[124:136])
        if stated.isdigit() and len(stated) < 20:
            return int(stated)
    except ValueError:
        pass
    raise data.refusal("is damaged: a size in it is no number")


def padded(size: int) -> int:
    """Return a size rounded up to whole blocks."""
    return -(-size // BLOCK) * BLOCK


def extend(data: Unpacked, header: bytes, fields: dict[str, bytes]) -> None:
    """Take a header that holds fields of the next one, or of all that follow."""
    size = size_of(data, header, {})
    if size > HEADER_LIMIT:
        raise data.refusal(f"holds a header of {size} bytes, as no recorded tree does")
    text = data.take(padded(size))[:size]
    flag = header[156:157]
    if flag in (b"L", b"K"):
        fields["path" if flag == b"L" else "linkpath"] = text.rstrip(b"\0")
        return
    place = 0
    for _ in range(RECORD_LIMIT):
        # A record is "LENGTH KEY=VALUE\n", and its length counts all of that.
        length, blank, _ = text[place : place + 8].partition(b" ")
        end = place + int(length) if blank and length.isdigit() else 0
        key, equals, value = text[place + len(length) + 1 : end].partition(b"=")
        if end > size or not equals or not value.endswith(b"\n"):
            raise data.refusal("is damaged: a pax header in it is wrong")
        if key in (b"path", b"linkpath", b"size"):
            fields[key.decode()] = value[:-1]
        elif key.startswith(b"GNU.sparse."):
            raise data.refusal("is not taken: it holds a sparse file")
        place = end
        if place == size:
            return
    raise data.refusal(f"holds a header of more than {RECORD_LIMIT} records")


def clean_path(data: Unpacked, name: bytes) -> str:
    """Return the path of a member without empty parts and "."; refuse one that leads elsewhere."""
    path = decoded(data, name)
    if path.startswith("/"):
        raise data.refusal(f"is not taken: the path {printable(path)} in it is absolute")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise data.refusal(f'is not taken: the path {printable(path)} in it has ".."')
    return "/".join(parts)


def decoded(data: Unpacked, name: bytes) -> str:
    """Return a name as text; refuse one that is none, or that could not be shown as it is."""
    if len(name) > NAME_LIMIT:
        raise data.refusal(f"is not taken: a name in it has more than {NAME_LIMIT} bytes")
    try:
        text = name.decode()
    except UnicodeDecodeError:
        shown = printable(name.decode("utf-8", "backslashreplace"))
        raise data.refusal(f"is not taken: the name {shown} in it is not UTF-8") from None
    if not text.isprintable():
        raise data.refusal(
            f"is not taken: the name {printable(text)} in it has characters that cannot be shown"
        )
    return text
