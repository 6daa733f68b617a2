"""`numatune diff`: what changed between two machines, or one machine at two times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from numatune.commands import options as given
from numatune.commands.output import Output
from numatune.errors import MachineError, UsageError

if TYPE_CHECKING:
    from numatune.machine import Machine
    from numatune.machine.difference import Comparison


def diff(
    before: Annotated[
        str,
        typer.Argument(
            metavar="BEFORE", help="A file or folder as for --from, or / for this host."
        ),
    ],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The same.")],
    tolerance: Annotated[
        str,
        typer.Option(metavar="PERCENT", help="Node sizes that differ by at most this are equal."),
    ] = "2%",
    json: given.Json = False,
    format: given.Format = "text",
    output: given.OutputFile = "-",
    color: given.Color = "auto",
    quiet: given.Quiet = False,
    verbose: given.Verbose = False,
) -> int:
    """Compare two machines, as before and after a firmware change; exit 1 if they differ."""
    from numatune.machine.difference import compare

    out = Output.of(json, format, output, color, quiet, verbose)
    share = share_of(tolerance)
    if before == after == "-":
        raise UsageError("only one of BEFORE and AFTER can be standard input")
    machines = machine_at(before), machine_at(after)
    found = compare(*machines, share)
    if not found.differences and not found.equal:
        raise MachineError(
            f"{machines[0].source} and {machines[1].source} state nothing in common; give two"
            " outputs of the same command, or two snapshots"
        )
    if out.format == "json":
        from numatune.render.json import render

        out.write(render(diff_document(*machines, found, share)))
    else:
        from numatune.views.diff import diff_view

        out.print(diff_view(*machines, found, verbosity=out.verbosity))
    return int(bool(found.differences))


def machine_at(place: str) -> Machine:
    """Read one side; "/" is this host. Raises MachineError."""
    from numatune.sources.read import read_machine

    return read_machine(root="/") if place == "/" else read_machine(place)


def share_of(text: str) -> float:
    """Read a percentage as a part of 1. Raises UsageError."""
    digits = text.strip().removesuffix("%").strip()
    try:
        percent = float(digits) if digits.isascii() and len(digits) < 20 else -1.0
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise UsageError(f"--tolerance {text[:40]!r}: write a percentage from 0 to 100, such as 2%")
    return percent / 100


def diff_document(
    before: Machine, after: Machine, found: Comparison, tolerance: float
) -> dict[str, Any]:
    """Return the document of `diff`."""
    from numatune.render.json import head
    from numatune.views.diff import warnings_of

    return {
        **head("diff", f"{before.source} -> {after.source}", warnings_of(before, after)),
        "before": before.source,
        "after": after.source,
        "tolerance": tolerance,
        "equal": not found.differences,
        "differences": [one._asdict() for one in found.differences],
        "not_comparable": [
            {"what": one.what, "subject": one.subject, "before": one.before, "after": one.after}
            for one in found.not_comparable
        ],
    }
