"""OpenMP programs: where the threads of one parallel region run, by GNU's or Intel's library.

`implementation` is "gnu" (libgomp, which was run for this) or "intel" (libiomp, as documented and
never run). A thread count that the launch states stands for `omp_set_num_threads`, and so goes
before OMP_NUM_THREADS. Memory is never bound.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from numatune.errors import UsageError
from numatune.machine import CpuSet, Machine
from numatune.placement.placement import Placement, Release, Tally, Worker
from numatune.placement.request import Request
from numatune.runtimes import libgomp, libiomp
from numatune.runtimes import omp_variables as variables
from numatune.runtimes.options import MOST_THREADS, whole
from numatune.runtimes.runtime import DefaultCount
from numatune.runtimes.versions import parse
from numatune.words import shown

NAME = "openmp"
THREADS_OPTION = "OMP_NUM_THREADS"
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "threads": ("OMP_NUM_THREADS",),
    "implementation": (),
}

GNU, INTEL = "gnu", "intel"
RANGE = "libgomp 12 - 14"
DOCUMENTED = "libiomp, as documented and not run"
#: The first and the last major version of GCC whose libgomp follows these rules.
OLDEST, NEWEST = 12, 14

#: What people call each library.
WORDS = {
    GNU: ("libgomp", "gcc", "gnu"),
    INTEL: ("libiomp5", "libiomp", "libomp", "intel", "llvm"),
}

PROC_SOURCE = (
    "https://github.com/gcc-mirror/gcc/blob/releases/gcc-12.2.0/libgomp/config/linux/proc.c"
)
WAIT_SOURCE = "https://gcc.gnu.org/onlinedocs/libgomp/GOMP_005fSPINCOUNT.html"
VARIABLES_SOURCE = "https://openmp.llvm.org/design/Runtimes.html"
#: What OMP_WAIT_POLICY=active sets GOMP_SPINCOUNT to, about five minutes.
ACTIVE_SPINS = 30_000_000_000

#: Where a thread sits: its node, its CPUs, its binding.
Seat = tuple[int | None, CpuSet | None, str]


def releases(numa_build: bool | None) -> tuple[Release, ...]:
    """Return GNU's library alone: nobody gets the other one unasked."""
    return (release(None, None, numa_build),)


def release(version: str | None, commit: str | None, numa_build: bool | None) -> Release:
    """Return how a library behaves: "libgomp 12.2", "12.2", "libiomp". Raises UsageError."""
    if commit is not None:
        raise UsageError(f"{NAME} is known by version, such as libgomp 12.2, and not by commit")
    asked = (version or "libgomp 12.2").strip().lower()
    for implementation, words in WORDS.items():
        word = next((word for word in words if asked.startswith(word)), "")
        number = parse(asked.removeprefix(word).strip(" -=")) if word else None
        if word and implementation == INTEL and (number or asked == word):
            return documented()
        if asked == word or (number and OLDEST <= number.release[0] <= NEWEST):
            return gnu("12.2" if asked == word else asked.removeprefix(word).strip(" -="))
    number = parse(asked)
    if number is None or not number.release or not OLDEST <= number.release[0] <= NEWEST:
        raise UsageError(
            f"{NAME} {shown(version)} is not known; known are {RANGE} (12.2 was run), and libiomp"
        )
    return gnu(asked)


def gnu(version: str) -> Release:
    """Return the release of a version of libgomp."""
    return Release(NAME, f"libgomp {version}", RANGE, GNU, None, libgomp.SOURCE)


def documented() -> Release:
    """Return the one release of libiomp."""
    return Release(NAME, "libiomp", DOCUMENTED, INTEL, None, libiomp.SOURCE)


def chosen(request: Request, release: Release) -> Release:
    """Return the release that the option `implementation` chooses. Raises UsageError."""
    asked = request.options.get("implementation")
    if asked is None or str(asked).strip().lower() == release.behaviour:
        return release
    word = str(asked).strip().lower()
    if word not in WORDS:
        raise UsageError(f"implementation {shown(asked)!r} is not known; known are gnu and intel")
    if request.version is not None:
        raise UsageError(f"version {shown(request.version)!r} is not one of the {word} library")
    return documented() if word == INTEL else gnu("12.2")


