"""Text from a file or from standard input, of bounded size and in whatever encoding it came."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

from numatune.errors import MachineError

#: More than any listing of a machine, less than what would hurt: a 4096-CPU `lscpu -e` has 0.3 MB.
SIZE_LIMIT = 32 << 20

#: Byte order marks; PowerShell writes UTF-16 when output is redirected.
MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)

SUPPLY = "save the output of `numactl --hardware` and give that file"


def read_text(path: str) -> str:
    """Return the text of a file, or of standard input where `path` is "-". Raises MachineError."""
    name = "standard input" if path == "-" else shown(path)
    if path == "-":
        if sys.stdin is None:
            raise MachineError(f"{name} is closed; {SUPPLY}")
        if sys.stdin.isatty():
            print("numatune: paste the text, then press Ctrl-D", file=sys.stderr)
        return decoded(read_bounded(sys.stdin.buffer, name), name)
    try:
        # A named pipe without a writer must not hang us, and a device has no end.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            if not is_readable_kind(file):
                raise MachineError(f"{name} is neither a file nor a pipe; {SUPPLY}")
            return decoded(read_bounded(file, name), name)
    except FileNotFoundError:
        raise MachineError(f"{name} does not exist; {SUPPLY}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise MachineError(f"{name} could not be read ({reason}); {SUPPLY}") from None


def is_binary(path: str) -> bool:
    """Tell whether a regular file starts with bytes that no text has; never raises."""
    import stat

    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return False
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return False  # what is read of a pipe is gone
        head = os.read(handle, 512)
    except OSError:
        return False
    finally:
        os.close(handle)
    return any(byte < 9 for byte in head)


def is_readable_kind(file: BinaryIO) -> bool:
    """Tell whether a file has an end to read to: a regular file, a pipe or a socket."""
    import stat

    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        os.set_blocking(file.fileno(), True)
        return True
    return stat.S_ISREG(mode)


def read_bounded(file: BinaryIO, name: str) -> bytes:
    """Return all bytes of a file that is not too large. Raises MachineError."""
    data = file.read(SIZE_LIMIT + 1)
    if len(data) > SIZE_LIMIT:
        raise MachineError(
            f"{name} is larger than {SIZE_LIMIT >> 20} MB, as no listing of a machine is; {SUPPLY}"
        )
    return data


def decoded(data: bytes, name: str) -> str:
    """Return bytes as text: by byte order mark, else UTF-8, else Latin-1. Raises MachineError."""
    if not data.strip():
        raise MachineError(f"{name} is empty; {SUPPLY}")
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if b"\0" in data[:4096]:
        raise MachineError(f"{name} is not text; {SUPPLY}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def shown(path: str) -> str:
    """Return a path as it may be printed: no control characters, no lone surrogates."""
    clean = "".join(c if c.isprintable() else "?" for c in path)
    return clean if len(clean) <= 200 else f"...{clean[-197:]}"
