"""`numatune plan`: where each runtime puts its workers, the cliffs, and what to do."""

from numatune.commands import options as given
from numatune.commands.output import Output


def plan(
    threads: given.Threads = None,
    runtime: given.Runtime = None,
    numa_build: given.NumaBuild = None,
    model: given.ModelName = None,
    inner_size: given.InnerSize = None,
    hidden_size: given.HiddenSize = None,
    pools: given.Pools = None,
    numa_nodes: given.NumaNodes = None,
    env: given.Env = None,
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
    from numatune.advice.plan import make_plan
    from numatune.commands.machine import machine_of
    from numatune.commands.request import chosen_runtimes, request_from

    out = Output.of(json, format, output, color, quiet, verbose)
    request = request_from(
        threads, numa_build, model, inner_size, hidden_size, pools, numa_nodes, env
    )
    chosen = chosen_runtimes(runtime)
    if len(chosen) == 1:
        request = request._replace(runtime=chosen[0][0], version=chosen[0][1])
    machine = machine_of(source, root, synthetic, assume)
    made = make_plan(machine, request, chosen)
    if out.format == "json":
        from numatune.render import json as document

        out.write(document.render(document.plan_document(made)))
    else:
        from numatune.views.plan import plan_view

        out.print(plan_view(made, verbosity=out.verbosity))
    return 0
