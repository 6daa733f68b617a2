"""The places that libgomp makes: of the cores, packages and nodes of a machine, or of a list.

Source: GCC 12.2, https://github.com/gcc-mirror/gcc/blob/releases/gcc-12.2.0/libgomp/config/linux/affinity.c
(`gomp_affinity_init_level`, `gomp_affinity_add_cpus`, `gomp_affinity_copy_place`,
`gomp_affinity_finalize_place_list`).
"""

from __future__ import annotations

from collections.abc import Iterable

from numatune.errors import MachineError
from numatune.machine import CpuSet, Machine
from numatune.runtimes.omp_variables import InvalidValue, Level, PlaceItem


def allowed_cpus(machine: Machine) -> CpuSet:
    """Return the CPUs that the process may use when it starts. Raises MachineError if unknown."""
    cpus = machine.inherited_cpus
    if not cpus:
        raise MachineError(
            f"{machine.source} does not say which CPUs there are, of which libgomp makes places; "
            "add --from the output of `lscpu -p` or `numactl --hardware`"
        )
    return cpus


def mask_size(machine: Machine) -> int:
    """Return how many CPUs a mask of libgomp holds: whole words up to the last CPU allowed."""
    return -(-allowed_cpus(machine).mask.bit_length() // 64) * 64


def explicit_places(items: Iterable[PlaceItem], size: int) -> list[int]:
    """Return the masks of a list of places. Raises InvalidValue."""
    made: list[int] = []
    for item in items:
        mask = place_mask(item, size)
        if item.is_removed:
            if mask not in made:
                raise InvalidValue("it removes a place that is not in the list")
            made.remove(mask)
            continue
        made.append(mask)
        for _ in range(item.copies - 1):
            mask = shifted(mask, item.stride, size)
            made.append(mask)
    if not made:
        raise InvalidValue("all places have been removed")
    return made


def place_mask(item: PlaceItem, size: int) -> int:
    """Return the CPUs of one place. Raises InvalidValue."""
    mask = 0
    for first, length, stride in item.added:
        last = first + (length - 1) * stride
        if not (first < size and 0 <= last < size):
            raise InvalidValue(f"a CPU is not below {size}, the size of its mask")
        mask |= regular(min(first, last), length if stride else 1, abs(stride))
    for cpu in item.removed:
        if cpu >= size or not mask >> cpu & 1:
            raise InvalidValue("it removes a CPU that is not in the place")
        mask ^= 1 << cpu
    return mask


def regular(first: int, length: int, stride: int) -> int:
    """Return the mask of so many CPUs, a stride apart."""
    if length == 1:
        return 1 << first
    return ((1 << stride * length) - 1) // ((1 << stride) - 1) << first


def shifted(mask: int, stride: int, size: int) -> int:
    """Return a place moved by a number of CPUs. Raises InvalidValue."""
    if not mask:
        return mask
    lowest, highest = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
    if lowest + stride < 0 or highest + stride >= size:
        raise InvalidValue(f"a CPU is not below {size}, the size of its mask")
    return mask << stride if stride > 0 else mask >> -stride


def cut_down(masks: list[int], allowed: CpuSet, said: list[str]) -> list[CpuSet]:
    """Return places cut down to the allowed CPUs, without empty ones. Raises InvalidValue."""
    left = [CpuSet.of_mask(mask & allowed.mask) for mask in masks if mask & allowed.mask]
    if not left:
        raise InvalidValue(f"none of its places holds a usable CPU, which are {allowed}")
    if len(left) < len(masks):
        said.append(
            f"libgomp warns that only {len(left)} of the {len(masks)} places of OMP_PLACES hold a "
            f"usable CPU ({allowed}) and drops the others"
        )
    return left


def level_places(machine: Machine, level: Level) -> list[CpuSet]:
    """Return the places of a named kind by their lowest CPU. Raises MachineError, InvalidValue."""
    allowed = allowed_cpus(machine)
    parts = [part & allowed for part in LEVEL_PARTS[level.name](machine, allowed)]
    made: list[CpuSet] = []
    taken = 0
    for part in parts:
        rest = part.mask & ~taken
        taken |= rest
        if rest:
            made.append(CpuSet.of_mask(rest))
    if level.name != "numa_domains":
        made.sort(key=CpuSet.first)
    if level.name == "threads":
        made = [CpuSet.of_mask(1 << cpu) for part in made for cpu in part]
    made = made[: level.number]
    if not made:
        raise InvalidValue(f"there are no {level.name} to make places of")
    return made


def core_parts(machine: Machine, allowed: CpuSet) -> list[CpuSet]:
    """Return the CPUs of each core. Raises MachineError where an allowed CPU has no known core."""
    if machine.cores is None and machine.smt == 1:
        return [CpuSet.of_mask(1 << cpu) for cpu in allowed]
    parts = [core.cpus for core in machine.cores or ()]
    covered(
        machine,
        parts,
        allowed,
        "core",
        "add --from the output of `lscpu -e`, or state --assume threads_per_core=2 (or 1)",
    )
    return parts


def socket_parts(machine: Machine, allowed: CpuSet) -> list[CpuSet]:
    """Return the CPUs of each package. Raises MachineError where an allowed CPU has none known."""
    parts = [package.cpus for package in machine.packages or ()]
    if machine.packages_known == 1 and not parts:
        return [allowed]
    covered(
        machine,
        parts,
        allowed,
        "package",
        "add --from the output of `lscpu -e`, or state --assume packages=2 (or another number)",
    )
    return parts


def node_parts(machine: Machine, allowed: CpuSet) -> list[CpuSet]:
    """Return the CPUs of each node by id. Raises MachineError where they are not known."""
    if machine.shows_nodes is None or any(node.cpus is None for node in machine.nodes):
        raise MachineError(
            f"{machine.source} does not say which CPUs each NUMA node has, of which OMP_PLACES="
            "numa_domains makes places; add --from the output of `numactl --hardware`"
        )
    return [node.cpus for node in sorted(machine.nodes) if node.cpus]


def cache_parts(machine: Machine, allowed: CpuSet) -> list[CpuSet]:
    """Raise MachineError, as no source tells which CPUs share a cache."""
    raise MachineError(
        "numatune does not know which CPUs share a last-level cache, of which OMP_PLACES=ll_caches "
        "makes places; give sockets, numa_domains or a list such as {0:8},{8:8}"
    )


LEVEL_PARTS = {
    "threads": core_parts,
    "cores": core_parts,
    "sockets": socket_parts,
    "ll_caches": cache_parts,
    "numa_domains": node_parts,
}


def covered(machine: Machine, parts: list[CpuSet], allowed: CpuSet, what: str, how: str) -> None:
    """Raise MachineError where some allowed CPU is in none of the parts."""
    every = 0
    for part in parts:
        every |= part.mask
    if allowed.mask & ~every:
        raise MachineError(
            f"{machine.source} does not say which CPUs form a {what}, of which libgomp makes the "
            f"places for this OMP_PLACES or OMP_PROC_BIND; {how}"
        )
