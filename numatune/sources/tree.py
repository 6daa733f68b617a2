"""Files below a root folder (`/`, or a recorded copy of /sys and /proc), read with bounds.

A recorded tree comes from elsewhere: a link in it may lead out of it, a "file" may be a FIFO or
100 MB long. Nothing outside of the root is opened, nothing is waited for, every file is read up to
a bound, and a tree that holds more than any machine does is refused.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable

from numatune.errors import MachineError
from numatune.machine.cpuset import CpuSet

#: The largest file taken: a mask of 65536 CPUs has 18 KiB, a list of every second of 8192 CPUs 20.
FILE_LIMIT = 64 << 10
#: All files together: 8192 CPUs whose siblings are given as masks need 19 MiB.
TREE_LIMIT = 32 << 20
#: All lists of ids together, which take longer to read than masks do: 8192 CPUs need 1 MiB.
LIST_LIMIT = 4 << 20
#: Entries of one folder; CPU ids end at 65536.
ENTRY_LIMIT = 70_000

# Flags that some systems lack; a tree may be read anywhere.
FLAGS = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC"):
    FLAGS |= getattr(os, _flag, 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
#: What O_NOFOLLOW says of a link: Linux and macOS, FreeBSD, NetBSD.
LINK_ERRORS = {errno.ELOOP, errno.EMLINK, getattr(errno, "EFTYPE", errno.ELOOP)}

MASK_LETTERS = "0123456789abcdefABCDEF,"


class Tree:
    """Read access below one root folder; paths are relative to it ("proc/cpuinfo").

    A file that is missing is None and no more. One that is there and could not be taken is None,
    too, and `refused` says why, by path. `is_live` tells whether the root is this host's own.
    """

    def __init__(self, root: str) -> None:
        """Raises MachineError where the root is no folder."""
        try:
            self.root = os.path.realpath(root)
            if not os.path.isdir(self.root):
                raise MachineError(f"{printable(root)} is not a folder; {SUPPLY}")
        except ValueError:
            raise MachineError(f"{printable(root)!r} is not a path; {SUPPLY}") from None
        self.is_live = self.root == "/"
        self.refused: dict[str, str] = {}
        self._left, self._list_left = TREE_LIMIT, LIST_LIMIT
        self._folders: dict[str, str | None] = {"": "" if self.is_live else self.root}
        if not os.path.lexists(f"{self.root}/sys") and os.path.isdir(f"{self.root}/devices/system"):
            # The folder is itself a copy of /sys.
            self._folders["sys"] = self.root
            self._folders["proc"] = None

    def text(self, path: str, limit: int = FILE_LIMIT) -> str | None:
        """Return the text of a file without NUL bytes and outer white space."""
        data = self._read(path, limit + 1)
        if data is None:
            return None
        if len(data) > limit:
            self.refused[path] = f"is larger than {limit} bytes"
            return None
        return data.replace(b"\0", b"").decode("utf-8", "replace").strip()

    def head(self, path: str, size: int) -> str | None:
        """Return at most the first `size` bytes of a file, cut after its last whole line."""
        data = self._read(path, size + 1)
        if data is None:
            return None
        if len(data) > size:
            data = data[: data.rfind(b"\n", 0, size) + 1]
        return data.replace(b"\0", b"").decode("utf-8", "replace")

    def number(self, path: str) -> int | None:
        """Return the integer that a file holds."""
        text = self.text(path)
        if text is None:
            return None
        if not is_number(text.removeprefix("-")):
            self.refused[path] = f"holds no number but {printable(text, 20)!r}"
            return None
        return int(text)

    def ids(self, path: str) -> CpuSet | None:
        """Return the set that a file holds as a kernel list ("0-23,48-71")."""
        text = self.text(path)
        if text is None:
            return None
        self._list_left -= len(text)
        if self._list_left < 0:
            raise self._too_much(f"{LIST_LIMIT >> 20} MB of lists")
        try:
            return CpuSet.parse(text)
        except ValueError as error:
            self.refused[path] = f"holds no list of ids: {printable(str(error), 80)}"
            return None

    def mask(self, path: str) -> CpuSet | None:
        """Return the set that a file holds as a kernel mask ("ff,ffffffff")."""
        text = self.text(path)
        if text is None:
            return None
        try:
            groups = text.split(",")
            padded = len(groups[0]) <= 8 and all(len(group) == 8 for group in groups[1:])
            if text and padded and not text.strip(MASK_LETTERS):
                # Kernels since 2.6.20 pad all groups but the first: one number, quickly read.
                return CpuSet.of_mask(int(text.replace(",", ""), 16))
            return CpuSet.parse_mask(text)
        except ValueError as error:
            self.refused[path] = f"holds no mask of ids: {printable(str(error), 80)}"
            return None

    def is_folder(self, path: str) -> bool:
        """Tell whether a path is a folder inside the root."""
        return self._folder(path) is not None

    def names(self, path: str) -> list[str]:
        """Return the names of all entries of a folder, in no order; [] where there is none."""
        return [entry.name for entry in self._entries(path)]

    def folders(self, path: str) -> list[str]:
        """Return the names of the real folders in a folder, in no order; links are left out."""
        found = [e for e in self._entries(path) if e.is_dir(follow_symlinks=False)]
        self._folders.update((f"{path}/{e.name}", e.path) for e in found)
        return [e.name for e in found]

    def target(self, path: str) -> str | None:
        """Return the path below the root to which a folder or a link to one leads."""
        folder = self._folder(path)
        return None if folder is None else os.path.realpath(folder)[len(self.root) :]

    def _read(self, path: str, size: int) -> bytes | None:
        """Return up to `size` bytes of a regular file inside the root."""
        folder, _, name = path.rpartition("/")
        base = f"/{folder}" if self.is_live else self._folder(folder)
        if base is None or "\0" in name:
            return None
        try:
            descriptor = self._open(path, f"{base}/{name}")
            if descriptor is None:
                return None
            try:
                # With an offset a FIFO, a socket and a terminal refuse, without another call.
                data = os.pread(descriptor, size, 0)
                # Only proc hands out a file in pieces.
                while path.startswith("proc/") and len(data) < size:
                    part = os.pread(descriptor, size - len(data), len(data))
                    if not part:
                        break
                    data += part
            finally:
                os.close(descriptor)
        except OSError as error:
            self._refuse(path, error)
            return None
        self._left -= len(data)
        if self._left < 0:
            raise self._too_much(f"{TREE_LIMIT >> 20} MB of topology")
        return data

    def _open(self, path: str, full: str) -> int | None:
        """Open a file without waiting for anybody; a link only where it stays inside the root."""
        if self.is_live:
            return os.open(full, FLAGS)
        try:
            return os.open(full, FLAGS | NO_LINK)
        except OSError as error:
            if error.errno not in LINK_ERRORS:
                raise
        full = os.path.realpath(full, strict=True)
        if self._holds(full):
            return os.open(full, FLAGS | NO_LINK)
        self.refused[path] = "leads out of the tree"
        return None

    def _folder(self, path: str) -> str | None:
        """Return the absolute path of a folder inside the root, each component checked once."""
        if path in self._folders:
            return self._folders[path]
        above, _, name = path.rpartition("/")
        base = self._folder(above)
        found = None
        if base is not None and name not in ("", ".", "..") and "\0" not in name:
            found = self._subfolder(path, f"{base}/{name}")
        self._folders[path] = found
        return found

    def _subfolder(self, path: str, full: str) -> str | None:
        try:
            mode = os.stat(full, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                full = os.path.realpath(full, strict=True)
                if not self._holds(full):
                    self.refused[path] = "leads out of the tree"
                    return None
                mode = os.stat(full, follow_symlinks=False).st_mode
        except OSError as error:
            self._refuse(path, error)
            return None
        return full if stat.S_ISDIR(mode) else None

    def _holds(self, full: str) -> bool:
        return self.is_live or full.startswith(self.root + "/")

    def _entries(self, path: str) -> list[os.DirEntry[str]]:
        folder = self._folder(path)
        if folder is None:
            return []
        entries = []
        try:
            with os.scandir(folder or "/") as listing:
                for entry in listing:
                    entries.append(entry)
                    if len(entries) > ENTRY_LIMIT:
                        raise self._too_much(f"{ENTRY_LIMIT} entries in {printable(path)}")
        except OSError as error:
            self._refuse(path, error)
        return entries

    def _too_much(self, what: str) -> MachineError:
        return MachineError(
            f"{printable(self.root)} holds more than {what}, as no machine does; {SUPPLY}"
        )

    def _refuse(self, path: str, error: OSError) -> None:
        if error.errno in (errno.ESPIPE, errno.ENXIO):
            self.refused[path] = "is not a regular file"
        elif error.errno not in (errno.ENOENT, errno.ENOTDIR):
            self.refused[path] = f"could not be read: {error.strerror or error}".lower()


SUPPLY = (
    "give a folder with the machine's sys and proc (hwloc-gather-topology records one), "
    "or the text of `numactl --hardware`"
)


def is_number(text: str) -> bool:
    """Tell whether a text is a number of at most 18 ASCII digits, without a sign."""
    return text.isascii() and text.isdigit() and len(text) <= 18


def numbered(names: Iterable[str], prefix: str, limit: int) -> CpuSet:
    """Return the ids below `limit` of names like "cpu12", written as the kernel writes them."""
    ends = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
    ids = (int(end) for end in ends if is_number(end) and (end[0] != "0" or end == "0"))
    return CpuSet(number for number in ids if number < limit)


def printable(text: str, length: int = 200) -> str:
    """Return a text that is safe to print on one line, cut at `length` characters."""
    clean = "".join(c if c.isprintable() else "?" for c in text[: length + 1])
    return clean if len(clean) <= length else f"{clean[:length]}..."
