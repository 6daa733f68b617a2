"""The entry of the command line: what every error becomes, and which exit status it has.

Nothing but `sys` is imported before it is known which command runs.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from numatune.errors import NumatuneError

CLOSED_PIPE = 141
INTERRUPTED = 130
CLOSED = 5
BUG = 4


def run() -> NoReturn:
    """Run the command line of this process and exit."""
    import gc

    # Most of a short run is imports, whose objects all stay: looking through them finds nothing.
    gc.set_threshold(100_000)
    if sys.stdout is None:
        # Closed before the start (`>&-`): what would be printed has nowhere to go.
        complain("standard output is closed; give it a place, such as /dev/null")
        sys.exit(CLOSED)
    status = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        silence()
    sys.exit(status)


def main(arguments: list[str]) -> int:
    """Run one command line and return its exit status; says what went wrong in one line."""
    try:
        from numatune.commands.app import invoke

        return invoke(arguments)
    except NumatuneError as error:
        complain(str(error))
        return error.exit_status
    except (BrokenPipeError, SystemExit):  # typer turns a closed pipe into an exit, with status 1
        silence()
        return CLOSED_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        complain(report(error))
        return BUG


def complain(message: str) -> None:
    """Print one line to standard error."""
    line = " ".join(message.split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    if sys.stderr is None:
        return
    try:
        print(f"numatune: {line}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence()


def silence() -> None:
    """Point standard output at nothing, so that Python's own flush at exit can't fail."""
    import contextlib
    import os

    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report(error: Exception) -> str:
    """Save the traceback of a bug and return the line that says where."""
    import tempfile
    import traceback

    what = f"{type(error).__name__}: {error}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="numatune-bug-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write("".join(traceback.format_exception(error)))
        return f"this is a bug in numatune ({what[:200]}); please report it with {file.name}"
    except OSError:
        return f"this is a bug in numatune ({what[:200]}); please report it"
