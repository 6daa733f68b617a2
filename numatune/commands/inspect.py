"""`numatune inspect`: show the machine and what it means for inference on its CPUs."""

from numatune.commands import options as given
from numatune.commands.output import Output


def inspect(
    source: given.From = None,
    root: given.Root = None,
    synthetic: given.Synthetic = None,
    assume: given.Assume = None,
    json: given.Json = False,
    format: given.Format = "text",
    output: given.OutputFile = "-",
    color: given.Color = "auto",
    quiet: given.Quiet = False,
    verbose: given.Verbose = False,
) -> int:
    """Show packages, nodes, cores, memory, distances and limits, and what they mean."""
    from numatune.commands.machine import machine_of
    from numatune.rules.judge import judge
    from numatune.rules.rule import Case

    out = Output.of(json, format, output, color, quiet, verbose)
    machine = machine_of(source, root, synthetic, assume)
    if machine.source == "this host" and machine.cpu.model is None:
        from numatune.sources.host import with_cpu_model

        machine = with_cpu_model(machine)
    findings = judge(Case(machine)).findings
    if out.format == "json":
        from numatune.render import json as document

        out.write(document.render(document.inspect_document(machine, findings)))
    else:
        from numatune.views.inspect import inspect_view

        out.print(inspect_view(machine, findings, verbosity=out.verbosity))
    return 0
