"""The options that commands share, each written once."""

from __future__ import annotations

from typing import Annotated

import typer

MACHINE = "Which machine"
LAUNCH = "Which launch"
OUTPUT = "Output"

From = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="FILE|DIR|-",
        help="Read the machine from a file (numactl, lscpu, ...), a /sys tree, or -; repeatable.",
    ),
]
Root = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Read DIR/sys and DIR/proc in place of /sys and /proc."),
]
Synthetic = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", help='Build a machine: "pack:2 [numa(memory=512GB)] core:24 pu:2".'
    ),
]
Assume = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="State what the source does not say: smt=2, packages=2, allowed_cpus=0-23, ...",
    ),
]

Runtime = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[==VERSION]", help="A runtime, may be repeated: ktransformers==0.2.1."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--cpu-infer",
        "--threads",
        "--cpu_infer",
        "--kt-cpuinfer",
        "-t",
        metavar="N",
        help="The number of threads, in the unit of the runtime's own option.",
    ),
]
NumaBuild = Annotated[
    bool | None,
    typer.Option(
        "--numa-build/--no-numa-build",
        help="Whether ktransformers was built with USE_NUMA.",
        show_default="built with it",
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The model, such as DeepSeek-R1.",
        show_default="DeepSeek-R1",
    ),
]
InnerSize = Annotated[
    int | None,
    typer.Option(
        "--moe-intermediate-size",
        metavar="N",
        help="Of a model that is not known by name: moe_intermediate_size of its config.json.",
    ),
]
HiddenSize = Annotated[
    int | None,
    typer.Option("--hidden-size", metavar="N", help="The same for hidden_size."),
]
Frame = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help='What starts the process: "numactl -N 1 -m 1", "docker run --cpuset-cpus 0-23".',
    ),
]
Env = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="An environment variable of the launch."),
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON, the same as --format json.")]
Format = Annotated[str, typer.Option("--format", metavar="text|json", help="The output format.")]
OutputFile = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE, whole or not at all.")
]
Color = Annotated[
    str, typer.Option("--color", metavar="auto|always|never", help="When to use colour.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say less.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more.")]
