"""`numatune explain`: why a rule exists, how to see it, how to fix it."""

from typing import Annotated

import typer

from numatune.commands import options as given
from numatune.commands.output import Output
from numatune.errors import UsageError


def explain(
    rule: Annotated[
        str | None, typer.Argument(metavar="RULE", help="A rule, by id (NT101) or by name.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List every rule.")] = False,
    json: given.Json = False,
    format: given.Format = "text",
    output: given.OutputFile = "-",
    color: given.Color = "auto",
) -> int:
    """Say why a rule exists, how to see it yourself, how to fix it, and its sources."""
    from numatune.rules import every_rule, rule_named
    from numatune.views.explain import list_view, rule_view

    out = Output.of(json, format, output, color)
    if (rule is None) == (not list_all):
        raise UsageError("name one rule, as in `numatune explain NT101`, or use --list")
    rules = every_rule() if rule is None else (rule_named(rule),)
    if out.format == "json":
        from numatune.render import json as document

        out.write(document.render(document.explain_document(rules)))
    else:
        out.print(list_view(rules) if list_all else rule_view(rules[0]))
    return 0
