"""Machines made up at random, written in the formats that have writers here, and ways to damage a
text. For the tests of the readers.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import Core, CpuSet, Distances, Machine, Node, Package

KINDS = {"dram": "DRAM", "hbm": "HBM", "cxl": "CXL-DRAM", "device": "GPUMemory", "unknown": ""}


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """A machine whose nodes each lie in one package, with CPU-less nodes among them."""
    ids = draw(st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True))
    ids.sort()
    cores_of = [draw(st.integers(0, 3)) for _ in ids]
    cores_of[0] = max(1, cores_of[0])
    smt = draw(st.integers(1, 2))
    last = draw(st.booleans())
    total = sum(cores_of)
    place = 0
    package_of: list[int | None] = []
    cores: list[Core] = []
    nodes: list[Node] = []
    package = draw(st.integers(0, 3))
    for number, count in zip(ids, cores_of, strict=True):
        if count and nodes and draw(st.booleans()):
            package += draw(st.integers(1, 3))
        package_of.append(package if count else None)
        cpus = CpuSet()
        for core in range(place, place + count):
            siblings = [core + total * t if last else core * smt + t for t in range(smt)]
            cores.append(Core(CpuSet(siblings), package, number))
            cpus |= CpuSet(siblings)
        place += count
        kind = draw(st.sampled_from(["dram", "unknown"] if count else ["hbm", "cxl", "device"]))
        kib = draw(st.integers(1 << 10, 1 << 30))
        nodes.append(Node(number, cpus, kib << 10, None, kind))
    packages = {
        p: CpuSet(c for core in cores if core.package_id == p for c in core.cpus)
        for p in package_of
        if p is not None
    }
    values = st.integers(10, 254)
    rows = tuple(tuple(draw(values) for _ in ids) for _ in ids)
    return Machine(
        source="made",
        nodes=tuple(nodes),
        cores=tuple(sorted(cores, key=lambda c: c.cpus.first())),
        packages=tuple(Package(p, packages[p]) for p in sorted(packages)),
        distances=Distances(tuple(ids), rows),
        online_cpus=CpuSet(c for core in cores for c in core.cpus),
    )


# Writers ------------------------------------------------------------------------------------------


def bitmap(ids: CpuSet) -> str:
    """Write a set as hwloc does."""
    groups = []
    mask = ids.mask
    while mask:
        groups.append(f"0x{mask & 0xFFFFFFFF:08x}" if mask & 0xFFFFFFFF else "")
        mask >>= 32
    if groups and not groups[0]:
        groups[0] = "0x0"
    return ",".join(reversed(groups)) or "0x0"


def hwloc_xml(machine: Machine) -> str:
    """Write format 2; CPU-less nodes hang beside the first node with CPUs, or alone."""
    nodes, cpus = machine.nodes, machine.online_cpus or CpuSet()
    every = bitmap(CpuSet(n.id for n in nodes))
    lines = ['<?xml version="1.0" encoding="UTF-8"?>',
             '<!DOCTYPE topology SYSTEM "hwloc2.dtd">', '<topology version="2.0">',
             f'  <object type="Machine" os_index="0" cpuset="{bitmap(cpus)}" complete_cpuset='
             f'"{bitmap(cpus)}" allowed_cpuset="{bitmap(cpus)}" nodeset="{every}" '
             f'complete_nodeset="{every}" allowed_nodeset="{every}" gp_index="1">']  # fmt: skip
    lone = [n for n in nodes if not n.cpus]
    owners = [n for n in nodes if n.cpus]
    guests = {owners[0].id: [n for n in lone if n.kind != "device"]}
    for package in machine.packages or ():
        lines.append(f'<object type="Package" os_index="{package.id}" '
                     f'cpuset="{bitmap(package.cpus)}">')  # fmt: skip
        for node in owners:
            if not (node.cpus or CpuSet()) <= package.cpus:
                continue
            place = bitmap(node.cpus or CpuSet())
            lines.append(f'<object type="Group" cpuset="{place}">')
            lines += [numa_object(n, place) for n in (node, *guests.get(node.id, ()))]
            for core in machine.cores or ():
                if core.node_id == node.id:
                    lines.append('<object type="Core" os_index="0">')
                    lines += [f'<object type="PU" os_index="{cpu}" complete_nodeset='
                              f'"{bitmap(CpuSet([node.id]))}"/>' for cpu in core.cpus]  # fmt: skip
                    lines.append("</object>")
            lines.append("</object>")
        lines.append("</object>")
    for node in lone:
        if node.kind == "device":
            lines.append(numa_object(node, "0x0"))
    lines.append("  </object>")
    table = machine.distances
    assert table is not None
    ids = "".join(f"{n} " for n in table.node_ids)
    flat = "".join(f"{v} " for row in table.values for v in row)
    lines += [f'<distances2 type="NUMANode" nbobjs="{len(table.node_ids)}" kind="5" '
              'name="NUMALatency" indexing="os">',
              f'<indexes length="{len(ids)}">{ids}</indexes>',
              f'<u64values length="{len(flat)}">{flat}</u64values>', "</distances2>",
              "</topology>", ""]  # fmt: skip
    return "\n".join(lines)


def numa_object(node: Node, place: str) -> str:
    """Write a NUMA node."""
    subtype = f' subtype="{KINDS[node.kind]}"' if KINDS[node.kind] else ""
    return (
        f'<object type="NUMANode" os_index="{node.id}" cpuset="{place}" complete_cpuset="{place}" '
        f'nodeset="{bitmap(CpuSet([node.id]))}"{subtype} '
        f'local_memory="{node.memory_total_bytes}"/>'
    )


def lstopo(machine: Machine) -> str:
    """Write console output of `lstopo -p`, with sizes in KB as -v has them."""
    lines = ["Machine (1GB total)"]
    lone = [n for n in machine.nodes if not n.cpus]
    for package in machine.packages or ():
        lines.append(f"  Package P#{package.id}")
        for node in machine.nodes:
            if not node.cpus or not node.cpus <= package.cpus:
                continue
            lines += ["    Group0", numa_line(node, 6)]
            for core in machine.cores or ():
                if core.node_id == node.id:
                    lines.append("      L2 P#0 (4096KB) + L1d P#0 (32KB) + Core P#0")
                    lines += [f"        PU P#{cpu}" for cpu in core.cpus]
    for node in lone:
        lines += ["  Group0", numa_line(node, 4)]
    return "\n".join([*lines, "  HostBridge", "    PCI 00:02.0 (VGA)", ""])


def numa_line(node: Node, indent: int) -> str:
    """Write the line of a NUMA node."""
    kind = f"({KINDS[node.kind]})" if KINDS[node.kind] else ""
    return f"{' ' * indent}NUMANode{kind} P#{node.id} ({(node.memory_total_bytes or 0) >> 10}KB)"


def numastat(machine: Machine, width: int = 80) -> str:
    """Write `numastat -m`, folded at a width."""
    columns = [(f"Node {n.id}", (n.memory_total_bytes or 0) / 2**20) for n in machine.nodes]
    columns.append(("Total", sum(size for _, size in columns)))
    each = max(1, (width - 16) // 16)
    blocks = []
    for start in range(0, len(columns), each):
        part = columns[start : start + each]
        blocks.append("\n".join([
            " " * 16 + "".join(f"{name:>16}" for name, _ in part),
            " " * 16 + "".join(f"{'-' * 15:>16}" for _ in part),
            f"{'MemTotal':16}" + "".join(f"{size:16.2f}" for _, size in part),
            f"{'MemFree':16}" + "".join(f"{size / 2:16.2f}" for _, size in part),
            f"{'MemUsed':16}" + "".join(f"{size / 2:16.2f}" for _, size in part),
        ]))  # fmt: skip
    token = "Token SwapCached not in hash table.\n"
    return f"\nPer-node system memory usage (in MBs):\n{token}{token}" + "\n\n".join(blocks) + "\n"


def virsh(machine: Machine) -> str:
    """Write `virsh capabilities`."""
    table = machine.distances
    assert table is not None
    package_of = {cpu: p.id for p in machine.packages or () for cpu in p.cpus}
    core_of = {cpu: core.cpus for core in machine.cores or () for cpu in core.cpus}
    lines = ["<capabilities>", "", "  <host>", "    <cpu>", "      <arch>x86_64</arch>",
             "      <model>EPYC-Rome</model>", "      <vendor>AMD</vendor>",
             "      <topology sockets='1' dies='1' cores='8' threads='2'/>", "    </cpu>",
             "    <topology>", f"      <cells num='{len(machine.nodes)}'>"]  # fmt: skip
    for node in machine.nodes:
        cpus = node.cpus or CpuSet()
        lines += [f"        <cell id='{node.id}'>",
                  f"          <memory unit='KiB'>{(node.memory_total_bytes or 0) >> 10}</memory>",
                  "          <pages unit='KiB' size='4'>17</pages>", "          <distances>"]  # fmt: skip
        lines += [f"            <sibling id='{other}' value='{table.between(node.id, other)}'/>"
                  for other in table.node_ids]  # fmt: skip
        lines += ["          </distances>", f"          <cpus num='{len(cpus)}'>"]
        lines += [f"            <cpu id='{cpu}' socket_id='{package_of[cpu]}' die_id='0' "
                  f"core_id='0' siblings='{core_of[cpu]}'/>" for cpu in cpus]  # fmt: skip
        lines += ["          </cpus>", "        </cell>"]
    lines += ["      </cells>", "    </topology>", "  </host>", "", "</capabilities>", ""]
    return "\n".join(lines)


# Damage -------------------------------------------------------------------------------------------


def wrapped(text: str, width: int) -> str:
    """Break lines at the last blank before a width, as mailers do."""
    lines = []
    for line in text.split("\n"):
        while len(line) > width and line.rfind(" ", 1, width) > len(line) - len(line.lstrip()):
            cut = line.rfind(" ", 1, width)
            lines.append(line[:cut])
            line = line[cut + 1 :]
        lines.append(line)
    return "\n".join(lines)


def cut_lines(text: str, width: int) -> str:
    """Break lines at a width, wherever that is, as terminals do."""
    return "\n".join(
        line[i : i + width] for line in text.split("\n") for i in range(0, len(line) or 1, width)
    )


def elided(text: str, start: int, count: int) -> str:
    """Put dots in place of some lines."""
    lines = text.split("\n")
    start %= max(1, len(lines))
    return "\n".join([*lines[:start], "...", *lines[start + count :]])


DAMAGE: dict[str, Callable[[str, int], str]] = {
    "quoted": lambda text, _: "\n".join(f"> {line}" for line in text.split("\n")),
    "indented": lambda text, n: "\n".join(" " * (n % 9) + line for line in text.split("\n")),
    "unindented": lambda text, _: "\n".join(line.lstrip() for line in text.split("\n")),
    "line ends": lambda text, _: text.replace("\n", "\r\n"),
    "no-break blanks": lambda text, _: text.replace(" ", "\u00a0"),
    "byte order mark": lambda text, _: "\ufeff" + text,
    "colours": lambda text, _: "\n".join(f"\x1b[1;32m{line}\x1b[0m" for line in text.split("\n")),
    "a prompt": lambda text, _: f"user@host:~$ lstopo\n{text}user@host:~$ exit\n",
    "prose": lambda text, _: f"Hello, this is what I have:\n\n{text}\nIs it 2 nodes or 4?\n",
    "wrapped": lambda text, n: wrapped(text, 40 + n % 60),
    "cut lines": lambda text, n: cut_lines(text, 40 + n % 60),
    "truncated": lambda text, n: text[: n % (len(text) + 1)],
    "elided": lambda text, n: elided(text, n, 1 + n % 4),
    "blank lines": lambda text, _: text.replace("\n", "\n\n"),
    "line numbers": lambda text, _: "\n".join(
        f"{i:>6}: {line}" for i, line in enumerate(text.split("\n"), 1)
    ),
}


def says_the_same_or_warns(
    read: Callable[[str, str], Machine], facts: Callable[[Machine], object], text: str, name: str,
    number: int,
) -> None:  # fmt: skip
    """Assert that a damaged text reads as the whole one does, or with a warning, or not at all."""
    whole = facts(read(text, "text"))
    try:
        machine = read(DAMAGE[name](text, number), "text")
    except MachineError:
        return
    assert facts(machine) == whole or machine.warnings, (name, number)
