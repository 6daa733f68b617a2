"""The unpacked bytes of an archive, read once from front to back, within bounds.

A few bytes of a compressed stream may stand for gigabytes, ask for gigabytes of memory to unpack
them, or take minutes of work for each megabyte. What is unpacked, the memory for it and the time
are all bounded, whether the bytes are then used or skipped.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterator
from io import FileIO
from typing import Any, NamedTuple

from numatune.errors import MachineError
from numatune.sources.tree import SUPPLY

#: All unpacked bytes, and the file itself: the largest recorded machine known, 256 CPUs, has 17 MB.
UNPACKED_LIMIT = 256 << 20
#: Memory of xz; `xz -9` needs 65 MiB to unpack.
MEMORY_LIMIT = 128 << 20
#: Compressed streams in one file; pbzip2 and bgzip begin a new one every 64 KB or more.
STREAM_LIMIT = 10_000
#: Seconds of this thread's own work; the largest recorded machine needs less than one.
WORK_LIMIT = 5.0
CHUNK = 64 << 10

BZIP2_BLOCKS = (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")


class Codec(NamedTuple):
    """How one kind of compression is unpacked, and what damaged data raises."""

    start: Callable[[], Any]
    error: type[Exception]


def compression(head: bytes) -> str | None:
    """Return the kind of compression with which a file begins, None where it is none of those."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if head.startswith(b"BZh") and head[3:4] in b"123456789" and head[4:10] in BZIP2_BLOCKS:
        return "bzip2"
    if head.startswith(b"\xfd7zXZ\0"):
        return "xz"
    return "zstd" if head.startswith(b"\x28\xb5\x2f\xfd") else None


def codec(kind: str) -> Codec | None:
    """Return the codec of a kind, None where this Python has none (zstd came with 3.14)."""
    try:
        if kind == "gzip":
            import zlib

            return Codec(lambda: zlib.decompressobj(31), zlib.error)
        if kind == "bzip2":
            import bz2

            return Codec(bz2.BZ2Decompressor, OSError)
        if kind == "xz":
            import lzma

            return Codec(
                lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY_LIMIT), lzma.LZMAError
            )
        return zstd_codec()
    except ImportError:
        return None


def zstd_codec() -> Codec:
    """Return that of the standard library, or of its backport. Raises ImportError."""
    try:
        module = importlib.import_module("compression.zstd")
    except ImportError:
        module = importlib.import_module("backports.zstd")
    return Codec(module.ZstdDecompressor, module.ZstdError)


class Unpacked:
    """The unpacked bytes of an open archive. Whatever goes wrong raises MachineError."""

    def __init__(self, file: FileIO, label: str) -> None:
        """`label` is how the archive is named to the user."""
        self.label = label
        self.position = 0
        self._chunk, self._place = b"", 0
        self._file, self._chunks = file, self._unpack()
        self._end = time.thread_time() + WORK_LIMIT
        self._made = 0
        if os.fstat(file.fileno()).st_size > UNPACKED_LIMIT:
            raise self.refusal(f"is larger than {UNPACKED_LIMIT >> 20} MB, as no recorded tree is")

    def refusal(self, reason: str) -> MachineError:
        """Return the error that says why this archive is not read."""
        return MachineError(f"{self.label} {reason}; {SUPPLY}")

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        parts = []
        wanted = size
        while wanted > len(self._chunk) - self._place:
            part = self._chunk[self._place :]
            parts.append(part)
            wanted -= len(part)
            self._next()
        parts.append(self._chunk[self._place : self._place + wanted])
        self._place += wanted
        self.position += size
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def skip_to(self, position: int) -> None:
        """Go forward to a position, counted from the start of the unpacked bytes."""
        wanted = position - self.position
        while wanted > len(self._chunk) - self._place:
            wanted -= len(self._chunk) - self._place
            self._next()
        self._place += wanted
        self.position = position

    def finish(self) -> None:
        """Read what is left, so that its check sums are looked at; it must be padding."""
        rest: bytes | None = self._chunk[self._place :]
        while rest is not None:
            if rest.count(0) < len(rest):
                raise self.refusal("goes on after the end of its archive")
            rest = next(self._chunks, None)

    def _next(self) -> None:
        chunk = next(self._chunks, None)
        if chunk is None:
            raise self.refusal("ends too early: it is cut, or no tar archive")
        self._chunk, self._place = chunk, 0

    def _unpack(self) -> Iterator[bytes]:
        """Yield the unpacked bytes in pieces; count them, and the work between two of them."""
        for chunk in self._pieces():
            if time.thread_time() > self._end:
                raise self.refusal(f"takes more than {WORK_LIMIT:g} seconds to unpack")
            self._made += len(chunk)
            if self._made > UNPACKED_LIMIT:
                raise self.refusal(
                    f"unpacks to more than {UNPACKED_LIMIT >> 20} MB, as no recorded tree does"
                )
            yield chunk

    def _pieces(self) -> Iterator[bytes]:
        head = self._read()
        kind = compression(head)
        if kind is None:
            while head:
                yield head
                head = self._read()
            return
        chosen = codec(kind)
        if chosen is None:
            raise self.refusal(
                f"is compressed with {kind}, which this Python cannot read; unpack it with {kind}"
            )
        try:
            yield from self._decompressed(chosen, head)
        except EOFError:
            raise self.refusal(f"ends too early: its {kind} data is cut") from None
        except chosen.error as error:
            raise self.refusal(
                f"is damaged: its {kind} data cannot be unpacked ({error})"
            ) from None

    def _decompressed(self, chosen: Codec, data: bytes) -> Iterator[bytes]:
        """Yield the bytes of all streams in a file. Raises EOFError, and what the codec raises."""
        for _ in range(STREAM_LIMIT):
            stream = chosen.start()
            while not stream.eof:
                # What was given and not used up yet zlib hands back, the others keep.
                is_hungry = getattr(stream, "needs_input", True)
                given = data or (self._read() if is_hungry else b"")
                chunk = stream.decompress(given, CHUNK)
                if is_hungry and not given and not chunk and not stream.eof:
                    raise EOFError
                data = getattr(stream, "unconsumed_tail", b"")
                yield chunk
            data = stream.unused_data.lstrip(b"\0")
            while not data:
                data = self._read()
                if not data:
                    return
                data = data.lstrip(b"\0")
        raise self.refusal(f"has more than {STREAM_LIMIT} compressed streams")

    def _read(self) -> bytes:
        try:
            return self._file.read(CHUNK)
        except OSError as error:
            raise self.refusal(f"could not be read ({error.strerror or error})") from None
