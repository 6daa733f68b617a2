"""Any machine, printed as each version of numactl prints it and damaged as people damage it.

The reading is the machine itself or carries a warning, and whatever value it has is a true one.
"""

from __future__ import annotations

import quopri
import textwrap
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import CpuSet, Distances, Machine, Node
from numatune.sources.numactl import read, recognises

FEW = settings(max_examples=8, deadline=None, derandomize=True, database=None)
MANY = settings(FEW, max_examples=40)

# Machines -----------------------------------------------------------------------------------------


def numbered(cpus: int, nodes: int, way: str) -> list[list[int]]:
    """Deal CPU ids to nodes: one block a node, two blocks (threads last), or in turns."""
    size = cpus // nodes
    if way == "turns":
        return [list(range(i, size * nodes, nodes)) for i in range(nodes)]
    if way == "threads":
        half = size * nodes
        return [
            [*range(i * size, i * size + size), *range(half + i * size, half + i * size + size)]
            for i in range(nodes)
        ]
    return [list(range(i * size, i * size + size)) for i in range(nodes)]


SIZES = (0, 7, 16384, 128500, 1031872)
FAR = (11, 12, 16, 20, 21, 32, 100, 160, 255)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """A machine with CPUs, memory, a table, and now and then a CPU-less or memoryless node."""
    count = draw(st.integers(1, 8))
    ids = sorted(
        draw(st.sets(st.integers(0, 255), min_size=count, max_size=count))
        if draw(st.booleans())
        else range(count)
    )
    way = draw(st.sampled_from(("blocks", "threads", "turns")))
    dealt = numbered(draw(st.integers(count, 160)), count, way)
    for i in draw(st.sets(st.integers(1, 7), max_size=2)):
        if i < count:
            dealt[i] = []
    seed = draw(st.integers(1, 1 << 30))
    lost = {seed % 300 + 1, seed // 300 % 300 + 1} if seed % 3 == 0 else set()
    nodes = []
    for number, cpus in zip(ids, dealt, strict=True):
        size = SIZES[seed // (number + 1) % len(SIZES)]
        kept = CpuSet(c for c in cpus if c not in lost)
        nodes.append(Node(number, kept, size << 20, size * (seed % 100) // 100 << 20))
    values = tuple(
        tuple(10 if i == j else FAR[seed // (i * 7 + j + 1) % len(FAR)] for j in range(count))
        for i in range(count)
    )
    return Machine("text", nodes=tuple(nodes), distances=Distances(tuple(ids), values))


# numactl ------------------------------------------------------------------------------------------


def cpu_words(cpus: CpuSet, version: str) -> str:
    if version == "2.0.17 --cpu-compress":
        return ",".join(f" {part}" for part in str(cpus).split(",") if part) + f" ({len(cpus)})"
    if version == "2.0.16 snapshot":
        return ",".join(f" {part}" for part in str(cpus).split(",") if part)
    return "".join(f" {cpu}" for cpu in cpus)


def printed(machine: Machine, version: str) -> str:
    """Print a machine as numactl.c of that version does, trailing blanks and all."""
    assert machine.distances
    ids = machine.distances.node_ids
    span = f"0-{ids[-1]}" if version == "1.0.2" else str(CpuSet(ids))
    lines = [f"available: {len(ids)} nodes ({span})"]
    for node in machine.nodes:
        assert node.cpus is not None
        assert node.memory_total_bytes is not None
        assert node.memory_free_bytes is not None
        lines.append(f"node {node.id} cpus:{cpu_words(node.cpus, version)}")
        lines.append(f"node {node.id} size: {node.memory_total_bytes >> 20} MB")
        lines.append(f"node {node.id} free: {node.memory_free_bytes >> 20} MB")
    width = 4 if version == "2.0.19" else 3
    lines += ["node distances:", "node" + " " * (width - 2)]
    lines[-1] += "".join(f"{number: {width}d} " for number in ids)
    for number, row in zip(ids, machine.distances.values, strict=True):
        lines.append(f"{number: {width}d}: " + "".join(f"{d or 0: {width}d} " for d in row))
    return "\n".join(lines) + "\n"


VERSIONS = ("1.0.2", "2.0.14", "2.0.16 snapshot", "2.0.17 --cpu-compress", "2.0.19")


@st.composite
def outputs(draw: st.DrawFn) -> tuple[Machine, str]:
    machine = draw(machines())
    versions: tuple[str, ...] = VERSIONS
    if [n.id for n in machine.nodes] != list(range(len(machine.nodes))):
        versions = versions[1:]  # it counts holes as nodes
    return machine, printed(machine, draw(st.sampled_from(versions)))


# Damage that takes nothing away -------------------------------------------------------------------


def wrapped(text: str, columns: int) -> str:
    """Break lines at blanks, as mailers do."""
    return "\n".join(
        part
        for line in text.split("\n")
        for part in (
            textwrap.wrap(line, columns, break_long_words=False, break_on_hyphens=False) or [""]
        )
    )


def prefixed(text: str, prefix: Callable[[int], str]) -> str:
    return "".join(f"{prefix(i)}{line}\n" for i, line in enumerate(text.split("\n")[:-1]))


def boxed(text: str) -> str:
    lines = text.split("\n")[:-1]
    width = max(map(len, lines))
    rule = "+" + "-" * (width + 2) + "+\n"
    return rule + "".join(f"| {line:{width}} |\n" for line in lines) + rule


def coloured(text: str) -> str:
    return text.replace("node", "\x1b[01;31m\x1b[Knode\x1b[m\x1b[K")


def as_html(text: str) -> str:
    lines = text.split("\n")[:-1]
    return "<p>" + "<br />\n".join(line.replace(" ", "&nbsp;") for line in lines) + "</p>\n"


def journal(i: int) -> str:
    return f"Nov 30 19:{i // 60 % 60:02}:{i % 60:02} host-7 bash[4711]: "


HARMLESS: dict[str, Callable[[str], str]] = {
    "as printed": lambda text: text,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "CR": lambda text: text.replace("\n", "\r"),
    "byte order mark": lambda text: "\ufeff" + text,
    "no-break blanks": lambda text: text.replace(" ", "\u00a0"),
    "mojibake blanks": lambda text: text.replace(" ", "\u00c2\u00a0"),
    "tabs": lambda text: text.replace(" ", "\t"),
    "collapsed blanks": lambda text: "\n".join(" ".join(x.split()) for x in text.split("\n")),
    "padded lines": lambda text: "\n".join(line.ljust(120) for line in text.split("\n")),
    "double spaced": lambda text: text.replace("\n", "\n\n"),
    "quoted": lambda text: prefixed(text, lambda _: "> "),
    "quoted deep": lambda text: prefixed(text, lambda _: "> >>"),
    "indented": lambda text: prefixed(text, lambda _: "        "),
    "comments": lambda text: prefixed(text, lambda _: "# "),
    "bullets": lambda text: prefixed(text, lambda _: "  * "),
    "journal": lambda text: prefixed(text, journal),
    "kernel log": lambda text: prefixed(text, lambda i: f"[ {i // 7:3}.{i:06}] "),
    "ISO time": lambda text: prefixed(text, lambda i: f"2031-02-03T04:{i % 60:02}:05.123Z "),
    "clock": lambda text: prefixed(text, lambda i: f"04:05:{i % 60:02} "),
    "pdsh": lambda text: prefixed(text, lambda _: "node17: "),
    "grep -n": lambda text: prefixed(text, lambda i: f"{i + 1}:"),
    "grep -Hn": lambda text: prefixed(text, lambda i: f"log/run.txt:{i + 8}:"),
    "cat -n": lambda text: prefixed(text, lambda i: f"{i + 3:6}\t"),
    "boxed": boxed,
    "coloured": coloured,
    "HTML": as_html,
    "code fence": lambda text: f"Here:\n```\n{text}```\nThanks, 2 sockets and 64 cores.\n",
    "prompts": lambda text: f"[root@n1 ~]# numactl -H\n{text}[root@n1 ~]# nproc\n64\n",
    "quoted-printable": lambda text: quopri.encodestring(text.encode(), quotetabs=False).decode(),
    "JSON string": lambda text: '{"out": "' + text.replace("\n", "\\n") + '"}',
    "JSON list": lambda text: '["' + '", "'.join(text.split("\n")[:-1]) + '"]',
    "YAML list": lambda text: prefixed(text, lambda _: "  - '").replace("\n", "'\n"),
    "noted sizes": lambda text: text.replace(" MB\n", " MB   <= see above, 2 of 4\n"),
    "noted": lambda text: text.replace("\nnode 1 size", " -- 这里\nnode 1 size"),
    "zero-width": lambda text: text.replace("node", "\u200bnode\u2060"),
    "dash": lambda text: f"$ numactl \u2014hardware\n{text}",
}  # fmt: skip


def whole(machine: Machine, text: str) -> None:
    """Assert that a text reads as that machine, and that nothing but a repair is spoken of."""
    assert recognises(text)
    result = read(text, "text")
    assert result.nodes == machine.nodes
    assert result.distances == machine.distances
    assert {warning.code for warning in result.warnings} <= {"repaired"}


@pytest.mark.parametrize("way", HARMLESS)
@FEW
@given(outputs())
def test_harmless_damage_is_undone(way: str, output: tuple[Machine, str]) -> None:
    whole(output[0], HARMLESS[way](output[1]))


@MANY
@given(outputs(), st.integers(24, 100), st.sampled_from(("", "> ", "# ", "    ")))
def test_wrapped_at_any_column(output: tuple[Machine, str], columns: int, quote: str) -> None:
    text = wrapped(output[1], columns)
    whole(output[0], prefixed(text + "\n", lambda _: quote))
    whole(output[0], wrapped(prefixed(output[1], lambda _: quote), columns))


# Damage that takes something away -----------------------------------------------------------------


def is_one_line(error: MachineError) -> None:
    assert "\n" not in str(error)


def true_or_unknown(machine: Machine, text: str) -> None:
    """Assert that the reading is the machine, or is warned of; and has no value that is not true."""
    try:
        result = read(text, "text")
    except MachineError as error:
        is_one_line(error)
        return
    stated = {node.id: node for node in machine.nodes}
    for node in result.nodes:
        assert node.id in stated
        truth = stated[node.id]
        assert node.cpus in (None, truth.cpus)
        assert node.memory_total_bytes in (None, truth.memory_total_bytes)
        assert node.memory_free_bytes in (None, truth.memory_free_bytes)
    assert result.distances in (None, machine.distances)
    if not {warning.code for warning in result.warnings} - {"repaired"}:
        assert (result.nodes, result.distances) == (machine.nodes, machine.distances)


@MANY
@given(outputs(), st.floats(0, 1), st.booleans(), st.sampled_from((0, 40, 72, 80)))
def test_cut_anywhere(output: tuple[Machine, str], at: float, tail: bool, columns: int) -> None:
    text = wrapped(output[1], columns) if columns else output[1]
    place = int(at * len(text))
    true_or_unknown(output[0], text[place:] if tail else text[:place])


@MANY
@given(outputs(), st.lists(st.floats(0, 0.999), min_size=1, max_size=3))
def test_lines_left_out(output: tuple[Machine, str], which: list[float]) -> None:
    lines = output[1].split("\n")
    for where in which:
        lines.pop(int(where * len(lines)))
    true_or_unknown(output[0], "\n".join(lines))


@MANY
@given(
    outputs(),
    st.floats(0, 0.999),
    st.floats(0, 0.999),
    st.sampled_from(("...", "\u2026", "[...]", "(...)", "[snip]", "..")),
)
def test_elided(output: tuple[Machine, str], start: float, end: float, mark: str) -> None:
    words = output[1].split(" ")
    first, last = sorted((int(start * len(words)), int(end * len(words))))
    true_or_unknown(output[0], " ".join((*words[:first], mark, *words[last + 1 :])))


@MANY
@given(outputs(), st.sets(st.floats(0, 0.999), min_size=1, max_size=40), st.booleans())
def test_lines_run_together(output: tuple[Machine, str], where: set[float], blank: bool) -> None:
    lines = output[1].split("\n")
    ends = ["\n"] * (len(lines) - 1)
    for each in where:
        ends[int(each * len(ends))] = " " if blank else ""
    true_or_unknown(output[0], "".join(a + b for a, b in zip(lines, [*ends, ""], strict=True)))


@MANY
@given(outputs(), st.integers(20, 100), st.sampled_from(("", "> ", "    ")))
def test_cut_at_the_last_column(output: tuple[Machine, str], columns: int, quote: str) -> None:
    """A terminal breaks a line inside numbers and words, too."""
    text = "".join(
        f"{quote}{line[i : i + columns]}\n"
        for line in output[1].split("\n")
        for i in range(0, len(line) or 1, columns)
    )
    true_or_unknown(output[0], text)
    if columns >= 60:
        whole(output[0], text)


@settings(MANY, max_examples=100)
@given(outputs(), st.sampled_from(tuple(HARMLESS)), st.sampled_from(tuple(HARMLESS)))
def test_one_damage_on_another(output: tuple[Machine, str], first: str, second: str) -> None:
    """Not all pairs can be undone, but none gives a false value."""
    damaged = HARMLESS[first](output[1])
    true_or_unknown(output[0], HARMLESS[second](damaged if "\n" in damaged else output[1]))


@MANY
@given(
    outputs(),
    st.sampled_from(
        (
            "quoted deep",
            "indented",
            "coloured",
            "HTML",
            "boxed",
            "journal",
            "comments",
            "CRLF",
            "no-break blanks",
        )
    ),
    st.sampled_from(
        (
            "quoted",
            "CRLF",
            "byte order mark",
            "code fence",
            "prompts",
            "no-break blanks",
            "padded lines",
        )
    ),
)
def test_common_pairs_are_undone(output: tuple[Machine, str], first: str, second: str) -> None:
    whole(output[0], HARMLESS[second](HARMLESS[first](output[1])))


@MANY
@given(outputs(), outputs(), st.sampled_from(("", "\nand the other one\n", "$ numactl -H\n")))
def test_two_machines_are_never_blended(
    first: tuple[Machine, str], second: tuple[Machine, str], between: str
) -> None:
    result = read(first[1] + between + second[1], "text")
    assert "two-outputs" in {warning.code for warning in result.warnings}
    assert (result.nodes, result.distances) in (
        (first[0].nodes, first[0].distances),
        (second[0].nodes, second[0].distances),
    )


PIECES = (
    "node 0 cpus:", "node 1 cpus:", "node 0 size:", " 5 MB", "node distances:", "node 0 1", "0:",
    " 10 21", "\n", " ", "available: 2 nodes (0-1)", "1 2 3", "...", "> ", "|", "=\n", "&gt;",
    "<br>", "\x1b[1m", "12:", "No NUMA available on this system", "NUMA node0 CPU(s): 0-3", "(4)",
    "libnuma: Warning: Assuming one node", "0-4294967295", "9" * 5000, "-", ",",
)  # fmt: skip


@settings(MANY, max_examples=100)
@given(st.text(max_size=300) | st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_nothing_but_an_error_of_ours(text: str) -> None:
    recognises(text)
    try:
        read(text, "text")
    except MachineError as error:
        is_one_line(error)
