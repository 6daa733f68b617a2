"""The objects of a topology in hwloc's XML, sorted by what they are."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.errors import MachineError
from numatune.machine import Cpu, CpuSet, Package
from numatune.machine.cpuset import ID_LIMIT
from numatune.sources.hwloc_devices import Device
from numatune.sources.hwloc_nodes import NODE_LIMIT
from numatune.sources.hwloc_sets import id_of, set_of, whole
from numatune.sources.xml_safe import Element
from numatune.words import clean

#: Objects that have no place among the CPUs.
IO = frozenset(("Bridge", "PCIDev", "OSDev", "Misc"))
ROOTS = ("Machine", "System")
PACKAGES = ("Package", "Socket")

#: Linux supports 8192 (MAXSMP on x86).
CPU_LIMIT = 1 << 14
#: Ids of packages are the firmware's, and 32 bits at most.
PACKAGE_LIMIT = 1 << 31

Path = tuple[Element, ...]


class Found:
    """What a topology holds. `places` has the core and the package of each CPU."""

    def __init__(self, topology: Element) -> None:
        """Sort the objects. Raises MachineError where a number is damaged or is there twice."""
        roots = topology.all("object")
        if len(roots) != 1:
            raise MachineError(f"the XML holds {len(roots) or 'no'} machines, not one")
        self.root = roots[0]
        self.infos = infos_of(topology)
        self.supports = {e.get("name") for e in topology.all("support")}
        self.nodes: dict[int, Element] = {}
        self.pus: dict[int, Element] = {}
        self.places: dict[int, tuple[Element | None, Element | None]] = {}
        self.package_elements: list[Element] = []
        self.devices: list[Device] = []
        for element, path in objects(self.root):
            self.add(element, path)
        self.cpus = CpuSet(self.pus)

    def add(self, element: Element, path: Path) -> None:
        """Take one object in; `path` holds the objects around it, the outermost first."""
        kind = element.get("type")
        if kind in ROOTS:
            self.infos |= infos_of(element)
        elif kind == "PU":
            if len(self.pus) == CPU_LIMIT:
                raise MachineError(f"the XML has more than {CPU_LIMIT} CPUs, as no machine has")
            number = unique(element, self.pus, ID_LIMIT)
            self.pus[number] = element
            self.places[number] = (nearest(path, ("Core",)), nearest(path, PACKAGES))
        elif kind == "NUMANode":
            if len(self.nodes) == NODE_LIMIT:
                raise MachineError(f"the XML has more than {NODE_LIMIT} NUMA nodes")
            self.nodes[unique(element, self.nodes, ID_LIMIT)] = element
        elif kind in PACKAGES:
            self.package_elements.append(element)
        elif kind == "PCIDev":
            outer = (each for each in reversed(path) if each.get("type") not in IO)
            place = next(outer, self.root)
            names = tuple(e.get("name") or "" for e in element.all("object"))
            cpus = None if place is self.root else set_of(place, "cpuset")
            self.devices.append(Device(element, names, cpus))

    @property
    def has_invented_node(self) -> bool:
        """True where the kernel shows no node, and hwloc made one up.

        Then the XML does not say that NUMA nodes were discovered; it says such things since 2.3.
        """
        return (
            "custom.exported_support" in self.supports
            and "discovery.pu" in self.supports
            and "discovery.numa" not in self.supports
        )

    def package_count(self) -> int | None:
        """Return the number of packages with CPUs, None where not every CPU is in one."""
        owners = {package for _, package in self.places.values()}
        return None if None in owners else len(owners)

    def packages(self) -> tuple[Package, ...] | None:
        """Return the packages, by id; None where a CPU is in none, or an id is not one's own."""
        sets: dict[Element, list[int]] = {}
        for cpu, (_, package) in self.places.items():
            if package is None:
                return None
            sets.setdefault(package, []).append(cpu)
        ids = [n for n in map(id_of, sets) if n is not None and n < PACKAGE_LIMIT]
        if len(set(ids)) < len(sets):
            return None
        by_id = sorted(zip(ids, sets.values(), strict=True), key=lambda pair: pair[0])
        return tuple(Package(n, CpuSet(cpus)) for n, cpus in by_id)

    def cores(self) -> tuple[CpuSet, ...] | None:
        """Return the CPUs of each core, by lowest CPU; None where a CPU is in no core."""
        sets: dict[Element, list[int]] = {}
        for cpu, (core, _) in self.places.items():
            if core is None:
                return None
            sets.setdefault(core, []).append(cpu)
        return tuple(sorted(map(CpuSet, sets.values()), key=CpuSet.first))

    def cpu(self) -> Cpu:
        """Return what is said of the CPU; a model only where all packages have the same."""
        stated = [self.infos, *map(infos_of, self.package_elements)]
        models, vendors = (
            {" ".join(infos[name].split()) for infos in stated if infos.get(name)}
            for name in ("CPUModel", "CPUVendor")
        )
        return Cpu(
            self.infos.get("Architecture") or None,
            vendors.pop() if len(vendors) == 1 else None,
            models.pop() if len(models) == 1 else None,
        )

    def is_guest(self) -> bool | None:
        """Return True where the names in the firmware are a hypervisor's, else None."""
        from numatune.sources.guest import HYPERVISORS

        names = (self.infos.get(name, "") for name in ("DMISysVendor", "DMIProductName"))
        return True if any(name.startswith(HYPERVISORS) for name in names) else None


def objects(root: Element) -> Iterator[tuple[Element, Path]]:
    """Yield every object with those around it, in the order of the text."""
    waiting: list[tuple[Element, Path]] = [(root, ())]
    while waiting:
        element, path = waiting.pop()
        yield element, path
        inner = (*path, element)
        waiting += [(child, inner) for child in reversed(element.all("object"))]


def nearest(path: Path, kinds: tuple[str, ...]) -> Element | None:
    """Return the innermost object of some kinds."""
    return next((each for each in reversed(path) if each.get("type") in kinds), None)


def infos_of(element: Element) -> dict[str, str]:
    """Return the name and value pairs of an object."""
    pairs = ((each.get("name"), each.get("value")) for each in element.all("info"))
    return {name: clean(value[:200]) for name, value in pairs if name and value}


def unique(element: Element, seen: dict[int, Element], limit: int) -> int:
    """Return the number of an object that must have one of its own. Raises MachineError."""
    number = id_of(element)
    kind = element.get("type")
    if number is None or number >= limit:
        raise MachineError(f"a {kind} in the XML has no usable os_index; the XML is damaged")
    if number in seen:
        raise MachineError(f"{kind} {number} is in the XML twice; give one machine at a time")
    return number


def memory_of(node: Element) -> int | None:
    """Return the bytes of a node's memory, None where they are not known.

    hwloc writes no `local_memory` of 0, but lists page sizes with no page then.
    """
    text = node.get("local_memory")
    if text is not None:
        return whole(text, "local_memory")
    pages = node.all("page_type")
    return 0 if pages and all(page.get("count") == "0" for page in pages) else None
