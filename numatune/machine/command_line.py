"""The kernel command line: its parameters, and which of them tell something about a machine.

A command line may also hold host names, addresses, ids of disks and keys. Names and their meaning:
https://docs.kernel.org/admin-guide/kernel-parameters.html
"""

from __future__ import annotations

import re

#: What stands in a command line of which words were left out.
CUT = "..."

#: Parameters that decide which CPUs, nodes and memory there are, and how the kernel uses them.
TELLING = frozenset((
    # CPUs and SMT
    "additional_cpus", "isolcpus", "maxcpus", "nohz_full", "nosmp", "nosmt", "nr_cpus",
    "possible_cpus", "rcu_nocb_poll", "rcu_nocbs", "irqaffinity", "nohz", "skew_tick", "preempt",
    "nowatchdog", "clearcpuid", "noxsave",
    # nodes and memory
    "numa", "numa_balancing", "numa_zonelist_order", "mem", "movable_node", "movablecore",
    "kernelcore", "memhp_default_state", "init_on_alloc", "init_on_free", "cma", "acpi",
    # pages
    "default_hugepagesz", "hugepages", "hugepagesz", "hugetlb_cma", "hugetlb_free_vmemmap",
    "thp_anon", "transparent_hugepage", "transparent_hugepage_shmem",
    # power
    "amd_pstate", "idle", "intel_pstate", "nohlt",
    # mitigations, which cost time at each system call
    "kpti", "l1tf", "mds", "mitigations", "nopti", "nospectre_v1", "nospectre_v2", "pti",
    "retbleed", "spec_store_bypass_disable", "spectre_v2", "srbds", "tsx", "tsx_async_abort",
    # cgroups
    "cgroup_disable", "cgroup_enable", "cgroup_no_v1", "systemd.unified_cgroup_hierarchy",
    # devices that move data
    "amd_iommu", "intel_iommu", "iommu",
))  # fmt: skip

#: Modules of the kernel all of whose parameters tell something: `intel_idle.max_cstate=1`.
TELLING_MODULES = frozenset((
    "acpi_cpufreq", "cpufreq", "cpuidle", "cpuidle_haltpoll", "intel_idle", "memory_hotplug",
    "page_alloc", "processor",
))  # fmt: skip

#: A word may hold quoted blanks: `dyndbg="file a.c +p"`.
WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')

#: No telling parameter has a longer value, a list of CPUs aside.
LONGEST = 2000


def parameters(cmdline: str) -> dict[str, str]:
    """Return the words of a command line by the name of their parameter, in order.

    A parameter that is given several times has all its words, with blanks between them. The kernel
    takes `-` and `_` in a name as the same.

    >>> parameters("ro hugepagesz=1G hugepages=4 hugepagesz=2M nohz-full=1-3")["hugepagesz"]
    'hugepagesz=1G hugepagesz=2M'
    """
    found: dict[str, str] = {}
    for word in WORD.findall(cmdline):
        name = name_of(word)
        found[name] = f"{found[name]} {word}" if name in found else word
    return found


def name_of(word: str) -> str:
    """Return the name of a parameter, as the kernel compares it."""
    return word.partition("=")[0].replace("-", "_")


def is_telling(name: str) -> bool:
    """Tell whether a parameter matters here and can't hold anything private."""
    return name in TELLING or name.partition(".")[0] in TELLING_MODULES


def is_cut(cmdline: str) -> bool:
    """Tell whether words were left out of a command line."""
    return CUT in cmdline.split()


def cut(cmdline: str) -> str:
    """Return the telling words of a command line, and CUT at its end where others were left out.

    >>> cut("BOOT_IMAGE=/vmlinuz root=UUID=1234 numa=off nosmt")
    'numa=off nosmt ...'
    """
    words = WORD.findall(cmdline)
    kept = [word for word in words if is_telling(name_of(word)) and len(word) <= LONGEST]
    return " ".join(kept if len(kept) == len(words) else [*kept, CUT])
