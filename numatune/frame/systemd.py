"""systemd-run and the properties of a unit: affinity, cpuset, quota and memory policy.

Sources: src/shared/numa-util.c and cpu-set-util.c of https://github.com/systemd/systemd,
https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html (CPUAffinity=,
NUMAPolicy=, NUMAMask=) and systemd.resource-control.html (AllowedCPUs=, AllowedMemoryNodes=,
CPUQuota=). A list that is given again adds to the one before, an empty one starts anew.
`systemd CPUQuota=200% ...` describes a unit by its properties alone.
"""

from __future__ import annotations

from numatune.errors import UsageError
from numatune.frame import kernel
from numatune.frame.frame import BIND, DEFAULT, INTERLEAVE, LOCAL, PREFERRED, Entered, Framed
from numatune.frame.lists import systemd_list
from numatune.frame.options import Options, names, number, read_options
from numatune.machine import CpuSet, Machine
from numatune.words import listed, shown, suggestion

OPTIONS = Options(
    values=names(
    "host machine property unit description slice uid gid nice working-directory setenv"
        " service-type on-active on-boot on-startup on-unit-active on-unit-inactive on-calendar"
        " path-property socket-property timer-property background json job-mode"
),
    flags=names(
    "user system scope remain-after-exit send-sighup slice-inherit expand-environment"
        " same-dir pty pty-late pipe quiet collect shell no-ask-password no-block no-pager wait"
        " verbose ignore-failure help version on-clock-change on-timezone-change"
),
    short={
        "H": "host", "M": "machine", "p": "property", "u": "unit", "E": "setenv", "r":
        "remain-after-exit", "d": "same-dir", "t": "pty", "T": "pty-late", "P": "pipe", "q":
        "quiet", "G": "collect", "S": "shell", "v": "verbose", "h": "help",
    },
)  # fmt: skip

LISTS = ("AllowedCPUs", "AllowedMemoryNodes", "CPUAffinity", "NUMAMask")
#: Those of systemd.exec, which a scope does not have.
OF_EXECUTION = ("CPUAffinity", "NUMAPolicy", "NUMAMask")
OTHERS = ("CPUQuota", "NUMAPolicy")
POLICIES = (DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL)


def enter(frame: Framed, words: list[str], host: Machine) -> Entered:
    """Return the frame inside of the unit. Raises UsageError."""
    name = words[0].rsplit("/", 1)[-1]
    is_scope = False
    if name == "systemd-run":
        found, rest = read_options(name, words[1:], OPTIONS)
        properties = [value for option, value in found if option == "property"]
        is_scope = ("scope", "") in found
    else:
        count = next((i for i, word in enumerate(words[1:]) if not is_property(word)), None)
        rest = [] if count is None else words[1 + count :]
        properties = words[1 : len(words) - len(rest)]
    known = read_properties(name, properties)
    if is_scope:
        for key in OF_EXECUTION:
            if known.pop(key, None) is not None:
                frame = frame.noted(f"a scope has no {key}: systemd-run does not set it"
                                    " (documented, not verified)")  # fmt: skip
    else:
        frame = kernel.started_anew(frame, host, name)
    effects = []
    for key, step in STEPS.items():
        if key in known and frame.refusal is None:
            frame = step(frame, name, known)
            effects.append(f"{key} {known[key]}")
    return Entered(frame, rest, listed(effects) or "no limit")


def is_property(word: str) -> bool:
    """Tell whether a word assigns a property, which environment variables do not look like."""
    key, equals, _ = word.partition("=")
    return bool(equals) and key.isalnum() and key[:1].isupper() and not key.isupper()


def read_properties(name: str, properties: list[str]) -> dict[str, str]:
    """Return the last value of each known property, lists put together. Raises UsageError."""
    known: dict[str, str] = {}
    for text in properties:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{name}: a property is NAME=VALUE, not {shown(text)}")
        if key not in (*LISTS, *OTHERS):
            hint = suggestion(key, (*LISTS, *OTHERS))
            hint = hint or next((f", did you mean {k}?" for k in (*LISTS, *OTHERS)
                                 if k.lower() == key.lower()), "")  # fmt: skip
            if hint:
                raise UsageError(f"{name}: the property {shown(key)} is not known{hint}")
            continue  # it limits something else
        value = value.strip()
        if key in LISTS and value and known.get(key):
            value = f"{known[key]},{value}"
        known[key] = value
    return {key: value for key, value in known.items() if value}