def default_threads(machine: Machine, request: Request, release: Release) -> DefaultCount | None:
    """Return the threads of a launch that states no number: OMP_NUM_THREADS, else the CPUs.

    libgomp counts the CPUs of the inherited affinity, which a cpuset narrows, and looks at no
    quota. What libiomp counts where less than the machine is allowed is not established here.
    """
    stated = libgomp.stated_team(request.env)
    own = chosen(request, release)
    source = PROC_SOURCE if own.behaviour == GNU else VARIABLES_SOURCE
    if stated is not None:
        return DefaultCount(stated, "the first number of OMP_NUM_THREADS", (), source)
    cpus = machine.inherited_cpus
    number = None if cpus is None else len(cpus)
    if own.behaviour == GNU:
        counted = "the CPUs that the process inherits: its affinity within the cpuset"
        return DefaultCount(number, counted, ("quota",), source)
    if cpus != machine.cpus:
        number = None
    return DefaultCount(number, "the CPUs visible to the program, as documented", (), source)


def asked_threads(machine: Machine, request: Request, release: Release) -> int:
    """Return the thread count of a launch, the default where none is stated. Raises UsageError."""
    number: object = request.threads
    if number is None:
        default = default_threads(machine, request, release)
        number = None if default is None else default.threads
    if number is None:
        raise UsageError(
            f"the request has no thread count, and the default is not known here; give one with "
            f"{THREADS_OPTION}"
        )
    return whole(THREADS_OPTION, number, 1, MOST_THREADS, "a number of threads")


def phases(request: Request) -> tuple[tuple[str, Request], ...]:
    """Return the one phase: OpenMP knows of no other."""
    return (("generation", request),)


def simulate(machine: Machine, request: Request, release: Release) -> Placement:
    """Place every thread of one parallel region; thread 0 is the thread that was there before.

    Where libgomp is sent to CPUs that do not exist, the places are those that it asks for;
    `libgomp.failure` tells that the process then ends. Raises UsageError.
    """
    own = chosen(request, release)
    threads = asked_threads(machine, request, release)
    team = threads
    if own.behaviour == GNU:
        team = libgomp.team_size(machine, request.env, threads)
        bound = libgomp.binding(machine, request.env)
        places: Sequence[CpuSet] = bound.places
        order = libgomp.indices(bound.policy, len(places), team) if places else iter(())
    else:
        places = libiomp.positions(machine, request.env) or ()
        order = (i % len(places) for i in range(team)) if places else iter(())
    spots = seats(machine, places).all
    floating: Seat = (None, machine.inherited_cpus, "none")
    taken = [spots[i] for i in order] if places else [floating] * team
    workers = tuple(
        Worker(i, name_of(i), 0, node, cpus, binding)
        for i, (node, cpus, binding) in enumerate(taken)
    )
    return Placement(own, threads, workers)


def name_of(index: int) -> str:
    """Return what a thread is called here."""
    return "thread 0 (primary)" if index == 0 else f"thread {index}"


