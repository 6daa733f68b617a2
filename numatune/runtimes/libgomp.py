"""GNU libgomp: the places that OMP_PLACES, OMP_PROC_BIND and GOMP_CPU_AFFINITY make, and who gets
which.

Without any of the three nothing is bound. Named places come from /sys, each cut down to the CPUs
that the process inherited; OMP_PROC_BIND alone takes one place for each of these CPUs, core by
core. The primary thread of the process sits on the first place. Source: GCC 12.2, which was run on
described topologies: `SOURCE` (`initialize_env`), libgomp/config/linux/affinity.c
(`gomp_affinity_init_level`), libgomp/team.c (`gomp_team_start`) beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, repeat
from typing import NamedTuple

from numatune.errors import LaunchRefused, MachineError, UsageError
from numatune.machine import CpuSet, Machine
from numatune.runtimes import omp_variables as variables
from numatune.runtimes.libgomp_places import (
    allowed_cpus,
    cut_down,
    explicit_places,
    level_places,
    mask_size,
)
from numatune.runtimes.omp_variables import (
    FALSE,
    MOST_PLACES,
    PRIMARY,
    SPREAD,
    TRUE,
    InvalidValue,
    Level,
)

SOURCE = "https://github.com/gcc-mirror/gcc/blob/releases/gcc-12.2.0/libgomp/env.c"

#: The variables that say where threads go.
BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY")


class Binding(NamedTuple):
    """The list of places of a process and the policy that deals them out.

    `complaints` says in own words what libgomp warns about, or should.
    """

    policy: str
    places: tuple[CpuSet, ...]
    complaints: tuple[str, ...]


class Runs(NamedTuple):
    """Places in the order in which threads take them: each of `indices` for `repeats` threads."""

    indices: range
    repeats: int


def bound_threads(
    machine: Machine, env: Mapping[str, str], threads: int
) -> tuple[CpuSet, ...] | None:
    """Return the CPUs of each thread of a team, as libgomp asks the kernel for them.

    None where nothing is bound. `threads` is the size of the team (`team_size`). The CPUs of
    GOMP_CPU_AFFINITY are not checked against those that may be used; see `complaints`. Raises
    MachineError where the machine's description lacks what places are made of.
    """
    bound = binding(machine, env)
    if not bound.places:
        return None
    return tuple(bound.places[i] for i in indices(bound.policy, len(bound.places), threads))


def indices(policy: str, places: int, threads: int) -> Iterator[int]:
    """Yield the index of the place of each thread."""
    for run in runs(policy, places, threads):
        yield from chain.from_iterable(repeat(i, run.repeats) for i in run.indices)


def runs(policy: str, places: int, threads: int) -> list[Runs]:
    """Return how a policy deals a number of places out to threads."""
    if policy == PRIMARY:
        return [Runs(range(1), threads)]
    if threads > places:
        each, rest = divmod(threads, places)
        return [Runs(range(places), each), Runs(range(rest), 1)]
    if policy != SPREAD:
        return [Runs(range(threads), 1)]
    size, larger = divmod(places, threads)
    start = larger * (size + 1)
    return [Runs(range(0, start, size + 1), 1), Runs(range(start, places, size), 1)]


_last: list[tuple[Machine, tuple[str | None, ...], Binding]] = []


def binding(machine: Machine, env: Mapping[str, str]) -> Binding:
    """Return the places and the policy of a process; no places where nothing is bound.

    Raises MachineError where the machine's description lacks what places are made of. The last
    answer is kept, as a sweep asks thousands of times for one.
    """
    asked = tuple(env.get(name) for name in BINDING)
    if not _last or _last[0][0] is not machine or _last[0][1] != asked:
        _last[:] = [(machine, asked, found_binding(machine, env))]
    return _last[0][2]


def found_binding(machine: Machine, env: Mapping[str, str]) -> Binding:
    """Find the places and the policy of a process as `initialize_env` does."""
    said: list[str] = []
    policy, is_off = policy_of(env, said)
    places = places_of(machine, env, said, is_off)
    places = gomp_places(machine, env, said, is_off or bool(places)) or places
    if places and policy == FALSE:
        policy = TRUE
    if policy != FALSE and not places:
        places = level_places(machine, Level("threads", None))
    return Binding(policy, tuple(places), tuple(said))


def policy_of(env: Mapping[str, str], said: list[str]) -> tuple[str, bool]:
    """Return the policy of the first level, and whether binding was switched off by name."""
    text = env.get("OMP_PROC_BIND")
    if text is None:
        return FALSE, False
    try:
        policy = variables.binds(text)[0]
    except InvalidValue as error:
        said.append(ignored("OMP_PROC_BIND", error))
        return FALSE, False
    return policy, policy == FALSE


def ignored(name: str, error: InvalidValue) -> str:
    """Say that a variable is not valid."""
    return f"libgomp warns that {name} is not valid ({error}) and goes on without it"


def places_of(
    machine: Machine, env: Mapping[str, str], said: list[str], is_off: bool
) -> list[CpuSet]:
    """Return the places of OMP_PLACES, none where it is missing, not valid or not wanted."""
    text = env.get("OMP_PLACES")
    if text is None:
        return []
    try:
        parsed = variables.places(text)
        if is_off:
            return []
        if isinstance(parsed, Level):
            return level_places(machine, parsed)
        return cut_down(explicit_places(parsed, mask_size(machine)), allowed_cpus(machine), said)
    except InvalidValue as error:
        said.append(ignored("OMP_PLACES", error))
        return []


def gomp_places(
    machine: Machine, env: Mapping[str, str], said: list[str], is_off: bool
) -> list[CpuSet]:
    """Return the places of GOMP_CPU_AFFINITY: one CPU each, whether it may be used or not."""
    text = env.get("GOMP_CPU_AFFINITY")
    if text is None:
        return []
    try:
        parsed = variables.cpu_affinity(text)
    except InvalidValue as error:
        said.append(ignored("GOMP_CPU_AFFINITY", error))
        return []
    if is_off:
        return []
    size = mask_size(machine)
    found = [range(part.start, min(part.stop, size), part.step) for part in parsed]
    if sum(map(len, found)) > MOST_PLACES:
        raise UsageError(f"GOMP_CPU_AFFINITY has more than {MOST_PLACES} places")
    return [CpuSet.of_mask(1 << cpu) for part in found for cpu in part]


def complaints(machine: Machine, env: Mapping[str, str]) -> tuple[str, ...]:
    """Say in own words what libgomp warns about at its start, or should warn about.

    Of places only where the machine's description holds what they are made of.
    """
    said = [
        ignored(name, error) for name, read in READERS.items() if (error := flaw(env, name, read))
    ]
    with suppress(MachineError, UsageError):
        said += binding(machine, env).complaints
    if is_dynamic(env):
        said.append(
            "with OMP_DYNAMIC=true libgomp takes the load average of the last 15 minutes from the "
            "number of threads"
        )
    beyond = unusable(machine, env)
    if beyond:
        said.append(
            f"GOMP_CPU_AFFINITY names CPUs that the process can't use ({beyond}): libgomp does not "
            "look, and where a thread is to start on one it ends the process"
        )
    return tuple(said)


def flaw(env: Mapping[str, str], name: str, read: Callable[[str], object]) -> InvalidValue | None:
    """Return why a variable is not valid, None where it is or is missing."""
    try:
        if name in env:
            read(env[name])
    except InvalidValue as error:
        return error
    return None


def unusable(machine: Machine, env: Mapping[str, str]) -> CpuSet:
    """Return the CPUs of GOMP_CPU_AFFINITY that the kernel refuses: offline, or not in the cpuset.

    The inherited affinity alone does not hold a thread back. Empty where nothing is known.
    """
    left = machine.usable_cpus
    try:
        bound = binding(machine, env)
    except (MachineError, UsageError):
        return CpuSet()
    if left is None or not env.get("GOMP_CPU_AFFINITY"):
        return CpuSet()
    return joined(place for place in bound.places if not place & left)


def failure(machine: Machine, env: Mapping[str, str], threads: int) -> LaunchRefused | None:
    """Return why libgomp ends the process when it makes a team, None where it does not.

    A place of GOMP_CPU_AFFINITY that the process can't use makes `pthread_create` fail (EINVAL).
    Not so for the first thread, which exists already and stays where it is.
    """
    beyond = unusable(machine, env)
    bound = bound_threads(machine, env, threads) if beyond else None
    hit = joined(cpus for cpus in (bound or ())[1:] if cpus <= beyond)
    if not hit:
        return None
    return LaunchRefused(
        f"GOMP_CPU_AFFINITY sends threads to CPUs {hit}, which this process can't use: libgomp "
        'ends it with "Thread creation failed: Invalid argument"',
        rule="launcher-refused",
        cpus=str(hit),
    )


def joined(parts: Iterable[CpuSet]) -> CpuSet:
    """Return the CPUs of all parts."""
    mask = 0
    for part in parts:
        mask |= part.mask
    return CpuSet.of_mask(mask)


def is_dynamic(env: Mapping[str, str]) -> bool:
    """Tell whether OMP_DYNAMIC is on."""
    try:
        return variables.truth(env.get("OMP_DYNAMIC", "false"))
    except InvalidValue:
        return False


def default_team(machine: Machine, env: Mapping[str, str]) -> int | None:
    """Return OMP_NUM_THREADS, else the number of CPUs inherited; None where that is unknown.

    A CPU quota does not count (libgomp/config/linux/proc.c, `gomp_init_num_threads`).
    """
    stated = stated_team(env)
    cpus = machine.inherited_cpus
    return stated if stated is not None or cpus is None else len(cpus)


def stated_team(env: Mapping[str, str]) -> int | None:
    """Return the first number of OMP_NUM_THREADS, None where it is missing or not valid."""
    try:
        return variables.counts(env["OMP_NUM_THREADS"])[0] if "OMP_NUM_THREADS" in env else None
    except InvalidValue:
        return None


def team_size(machine: Machine, env: Mapping[str, str], threads: int) -> int:
    """Return how many threads there are where so many are asked for.

    OMP_THREAD_LIMIT is a bound, and with OMP_DYNAMIC the number of CPUs inherited and of
    OMP_NUM_THREADS, less the load average, which is taken as 0 here (`gomp_resolve_num_threads` in
    libgomp/parallel.c, `gomp_dynamic_max_threads` in libgomp/config/linux/proc.c).
    """
    bounds = [threads]
    if is_dynamic(env):
        cpus = machine.inherited_cpus
        bounds += [len(cpus)] if cpus else []
        bounds += [stated] if (stated := stated_team(env)) else []
    if "OMP_THREAD_LIMIT" in env and not flaw(env, "OMP_THREAD_LIMIT", variables.count):
        bounds.append(variables.count(env["OMP_THREAD_LIMIT"]))
    return min(bounds)


#: Variables that say how many threads there are, and how they wait.
READERS: Mapping[str, Callable[[str], object]] = {
    "OMP_NUM_THREADS": variables.counts,
    "OMP_THREAD_LIMIT": variables.count,
    "OMP_DYNAMIC": variables.truth,
    "OMP_WAIT_POLICY": variables.wait_policy,
    "GOMP_SPINCOUNT": variables.spin_count,
}
