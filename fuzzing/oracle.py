"""What must hold for every input, however hostile: the one judge of the fuzzer and of its tests."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from numatune.errors import NumatuneError
from numatune.machine import Machine

#: Processor time of one input, from its bytes to the text that is shown.
SECONDS = 2.0
#: How far the peak of the memory of this process may rise over one input.
GROWTH = 512 << 20


class Broken(AssertionError):
    """An input for which the promise is not kept; the text says which part of it."""


def check(read: Callable[[bytes], Machine | None], data: bytes) -> None:
    """Read one input and show what was read.

    `read` returns None where its input describes no machine, such as a policy. Raises Broken, or
    lets through what `read` or a view raised and should not have.
    """
    memory, start = peak(), time.process_time()
    try:
        machine = read(data)
    except NumatuneError as error:
        printable("the error", str(error))
    else:
        if machine is not None:
            show(machine)
    seconds, growth = time.process_time() - start, peak() - memory
    if seconds > SECONDS:
        raise Broken(f"took {seconds:.1f} s")
    if growth > GROWTH:
        raise Broken(f"took {growth >> 20} MB")


def show(machine: Machine) -> None:
    """Judge a machine and render it in each form. Raises Broken."""
    from numatune.render import json, plain
    from numatune.render.snapshot import snapshot_document
    from numatune.rules.judge import judge
    from numatune.rules.rule import Case
    from numatune.views.inspect import inspect_view

    findings = judge(Case(machine)).findings
    printable("the view", plain.render(inspect_view(machine, findings, verbosity=1)))
    for document in (json.inspect_document(machine, findings), snapshot_document(machine)):
        printable("the JSON", json.render(document))


def printable(what: str, text: str) -> None:
    """Raise Broken where a text holds anything but printable characters and ends of lines."""
    for c in text:
        if not (c.isprintable() or c == "\n"):
            raise Broken(f"{what} has a control character ({c!a})")


def peak() -> int:
    """Return the most memory that this process has had, in bytes; 0 where that is not known."""
    if sys.platform == "win32":
        return 0
    import resource

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size << 10
