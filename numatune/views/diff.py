"""The view of `diff`: what differs, one line a difference, and what could not be compared."""

from __future__ import annotations

from collections.abc import Iterable

from numatune.machine import Machine, Warning
from numatune.machine.difference import Comparison, Difference
from numatune.views.blocks import Block, Span, line
from numatune.views.findings import warning_lines
from numatune.words import clean, counted, listed, size

#: Kind of fact -> how one is called, with its subject, and how all of them are.
NAMES = {
    "nodes": ("NUMA nodes", "NUMA nodes"),
    "node": ("{}", "nodes without CPUs"),
    "node-cpus": ("CPUs of {}", "CPUs of nodes"),
    "node-memory": ("memory of {}", "memory of nodes"),
    "memory": ("memory of {}", "memory of the machine"),
    "node-kind": ("kind of memory of {}", "kinds of memory"),
    "distance": ("distance, {}", "distances"),
    "distances": ("distances", "distances"),
    "packages": ("packages", "packages"),
    "package-cpus": ("CPUs that share a package", "CPUs that share a package"),
    "cores": ("cores", "cores"),
    "threads-per-core": ("SMT threads of a core", "SMT threads of a core"),
    "core-cpus": ("CPUs that share a core", "CPUs that share a core"),
    "online-cpus": ("online CPUs", "online CPUs"),
    "offline-cpus": ("offline CPUs", "offline CPUs"),
    "architecture": ("architecture", "architecture"),
    "cpu-vendor": ("CPU vendor", "CPU vendor"),
    "cpu-model": ("CPU model", "CPU model"),
    "efficiency-cpus": ("CPUs of efficiency cores", "CPUs of efficiency cores"),
    "instruction-set": ("{}", "instruction sets"),
    "guest": ("virtual machine", "virtual machine"),
    "limit": ("limit {}", "limits"),
    "setting": ("{}", "settings"),
    "kernel-parameter": ("kernel parameter {}", "kernel parameters"),
    "kernel-parameters": ("kernel command line", "kernel parameters"),
    "memory-modules": ("memory modules", "memory modules"),
    "memory-channels": ("memory channels", "memory channels"),
    "memory-slot": ("memory slot {}", "memory slots"),
    "memory-slots": ("memory slots", "memory slots"),
    "memory-access": ("rated speed of memory", "rated speed of memory"),
    "memory-cache": ("memory-side caches", "memory-side caches"),
    "memory-tiers": ("memory tiers", "memory tiers"),
    "gpu": ("{}", "GPUs"),
    "gpus": ("GPUs", "GPUs"),
}

SIZES = frozenset(("node-memory", "memory"))


def diff_view(
    before: Machine, after: Machine, found: Comparison, *, verbosity: int = 0
) -> list[Block]:
    """Return the blocks of `diff`; with -q only the differences, with -v all not comparable."""
    lines = [difference_line(one) for one in found.differences]
    if verbosity < 0:
        return lines
    blocks = [summary(before, after, found), *lines, *warning_lines(warnings_of(before, after))]
    if found.not_comparable and verbosity == 0:
        names = dict.fromkeys(NAMES[one.what][1] for one in found.not_comparable)
        text = f"{listed(list(names))} (stated by one side only; -v lists them)"
        blocks.append(line(Span("  Not comparable  ", "dim"), text, hang=18))
    if verbosity > 0:
        blocks += [one_sided_line(one, before, after) for one in found.not_comparable]
    return blocks


def summary(before: Machine, after: Machine, found: Comparison) -> Block:
    """Return the line that answers: how much differs."""
    count = len(found.differences)
    answer = (
        Span(counted(count, "difference"), "warn")
        if count
        else Span(f"no difference in {counted(found.equal, 'fact')}", "good")
    )
    sides = f"{clean(before.source)} → {clean(after.source)}: "
    return line(Span(sides, "strong"), answer, hang=2)


def difference_line(one: Difference) -> Block:
    """Return one difference: what it is of, before and after, and what it means."""
    meaning = f"; {one.meaning}" if one.meaning else ""
    old, new = values(one)
    return line(Span(f"  {name(one)}: ", "strong"), f"{old} → {new}{clean(meaning)}", hang=4)


def one_sided_line(one: Difference, before: Machine, after: Machine) -> Block:
    """Return a fact that one machine states and the other does not."""
    stated, silent = (before, after) if one.after is None else (after, before)
    old, new = values(one)
    value = old if one.after is None else new
    return line(
        Span(f"  not comparable, {name(one)}: ", "dim"),
        f"{value} in {clean(stated.source)}, not known in {clean(silent.source)}",
        hang=4,
    )


def name(one: Difference) -> str:
    """Return what a difference is of, in words."""
    return NAMES[one.what][0].format(clean(one.subject))


def values(one: Difference) -> tuple[str, str]:
    """Return both values in words; sizes as fine as it takes to tell them apart."""
    if one.what not in SIZES:
        return value_words(one.before), value_words(one.after)
    for words in (size_words, fine_size):
        old, new = words(one.before), words(one.after)
        if old != new:
            return old, new
    return f"{one.before} bytes", f"{one.after} bytes"


def size_words(value: object) -> str:
    """Return a size in GiB; none where it is 0."""
    return "none" if value == 0 else size(value if isinstance(value, int) else None)


def fine_size(value: object) -> str:
    """Return a size in MiB."""
    return f"{value >> 20} MiB" if isinstance(value, int) else "?"


def value_words(value: object) -> str:
    """Return a value in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        "?"
        if value is None
        else clean(f"{value:g}" if isinstance(value, float) else str(value)) or "none"
    )


def warnings_of(before: Machine, after: Machine) -> Iterable[Warning]:
    """Return the warnings of both readings, each with its source."""
    return [
        warning._replace(message=f"{machine.source}: {warning.message}")
        for machine in (before, after)
        for warning in machine.warnings
    ]
