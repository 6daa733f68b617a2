"""The view of `check`: one line a finding, one line of counts."""

from __future__ import annotations

from collections.abc import Sequence

from numatune.machine import Machine
from numatune.rules.rule import SEVERITIES, Finding, Skipped
from numatune.views.blocks import Block, line
from numatune.views.findings import finding_line, report_line, warning_lines
from numatune.words import clean, counted


def check_view(
    machine: Machine,
    findings: Sequence[Finding],
    skipped: Sequence[Skipped],
    good: Sequence[str],
    *,
    verbosity: int = 0,
) -> list[Block]:
    """Return the blocks of `check`; with -q only the findings, with -v every reason for a skip."""
    blocks: list[Block] = [finding_line(f) for f in findings]
    if verbosity < 0:
        return blocks
    counts = [f"{sum(f.severity == s for f in findings)} {s}" for s in SEVERITIES]
    total = len(good) + len(skipped) + len({f.rule for f in findings})
    counts += [f"{len(good)} good", f"{len(skipped)} skipped"]
    text = f"checked {counted(total, 'rule')}: {', '.join(counts)}"
    blocks += warning_lines(machine.warnings)
    blocks.append(line(text + ("" if verbosity > 0 or not skipped else " (-v says why)")))
    if findings:
        blocks.append(report_line(machine))
    if verbosity > 0:
        blocks += [line(f"  skipped {s.rule} {s.name}: {clean(s.reason)}", hang=4) for s in skipped]
    return blocks
