"""The view of `explain`: a rule on one page, or the list of all."""

from __future__ import annotations

from collections.abc import Iterable

from numatune.rules.rule import Rule
from numatune.views.blocks import BLANK, Block, Span, Table, cells, heading, line

STYLES = {"critical": "bad", "warning": "warn", "info": "dim"}


def rule_view(rule: Rule) -> list[Block]:
    """Return the page of one rule."""
    blocks: list[Block] = [
        line(
            Span(f"{rule.id} {rule.name}", "strong"),
            "   ",
            Span(rule.severity, STYLES[rule.severity]),
        ),
        *paragraphs(rule.summary),
    ]
    for name, text in (
        ("Why", rule.why),
        ("See it yourself", rule.look),
        ("What to do", rule.fix),
        ("When it is harmless", rule.harmless),
    ):
        if text:
            blocks += [BLANK, heading(name), *paragraphs(text)]
    if rule.sources:
        blocks += [BLANK, heading("Sources"), *(line(f"  {source}") for source in rule.sources)]
    return blocks


def paragraphs(text: str) -> list[Block]:
    """Return the lines of a text, indented; its own line breaks are kept."""
    lines = text.strip("\n").split("\n")
    return [line(f"  {part}".rstrip(), hang=2 + len(part) - len(part.lstrip())) for part in lines]


def list_view(rules: Iterable[Rule]) -> list[Block]:
    """Return the table of all rules."""
    rows = tuple(
        (
            *cells(r.id, r.name),
            (Span(r.severity, STYLES[r.severity]),),
            (Span(r.summary.split("\n")[0]),),
        )
        for r in rules
    )
    return [Table(("rule", "name", "severity", "what it says"), rows, indent=0)]
