"""`numatune snapshot`: record a machine in one file, for `--from` elsewhere and for reports."""

from typing import Annotated

import typer

from numatune.commands import options as given
from numatune.commands.output import Output
from numatune.errors import MachineError


def snapshot(
    full_command_line: Annotated[
        bool,
        typer.Option(
            "--full-command-line",
            help="Record all of the kernel command line, not only what matters here.",
        ),
    ] = False,
    source: given.From = None,
    root: given.Root = None,
    synthetic: given.Synthetic = None,
    assume: given.Assume = None,
    output: given.OutputFile = "-",
) -> int:
    """Record what numatune knows of this machine, without names of hosts and users."""
    from numatune.commands.machine import machine_of
    from numatune.render.json import render
    from numatune.render.snapshot import snapshot_document
    from numatune.sources.snapshot import read

    out = Output.of(False, "text", output, "never")
    machine = machine_of(source, root, synthetic, assume)
    text = render(snapshot_document(machine, full_command_line=full_command_line))
    try:
        read(text, machine.source)
    except MachineError as error:
        raise MachineError(f"no snapshot is written that can't be read again; {error}") from None
    out.write(text)
    return 0
