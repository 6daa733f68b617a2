"""How many threads llama.cpp and ik_llama.cpp take where no number is given.

Source: `common_cpu_get_num_math` and `common_cpu_get_num_physical_cores` in `SOURCE`. Affinity,
cpuset and CPU quota are not looked at.
"""

from __future__ import annotations

import re

from numatune.errors import UsageError
from numatune.machine import CpuSet, Machine
from numatune.placement.request import Request
from numatune.runtimes.options import MOST_THREADS, whole
from numatune.runtimes.runtime import DefaultCount

SOURCE = "https://github.com/ggml-org/llama.cpp/blob/0c1e57098/common/common.cpp"
IGNORES = ("affinity", "cpuset", "quota")

VARIABLE = "LLAMA_ARG_THREADS"
CORES = "the physical cores of the host, by the siblings of CPU 0, 1 and so on"
FALLBACK = "half of the online CPUs, as the siblings of CPU 0 cannot be read"
HYBRID = "the performance cores of the host, each taken to have two CPUs with adjacent numbers"
POWER = "two threads for each physical core of the host"

#: Models of Intel that have efficiency cores, most of them also without SMT.
HYBRID_MODEL = re.compile(r"1[2-4]th Gen Intel.* Core|Intel.* Core\(TM\) (?:Ultra )?[3579] ")


def default_count(
    machine: Machine, request: Request, source: str, *, has_hybrid: bool, has_power: bool
) -> DefaultCount:
    """Return the default thread count.

    `has_hybrid` and `has_power` tell whether this version has a rule of its own for hybrid CPUs and
    for POWER. Raises UsageError where the variable that gives a count holds none.
    """
    stated = request.env.get(VARIABLE, "").strip()
    if stated:
        threads = whole(VARIABLE, stated, 1, MOST_THREADS, "a number of threads")
        return DefaultCount(threads, f"{VARIABLE} in the environment", (), source)
    cores, counted = counted_threads(machine, has_hybrid, has_power)
    return DefaultCount(cores, counted, IGNORES, source)


def derived(count: DefaultCount, runtime: str) -> int:
    """Return the default as a number. Raises UsageError where the machine does not show it."""
    if count.threads is None:
        raise UsageError(
            f"the request has no thread count, and {runtime} takes {count.counted}, which is not "
            "known of this machine; give one with -t"
        )
    return count.threads


def counted_threads(machine: Machine, has_hybrid: bool, has_power: bool) -> tuple[int | None, str]:
    """Return the count, None where the machine does not show it, and what is counted."""
    architecture = machine.cpu.architecture or ""
    if has_hybrid:
        hybrid = is_hybrid(machine)
        if hybrid is None:
            return None, HYBRID
        threads = performance_cores(machine) if hybrid else 0
        if threads:
            return threads, HYBRID
    online = machine.cpus
    if online is not None and 0 not in online:
        return halved(len(online)), FALLBACK
    cores = physical_cores(machine)
    if has_power and architecture.startswith(("ppc", "powerpc")):
        if not cores or online is None:
            return None, POWER
        return cores * max(1, min(len(online) // cores, 2)), POWER
    return cores, CORES


def halved(cpus: int) -> int:
    """Return the count where no siblings can be read."""
    if not cpus:
        return 4
    return cpus if cpus <= 4 else cpus // 2


def physical_cores(machine: Machine) -> int | None:
    """Return the distinct sets of siblings among CPUs 0, 1, ... up to the first offline one.

    The search ends at an offline CPU, which has no topology directory, so that what comes after it
    is not counted.
    """
    online = machine.cpus
    if online is None:
        return machine.cores_known
    counted = CpuSet.of_mask((~online.mask & (online.mask + 1)) - 1)
    if machine.cores is not None:
        listed = [core.cpus.mask & counted.mask for core in machine.cores]
        covered = sum(mask.bit_count() for mask in listed)
        return sum(1 for mask in listed if mask) if covered == len(counted) else None
    if machine.smt == 1:
        return len(counted)
    if counted != online:
        return None
    if machine.core_count is not None or machine.smt is None:
        return machine.core_count
    return len(online) // machine.smt if len(online) % machine.smt == 0 else None


def is_hybrid(machine: Machine) -> bool | None:
    """Tell whether the CPU says that its cores differ, None where the machine does not show it.

    Linux does not pass on that bit of CPUID (leaf 7, EDX 15). It is set where cores with and
    without SMT stand side by side; of hybrid CPUs without SMT nothing but the model tells.
    """
    cpu = machine.cpu
    other = cpu.architecture is not None and cpu.architecture not in ("x86_64", "amd64")
    if other or len(machine.cpu_nodes) > 1 or (machine.packages_known or 1) > 1:
        return False
    if cpu.vendor is not None and "intel" not in cpu.vendor.lower():
        return False
    sizes = {len(core.cpus) for core in machine.cores or ()}
    if cpu.model is None:
        return None if sizes == {1, 2} else False
    if HYBRID_MODEL.search(cpu.model) is None or sizes == {2}:
        return False
    return True if sizes == {1, 2} and not machine.offline_cpus else None


def performance_cores(machine: Machine) -> int:
    """Count as upstream does: pin to each CPU, pass over E-cores, and over the CPU after a P-core.

    0 where it cannot pin itself to one of the CPUs, which a cpuset forbids.
    """
    online, usable = machine.cpus, machine.usable_cpus
    efficient = 0
    for core in machine.cores or ():
        efficient |= core.cpus.mask if len(core.cpus) == 1 else 0
    cpu = count = 0
    total = 0 if online is None else len(online)
    while cpu < total:
        if usable is None or cpu not in usable:
            return 0
        if not efficient >> cpu & 1:
            cpu += 1
            count += 1
        cpu += 1
    return count
