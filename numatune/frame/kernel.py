"""What the kernel makes of what a launcher asks for: affinity, cpusets, quota, memory policy.

Sources: kernel/sched/syscalls.c (sched_setaffinity takes what of the mask is in the cpuset, EINVAL
if that holds no online CPU), mm/mempolicy.c (a policy keeps the nodes that have memory and are in
Mems_allowed, EINVAL if none is left), kernel/cgroup/cpuset.c (a cpuset of cgroup v2 with no CPU of
its parent has those of the parent), at https://github.com/torvalds/linux.
"""

from __future__ import annotations

from numatune.frame.frame import Framed, MemoryPolicy, Refusal
from numatune.machine import CpuSet, Limits, Machine
from numatune.words import named

UNKNOWN_CPUS = "the CPUs of the machine are not known, so it is not checked whether {} are there"
UNKNOWN_NODES = (
    "the NUMA nodes of the machine are not known, so what {} does is open; the output of"
    " `numactl --hardware` tells"
)


def cpus_in_words(cpus: CpuSet) -> str:
    """Return "CPU 3" or "CPUs 0-3"."""
    return named(cpus)


def nodes_in_words(nodes: CpuSet) -> str:
    """Return "node 1" or "nodes 0-1"."""
    return named(nodes, "node")


def affinity_in_words(frame: Framed) -> str:
    """Return "affinity to CPU 3", or what it is called where it is not known."""
    affinity = frame.machine.limits.affinity
    return "an affinity that is not known" if affinity is None else f"affinity to {named(affinity)}"


def refused(
    frame: Framed,
    launcher: str,
    reason: str,
    nodes: tuple[int, ...] | CpuSet = (),
    cpus: tuple[int, ...] | CpuSet = (),
) -> Framed:
    """Return the frame with a refusal."""
    return frame._replace(refusal=Refusal(launcher, reason, tuple(nodes), tuple(cpus)))


def limited(frame: Framed, limits: Limits) -> Framed:
    """Return the frame with other limits."""
    return frame._replace(machine=frame.machine._replace(limits=limits))


def unbound(frame: Framed) -> Framed:
    """Return the frame with an affinity that is not known."""
    return limited(frame, frame.machine.limits._replace(affinity=None))


def with_affinity(
    frame: Framed, launcher: str, asked: CpuSet, nodes: tuple[int, ...] | CpuSet = ()
) -> Framed:
    """Replace the affinity, as sched_setaffinity does; `nodes` are those that were asked for."""
    machine = frame.machine
    usable = machine.usable_cpus
    if usable is None or machine.cpus is None:
        frame = frame.noted(UNKNOWN_CPUS.format(cpus_in_words(asked)))
    left = asked if usable is None else asked & usable
    if not left:
        what = cpus_in_words(asked) if asked else "an empty set of CPUs"
        where = "" if usable is None else f" (online and allowed: {usable})"
        reason = f"{launcher} asks for {what}, of which none may be used{where}: the kernel refuses"
        return refused(frame, launcher, reason + " it (EINVAL)", nodes, asked)
    if left != asked:
        gone = cpus_in_words(asked - left)
        frame = frame.noted(f"the kernel drops {gone} of {launcher}: not online or not allowed")
    return limited(frame, machine.limits._replace(affinity=left))


def with_cpuset(frame: Framed, launcher: str, asked: CpuSet) -> Framed:
    """Confine the process to CPUs, as a cgroup cpuset inside the present one does."""
    machine = frame.machine
    usable = machine.usable_cpus
    if usable is None or machine.cpus is None:
        frame = frame.noted(UNKNOWN_CPUS.format(cpus_in_words(asked)))
    left = asked if usable is None else asked & usable
    if not left:
        reason = f"{launcher} confines to {cpus_in_words(asked)}, of which none may be used"
        return refused(frame, launcher, f"{reason} (online and allowed: {usable})", cpus=asked)
    if left != asked:
        gone = cpus_in_words(asked - left)
        frame = frame.noted(f"{launcher} goes without {gone}: not online or not allowed")
    limits = machine.limits._replace(cpuset_cpus=left)
    if limits.affinity is not None and not limits.affinity & left:
        limits = limits._replace(affinity=None)  # the kernel falls back to the whole cpuset
    return limited(frame, limits)


