"""Other launches of the same runtime that might mend a finding, each with its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from numatune.errors import NumatuneError
from numatune.machine import Machine
from numatune.placement.placement import Release
from numatune.placement.request import PHASE_OPTIONS, Request
from numatune.rules.rule import Case
from numatune.rules.trial import largest, roomy, within

#: What a rule looks for first: the largest count that fits, one that is split evenly too, one with
#: room to spare, such a one above the present count, other pools or bindings with other counts, or
#: with the present one alone, another runtime.
FITS, EVEN, ROOMY, MORE = "fits", "even", "roomy", "more"
SETTINGS, ALONE, RUNTIME = "settings", "alone", "runtime"

#: How many threads a launch may ask for when its own number is no bound.
NO_BOUND = 1 << 14


class Way(NamedTuple):
    """One launch to try, and how to come to it: words that start in lower case."""

    words: str
    request: Request

    @property
    def threads(self) -> int:
        """The count that it asks for."""
        return self.request.threads or 0


class Settings(NamedTuple):
    """Other settings of a runtime: the words around a count, and the launch with them."""

    before: str
    behind: str
    request: Request

    def with_count(self, count: int) -> Way:
        """Return the launch with these settings and a count."""
        said = (self.before, option(self.request, count), self.behind)
        words = " ".join(filter(None, dict.fromkeys(said)))  # of sglang both are its settings
        return Way(words, self.request._replace(threads=count))

    @property
    def alone(self) -> Way:
        """The launch with these settings and the count that it has."""
        return Way(f"{self.before} {self.behind}", self.request)


def ways(case: Case, aims: tuple[str, ...]) -> Iterator[Way]:
    """Yield launches in the order of `aims`, the nearest to the present one first."""
    request, release = case.request, case.release
    if request is None or release is None or request.threads is None:
        return
    below = request.threads - 1
    request = request._replace(version=release.version, commit=None)
    counts = tuple(aim for aim in aims if aim in (FITS, EVEN, ROOMY))
    for aim in aims:
        if aim == SETTINGS:
            for settings in settings_of(case.machine, request):
                yield settings.alone
                yield from counted(case.machine, settings, counts, below)
                yield from counted(case.machine, settings, (ROOMY,), NO_BOUND)
        elif aim == ALONE:
            yield from (one.alone for one in settings_of(case.machine, request))
        elif aim == RUNTIME:
            yield from elsewhere(case.machine, request, counts)
        elif aim == MORE:
            yield from counted(case.machine, Settings("use", "", request), (ROOMY,), NO_BOUND)
        else:
            yield from counted(case.machine, Settings("use", "", request), (aim,), below)


def stated(case: Case, sensible: int) -> Iterator[Way]:
    """Yield the launches that state a count of at most so many workers, in place of a default."""
    request, release = case.request, case.release
    if request is None or release is None:
        return
    request = request._replace(version=release.version, commit=None)
    spare = 1 if release.runtime == "ktransformers" else 0  # a thread that is no worker
    settings = Settings("use", "", request)
    yield from counted(case.machine, settings, (FITS, ROOMY), sensible + spare)


def counted(
    machine: Machine, settings: Settings, aims: tuple[str, ...], highest: int
) -> Iterator[Way]:
    """Yield settings with the largest count up to `highest` that each aim asks for."""
    for aim in aims:
        count = count_for(machine, settings.request, highest, aim)
        if count is not None:
            yield settings.with_count(count)


def upgraded(case: Case, aims: tuple[str, ...]) -> Iterator[Way]:
    """Yield the newest behaviour of the same runtime, with the present count or one that fits."""
    request, release = case.request, case.release
    newer = None if release is None else newest(release)
    if request is None or release is None or newer is None or request.threads is None:
        return
    version = newer.versions.partition(" - ")[0]
    asked = request._replace(version=version, commit=None)
    words = f"upgrade to {newer.runtime} {version}"
    for aim in aims:
        count = count_for(case.machine, asked, request.threads, aim)
        if count is not None:
            same = "" if count == request.threads else f" with {option(asked, count)}"
            yield Way(words + same, asked._replace(threads=count))
    yield Way(words, asked)


def newest(release: Release) -> Release | None:
    """Return the newest behaviour of the runtime, None where this is it."""
    from numatune.runtimes import named

    last = named(release.runtime).releases(release.numa_build)[-1]
    return None if last.behaviour == release.behaviour else last


def elsewhere(machine: Machine, request: Request, aims: tuple[str, ...]) -> Iterator[Way]:
    """Yield kt-kernel in place of ktransformers, which it has followed."""
    if request.runtime != "ktransformers":
        return
    threads = max(1, (request.threads or 1) - 1)
    asked = request._replace(
        runtime="kt-kernel", version=None, numa_build=None, threads=threads, options={}
    )
    for one in pools_of(machine, asked):
        settings = one._replace(before="use kt-kernel with")
        yield settings.with_count(threads)
        yield from counted(machine, settings, aims, threads - 1)


def count_for(machine: Machine, request: Request, highest: int, aim: str) -> int | None:
    """Return the largest count up to `highest` that an aim asks for."""
    if request.runtime == "vllm":
        from numatune.rules.rank_ways import takes_count

        if not takes_count(request):
            return None
    # Beside the workers of kt-kernel other threads spin, which need a core on each node.
    spare = 1 if request.runtime == "kt-kernel" else 0
    wish = roomy(machine) if aim == ROOMY else within(machine, evenly=aim == EVEN, spare=spare)
    return largest(machine, request, highest, wish)


def option(request: Request, count: int) -> str:
    """Return the option of a runtime that asks for a count, as it is written in a command."""
    from numatune.runtimes import named

    if request.runtime == "sglang":  # its settings alone decide on the count
        from numatune.runtimes.sglang_settings import words

        return words(request)
    own = PHASE_OPTIONS.get(request.phase)
    name = own or named(request.runtime).THREADS_OPTION
    return f"{name}{' ' if name.startswith('-') else '='}{count}"


def settings_of(machine: Machine, request: Request) -> Iterator[Settings]:
    """Yield the other settings of a runtime that change where its workers go."""
    if request.runtime == "kt-kernel":
        yield from pools_of(machine, request, request.options.get("threadpool_count", 2))
    elif request.runtime in ("llama.cpp", "ik_llama.cpp"):
        options = {**request.options, "numa": "distribute"}
        if request.options.get("numa") != "distribute":
            yield Settings("use", numa_words(request), request._replace(options=options))
    elif request.runtime == "openmp" and "GOMP_CPU_AFFINITY" not in request.env:
        for policy, places in (("spread", "cores"), ("spread", "numa_domains"), ("close", "cores")):
            env = {**request.env, "OMP_PROC_BIND": policy, "OMP_PLACES": places}
            if env != request.env:
                words = f"OMP_PROC_BIND={policy} OMP_PLACES={places}"
                yield Settings("use", words, request._replace(env=env))
    elif request.runtime == "sglang":
        from numatune.runtimes import sglang_settings

        for asked in sglang_settings.settings(machine, request):
            yield Settings("use", sglang_settings.words(asked), asked)
    elif request.runtime == "vllm":
        from numatune.rules.rank_ways import of_vllm

        for words, asked in of_vllm(machine, request):
            yield Settings("use", words, asked)


def numa_words(request: Request) -> str:
    """Return `--numa` as this release of llama.cpp takes it: at first it took no strategy."""
    from numatune.runtimes import named

    try:
        release = named(request.runtime).release(request.version, request.commit, None)
    except NumatuneError:
        return "--numa distribute"
    return "--numa" if release.behaviour == "blocks" else "--numa distribute"


def pools_of(machine: Machine, request: Request, present: object = None) -> Iterator[Settings]:
    """Yield kt-kernel with a pool for each node that can carry one, then with one alone.

    A map of nodes is left out: pool i is then on node i. As many pools as `present` are no other.
    """
    rest = {k: v for k, v in request.options.items() if k not in ("numa_nodes", "threadpool_count")}
    drops = "numa_nodes" in request.options
    before = "leave --kt-numa-nodes out and use" if drops else "use"
    for pools in dict.fromkeys((usable_nodes(machine), leading_nodes(machine), 1)):
        if pools != present or drops:
            own = request._replace(options={**rest, "threadpool_count": pools})
            yield Settings(before, f"--kt-threadpool-count {pools}", own)


def usable_nodes(machine: Machine) -> int:
    """Return how many nodes have CPUs and memory that the process may use, at least 1."""
    return max(1, sum(is_usable(machine, node.id) for node in machine.nodes))


def leading_nodes(machine: Machine) -> int:
    """Return how many of the first nodes are usable, at least 1."""
    first = 0
    while first < len(machine.nodes) and is_usable(machine, machine.nodes[first].id):
        first += 1
    return max(1, first)


def is_usable(machine: Machine, node_id: int) -> bool:
    """Tell whether a process may use CPUs and memory of a node."""
    node, mems = machine.node(node_id), machine.usable_mems
    has_memory = node is not None and node.memory_total_bytes != 0
    return bool(machine.node_cpus(node_id)) and has_memory and (mems is None or node_id in mems)
