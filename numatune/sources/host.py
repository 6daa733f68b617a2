"""What can be known of this host where /proc and /sys do not tell it."""

from __future__ import annotations

import platform
import sys

from numatune.machine import Cpu, CpuSet, Machine, Warning

#: What this platform calls itself to a person.
NAMES = {"darwin": "macOS", "win32": "Windows"}


def read_host() -> Machine:
    """Read the little that psutil tells of a host without /sys: counts, and no CPU's place."""
    import psutil

    name = NAMES.get(sys.platform, sys.platform)
    count = psutil.cpu_count()
    return Machine(
        source="this host",
        cpu=Cpu(platform.machine().lower() or None),
        online_cpus=CpuSet(range(count)) if count else None,
        core_count=psutil.cpu_count(logical=False),
        warnings=(
            Warning(
                "not-linux",
                f"this is {name}: NUMA nodes, memory and limits can be read live on Linux only;"
                " read a file from a Linux machine with --from, such as the output of"
                " `numactl --hardware`",
            ),
        ),
        gaps=("nodes", "memory", "distances", "cores", "packages", "limits", "settings"),
        origins={"cpu": "psutil"},
    )


def with_cpu_model(machine: Machine) -> Machine:
    """Return the machine with the CPU model and flags that py-cpuinfo finds, if they are unknown.

    It takes a second (https://github.com/workhorsy/py-cpuinfo/issues/205), so ask it only where a
    person looks at the answer, and only about this host.
    """
    if machine.cpu.model is not None:
        return machine
    import cpuinfo

    try:
        found = cpuinfo.get_cpu_info()
    except Exception:  # it raises whatever its many sources raise
        return machine
    model, vendor = found.get("brand_raw"), found.get("vendor_id_raw")
    flags = found.get("flags")
    cpu = machine.cpu._replace(
        model=model if isinstance(model, str) and model else None,
        vendor=machine.cpu.vendor or (vendor if isinstance(vendor, str) else None),
        features=machine.cpu.features or (frozenset(map(str, flags)) if flags else None),
    )
    if cpu.model is None:
        return machine._replace(cpu=cpu)
    gaps = tuple(gap for gap in machine.gaps if gap != "cpu")
    return machine._replace(cpu=cpu, gaps=gaps, origins={**machine.origins, "cpu": "py-cpuinfo"})
