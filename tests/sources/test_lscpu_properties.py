"""Any machine, written as each kind of lscpu output shows it, and damaged as people damage it.

The reading is the machine itself or carries a warning, and whatever value it has is a true one.
"""

from __future__ import annotations

import json
import quopri
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import Core, Cpu, CpuSet, Machine, Node, Package
from numatune.sources import lscpu_json, lscpu_table, lscpu_text
from tests.sources import lscpu_writer as writer
from tests.sources.drawn import machines
from tests.sources.written import DAMAGE

ONCE = (Phase.explicit, Phase.generate)
FEW = settings(max_examples=3, deadline=None, derandomize=True, database=None, phases=ONCE,
               suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
MANY = settings(FEW, max_examples=20)

Writer = Callable[[Machine], str]

SUMMARIES: dict[str, tuple[ModuleType, Writer]] = {
    "lscpu": (lscpu_text, lambda m: writer.as_text(writer.fields(m))),
    "lscpu on a terminal": (lscpu_text, lambda m: writer.as_tree(writer.fields(m))),
    "lscpu on 80 columns": (lscpu_text, lambda m: writer.as_tree(writer.fields(m), 80)),
    "lscpu -J": (lscpu_json, lambda m: writer.as_json(writer.fields(m))),
    "lscpu -J nested": (lscpu_json, lambda m: writer.as_json(writer.fields(m), nested=True)),
}
FIVE = ("NODE", "CORE", "CPU", "ONLINE", "SOCKET")
TABLES: dict[str, tuple[ModuleType, Writer]] = {
    "lscpu -e": (lscpu_table, lambda m: writer.as_table(writer.cells(m))),
    "lscpu -e=": (lscpu_table, lambda m: writer.as_table(writer.cells(m), FIVE)),
    "lscpu -p": (lscpu_table, lambda m: writer.as_parsable(writer.cells(m, with_offline=False))),
    "lscpu -a -p=": (lscpu_table, lambda m: writer.as_parsable(writer.cells(m), FIVE)),
    **{
        f"lscpu -J -e {style}": (
            lscpu_json,
            lambda m, style=style: writer.as_json_rows(writer.cells(m), style),  # type: ignore[misc]
        )
        for style in ("quoted", "bare", "null")
    },
}
FORMATS = {**SUMMARIES, **TABLES}

each_format = pytest.mark.parametrize("name", FORMATS)


# What is true -------------------------------------------------------------------------------------


def groups(parts: object) -> set[CpuSet] | None:
    return None if parts is None else {part.cpus for part in parts}  # type: ignore[attr-defined]


def assert_true(machine: Machine, made: Machine) -> None:
    """Assert that no value of a reading is wrong, whatever it lacks."""
    nodes = {node.id: node.cpus for node in made.nodes}
    assert all(n.id in nodes and n.cpus in (None, nodes[n.id]) for n in machine.nodes)
    assert machine.online_cpus in (None, made.online_cpus)
    assert machine.offline_cpus in (None, made.offline_cpus)
    assert groups(machine.cores) in (None, groups(made.cores))
    assert groups(machine.packages) in (None, groups(made.packages))
    if made.cores is not None:
        sizes = {len(core.cpus) for core in made.cores}
        # A summary has the largest core only: uneven ones may give as many CPUs by chance.
        if machine.cores is not None or len(sizes) == 1:
            assert machine.cores_known in (None, len(made.cores))
            assert machine.threads_per_core is None or {machine.threads_per_core} == sizes
    if made.packages is not None:
        assert machine.packages_known in (None, len(made.packages))
    features = machine.cpu.features
    assert features is None or features == made.cpu.features or machine.warnings


def facts(machine: Machine) -> tuple[object, ...]:
    """Return all that a reading states."""
    return (machine.nodes, machine.online_cpus, machine.offline_cpus, machine.cores,
            machine.packages, machine.core_count, machine.package_count, machine.smt,
            machine.cpu, machine.is_guest)  # fmt: skip


def same(machine: Machine, whole: Machine, loses_words: bool = False) -> bool:
    """Tell whether a reading states nothing else than that of the whole text.

    It may lack what a lost line or column has told, and have words that are no flag where a list
    was wrapped inside of words; behind a name may be a note.
    """
    cpu, known = machine.cpu, whole.cpu
    parts = zip(facts(machine)[1:8], facts(whole)[1:8], strict=True)
    bare = [(n.id, n.cpus) for n in whole.nodes]
    if [(n.id, n.cpus) for n in machine.nodes] != bare:
        return False
    if any(got not in (None, right) and sets(got) != sets(right) for got, right in parts):
        return False
    return loses_words or (
        cpu.architecture in (None, known.architecture)
        and (cpu.vendor is None or cpu.vendor.startswith(known.vendor or "?"))
        and (cpu.model is None or cpu.model.startswith(known.model or "?"))
        and (cpu.features is None or cpu.features >= (known.features or cpu.features))
        and machine.is_guest in (None, whole.is_guest)
    )


def sets(value: object) -> object:
    """Return the CPUs of cores and packages alone, anything else as it is."""
    return groups(value) if isinstance(value, tuple) else value


def is_even(machine: Machine) -> bool:
    """Tell whether lscpu's figures say all of a machine: its cores and packages are alike."""
    if not machine.cores or not machine.packages or machine.offline_cpus:
        return False
    sizes = {len(core.cpus) for core in machine.cores}
    counts = {len(package.cpus) for package in machine.packages}
    in_each = len(machine.cores) // len(machine.packages)
    return len(sizes) == len(counts) == 1 and (in_each > 1 or len(machine.packages) == 1)


def codes(machine: Machine) -> set[str]:
    return {warning.code for warning in machine.warnings}


# As printed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SUMMARIES)
@given(made=machines())
@MANY
def test_any_summary_reads_back(name: str, made: Machine) -> None:
    reader, write = SUMMARIES[name]
    text = write(made)
    assert reader.recognises(text)
    machine = reader.read(text, "text")
    assert_true(machine, made)
    assert [(n.id, n.cpus) for n in machine.nodes] == [(n.id, n.cpus) for n in made.nodes]
    assert machine.online_cpus == made.online_cpus
    assert machine.offline_cpus == made.offline_cpus
    assert machine.cpu.features is None or machine.cpu.features >= (made.cpu.features or set())
    if is_even(made):
        assert machine.cores_known == len(made.cores or ())
        assert machine.packages_known == len(made.packages or ())
    elif made.cores is not None and machine.cores_known is None:
        assert codes(machine) & {"cores-unknown", "not-available"}


@pytest.mark.parametrize("name", TABLES)
@given(made=machines())
@MANY
def test_any_table_reads_back(name: str, made: Machine) -> None:
    reader, write = TABLES[name]
    text = write(made)
    assert reader.recognises(text)
    machine = reader.read(text, "text")
    shown = [(n.id, n.cpus) for n in made.nodes if n.cpus]
    assert [(n.id, n.cpus) for n in machine.nodes] == shown
    assert machine.online_cpus == made.online_cpus
    assert machine.offline_cpus in (None, made.offline_cpus)
    assert bool(machine.offline_cpus) == (bool(made.offline_cpus) and name != "lscpu -p")
    assert_true(machine, made)
    if groups(machine.cores) != groups(made.cores):
        assert "cores-unknown" in codes(machine)
        assert name in ("lscpu -e=", "lscpu -a -p=") or made.cores is None
    if groups(machine.packages) != groups(made.packages):
        assert "packages-unknown" in codes(machine)


# Machines of even parts, larger than those drawn --------------------------------------------------


@st.composite
def servers(draw: st.DrawFn) -> Machine:
    """Draw machines of equal packages, nodes and cores, as most are."""
    packages, nodes, cores = (draw(st.integers(1, n)) for n in (2, 4, 12))
    threads = draw(st.integers(1, 2))
    way = draw(st.sampled_from(("last", "beside")))
    count = packages * nodes * cores
    made = []
    for i in range(count):
        siblings = (i * threads + t if way == "beside" else i + t * count for t in range(threads))
        made.append(Core(CpuSet(siblings), i // cores // nodes, i // cores))
    return Machine(
        source="made",
        cpu=Cpu("x86_64", "AuthenticExample", "Example 7 7700X 8-Core", frozenset(FLAGS)),
        nodes=tuple(
            Node(n, CpuSet(cpu for c in made if c.node_id == n for cpu in c.cpus))
            for n in range(packages * nodes)
        ),
        cores=tuple(made),
        packages=tuple(
            Package(p, CpuSet(cpu for c in made if c.package_id == p for cpu in c.cpus))
            for p in range(packages)
        ),
        online_cpus=CpuSet(range(count * threads)),
        offline_cpus=CpuSet(),
        is_guest=False,
    )


FLAGS = [
    "fpu",
    "vme",
    "de",
    "pse",
    "tsc",
    "msr",
    "pae",
    "mce",
    "cx8",
    "apic",
    "sep",
    "mtrr",
    "pge",
    "mca",
    "cmov",
    "pat",
    "clflush",
    "mmx",
    "fxsr",
    "sse",
    "sse2",
    "ht",
    "syscall",
    "nx",
    "lm",
    "constant_tsc",
    "nopl",
    "nonstop_tsc",
    "cpuid",
    "pni",
    "avx",
    "avx2",
    "avx512f",
    "avx512_bf16",
    "amx_tile",
]
EITHER = st.one_of(servers(), machines())


# Damage -------------------------------------------------------------------------------------------


def prefixed(text: str, prefix: Callable[[int], str]) -> str:
    return "".join(f"{prefix(i)}{line}\n" for i, line in enumerate(text.split("\n")[:-1]))


def boxed(text: str) -> str:
    lines = text.split("\n")[:-1]
    width = max(map(len, lines))
    rule = "+" + "-" * (width + 2) + "+\n"
    return rule + "".join(f"| {line:{width}} |\n" for line in lines) + rule


def as_html(text: str) -> str:
    lines = text.replace("&", "&amp;").split("\n")[:-1]
    return "<p>" + "<br />\n".join(line.replace(" ", "&nbsp;") for line in lines) + "</p>\n"


def quoted_printable(text: str) -> str:
    return quopri.encodestring(text.encode(), quotetabs=False).decode()


HARMLESS: dict[str, Callable[[str], str]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "no-break blanks": lambda text: text.replace(" ", "\u00a0"),
    "tabs": lambda text: text.replace("  ", "\t"),
    "collapsed blanks": lambda text: "\n".join(" ".join(x.split()) for x in text.split("\n")),
    "padded lines": lambda text: "\n".join(line.ljust(160) for line in text.split("\n")),
    "double spaced": lambda text: text.replace("\n", "\n\n"),
    "quoted": lambda text: prefixed(text, lambda _: "> "),
    "quoted deep": lambda text: prefixed(text, lambda _: "> >> "),
    "indented": lambda text: prefixed(text, lambda _: "        "),
    "journal": lambda text: prefixed(text, lambda i: f"Nov 30 19:04:{i % 60:02} h bash[4711]: "),
    "pdsh": lambda text: prefixed(text, lambda _: "node17: "),
    "grep -n": lambda text: prefixed(text, lambda i: f"{i + 1}:"),
    "cat -n": lambda text: prefixed(text, lambda i: f"{i + 1:6}\t"),
    "boxed": boxed,
    "colours": lambda text: prefixed(text, lambda _: "\x1b[1;32m").replace("\n", "\x1b[0m\n"),
    "HTML": as_html,
    "code fence": lambda text: f"Here:\n```\n{text}```\nThanks, 2 sockets and 64 cores.\n",
    "prompts": lambda text: f"[root@n1 ~]# lscpu\n{text}[root@n1 ~]# nproc\n640\n",
    "quoted-printable": quoted_printable,
    "JSON string": lambda text: json.dumps({"out": text}),
    "zero-width": lambda text: text.replace("CPU", "\u200bCPU\u2060"),
}


def merged_lines(text: str, number: int) -> str:
    """Put one line behind the one before."""
    lines = text.split("\n")
    place = number % max(1, len(lines) - 1)
    return "\n".join([*lines[:place], " ".join(lines[place : place + 2]), *lines[place + 2 :]])


def without_line(text: str, number: int) -> str:
    """Take a line away, but not the last: without that, a table is another whole table."""
    lines = text.split("\n")
    del lines[number % max(1, len(lines) - 2)]
    return "\n".join(lines)


def noted(text: str, number: int) -> str:
    """Put a note behind a line."""
    lines = text.split("\n")
    notes = (" <- this one", "  # 2 of 4", " -- 8 cores?", " (see above)", "    ???")
    lines[number % len(lines)] += notes[number % len(notes)]
    return "\n".join(lines)


def interrupted(text: str, number: int) -> str:
    """Put a line of something else in."""
    lines = text.split("\n")
    others = ("[ 12.345678] usb 1-1: new device", "^C", "...", "2", "0-3", "and then:", "GPU 0")
    lines.insert(number % len(lines), others[number % len(others)])
    return "\n".join(lines)


HARMFUL: dict[str, Callable[[str, int], str]] = {
    **DAMAGE,
    "merged lines": merged_lines,
    "one line": lambda text, _: " ".join(text.split("\n")),
    "without a line": without_line,
    "noted": noted,
    "interrupted": interrupted,
    "head cut": lambda text, n: text[n % len(text) :],
    "columns cut": lambda text, n: "\n".join(x[: 15 + n % 90] for x in text.split("\n")),
    "twice": lambda text, _: text + text,
}
#: With these a flag, or the end of a name, may be lost so that no text shows it.
LOSES_WORDS = ("columns cut", "merged lines", "without a line")
#: What is noticed here, but not undone.
NOTICED = (("lscpu on a terminal", "grep -n"), ("lscpu on 80 columns", "grep -n"),
           ("lscpu on 80 columns", "collapsed blanks"), ("lscpu -e", "JSON string"),
           ("lscpu -e=", "JSON string"), ("lscpu", "JSON string"),
           ("lscpu on a terminal", "JSON string"), ("lscpu on 80 columns", "JSON string"))  # fmt: skip


@each_format
@given(made=servers().filter(lambda m: len(m.online_cpus or ()) > 3))
@FEW
def test_what_takes_nothing_away_changes_nothing(name: str, made: Machine) -> None:
    reader, write = FORMATS[name]
    text = write(made)
    whole = reader.read(text, "text")
    for damage, undo in HARMLESS.items():
        if (name, damage) in NOTICED:
            continue
        damaged = undo(text)
        assert reader.recognises(damaged), damage
        machine = reader.read(damaged, "text")
        assert facts(machine) == facts(whole), damage
        assert codes(machine) <= codes(whole) | {"repaired"}, damage


@pytest.mark.parametrize(("name", "damage"), NOTICED)
@given(made=servers())
@FEW
def test_what_is_not_undone_is_said(name: str, damage: str, made: Machine) -> None:
    assert_same_or_warned(
        name, write_of(name)(made), HARMLESS[damage](write_of(name)(made)), damage
    )


@each_format
@given(made=EITHER, number=st.integers(0, 1 << 16))
@FEW
def test_damage_is_undone_or_said(name: str, made: Machine, number: int) -> None:
    text = write_of(name)(made)
    for damage, do in HARMFUL.items():
        damaged = do(text, number)
        if damage == "truncated" and name in TABLES and is_line_end(text, damaged):
            continue  # That is a whole table of fewer CPUs.
        assert_same_or_warned(name, text, damaged, damage)


def is_line_end(text: str, part: str) -> bool:
    part = part.rstrip(" \n")
    return not part or text[len(part) :].lstrip(" ")[:1] == "\n"


def write_of(name: str) -> Writer:
    return FORMATS[name][1]


def assert_same_or_warned(name: str, text: str, damaged: str, damage: str) -> None:
    reader = FORMATS[name][0]
    whole = reader.read(text, "text")
    try:
        machine = reader.read(damaged, "text")
    except MachineError:
        return
    is_said = set(machine.warnings) - set(whole.warnings)
    assert is_said or same(machine, whole, damage in LOSES_WORDS), damage