def allowed_cpus(frame: Framed, name: str, known: dict[str, str]) -> Framed:
    """AllowedCPUs=: a cpuset; where none of it is there, those of the parent stay."""
    asked = systemd_list(name, "AllowedCPUs", known["AllowedCPUs"])
    usable = frame.machine.usable_cpus
    if usable is not None and not asked & usable:
        return frame.noted(f"AllowedCPUs {asked}: none may be used, so the unit keeps all CPUs that"
                           f" its parent has ({usable})")  # fmt: skip
    return kernel.with_cpuset(frame, f"{name} AllowedCPUs", asked)


def allowed_nodes(frame: Framed, name: str, known: dict[str, str]) -> Framed:
    """AllowedMemoryNodes=: a cpuset, with the same way out."""
    asked = systemd_list(name, "AllowedMemoryNodes", known["AllowedMemoryNodes"])
    there = kernel.memory_nodes(frame.machine)
    if there is not None and not asked & there:
        return frame.noted(f"AllowedMemoryNodes {asked}: none can give memory, so the unit keeps"
                           f" the nodes of its parent ({there})")  # fmt: skip
    return kernel.with_mems(frame, f"{name} AllowedMemoryNodes", asked)


def quota(frame: Framed, name: str, known: dict[str, str]) -> Framed:
    """CPUQuota=: percent of one CPU."""
    text = known["CPUQuota"]
    if not text.endswith("%"):
        raise UsageError(f"{name}: CPUQuota is in percent, such as 200%, not {shown(text)}")
    percent = number(name, "CPUQuota", text[:-1], 0.1, 1e8)
    return kernel.with_quota(frame, percent / 100)


def affinity(frame: Framed, name: str, known: dict[str, str]) -> Framed:
    """CPUAffinity=: sched_setaffinity; "numa" is the CPUs of the nodes of NUMAMask."""
    text = known["CPUAffinity"]
    if text != "numa":
        asked = systemd_list(name, "CPUAffinity", text)
        return kernel.with_affinity(frame, f"{name} CPUAffinity", asked)
    nodes = mask_of(frame, name, known)
    there = [node for node in frame.machine.nodes if nodes is not None and node.id in nodes]
    if not there or any(node.cpus is None for node in there):
        return kernel.unbound(frame).noted("the CPUs of NUMAMask are not known, so CPUAffinity=numa"
                                           " is open")  # fmt: skip
    cpus = CpuSet(cpu for node in there for cpu in node.cpus or ())
    return kernel.with_affinity(frame, f"{name} CPUAffinity=numa", cpus, nodes or ())


def policy(frame: Framed, name: str, known: dict[str, str]) -> Framed:
    """NUMAPolicy= and NUMAMask=: set_mempolicy; bind and interleave need nodes."""
    kind = known["NUMAPolicy"]
    if kind not in POLICIES:
        raise UsageError(f"{name}: NUMAPolicy is {listed(POLICIES, 'or')}, not {shown(kind)}")
    nodes = mask_of(frame, name, known)
    if nodes is None and "NUMAMask" in known:
        return kernel.with_policy(frame, f"{name} NUMAPolicy", kind, None).noted(
            kernel.UNKNOWN_NODES.format("NUMAMask=all")
        )
    if kind in (DEFAULT, LOCAL) or (kind == PREFERRED and nodes is None):
        kind = LOCAL if kind == PREFERRED else kind
        return kernel.with_policy(frame, f"{name} NUMAPolicy", kind, None)
    if nodes is None:
        reason = f"{name} NUMAPolicy={kind} needs NUMAMask: the unit fails (EINVAL)"
        return kernel.refused(frame, name, reason)
    if kind == PREFERRED and len(nodes) != 1:
        reason = f"{name} NUMAPolicy=preferred takes one node, not {len(nodes)}: the unit fails"
        return kernel.refused(frame, name, reason, nodes=nodes)
    if not frame.machine.nodes:
        frame = frame.noted(kernel.UNKNOWN_NODES.format(f"NUMAPolicy={kind}"))
    return kernel.with_policy(frame, f"{name} NUMAPolicy={kind}", kind, nodes)


def mask_of(frame: Framed, name: str, known: dict[str, str]) -> CpuSet | None:
    """Return the nodes of NUMAMask, None where it is not given or not known."""
    text = known.get("NUMAMask")
    if text is None:
        return None
    if text == "all":
        nodes = frame.machine.nodes
        return CpuSet(range(max(node.id for node in nodes) + 1)) if nodes else None
    return systemd_list(name, "NUMAMask", text)


#: In the order in which a unit is started: the cgroup first, then its process.
STEPS = {
    "AllowedCPUs": allowed_cpus,
    "AllowedMemoryNodes": allowed_nodes,
    "CPUQuota": quota,
    "CPUAffinity": affinity,
    "NUMAPolicy": policy,
}
