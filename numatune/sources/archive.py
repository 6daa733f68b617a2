"""A recorded /sys and /proc tree in a tar archive, as hwloc-gather-topology and others make them.

An archive comes from elsewhere. What the readers of a tree could look at is gathered in memory, all
else is passed over; only when the archive was in order to its end is that part written to a private
folder, read from there, and removed. An archive is refused whole where a path or a link leads out
of it, and where it holds a device, a FIFO, a sparse file, a name that cannot be shown, or more than
one tree. Links that no reader follows are left out.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from io import FileIO
from typing import TYPE_CHECKING

from numatune.errors import MachineError
from numatune.machine import Machine
from numatune.sources.archive_members import BLOCK, is_header
from numatune.sources.archive_stream import Unpacked, compression
from numatune.sources.tree import FLAGS, NO_LINK, SUPPLY

if TYPE_CHECKING:
    from numatune.sources.archive_tree import Entry

#: A folder in memory, which Linux has. On a disk a small file costs up to half a millisecond, and
#: a machine of 4096 CPUs has 50,000 of them.
MEMORY_FOLDER = "/dev/shm"
#: What a file of one byte takes there.
PAGE = 4096


def is_archive(path: str) -> bool:
    """Tell by its first bytes whether a file is a tar archive or compressed; never raises.

    A text that is compressed counts, so that it is said what is wrong with it.
    """
    try:
        with opened(path) as file:
            head = file.read(BLOCK)
    except (OSError, ValueError):
        return False
    return compression(head) is not None or is_header(head)


def read_archive(path: str, label: str) -> Machine:
    """Read the machine whose tree an archive holds, at whatever depth.

    `label` is how the source is named to the user. Raises MachineError where the archive is
    damaged, is not safe to take, or holds no tree or several.
    """
    from numatune.sources.archive_tree import gather
    from numatune.sources.sysfs import read_tree

    try:
        with opened(path) as file:
            tree = gather(Unpacked(file, label))
    except (OSError, ValueError) as error:
        raise failure(label, "could not be read", error) from None
    try:
        with private_folder(tree) as folder:
            write_tree(tree, folder)
            try:
                return read_tree(folder, label)
            except MachineError as error:
                # The user knows the archive, not the folder.
                raise MachineError(str(error).replace(folder, label)) from None
    except (OSError, UnicodeError) as error:
        raise failure(label, "could not be unpacked into a private folder", error) from None


def opened(path: str) -> FileIO:
    """Open a regular file without waiting for anybody. Raises OSError, ValueError."""
    file = FileIO(path, opener=lambda name, flags: os.open(name, flags | FLAGS))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("it is not a regular file")
    return file


def failure(label: str, what: str, error: Exception) -> MachineError:
    """Return the error that names what the system said."""
    return MachineError(f"{label} {what} ({getattr(error, 'strerror', None) or error}); {SUPPLY}")


@contextlib.contextmanager
def private_folder(tree: dict[str, Entry]) -> Iterator[str]:
    """Make a folder that only this user can look into, and remove it with all that is in it."""
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="numatune-", dir=memory_folder(tree))
    try:
        yield os.path.realpath(folder)
    finally:
        try:
            shutil.rmtree(folder)
        except BaseException:
            # Interrupted a second time: it must go all the same.
            shutil.rmtree(folder, ignore_errors=True)
            raise


def memory_folder(tree: dict[str, Entry]) -> str | None:
    """Return the folder in memory if it has room; None is the usual one, or the user's choice."""
    if any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")):
        return None
    needed = sum(PAGE + len(entry) for entry in tree.values() if isinstance(entry, bytes))
    try:
        free = os.statvfs(MEMORY_FOLDER)
    except (OSError, AttributeError):
        return None
    has_room = free.f_bavail * free.f_frsize > 2 * needed and free.f_favail > 2 * len(tree)
    return MEMORY_FOLDER if has_room and os.access(MEMORY_FOLDER, os.W_OK | os.X_OK) else None


def write_tree(tree: dict[str, Entry], folder: str) -> None:
    """Write a gathered tree into an empty folder. Raises OSError, UnicodeError."""

    def create(name: str, flags: int) -> int:
        return os.open(name, flags | NO_LINK, 0o600)

    for path, entry in tree.items():
        if entry is None:
            os.mkdir(f"{folder}/{path}", 0o700)
        elif isinstance(entry, bytes):
            with open(f"{folder}/{path}", "xb", opener=create) as file:
                file.write(entry)
    # As long as there is no link, none can lead a file to elsewhere.
    for path, entry in tree.items():
        if entry is not None and not isinstance(entry, bytes):
            os.symlink(entry.target, f"{folder}/{path}")
