"""numactl: the affinity and the memory policy that a program starts with.

Source: numactl.c and libnuma.c of
https://github.com/numactl/numactl/tree/93c1fe5fabf38502ca315598bf74699c41300df9
Its lists are checked against Mems_allowed and Cpus_allowed of the process (with --all against all
ids up to the highest), so a node without memory is "out of range" for every option, and an isolated
CPU is for -C. -N takes all CPUs of the nodes, whatever the affinity was before.
"""

from __future__ import annotations

from typing import NamedTuple

from numatune.errors import UsageError
from numatune.frame import kernel
from numatune.frame.frame import (
    BIND,
    DEFAULT,
    INTERLEAVE,
    LOCAL,
    PREFERRED,
    WEIGHTED,
    Entered,
    Framed,
)
from numatune.frame.lists import numactl_list
from numatune.frame.options import Options, names, read_options
from numatune.machine import CpuSet, Machine
from numatune.machine.cpuset import ID_LIMIT
from numatune.words import clean, listed, shown

NAME = "numactl"

OPTIONS = Options(
    values=names(
    "interleave weighted-interleave preferred preferred-many cpubind cpunodebind physcpubind"
        " membind shm file offset length shmmode shmid"
),
    flags=names(
    "all show localalloc balancing hardware strict dump dump-nodes huge touch cpu-compress"
        " verify version"
),
    short={
        "a": "all", "i": "interleave", "w": "weighted-interleave", "p": "preferred",
        "P": "preferred-many", "c": "cpubind", "N": "cpunodebind", "C": "physcpubind",
        "m": "membind", "s": "show", "l": "localalloc", "b": "balancing", "H": "hardware",
        "S": "shm", "f": "file", "o": "offset", "L": "length", "t": "strict", "M": "shmmode",
        "d": "dump", "D": "dump-nodes", "I": "shmid", "u": "huge", "T": "touch", "V": "verify",
    },
)  # fmt: skip

POLICIES = {
    "membind": BIND,
    "interleave": INTERLEAVE,
    "weighted-interleave": WEIGHTED,
    "preferred": PREFERRED,
    "preferred-many": PREFERRED,
    "localalloc": LOCAL,
}
NODE_BINDINGS = ("cpunodebind", "cpubind")
#: What a list of nodes may begin with when it means the node of a device.
DEVICES = ("netdev:", "file:", "ip:", "block:", "pci:")
#: Options that have no part in the start of a program.
HARMLESS = ("balancing", "strict", "cpu-compress")


class Asked(NamedTuple):
    """The nodes that an option asks for: None where not known, and those that it is refused."""

    ids: CpuSet | None
    refused: tuple[int, ...] = ()
    note: str = ""


class Checks(NamedTuple):
    """What numactl checks its lists against: read once, before it changes anything."""

    machine: Machine
    takes_all: bool = False

    def nodes(self) -> CpuSet | None:
        """The nodes that may be named, None where nodes are not known."""
        nodes = self.machine.nodes
        if self.takes_all and nodes:
            return CpuSet(range(max(node.id for node in nodes) + 1))
        return kernel.memory_nodes(self.machine)

    def cpus(self) -> CpuSet | None:
        """The CPUs that may be named, None where CPUs are not known.

        Without a limit Cpus_allowed also has the CPUs that are offline.
        """
        machine = self.machine
        if machine.cpus is None:
            return machine.inherited_cpus
        present = machine.cpus | (machine.offline_cpus or CpuSet())
        if self.takes_all:
            return CpuSet(range(len(present)))
        limits = machine.limits
        for limit in (limits.cpuset_cpus, limits.affinity):
            present = present if limit is None else present & limit
        return present


def enter(frame: Framed, words: list[str], host: Machine) -> Entered:
    """Return the frame inside of numactl: its options in their order, as it takes them.

    Raises UsageError for what numactl answers with its usage, or what starts no program.
    """
    found, rest = read_options(NAME, words[1:], OPTIONS)
    checked(found)
    checks = Checks(frame.machine)
    last = ""
    effects: list[str] = []
    for name, value in found:
        if frame.refusal is not None:
            break
        if name == "all":
            checks = checks._replace(takes_all=True)
        elif name == "physcpubind":
            frame = bind_cpus(frame, checks, value)
            effects.append(kernel.affinity_in_words(frame))
        elif name in NODE_BINDINGS:
            last = last if value == "same" else value
            frame = bind_nodes(frame, checks, last)
            which = "node" if last.isdecimal() else "nodes"
            effects.append(f"affinity to the CPUs of {which} {clean(last)}")
        elif name in POLICIES:
            last = last if value == "same" or name == "localalloc" else value
            frame = set_policy(frame, checks, name, "" if name == "localalloc" else last)
            effects.append(f"memory policy {frame.memory.kind} {frame.memory.nodes or ''}".strip())
    return Entered(frame, rest, listed(effects) or "nothing")


def checked(found: list[tuple[str, str]]) -> None:
    """Raise UsageError for options that numactl does not take together, or not to start with."""
    policy = named = parsed = False
    for name, value in found:
        takes_nodes = name in NODE_BINDINGS or (name in POLICIES and name != "localalloc")
        if name == "all" and parsed:
            raise UsageError("numactl: --all must stand before the nodes and CPUs")
        if name in POLICIES and policy:
            raise UsageError("numactl: only one memory policy can be set")
        if takes_nodes and value == "same" and not named:
            raise UsageError("numactl: same needs nodes before it")
        if name not in (*POLICIES, *NODE_BINDINGS, *HARMLESS, "physcpubind", "all"):
            raise UsageError(f"numactl with --{name} starts no program")
        if name == "balancing" and policy:
            raise UsageError("numactl: --balancing must stand before the memory policy")
        policy = policy or name in POLICIES
        named = named or takes_nodes
        parsed = parsed or takes_nodes or name == "physcpubind"


