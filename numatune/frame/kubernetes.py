"""A pod, described in words: "kubernetes cpu=16 policy=static topology=single-numa-node".

Sources: https://kubernetes.io/docs/concepts/policy/node-resource-managers and
https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/ ; exclusive CPUs and their
hints: pkg/kubelet/cm/cpumanager/policy_static.go of
https://github.com/kubernetes/kubernetes/tree/0083b964bdb8dc7d25ca89d28ac5181d7ca5f586
Which CPUs the static policy takes depends on the reserved ones and on other pods, so they stay
unknown unless cpuset= states them; their number counts like a quota (up to 1.32 the kubelet sets
that quota, too: https://github.com/kubernetes/kubernetes/pull/127525).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numatune.errors import UsageError
from numatune.frame import kernel
from numatune.frame.frame import Entered, Framed
from numatune.frame.lists import kernel_list
from numatune.frame.options import number
from numatune.machine import Machine
from numatune.words import listed, shown, suggestion

NAME = "kubernetes"

#: What can be said, and the words for it; () is free text.
KEYS: dict[str, tuple[str, ...]] = {
    "cpu": (),
    "policy": ("none", "static"),
    "topology": ("none", "best-effort", "restricted", "single-numa-node"),
    "qos": ("guaranteed", "burstable", "besteffort"),
    "memory-manager": ("none", "static"),
    "seccomp": ("runtimedefault", "unconfined"),
    "cap": ("sys_nice",),
    "cpuset": (),
    "mems": (),
}
SWITCHES = ("full-pcpus-only", "distribute-cpus-across-numa")
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*=")


class Pod(NamedTuple):
    """One container of a pod, and how the kubelet is set up; `cpus` is None without a limit."""

    cpus: float | None
    said: dict[str, str]
    switches: frozenset[str]

    @property
    def is_guaranteed(self) -> bool:
        """Whether it is Guaranteed; that is taken where CPUs are given and nothing is said."""
        return self.cpus is not None and self.said.get("qos", "guaranteed") == "guaranteed"

    @property
    def exclusive(self) -> int:
        """How many CPUs it has alone: an integer number, Guaranteed, under the static policy."""
        if self.said.get("policy") != "static" or not self.is_guaranteed or self.cpus is None:
            return 0
        return int(self.cpus) if self.cpus == int(self.cpus) else 0


def enter(frame: Framed, words: list[str], host: Machine) -> Entered:
    """Return the frame inside of the pod. Raises UsageError."""
    pod, rest = read_pod(words[1:])
    frame = kernel.started_anew(frame, host, NAME)
    frame = with_policies(frame, pod)
    if pod.cpus is not None and "qos" not in pod.said:
        frame = frame.noted("kubernetes: the pod is taken as Guaranteed (requests equal limits)")
    frame, effect = exclusive(frame, pod) if pod.exclusive else shared(frame, pod)
    if frame.refusal is None and "cpuset" in pod.said:
        cpus = kernel_list(NAME, "cpuset", pod.said["cpuset"])
        frame = kernel.with_cpuset(frame, NAME, cpus)
    if frame.refusal is None and "mems" in pod.said:
        nodes = kernel_list(NAME, "mems", pod.said["mems"])
        frame = kernel.with_mems(frame, NAME, nodes)
    elif frame.refusal is None and pod.said.get("memory-manager") == "static" and pod.is_guaranteed:
        frame = frame.noted("kubernetes: the memory manager confines memory to nodes of its choice;"
                            " state them with mems= (documented, not verified)")  # fmt: skip
    return Entered(frame, rest, effect)


def read_pod(words: list[str]) -> tuple[Pod, list[str]]:
    """Return the pod that words describe, and the words behind. Raises UsageError."""
    said: dict[str, str] = {}
    switches: set[str] = set()
    at = 0
    while at < len(words) and is_said(words[at]):
        for part in re.split(r",(?=[a-z])", words[at]):
            key, equals, value = part.partition("=")
            if part in SWITCHES:
                switches.add(part)
                continue
            if not equals or key not in KEYS:
                hint = suggestion(key, (*KEYS, *SWITCHES))
                known = ", ".join((*KEYS, *SWITCHES))
                raise UsageError(f"{NAME} has no {shown(part)}{hint or f'; known are {known}'}")
            value = value if key in ("cpu", "cpuset", "mems") else value.lower()
            if KEYS[key] and value not in KEYS[key]:
                raise UsageError(f"{NAME}: {key} is {listed(KEYS[key], 'or')}, not {shown(value)}")
            if said.get(key, value) != value:
                raise UsageError(f"{NAME}: {key} is given twice")
            said[key] = value
        at += 1
    cpus = cpus_of(said["cpu"]) if "cpu" in said else None
    return Pod(cpus, said, frozenset(switches)), words[at:]


def is_said(word: str) -> bool:
    """Tell whether a word describes the pod, and is not the program or a variable."""
    first = word.partition(",")[0]
    return first in SWITCHES or ("=" in first and not VARIABLE.match(first))


def cpus_of(text: str) -> float:
    """Return a quantity of CPUs: "16", "1.5" or "500m". Raises UsageError."""
    if text.endswith("m"):
        return number(NAME, "cpu", text[:-1], 1, 1e9) / 1000
    return number(NAME, "cpu", text, 0.001, 1e6)


def shared(frame: Framed, pod: Pod) -> tuple[Framed, str]:
    """A pod without exclusive CPUs: its limit is a quota."""
    if pod.said.get("policy") == "static":
        why = "is not Guaranteed" if not pod.is_guaranteed else "asks for a part of a CPU"
        frame = frame.noted(
            f"kubernetes: the pod {why}, so the static policy gives it no CPUs of its own: it runs"
            " on those that no other pod has alone, which are not known"
        )
    if pod.cpus is None or pod.said.get("qos") == "besteffort":
        return frame, "no CPU limit"
    return kernel.with_quota(frame, pod.cpus), f"a quota of {pod.cpus:g} CPUs"


def exclusive(frame: Framed, pod: Pod) -> tuple[Framed, str]:
    """A pod with exclusive CPUs: how many, and what the kubelet refuses."""
    count = pod.exclusive
    reason = refusal_of(frame.machine, pod)
    if reason:
        return kernel.refused(frame, NAME, reason), ""
    threads = frame.machine.threads_per_core
    if "full-pcpus-only" in pod.switches and threads is None:
        frame = frame.noted("kubernetes: the threads of a core are not known, so whether"
                            " full-pcpus-only admits the pod is open")  # fmt: skip
    topology = pod.said.get("topology", "none")
    if topology == "single-numa-node":
        frame = frame.noted("kubernetes: all CPUs of the pod are of one node; it is rejected where"
                            " reserved CPUs and other pods leave no node with so many")  # fmt: skip
    elif topology == "restricted":
        frame = frame.noted("kubernetes: the CPUs are of as few nodes as can hold them; the pod is"
                            " rejected where these are not free")  # fmt: skip
    elif topology == "best-effort":
        frame = frame.noted("kubernetes: the CPUs are of as few nodes as can hold them, if these"
                            " are free")  # fmt: skip
    if "distribute-cpus-across-numa" in pod.switches and topology != "single-numa-node":
        frame = frame.noted("kubernetes: CPUs that need more than one node are spread evenly over"
                            " nodes (documented, not verified)")  # fmt: skip
    if "cpuset" in pod.said:
        known = kernel_list(NAME, "cpuset", pod.said["cpuset"])
        if len(known) != count:
            raise UsageError(f"{NAME}: cpu={count} does not go with the {len(known)} CPUs of"
                             f" cpuset={shown(known)}")  # fmt: skip
        return frame, f"{count} exclusive CPUs"
    frame = frame.noted(
        f"kubernetes: which {count} CPUs the pod has alone is the kubelet's choice, so they are"
        " counted like a quota; cpuset= states them (cpuset.cpus.effective in the pod)"
    )
    return kernel.with_quota(frame, count), f"{count} exclusive CPUs"


def refusal_of(machine: Machine, pod: Pod) -> str:
    """Return why the kubelet rejects the pod on an otherwise empty machine, "" if it does not."""
    count, cpus, threads = pod.exclusive, machine.cpus, machine.threads_per_core
    if cpus is not None and count >= len(cpus):
        return (f"kubernetes: the pod asks for {count} exclusive CPUs of {len(cpus)}, and the"
                " static policy needs at least one that is reserved")  # fmt: skip
    if "full-pcpus-only" in pod.switches and threads and count % threads:
        return (f"kubernetes: full-pcpus-only rejects {count} CPUs, which is no multiple of the"
                f" {threads} threads of a core (SMTAlignmentError)")  # fmt: skip
    sizes = [None if node.cpus is None else len(node.cpus) for node in machine.nodes]
    known = [size for size in sizes if size is not None]
    is_known = known and len(known) == len(sizes)
    if pod.said.get("topology") == "single-numa-node" and is_known and count > max(known):
        return (f"kubernetes: the topology manager rejects {count} CPUs of a single node: the"
                f" largest has {max(known)} (TopologyAffinityError)")  # fmt: skip
    return ""


def with_policies(frame: Framed, pod: Pod) -> Framed:
    """Tell whether set_mempolicy is allowed inside, as far as it is said."""
    profile = pod.said.get("seccomp")
    if profile == "unconfined":
        return frame._replace(may_set_policy=True)
    if profile == "runtimedefault" and "cap" not in pod.said:
        return frame._replace(may_set_policy=False).noted(
            "kubernetes: the default profile of container runtimes forbids set_mempolicy without"
            " SYS_NICE (documented, not verified)"
        )
    return frame
