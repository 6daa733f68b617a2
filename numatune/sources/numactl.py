"""Reading `numactl --hardware` text, of every version and as damaged as people paste it.

A value is read only where the text states it beyond doubt; what is missing or doubtful is None,
and a warning names it. The formats are those of numactl.c, v0.6.4 to v2.0.19 and 93c1fe5, at
https://github.com/numactl/numactl.
"""

from __future__ import annotations

import re

from numatune.errors import MachineError
from numatune.machine import CpuSet, Machine, Node, Warning
from numatune.sources.numactl_outputs import START, Outputs, outputs
from numatune.sources.numactl_run import SUPPLY, Reading, read_run
from numatune.sources.numactl_values import read_cpus
from numatune.sources.paste import Cleaned, clean
from numatune.sources.paste_lines import Line, glued, unprefixed

NAME = "numactl --hardware"

#: What the format never states.
GAPS = ("cores", "packages", "cpu", "limits", "settings")

#: The listing of 64 nodes has 40 kB, that of 256 has 350 kB; of a longer text the part around the
#: first words of numactl is read.
TEXT_LIMIT = 1 << 19
BEFORE = 4000
#: So many outputs are no paste of a terminal.
MANY = 20

#: What to tell first where nothing is usable.
WORSE = ("damaged", "elided", "cut", "damaged-table")

#: Words that only numactl writes, or nearly so. Each pattern starts with a word and has no part of
#: unbounded length, so that a search through a long text is fast.
SIGNS = (
    re.compile(r"vailable:[\s|]{1,20}[0-9]{1,9}[\s|]{1,20}nodes?[\s|]{0,20}\([\s|]{0,20}[0-9)]"),
    re.compile(
        r"ode[\s|]{0,20}(?:[0-9]{1,9}[\s|]{0,20}(?:cpus|size)[\s|]{0,20}:|distances:"
        r"|[0-9]{1,9}(?:[\s|]{1,20}[0-9]{1,9}){1,1024}[\s|]{0,20}:)"
    ),
    re.compile(r"No NUMA (?:support )?available on this system"),
    re.compile(r"physcpubind:"),
)


def recognises(text: str) -> bool:
    """Tell whether there is output of numactl in a text, damaged or not."""
    return first_sign(text) >= 0 or first_sign(clean(text[:TEXT_LIMIT]).text) >= 0


def first_sign(text: str) -> int:
    """Return where the first words of numactl stand, -1 where there are none."""
    found = [sign.search(text) for sign in SIGNS]
    return min((each.start() for each in found if each), default=-1)


def read(text: str, label: str) -> Machine:
    """Read a machine from a text; `label` becomes its source.

    Raises MachineError where the text states nothing of a machine's nodes. A text that says that
    there are no NUMA nodes is a machine without nodes, with a warning.
    """
    part = excerpt(text)
    cleaned = clean(part)
    reading, count, undone = best_reading(cleaned)
    warnings = list(reading.warnings)
    if len(part) < len(text):
        message = (
            f"only {len(part)} of {len(text)} characters were read, those around the first line "
            f"of numactl; {SUPPLY} alone"
        )
        warnings.append(Warning("too-long", message))
    if count > 1:
        warnings.append(Warning("two-outputs", two_outputs(reading, count)))
    if undone:
        warnings.append(Warning("repaired", f"undone in the text: {', '.join(undone)}"))
    return machine_of(reading, label, tuple(warnings))


def excerpt(text: str) -> str:
    """Return the part of a long text that starts shortly before the first words of numactl."""
    if len(text) <= TEXT_LIMIT:
        return text
    start = max(0, first_sign(text) - BEFORE)
    return text[start : start + TEXT_LIMIT]


def machine_of(reading: Reading, label: str, warnings: tuple[Warning, ...]) -> Machine:
    """Return the machine of a reading, with what it does not state among the gaps."""
    nodes = reading.nodes
    origins = {"nodes": NAME}
    gaps = list(GAPS)
    if any(node.memory_total_bytes is not None for node in nodes):
        origins["memory"] = NAME
    if reading.distances is not None:
        origins["distances"] = NAME
    else:
        gaps.append("distances")
    if not nodes or any(node.memory_total_bytes is None for node in nodes):
        gaps.append("memory")
    if not nodes or any(node.cpus is None for node in nodes):
        gaps.append("cpus")
    if reading.is_no_numa:
        message = (
            "numactl shows no NUMA node: this kernel knows none, or a container forbids to ask "
            "(seccomp); `ls /sys/devices/system/node` on the host tells which"
        )
        warnings = (Warning("no-numa-information", message), *warnings)
    return Machine(label, nodes=nodes, distances=reading.distances, warnings=warnings,
                   gaps=tuple(gaps), origins=origins)  # fmt: skip


# Which reading ------------------------------------------------------------------------------------


