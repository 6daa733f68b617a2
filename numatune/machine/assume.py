"""What the user states about a machine beside its source. Pure; a contradiction is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numatune.errors import UsageError
from numatune.machine.cpuset import CpuSet
from numatune.machine.likely import groups_of_nodes
from numatune.machine.machine import Machine
from numatune.machine.origins import ASSUMED
from numatune.machine.topology import Core, Package

#: What `--assume smt=2` and the like mean.
ALIASES = {
    "smt": "threads_per_core",
    "guest": "is_guest",
    "cpus": "allowed_cpus",
    "mems": "allowed_mems",
}

#: The settings that can be stated, all of them whole numbers.
SETTINGS = frozenset(("numa_balancing", "zone_reclaim_mode", "dimms_populated", "memory_channels"))


def assumed(machine: Machine, facts: Mapping[str, object]) -> Machine:
    """Return the machine with stated facts added. Raises UsageError where they can't hold.

    Keys: packages, cores (of the whole machine), threads_per_core (or smt), allowed_cpus,
    allowed_mems, affinity, start_cpu, cpu_quota, cmdline, is_guest, settings (a mapping), and each
    setting by its own name. Where only a node's CPUs are known, its CPU list is taken as all first
    threads, then all second threads in the same order.
    """
    stated: dict[str, object] = {}
    for key, value in facts.items():
        name = ALIASES.get(key, key)
        if name == "settings":
            stated.update(mapping(value))
        elif value is not None:
            stated[name] = value
    unknown = sorted(stated.keys() - STEPS.keys() - SETTINGS)
    if unknown:
        known = ", ".join(sorted(STEPS.keys() | SETTINGS | ALIASES.keys()))
        raise UsageError(f"--assume {unknown[0]} is not known; known: {known}")
    for name, step in STEPS.items():
        if name in stated:
            machine = step(machine, stated[name])
    numbers: dict[str, Any] = {
        name: whole(name, value, 0) for name, value in stated.items() if name in SETTINGS
    }
    return machine._replace(settings=machine.settings._replace(**numbers))


def mapping(value: object) -> Mapping[str, object]:
    """Return the settings as a mapping. Raises UsageError."""
    if not isinstance(value, Mapping):
        raise UsageError("settings must be a mapping of names to values")
    return value


def whole(name: str, value: object, least: int, most: int = 1 << 20) -> int:
    """Return a whole number within bounds. Raises UsageError."""
    text = str(value).strip()
    if isinstance(value, bool) or not text.isascii() or not text.isdigit() or len(text) > 9:
        raise UsageError(f"--assume {name}={text[:40]} is not a whole number")
    if not least <= int(text) <= most:
        raise UsageError(f"--assume {name}={text} is not between {least} and {most}")
    return int(text)


def cpu_list(name: str, value: object) -> CpuSet:
    """Return a CPU or node list. Raises UsageError."""
    try:
        return value if isinstance(value, CpuSet) else CpuSet.parse(str(value))
    except ValueError as error:
        raise UsageError(f"--assume {name}: {error}; write a list such as 0-23,48-71") from None


def with_packages(machine: Machine, value: object) -> Machine:
    """State the number of packages, and so, where that is plain, which CPUs form one.

    It is plain for one package, for as many as there are nodes, and for as many as the groups of
    near nodes that the distances show.
    """
    count = whole("packages", value, 1, 1024)
    known = machine.packages_known
    if known is not None and known != count:
        raise UsageError(f"{machine.source} has {known} packages, --assume says {count}")
    if known is not None:
        return machine
    machine = stated(machine, "packages")._replace(package_count=count)
    nodes = [n.id for n in machine.cpu_nodes]
    choices = ((tuple(nodes),), tuple((i,) for i in nodes), groups_of_nodes(machine))
    groups = next((groups for groups in choices if len(groups) == count), None)
    if groups is None or not nodes:
        return machine
    sets = [CpuSet(cpu for i in group for cpu in cpus_of(machine, i)) for group in groups]
    if sum(map(len, sets)) != len({cpu for cpus in sets for cpu in cpus}):
        return machine  # nodes share CPUs: no package owns them
    return machine._replace(packages=tuple(Package(i, cpus) for i, cpus in enumerate(sets)))


def cpus_of(machine: Machine, node_id: int) -> CpuSet:
    """Return the CPUs of a node that is known to have some."""
    node = machine.node(node_id)
    return CpuSet() if node is None or node.cpus is None else node.cpus


def with_cores(machine: Machine, value: object) -> Machine:
    """State the number of cores of the whole machine."""
    count = whole("cores", value, 1)
    known = machine.cores_known
    if known is not None and known != count:
        raise UsageError(f"{machine.source} has {known} cores, --assume says {count}")
    if known is not None:
        return machine
    machine = stated(machine, "cores")._replace(core_count=count)
    cpus = machine.cpus
    if cpus is None:
        return machine
    if len(cpus) % count:
        raise UsageError(f"{len(cpus)} CPUs can't be {count} equal cores; check --assume cores")
    return with_threads_per_core(machine, len(cpus) // count)


def with_threads_per_core(machine: Machine, value: object) -> Machine:
    """State the SMT threads of each core, and so which CPUs form one."""
    threads = whole("threads_per_core", value, 1, 8)
    known = machine.threads_per_core
    if machine.cores is not None or known is not None:
        if known != threads:
            have = "cores of different sizes" if known is None else f"{known} threads a core"
            raise UsageError(f"{machine.source} has {have}, --assume says {threads}")
        return machine
    machine = stated(machine, "cores")._replace(smt=threads)
    cores: list[Core] = []
    for node in machine.cpu_nodes:
        ids = list(node.cpus or ())
        if len(ids) % threads:
            raise UsageError(
                f"the {len(ids)} CPUs of node {node.id} can't be cores of {threads} threads"
            )
        size = len(ids) // threads
        cores += [
            Core(CpuSet(ids[i::size]), package_of(machine, ids[i]), node.id) for i in range(size)
        ]
    total = len(cores)
    if total and machine.core_count not in (None, total):
        raise UsageError(
            f"--assume cores={machine.core_count} of {threads} threads each does not give the"
            f" {total * threads} CPUs of {machine.source}"
        )
    if len({cpu for core in cores for cpu in core.cpus}) != sum(len(core.cpus) for core in cores):
        return machine  # nodes share CPUs: no core belongs to one of them
    return machine._replace(cores=tuple(cores) or None)


def package_of(machine: Machine, cpu: int) -> int | None:
    """Return the package that holds a CPU, None where that is unknown."""
    return next((p.id for p in machine.packages or () if cpu in p.cpus), None)


def stated(machine: Machine, part: str) -> Machine:
    """Mark a part as stated by the user."""
    return machine._replace(
        gaps=tuple(gap for gap in machine.gaps if gap != part),
        origins={**machine.origins, part: ASSUMED},
    )


def with_limit(name: str, field: str, *, of_cpus: bool) -> Callable[[Machine, object], Machine]:
    """Return the step that states one set of CPUs or nodes that the process may use."""

    def step(machine: Machine, value: object) -> Machine:
        chosen = cpu_list(name, value)
        everyone = machine.cpus if of_cpus else CpuSet(n.id for n in machine.nodes) or None
        if everyone is not None and not chosen & everyone:
            what = "CPU" if of_cpus else "node"
            raise UsageError(
                f"--assume {name}={chosen}: the machine has no such {what} ({everyone})"
            )
        change: dict[str, Any] = {field: chosen if everyone is None else chosen & everyone}
        limits = machine.limits._replace(**change)
        return stated(machine, "limits")._replace(limits=limits)

    return step


def with_start_cpu(machine: Machine, value: object) -> Machine:
    """State the CPU on which the process starts."""
    limits = machine.limits._replace(start_cpu=whole("start_cpu", value, 0))
    return machine._replace(limits=limits)


def with_quota(machine: Machine, value: object) -> Machine:
    """State the CPU quota, in CPUs."""
    try:
        quota = float(str(value))
    except ValueError:
        quota = 0.0
    if not 0 < quota < 1e6:
        raise UsageError(f"--assume cpu_quota={str(value)[:40]} is not a number of CPUs above 0")
    return stated(machine, "limits")._replace(limits=machine.limits._replace(cpu_quota=quota))


def with_cmdline(machine: Machine, value: object) -> Machine:
    """State the kernel command line."""
    return machine._replace(settings=machine.settings._replace(cmdline=str(value)))


def with_guest(machine: Machine, value: object) -> Machine:
    """State whether the machine is a virtual one."""
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    guest = words.get(str(value).strip().lower())
    if guest is None:
        raise UsageError(f"--assume guest={str(value)[:40]}: say yes or no")
    if machine.is_guest is not None and machine.is_guest != guest:
        have = "a virtual machine" if machine.is_guest else "not a virtual machine"
        raise UsageError(f"{machine.source} is {have}, --assume says otherwise")
    return machine._replace(is_guest=guest)


#: In the order in which they build on each other.
STEPS: dict[str, Callable[[Machine, object], Machine]] = {
    "packages": with_packages,
    "cores": with_cores,
    "threads_per_core": with_threads_per_core,
    "allowed_cpus": with_limit("allowed_cpus", "cpuset_cpus", of_cpus=True),
    "allowed_mems": with_limit("allowed_mems", "cpuset_mems", of_cpus=False),
    "affinity": with_limit("affinity", "affinity", of_cpus=True),
    "start_cpu": with_start_cpu,
    "cpu_quota": with_quota,
    "cmdline": with_cmdline,
    "is_guest": with_guest,
}
