"""`numatune check`: gate a provisioning script."""

from typing import Annotated

import typer

from numatune.commands import options as given
from numatune.commands.output import Output
from numatune.errors import MachineError, UsageError


def check(
    context: typer.Context,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="SEVERITY", help="Exit 1 from this severity on.", show_default="critical"
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A YAML file with fail_on and rules to ignore."),
    ] = None,
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
    """Judge the host, or a launch on it, and exit 1 if anything is critically wrong."""
    from numatune.commands.machine import machine_of
    from numatune.commands.request import chosen_runtimes, framed, request_from
    from numatune.diagnosis import diagnose
    from numatune.policy import Policy, load, severity

    out = Output.of(json, format, output, color, quiet, verbose)
    rules = Policy() if policy is None else load(policy)
    if fail_on is not None:
        rules = rules._replace(fail_on=severity(fail_on, "--fail-on"))
    chosen = chosen_runtimes(runtime)
    if len(chosen) > 1:
        raise UsageError("check judges one launch; give --runtime once")
    request = None
    if chosen:
        from numatune.commands.runtime_options import known_to
        from numatune.runtimes import named

        name, version = chosen[0]
        known_to(context.obj, [name])
        request = request_from(
            threads, numa_build, model, inner_size, hidden_size, env, frame, context.obj
        )
        request = request._replace(runtime=named(name).NAME, version=version)
    elif context.obj or any(
        value is not None
        for value in (threads, numa_build, model, inner_size, hidden_size, env, frame)
    ):
        raise UsageError("a launch of which runtime? add --runtime, as in ktransformers==0.2.1")
    machine = machine_of(source, root, synthetic, assume)
    framed(machine, frame)
    if machine.shows_nodes is None and machine.cpus is None:
        raise MachineError(
            f"{machine.source} states no CPU and no node; add --from the output of"
            " `numactl --hardware`"
        )
    judged = diagnose(machine, request)
    if judged.case.unplaced and judged.case.default is None and threads is not None:
        raise MachineError(judged.case.unplaced)
    findings, ignored = rules.split(judged.findings)
    skipped = (*judged.skipped, *ignored)
    failed = rules.fails(findings)
    if out.format == "json":
        from numatune.render import json as document

        verdict = "fail" if failed else "pass"
        stated = {"file": rules.file, "fail_on": rules.fail_on, "ignore": dict(rules.ignore)}
        out.write(
            document.render(document.check_document(machine, stated, findings, skipped, verdict))
        )
    else:
        from numatune.views.check import check_view

        out.print(check_view(machine, findings, skipped, judged.good, verbosity=out.verbosity))
    return int(failed)
