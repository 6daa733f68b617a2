"""Which CPU-less nodes are the high-bandwidth memory of a CPU, told by what the CPU is. Pure."""

from __future__ import annotations

from numatune.machine.machine import Machine

#: What the model names of such CPUs hold -> the most high-bandwidth memory that a package has.
#: https://www.intel.com/content/www/us/en/products/details/processors/xeon/max-series.html (64 GB)
#: https://en.wikipedia.org/wiki/Xeon_Phi#Knights_Landing (MCDRAM, 16 GB)
HBM_MODELS = {"Xeon(R) CPU Max": 64 << 30, "Xeon Phi": 16 << 30, "Xeon(R) Phi": 16 << 30}


def with_memory_kinds(machine: Machine) -> Machine:
    """Name the memory of CPU-less nodes that no driver has named and that is as large as HBM.

    In flat mode the firmware shows it as nodes without CPUs beside those of the DDR memory.
    """
    model = machine.cpu.model or ""
    most = next((limit for name, limit in HBM_MODELS.items() if name in model), 0)
    if not most or machine.is_guest:
        return machine

    def is_hbm(size: int | None) -> bool:
        return size is not None and 0 < size <= most

    return machine._replace(
        nodes=tuple(
            n._replace(kind="hbm")
            if n.is_cpuless and n.kind == "unknown" and is_hbm(n.memory_total_bytes)
            else n
            for n in machine.nodes
        )
    )