def with_mems(frame: Framed, launcher: str, asked: CpuSet) -> Framed:
    """Confine the memory of the process to nodes, as a cgroup cpuset does."""
    allowed = memory_nodes(frame.machine)
    if allowed is None:
        frame = frame.noted(UNKNOWN_NODES.format(f"{launcher} with {nodes_in_words(asked)}"))
    left = asked if allowed is None else asked & allowed
    if not left:
        reason = f"{launcher} confines memory to {nodes_in_words(asked)}, of which none has any"
        return refused(frame, launcher, f"{reason} to give (allowed: {allowed})", nodes=asked)
    if left != asked:
        gone = nodes_in_words(asked - left)
        frame = frame.noted(f"{launcher} goes without {gone}: no memory there, or not allowed")
    return limited(frame, frame.machine.limits._replace(cpuset_mems=left))


def with_quota(frame: Framed, cpus: float) -> Framed:
    """Lower the CPU quota to so many CPUs; that of an outer cgroup stays where it is smaller."""
    known = frame.machine.limits.cpu_quota
    quota = float(cpus) if known is None else min(known, float(cpus))
    return limited(frame, frame.machine.limits._replace(cpu_quota=quota))


def with_policy(frame: Framed, launcher: str, kind: str, nodes: CpuSet | None) -> Framed:
    """Set the memory policy, as set_mempolicy does; `nodes` is None where they are not known."""
    if frame.may_set_policy is False:
        reason = f"the seccomp profile of the container forbids set_mempolicy, so {launcher} fails"
        return refused(frame, launcher, f"{reason} (EPERM); --cap-add SYS_NICE allows it")
    allowed = memory_nodes(frame.machine)
    if nodes is None or allowed is None:
        return frame._replace(memory=MemoryPolicy(kind, nodes))
    left = nodes & allowed
    if not left:
        what = nodes_in_words(nodes) if nodes else "an empty set of nodes"
        reason = f"{launcher} asks for the memory of {what}, which has none to give"
        return refused(frame, launcher, f"{reason} (allowed: {allowed}): EINVAL", nodes=nodes)
    silent = CpuSet(i for i in left if memory_of(frame.machine, i) is None)
    if silent:
        frame = frame.noted(f"whether {nodes_in_words(silent)} has memory is not known")
    return frame._replace(memory=MemoryPolicy(kind, left))


def memory_of(machine: Machine, node_id: int) -> int | None:
    """Return the memory of a node in bytes, None where it is not known."""
    node = machine.node(node_id)
    return None if node is None else node.memory_total_bytes


def memory_nodes(machine: Machine) -> CpuSet | None:
    """Return the nodes from which memory may come (Mems_allowed); None where none are known.

    A node whose memory is not known counts as having some.
    """
    if not machine.nodes:
        return None
    nodes = CpuSet(node.id for node in machine.nodes if node.memory_total_bytes != 0)
    mems = machine.limits.cpuset_mems
    return nodes if mems is None else nodes & mems


def started_anew(frame: Framed, host: Machine, launcher: str) -> Framed:
    """Return the frame of a process that a daemon starts: what stood before is not inherited."""
    if frame.machine.limits != host.limits or frame.memory != MemoryPolicy():
        frame = frame._replace(machine=host, memory=MemoryPolicy()).noted(
            f"what stands before {launcher} limits only its client: a daemon starts the program"
        )
    if host.limits.affinity is not None:
        frame = frame.noted(
            f"{launcher}: whether the daemon has the affinity {host.limits.affinity} of this"
            " process is not known; it is taken to have it"
        )
    return frame._replace(may_set_policy=None)