def best_reading(cleaned: Cleaned) -> tuple[Reading, int, list[str]]:
    """Return the fullest reading, of equal ones the last; how many there are; what was undone.

    Raises MachineError where none states anything.
    """
    lines = unprefixed(cleaned.text, START)
    ends_open = bool(cleaned.text) and cleaned.text[-1] not in " \n"
    readings: list[Reading] = []
    shows = False
    for source in lines.sources:
        found = outputs("\n".join(line.text for line in source))
        shows |= found.shows
        read = [read_run(run, ends_open) for run in found.runs]
        if len(read) == 1 and len(lines.sources) == 1:
            read = [with_lscpu(read[0], found)]
        readings += as_wrapped(read, source, ends_open)
    if not readings:
        raise MachineError(nothing_said(shows))
    if all(reading.is_no_numa for reading in readings):
        readings = readings[-1:]
    best = max(enumerate(readings), key=lambda pair: (pair[1].rank, pair[0]))[1]
    if best.is_useless and not best.is_no_numa:
        first = min(best.warnings, key=lambda warning: warning.code not in WORSE).message
        raise MachineError(f"no usable NUMA node in this text: {first}")
    marks = ["prefixes of lines"] if lines.marked else []
    return best, len(readings), [*cleaned.undone, *marks, *sorted(best.undone)]


def nothing_said(shows: bool) -> str:
    """Return what to tell where there is no output to read."""
    if shows:
        return f"this is `numactl --show`, which states no node's CPUs or memory; {SUPPLY}"
    return f"no NUMA node in this text; {SUPPLY}"


def two_outputs(reading: Reading, count: int) -> str:
    """Return which of several outputs was taken."""
    kind = "last whole" if reading.is_whole else "fullest"
    return (
        f"there are {count} outputs of numactl in the text; the {kind} one was taken, that with "
        f"{len(reading.nodes)} node{'s' if len(reading.nodes) != 1 else ''}; paste one alone"
    )


# Other views of the same text ---------------------------------------------------------------------


def as_wrapped(read: list[Reading], source: tuple[Line, ...], ends_open: bool) -> list[Reading]:
    """Return the readings for lines that were cut at a terminal's last column, where that is so.

    It is so where only then the text reads whole. Where it reads whole either way and not the
    same, what differs is unknown.
    """
    joined = glued(source, START) if len(read) < MANY else None
    if joined is None:
        return read
    found = outputs("\n".join(line.text for line in joined))
    other = [read_run(run, ends_open) for run in found.runs]
    if len(other) != len(read):
        return other if other and all(r.is_whole for r in other) else read
    return [chosen(first, second) for first, second in zip(read, other, strict=True)]


def chosen(first: Reading, second: Reading) -> Reading:
    """Return the better of two readings of one run: joined with blanks, and without."""
    if not second.is_whole or (first.nodes == second.nodes and first.distances == second.distances):
        return first
    if not first.is_whole:
        return second._replace(undone=second.undone | {"lines cut at the last column"})
    if any(is_unlikely(one, two) for one, two in zip(first.nodes, second.nodes, strict=True)):
        return first
    nodes = tuple(
        one._replace(cpus=None) if one.cpus != two.cpus else one
        for one, two in zip(first.nodes, second.nodes, strict=True)
    )
    message = f"numbers are broken at line ends, and may be one or two there; {SUPPLY} unwrapped"
    return first._replace(nodes=nodes, warnings=(Warning("ambiguous-wrap", message),))


def is_unlikely(blanks: Node, glued: Node) -> bool:
    """Tell whether gluing numbers makes ids with more digits, or more gaps, than blanks do."""
    if blanks.cpus is None or glued.cpus is None or blanks.cpus == glued.cpus:
        return False
    longest = [len(str(node.cpus.mask.bit_length() - 1)) for node in (blanks, glued) if node.cpus]
    pieces = [len(list(node.cpus.ranges())) for node in (blanks, glued) if node.cpus]
    return longest[0] < longest[-1] or pieces[0] < pieces[-1]


def with_lscpu(reading: Reading, found: Outputs) -> Reading:
    """Take CPUs of nodes that numactl does not state from lscpu's lines in the same text.

    Both print the kernel's cpumap. They are of one machine only if they name the same nodes.
    """
    stated = {number: read_cpus(each.value).cpus for number, each in found.lscpu.items()}
    if not stated or set(stated) != {node.id for node in reading.nodes}:
        return reading
    if any(None not in (n.cpus, stated[n.id]) and n.cpus != stated[n.id] for n in reading.nodes):
        message = f"lscpu in the same text gives other CPUs than numactl; {SUPPLY} alone"
        return reading._replace(warnings=(*reading.warnings, Warning("contradiction", message)))
    nodes: list[Node] = []
    filled: list[int] = []
    for node in reading.nodes:
        if node.cpus is None and stated[node.id] is not None:
            filled.append(node.id)
            node = node._replace(cpus=stated[node.id])
        nodes.append(node)
    if not filled:
        return reading
    message = f"the CPUs of nodes {CpuSet(filled)} are those that lscpu gives in the same text"
    return reading._replace(
        nodes=tuple(nodes), warnings=(*reading.warnings, Warning("from-lscpu", message))
    )