class Seats(NamedTuple):
    """The seat of each place; their nodes alone, and as blocks (first, end, node) of equal ones."""

    all: list[Seat]
    homes: list[int | None]
    blocks: list[tuple[int, int, int | None]]
    starts: list[int]

    def counted(self, indices: range) -> Mapping[int | None, int]:
        """Count the places of each node among evenly spaced ones.

        Places mostly lie node by node: then a few blocks are looked at, and not each place.
        """
        if 4 * len(self.blocks) > len(indices):
            return Counter(self.homes[indices.start : indices.stop : indices.step])
        counts: dict[int | None, int] = {}
        start, step, most = indices.start, indices.step, len(indices)
        touched = slice(
            bisect_right(self.starts, start) - 1, bisect_left(self.starts, indices.stop)
        )
        taken = 0
        for _, end, home in self.blocks[touched]:
            upto = -(-(end - start) // step)
            upto = upto if upto < most else most
            if upto > taken:
                counts[home] = counts.get(home, 0) + upto - taken
                taken = upto
        return counts


_last: list[tuple[Machine, Sequence[CpuSet], Seats]] = []


def seats(machine: Machine, places: Sequence[CpuSet]) -> Seats:
    """Return the seat of each place; the last answer is kept for a sweep."""
    if not _last or _last[0][0] is not machine or _last[0][1] is not places:
        nodes = [(n.id, n.cpus, machine.node_cpus(n.id)) for n in machine.nodes if n.cpus]
        known = {place: seat(place, nodes) for place in set(places)}
        every = [known[place] for place in places]
        homes = [node for node, _, _ in every]
        starts = [i for i, home in enumerate(homes) if not i or home != homes[i - 1]]
        ends = [*starts, len(homes)][1:]
        blocks = [(i, end, homes[i]) for i, end in zip(starts, ends, strict=True)]
        _last[:] = [(machine, places, Seats(every, homes, blocks, starts))]
    return _last[0][2]


def seat(place: CpuSet, nodes: Sequence[tuple[int, CpuSet, CpuSet | None]]) -> Seat:
    """Return node, CPUs and binding of one place, its node None where there is none or several."""
    homes = [(node, usable) for node, cpus, usable in nodes if place <= cpus]
    node, usable = homes[0] if len(homes) == 1 else (None, None)
    if len(place) == 1:
        return node, place, "cpu"
    return node, place, "node" if place == usable else "mask"


def tally(machine: Machine, request: Request, release: Release) -> Tally:
    """Count the threads of each node without making any."""
    own = chosen(request, release)
    team = asked_threads(machine, request, release)
    if own.behaviour == GNU:
        team = libgomp.team_size(machine, request.env, team)
        bound = libgomp.binding(machine, request.env)
        places: Sequence[CpuSet] = bound.places
        runs = libgomp.runs(bound.policy, len(places), team) if places else []
    else:
        places = libiomp.positions(machine, request.env) or ()
        runs = libgomp.runs(variables.CLOSE, len(places), team) if places else []
    if not places:
        return Tally({}, team)
    taken = seats(machine, places)
    counts: dict[int | None, int] = {}
    for run in runs:
        for home, number in taken.counted(run.indices).items():
            counts[home] = counts.get(home, 0) + number * run.repeats
    unbound = counts.pop(None, 0)
    return Tally({k: v for k, v in counts.items() if k is not None and v}, unbound)


def pinned_twice(machine: Machine, request: Request) -> bool:
    """Tell whether two threads are tied to one core each by its siblings, though none is crowded.

    So it is where places are single CPUs whose neighbours are SMT siblings, and threads are fewer
    than the cores.
    """
    own = release(request.version, request.commit, request.numa_build)
    if own.behaviour != GNU or machine.cores is None or not request.threads:
        return False
    bound = libgomp.binding(machine, request.env)
    cores = cores_of(machine, bound.places)
    if len(set(cores)) == len(cores) or None in cores:
        return False
    team = libgomp.team_size(machine, request.env, request.threads)
    taken: set[int | None] = set()
    for run in libgomp.runs(bound.policy, len(cores), team):
        part = cores[run.indices.start : run.indices.stop : run.indices.step]
        if run.repeats > 1 or len(set(part)) < len(part) or not taken.isdisjoint(part):
            return bool(part)
        taken.update(part)
    return False


_cores: list[tuple[Machine, Sequence[CpuSet], list[int | None]]] = []


def cores_of(machine: Machine, places: Sequence[CpuSet]) -> list[int | None]:
    """Return the core, by its lowest CPU, in which each place lies; None for a place of several."""
    if not _cores or _cores[0][0] is not machine or _cores[0][1] is not places:
        home = {cpu: core.cpus for core in machine.cores or () for cpu in core.cpus}
        found = [home.get(place.first()) for place in places]
        inside = [
            core.first() if core is not None and place <= core else None
            for core, place in zip(found, places, strict=True)
        ]
        _cores[:] = [(machine, places, inside)]
    return _cores[0][2]


def spins(env: Mapping[str, str], implementation: str = GNU) -> bool | None:
    """Tell whether threads that wait keep their CPUs busy; None: for a moment only, then not.

    GNU (`WAIT_SOURCE`): GOMP_SPINCOUNT, else OMP_WAIT_POLICY; neither means about 3 ms. With more
    threads than CPUs a wait that OMP_WAIT_POLICY made active is cut to 1000 spins. Intel, as
    documented (`VARIABLES_SOURCE`): KMP_BLOCKTIME, else OMP_WAIT_POLICY; neither means 200 ms.
    """
    try:
        if implementation == GNU and "GOMP_SPINCOUNT" in env:
            count = variables.spin_count(env["GOMP_SPINCOUNT"])
            return True if count >= ACTIVE_SPINS else None if count else False
    except variables.InvalidValue:
        pass
    if implementation == INTEL and "KMP_BLOCKTIME" in env:
        words = {"infinite": True, "infinity": True, "0": False}
        return words.get(env["KMP_BLOCKTIME"].strip().lower())
    try:
        return variables.wait_policy(env["OMP_WAIT_POLICY"])
    except (KeyError, variables.InvalidValue):
        return None
