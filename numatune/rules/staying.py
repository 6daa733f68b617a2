"""What keeps workers on the CPUs that a launcher meant for them, where the runtime leaves these."""

from __future__ import annotations

from numatune.machine import CpuSet
from numatune.rules.remedy import critical_of, mended, once
from numatune.rules.rule import Case
from numatune.rules.trial import troubles
from numatune.rules.ways import ALONE, ROOMY, RUNTIME, SETTINGS, Way, ways

RULE = "NT503"

#: What is said where nothing else holds them.
LEAVE_OUT = "leave taskset or numactl out: this runtime binds its workers itself"


def staying(case: Case, beyond: CpuSet) -> str:
    """Say what keeps the workers off the CPUs `beyond` the affinity of the process.

    A cpuset does, where the runtime can live in it; else other pools or another build.
    """
    return once(case, (RULE, beyond), lambda: held(case, beyond))


def held(case: Case, beyond: CpuSet) -> str:
    """Try what may hold them, and say it."""
    cpuset = in_cpuset(case)
    isolated = case.machine.settings.isolated_cpus
    if isolated and not beyond - isolated:
        without = (
            f"leave isolcpus= out of the kernel command line: CPUs {beyond} are isolated by it"
        )
        return f"{without}, or {cpuset}" if cpuset else without
    if cpuset:
        return cpuset
    said = [] if mended(case, RULE, plain_build(case)) is None else ["use a build without NUMA"]
    other = mended(case, RULE, ways(case, (ALONE, SETTINGS, RUNTIME, ROOMY)))
    if other is not None:
        said.append(other.words)
    return ", or ".join((*said, LEAVE_OUT))


def in_cpuset(case: Case) -> str | None:
    """Return how a cpuset confines the launch to the same CPUs, None where it is not at ease there.

    The memory is that of the nodes with these CPUs.
    """
    machine, cpus = case.machine, case.machine.inherited_cpus
    if case.request is None or not cpus:
        return None
    nodes = CpuSet(n.id for n in machine.cpu_nodes if n.cpus and n.cpus & cpus)
    mems = nodes if machine.limits.cpuset_mems is None else nodes & machine.limits.cpuset_mems
    if not mems:
        return None
    limits = machine.limits._replace(cpuset_cpus=cpus, cpuset_mems=mems, affinity=None)
    inside = machine._replace(limits=limits)
    left = troubles(inside, case.request._replace(launcher=None))
    if left is None or critical_of(left) or any(one.rule == RULE for one in left):
        return None
    return (
        f"use a cpuset instead: docker run --cpuset-cpus {cpus} --cpuset-mems {mems}, or"
        f" systemd-run -p AllowedCPUs={cpus} -p AllowedMemoryNodes={mems}"
    )


def plain_build(case: Case) -> tuple[Way, ...]:
    """Return the launch with ktransformers built without NUMA."""
    request = case.request
    if request is None or request.runtime != "ktransformers" or request.numa_build is False:
        return ()
    return (Way("use a build without NUMA", request._replace(numa_build=False)),)