def bind_cpus(frame: Framed, checks: Checks, text: str) -> Framed:
    """Do what -C does."""
    allowed = checks.cpus()
    machine = checks.machine
    if allowed is None:
        every = CpuSet.of_mask((1 << ID_LIMIT) - 1)
        if text[:1] in ("!", "+") or text.endswith("all"):
            numactl_list(NAME, text, every, 0)  # raises for what is no list
            note = f"the CPUs of the machine are not known, so which ones -C {shown(text)} means"
            return kernel.unbound(frame).noted(note + " is open")
        allowed = every
    known = len(machine.cpus or ()) + len(machine.offline_cpus or ())
    cpus, refused = numactl_list(NAME, text, allowed, known)
    if refused:
        return out_of_range(frame, f"-C {shown(text)}", "CPU", refused, allowed)
    return kernel.with_affinity(frame, NAME, cpus)


def bind_nodes(frame: Framed, checks: Checks, text: str) -> Framed:
    """Do what -N does."""
    if frame.may_set_policy is False:
        frame = frame.noted(
            "the seccomp profile forbids get_mempolicy: numactl up to 2.0.18 binds CPUs, a later"
            " one ends with -N (EPERM); --cap-add SYS_NICE allows it"
        )
    nodes = nodes_of(checks, text)
    if nodes.note:
        return kernel.unbound(frame).noted(nodes.note)
    if nodes.refused or nodes.ids is None:
        return out_of_range(frame, f"-N {shown(text)}", "node", nodes.refused, checks.nodes())
    there = [node for node in checks.machine.nodes if node.id in nodes.ids]
    if any(node.cpus is None for node in there):
        which = kernel.nodes_in_words(nodes.ids)
        note = f"the CPUs of {which} are not known, so the affinity of -N is open"
        return kernel.unbound(frame).noted(note)
    cpus = CpuSet(cpu for node in there for cpu in node.cpus or ())
    return kernel.with_affinity(frame, f"{NAME} -N {shown(text)}", cpus, nodes.ids)


def set_policy(frame: Framed, checks: Checks, name: str, text: str) -> Framed:
    """Do what -m, -i, -w, -p, -P and -l do."""
    kind = POLICIES[name]
    if kind == LOCAL:
        return kernel.with_policy(frame, f"{NAME} --{name}", kind, None)
    nodes = nodes_of(checks, text)
    written = f"--{name} {shown(text)}"
    if nodes.note:
        return kernel.with_policy(frame, f"{NAME} {written}", kind, None).noted(nodes.note)
    if nodes.refused or nodes.ids is None:
        return out_of_range(frame, written, "node", nodes.refused, checks.nodes())
    if not nodes.ids and kind in (INTERLEAVE, WEIGHTED):  # libnuma's way to the default policy
        return kernel.with_policy(frame, f"{NAME} {written}", DEFAULT, None)
    if name == "preferred" and len(nodes.ids) != 1:
        reason = f"{NAME} {written} takes exactly one node"
        return kernel.refused(frame, NAME, f"{reason}, not {len(nodes.ids)}", nodes=nodes.ids)
    return kernel.with_policy(frame, f"{NAME} {written}", kind, nodes.ids)


def nodes_of(checks: Checks, text: str) -> Asked:
    """Return the nodes that a text means. Raises UsageError."""
    if text.lstrip("!+").startswith(DEVICES):
        return Asked(None, note=f"which node {shown(text)} is on is not known here")
    allowed = checks.nodes()
    if allowed is None:
        numactl_list(NAME, text, CpuSet.of_mask((1 << ID_LIMIT) - 1), 0)
        if checks.machine.shows_nodes is False:
            return Asked(None, note=f"the kernel shows no NUMA nodes, so what {NAME} does is open")
        return Asked(None, note=kernel.UNKNOWN_NODES.format(f"{NAME} with nodes {shown(text)}"))
    parsed = numactl_list(NAME, text, allowed, len(checks.machine.nodes))
    return Asked(parsed.ids, parsed.refused)


def out_of_range(
    frame: Framed, option: str, what: str, ids: tuple[int, ...], allowed: CpuSet | None
) -> Framed:
    """Refuse ids that libnuma calls out of range."""
    if option.partition(" ")[2].startswith(("+", "!+")):
        places = listed([str(i) for i in ids])
        reason = f"numactl {option}: there is no place {places} among {allowed}, from 0 on"
        return kernel.refused(frame, NAME, reason)
    small = CpuSet(i for i in ids if i < ID_LIMIT)
    parts = [str(small), *(str(i) for i in ids if i >= ID_LIMIT)]
    named = f"{what} {','.join(part for part in parts if part)}"
    why = f"numactl {option}: {named} is not among those that it takes here ({allowed})"
    if what == "node":
        empty = [n.id for n in frame.machine.nodes if n.id in ids and n.memory_total_bytes == 0]
        if empty:
            why += f"; node {listed(list(map(str, empty)))} has no memory"
    isolated = frame.machine.settings.isolated_cpus
    if what == "CPU" and isolated and any(i in isolated for i in ids):
        why += "; isolated CPUs are taken with --all, or by taskset"
    if what == "node":
        return kernel.refused(frame, NAME, why, nodes=ids)
    return kernel.refused(frame, NAME, why, cpus=ids)
