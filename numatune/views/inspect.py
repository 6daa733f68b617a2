"""The view of `inspect`: the machine, what is wrong with it, and what it means."""

from __future__ import annotations

from collections.abc import Iterable

from numatune.advice.meaning import meaning
from numatune.machine import Machine
from numatune.rules.rule import Finding
from numatune.views import machine as parts
from numatune.views.blocks import BLANK, Block, Span, heading, line
from numatune.views.findings import finding_lines, report_line, warning_lines
from numatune.words import clean


def inspect_view(
    machine: Machine, findings: Iterable[Finding], *, verbosity: int = 0
) -> list[Block]:
    """Return the blocks of `inspect`: the answer first, then the picture, then the details.

    With -q without what it means, with -v with settings, CPU flags and the source of each part.
    """
    blocks: list[Block] = [parts.summary(machine)]
    blocks += warning_lines(machine.warnings)
    blocks += parts.cpu_line(machine)
    blocks += parts.picture(machine)
    blocks += parts.distance_table(machine)
    blocks += parts.memory_lines(machine)
    blocks += parts.gpu_line(machine)
    blocks += parts.dimm_line(machine)
    blocks += allowed(machine)
    blocks += parts.unknowns(machine)
    found = list(findings)
    if found:
        blocks += [BLANK, heading("Findings"), *finding_lines(found)]
    if verbosity > 0:
        blocks += [BLANK, *everything(machine)]
    if verbosity < 0:
        return blocks
    blocks += [BLANK, heading("For CPU inference")]
    blocks += [line("  ", sentence, hang=2) for sentence in meaning(machine)]
    blocks.append(
        line(Span("  Next: numatune plan --cpu-infer N   As JSON: --json", "dim"), hang=2)
    )
    if found:
        blocks.append(report_line(machine))
    return blocks


def everything(machine: Machine) -> list[Block]:
    """Return the settings, the CPU's flags, and where each part was read."""
    blocks: list[Block] = [heading("Read")]
    facts: dict[str, object] = dict(machine.settings._asdict())
    if machine.offline_cpus is not None:
        facts["offline_cpus"] = machine.offline_cpus
    if machine.cpu.features is not None:
        facts["cpu_features"] = " ".join(sorted(machine.cpu.features))
    facts |= {f"source of {part}": where for part, where in sorted(machine.origins.items())}
    for name, value in facts.items():
        if value is not None:
            blocks.append(line(Span(f"  {name}  ", "dim"), clean(str(value)) or "none", hang=4))
    return blocks


def allowed(machine: Machine) -> list[Block]:
    """Say what this process may use, where anything is known of it."""
    limits = machine.limits
    if machine.origins.get("limits") is None and limits == type(limits)():
        return []
    cpus, mine = machine.cpus, machine.inherited_cpus
    everything = mine is None or mine == cpus
    text = "all CPUs" if everything else f"CPUs {mine}"
    if limits.cpuset_mems is not None:
        with_memory = [n.id for n in machine.nodes if n.memory_total_bytes != 0]
        own = [i for i in with_memory if i in limits.cpuset_mems]
        text += (
            ", memory of all nodes"
            if own == with_memory
            else f", memory of nodes {limits.cpuset_mems}"
        )
    quota = "no CPU quota" if limits.cpu_quota is None else f"a quota of {limits.cpu_quota:g} CPUs"
    return [line(Span("  This process may use  ", "dim"), f"{text}, {quota}", hang=24)]
