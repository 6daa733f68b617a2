"""How a result leaves: its format, its colour, and the file it goes to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from numatune.errors import OutputError, UsageError

if TYPE_CHECKING:
    from numatune.views.blocks import Block


class Output(NamedTuple):
    """Where a result goes and in which form. `file` is "-" for standard output."""

    format: str
    file: str
    color: str
    verbosity: int

    @classmethod
    def of(
        cls,
        json: bool,
        format: str,
        file: str,
        color: str,
        quiet: bool = False,
        verbose: bool = False,
    ) -> Output:
        """Check the output options. Raises UsageError."""
        if format not in ("text", "json"):
            raise UsageError(f"--format {format!r} is not known; known: text, json")
        if color not in ("auto", "always", "never"):
            raise UsageError(f"--color {color!r} is not known; known: auto, always, never")
        if quiet and verbose:
            raise UsageError("-q and -v contradict each other")
        return cls("json" if json else format, file, color, int(verbose) - int(quiet))

    @property
    def is_terminal(self) -> bool:
        """True where the result goes to a terminal."""
        return self.file == "-" and sys.stdout.isatty()

    @property
    def is_coloured(self) -> bool:
        """What --color says, else NO_COLOR, else FORCE_COLOR, else whether it is a terminal."""
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
        return self.is_terminal and os.environ.get("TERM") != "dumb"

    def print(self, blocks: Iterable[Block]) -> None:
        """Print blocks: drawn on a terminal, else as plain text."""
        if self.is_terminal and is_unicode(sys.stdout.encoding):
            from numatune.render import terminal

            try:
                terminal.render(blocks, sys.stdout, colour=self.is_coloured)
                sys.stdout.flush()
            except BrokenPipeError:
                raise
            except OSError as error:
                raise OutputError(f"standard output: {error.strerror}") from None
            return
        from numatune.render import plain

        encoding = sys.stdout.encoding if self.file == "-" else "utf-8"
        self.write(plain.render(blocks, unicode=is_unicode(encoding), colour=self.is_coloured))

    def write(self, text: str) -> None:
        """Write finished text. Raises OutputError; what was in the file stays whole then."""
        if self.file != "-":
            write_file(self.file, text)
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"standard output: {error.strerror}") from None
        except UnicodeEncodeError:
            sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
            sys.stdout.flush()


def is_unicode(encoding: str | None) -> bool:
    """Tell whether an encoding can carry every character."""
    return (encoding or "").lower().replace("-", "").replace("_", "") in ("utf8", "utf16", "utf32")


def write_file(path: str, text: str) -> None:
    """Write a file whole or not at all. Raises OutputError."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe
            with open(path, "wb") as file:
                file.write(data)
            return
        target = os.path.realpath(path)
        new = f"{target}.numatune-{os.getpid()}"
        try:
            with open(new, "xb") as file:
                file.write(data)
            if os.path.exists(target):
                os.chmod(new, os.stat(target).st_mode & 0o777)
            os.replace(new, target)
        except BaseException:
            if os.path.exists(new):
                os.unlink(new)
            raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise OutputError(f"{path} could not be written: {reason}") from None
