"""Findings and warnings as lines, the same in every view."""

from __future__ import annotations

from collections.abc import Iterable

from numatune.machine import Machine, Warning
from numatune.rules.rule import Finding
from numatune.views.blocks import Block, Span, line
from numatune.words import clean

STYLES = {"critical": "bad", "warning": "warn", "info": "dim"}


def finding_line(finding: Finding, indent: str = "") -> Block:
    """Return one finding on one line: severity, id, slug, what, and the fix."""
    fix = f"; {finding.fix}" if finding.fix and finding.severity != "info" else ""
    return line(
        indent,
        Span(f"{finding.severity:<8} ", STYLES[finding.severity]),
        Span(f"{finding.rule} {finding.name} ", "strong"),
        clean(f"{finding.message}{fix}"),
        hang=len(indent) + 9,
    )


def finding_lines(findings: Iterable[Finding], indent: str = "  ") -> list[Block]:
    """Return all findings, a line each."""
    return [finding_line(f, indent) for f in findings]


def report_line(machine: Machine) -> Block:
    """Say how to attach the machine to a report of a finding (docs/snapshots.md)."""
    same = "" if machine.source == "this host" else ", with the same options for the machine"
    text = f"To report a finding, attach: numatune snapshot -o host.json{same}"
    return line(Span(f"  {text}", "dim"), hang=2)


def warning_lines(warnings: Iterable[Warning]) -> list[Block]:
    """Return what the reader of a machine must know of its reading."""
    return [
        line(Span("  note  ", "dim" if w.code == "repaired" else "warn"), clean(w.message), hang=8)
        for w in warnings
    ]
