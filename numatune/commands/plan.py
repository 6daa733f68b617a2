"""`numatune plan`: where each runtime puts its workers, the cliffs, and what to do."""

import typer

from numatune.commands import options as given
from numatune.commands.output import Output


def plan(
    context: typer.Context,
    threads: given.Threads = None,
    runtime: given.Runtime = None,
    numa_build: given.NumaBuild = None,
    model: given.ModelName = None,
    inner_size: given.InnerSize = None,
    hidden_size: given.HiddenSize = None,
    env: given.Env = None,
    frame: given.Frame = None,
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
    """Simulate where runtimes put their workers, find the cliffs, recommend a launch."""
    from numatune.advice.plan import ERAS, make_plan
    from numatune.commands.machine import machine_of
    from numatune.commands.request import chosen_runtimes, framed, request_from
    from numatune.commands.runtime_options import known_to

    out = Output.of(json, format, output, color, quiet, verbose)
    request = request_from(
        threads, numa_build, model, inner_size, hidden_size, env, frame, context.obj
    )
    chosen = chosen_runtimes(runtime)
    known_to(context.obj, [name for name, _ in chosen] or list(ERAS))
    if len(chosen) == 1:
        request = request._replace(runtime=chosen[0][0], version=chosen[0][1])
    machine = machine_of(source, root, synthetic, assume)
    framed(machine, frame)
    made = make_plan(machine, request, chosen)
    if out.format == "json":
        from numatune.render import json as document

        out.write(document.render(document.plan_document(made)))
    else:
        from numatune.views.plan import plan_view

        out.print(plan_view(made, verbosity=out.verbosity))
    return 0
