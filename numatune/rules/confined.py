"""Where a launcher or a cpuset holds the memory of workers that bind none themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from numatune.machine import CpuSet
from numatune.rules.facts import evidence, launch, listed
from numatune.rules.intent import barred
from numatune.rules.rule import Case, Evidence, Hit
from numatune.words import counted, named

if TYPE_CHECKING:
    from numatune.placement.placement import Worker

CPUSET = "the cpuset"

#: Runtimes that set a policy of their own also where its memory is not that of one node.
SETS_POLICY = ("sglang",)


class Confined(NamedTuple):
    """The nodes that memory must come from, fewer than have any, and who says so."""

    nodes: CpuSet
    by: str

    @property
    def is_policy(self) -> bool:
        """Tell whether a memory policy holds it, which a thread may replace; a cpuset it can't."""
        return self.by != CPUSET

    @property
    def words(self) -> str:
        """What holds the memory there: "numactl binds it", "the cpuset confines it"."""
        return f"{self.by} {'binds' if self.is_policy else 'confines'} it"


def confined(case: Case) -> Confined | None:
    """Return where the memory of a thread without a policy of its own must come from.

    None where it may come from any node. Source: a policy keeps the nodes that the cpuset allows,
    https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html
    """
    machine, frame = case.machine, case.frame
    every = CpuSet(n.id for n in machine.nodes if n.memory_total_bytes != 0)
    mems = machine.limits.cpuset_mems
    nodes = every if mems is None else every & mems
    bound = frame.memory.nodes if frame is not None and frame.memory.kind == "bind" else None
    if bound is not None and nodes & bound and nodes - bound:
        return Confined(nodes & bound, binder(case))
    return Confined(nodes, CPUSET) if nodes and nodes != every else None


def binder(case: Case) -> str:
    """Name the launcher that binds the memory."""
    layers = case.frame.layers if case.frame is not None else ()
    binders = [one.name for one in layers if one.name.startswith(("numactl", "systemd", "srun"))]
    return binders[-1] if binders else "the memory policy"


def may_bind(case: Case) -> bool:
    """Tell whether the bindings of a runtime hold: False where a container refuses mbind."""
    return case.frame is None or case.frame.may_set_policy is not False


def binds_itself(case: Case, worker: Worker) -> bool:
    """Tell whether a worker has a memory policy of its own."""
    if case.placement is None or not may_bind(case):
        return False
    own = case.placement.runtime in SETS_POLICY and worker.binding != "none"
    return own or worker.memory.startswith("bind:")


def held_elsewhere(case: Case) -> Iterator[Hit]:
    """Yield the workers that run on no node from which a launcher or a cpuset lets memory come.

    Nodes without CPUs are bound to on purpose, and a node without memory is never near its own.
    What the rules about cpusets say (NT504, NT505) is not said again.
    """
    held, placement = confined(case), case.placement
    if held is None or placement is None or is_said(case, held):
        return
    if not any(node.id in held.nodes for node in case.machine.cpu_nodes):
        return
    count, on, homes = distant(case, held)
    if not count:
        return
    everybody, memory = len(placement.workers), listed(held.nodes)
    if count == everybody:
        who = f"all {count} workers run" if count > 1 else "the only worker runs"
        who += f" on {listed(on)} and {'read' if count > 1 else 'reads'}"
    else:
        who = f"{count} of {counted(everybody, 'worker')}, on {listed(on)},"
        who += " read" if count > 1 else " reads"
    yield Hit(
        subject=f"memory on {memory}",
        message=f"{who} memory of {memory}: {held.words} there ({launch(case)})",
        fix=brought(case, held, homes),
        numbers={"bound_to": plain(held.nodes), "runs_on": plain(on), "workers": count},
        expected=f"memory on {listed(homes)}",
        actual=f"memory on {memory}",
        evidence=held_evidence(case, held),
    )


def distant(case: Case, held: Confined) -> tuple[int, CpuSet, CpuSet]:
    """Return how many workers may run on none of the held nodes, their nodes, and those of all."""
    from numatune.rules.memory import runs_on

    workers = case.placement.workers if case.placement is not None else ()
    barred_nodes = {bar.node for bar in barred(case) if bar.cpuset and not held.is_policy}
    memory = {n.id for n in case.machine.nodes if n.memory_total_bytes != 0}
    far, on, readers = 0, set[int](), set[int]()
    for worker, count in Counter(w._replace(index=0, name="") for w in workers).items():
        if held.is_policy and binds_itself(case, worker):
            continue
        homes = memory & set(runs_on(case, worker))
        readers |= homes
        if homes and not homes & set(held.nodes) and not homes & barred_nodes:
            far += count
            on |= homes
    return far, CpuSet(on), CpuSet(readers)


def is_said(case: Case, held: Confined) -> bool:
    """Tell whether other rules speak of it: of this cpuset, or of copies on nodes of their own."""
    from numatune.rules.limits import cpus_mems_mismatch

    if held.is_policy:
        copies = 1 if case.placement is None else case.placement.weight_copies
        return copies > 1 and may_bind(case)
    return any(isinstance(one, Hit) for one in cpus_mems_mismatch(case))


def brought(case: Case, held: Confined, homes: CpuSet) -> str:
    """Say what lets the memory come from the nodes of the workers."""
    if not held.is_policy:
        return (
            f"allow the memory of {named(homes, 'node')}: --cpuset-mems {homes} (docker),"
            f" AllowedMemoryNodes={homes} (systemd)"
        )
    if held.by.startswith("systemd"):
        return f"bind it where the workers run: -p NUMAPolicy=bind -p NUMAMask={homes}"
    if held.by != "numactl":
        return f"bind it where the workers run: to {named(homes, 'node')}"
    if len(homes) == 1:
        return f"bind it where the workers run: numactl -N {homes} -m {homes}"
    return (
        f"let memory come from all nodes with workers: numactl -m {homes}, or numactl"
        f" --interleave={homes}"
    )


def held_evidence(case: Case, held: Confined) -> tuple[Evidence, ...]:
    """Return what holds the memory, as it was read."""
    launcher = None if case.request is None else case.request.launcher
    if launcher:
        return (Evidence("launcher", "", launcher),)
    return evidence(case.machine, "limits", "cpuset.mems.effective", held.nodes)


def plain(nodes: CpuSet) -> int | list[int]:
    """Return the id of a single node, else the ids."""
    ids = list(nodes)
    return ids[0] if len(ids) == 1 else ids
