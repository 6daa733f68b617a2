"""kt-kernel (ktransformers from 0.4.1 on): one pool of workers for each entry of a map of nodes.

Each worker is pinned to the first CPU of one core. A pool's workers but its first inherit what
libnuma makes of the node id (the kernel's id) and are then pinned by what hwloc makes of it (a
logical index); its first worker, the distributor, starts unbound, and takes its memory policy from
the number of the pool in place of its node. Source: `SOURCE` (`WorkerPool::init`,
`InNumaPool::InNumaPool`, `NumaJobDistributor::init`), and `_get_cpu_infer` in
https://github.com/kvcache-ai/ktransformers/blob/v0.7.0/kt-kernel/python/experts_base.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from numatune.errors import LaunchRefused, UsageError
from numatune.machine import CpuSet, Machine
from numatune.placement.placement import Placement, Release, Tally, Worker
from numatune.placement.request import Request
from numatune.runtimes import libnuma
from numatune.runtimes.hwloc import NumaObject, Spot, numa_objects
from numatune.runtimes.kept import kept
from numatune.runtimes.options import MOST_NODES, MOST_THREADS, numbers, thread_count, whole
from numatune.runtimes.runtime import DefaultCount
from numatune.runtimes.versions import canonical, commit_of, parse, same_commit

NAME = "kt-kernel"
THREADS_OPTION = "--kt-cpuinfer"
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "threads": ("--kt-cpuinfer", "--cpu-threads", "--cpuinfer-threads"),
    "threadpool_count": ("--kt-threadpool-count", "--threadpool-count"),
    "numa_nodes": ("--kt-numa-nodes", "--numa-nodes"),
}

#: The default of sglang's --kt-threadpool-count.
DEFAULT_POOLS = 2

RANGE = "0.4.1 - 0.7.x"
NEWEST = "0.7.0"
PINNED = "pinned"
SOURCE = (
    "https://github.com/kvcache-ai/ktransformers/blob/95009ea6856c0799e517e93cb12be5e8494bc7ce"
    "/kt-kernel/cpu_backend/worker_pool.cpp"
)

#: The releases of each series, apart from post releases and candidates; all of 0.7 is taken.
KNOWN = (
    "0.4.1", "0.4.2", "0.4.3", "0.4.4", "0.5.0", "0.5.1", "0.5.2", "0.5.3", "0.6.1", "0.6.2",
    "0.6.3", "0.6.4",
)  # fmt: skip
OPEN_SERIES = (0, 7)

#: `kt run`, which starts the server, and gives it a count where the user gives none.
KT_RUN = (
    "https://github.com/kvcache-ai/ktransformers/blob/95009ea6856c0799e517e93cb12be5e8494bc7ce"
    "/kt-kernel/python/cli/commands/run.py"
)

#: Commits of the tags 0.4.1 to 0.7.0, and those that issues and changes name.
COMMITS = (
    "4c5fcf97749f", "e40ba6dfae17", "e69c67713fba", "721b6c4c9482", "0bce173e3b93", "1d7a476523ed",
    "6d2d7cb057dc", "779bf1455630", "bf4c8a690b4c", "15c624dcaeab", "7a02daa694f2", "bdf4bb76c5f9",
    "3903c9afccb7", "db9326302bab", "24b1941b8584", "72044ad65f85", "4b4312c0a244", "d7b5b49a3ef2",
    "37db9a3b839e", "bb15fdf47e69", "ce7c3ddbe93f", "8e46e5896c3d", "924754a00bd8", "e80614fc2d2c",
    "95009ea6856c",
)  # fmt: skip


def releases(numa_build: bool | None) -> tuple[Release, ...]:
    """Return the one behaviour; there is no build without NUMA."""
    return (release(None, None, numa_build),)


def release(version: str | None, commit: str | None, numa_build: bool | None) -> Release:
    """Return how a version or a commit behaves. Raises UsageError where it is not known."""
    if version is not None and parse(version) is None and commit_of(version):
        version, commit = None, commit or version
    asked = NEWEST
    if version is not None:
        number = parse(version)
        bare = None if number is None else number._replace(stage=0, number=0)
        if number is None or not (bare in map(parse, KNOWN) or number.series == OPEN_SERIES):
            raise unknown(version[:40])
        asked = canonical(version) or version
    elif commit is not None:
        prefix = commit_of(commit)
        if prefix is None or not same_commit(prefix, COMMITS):
            raise unknown(f"commit {commit[:40]}")
        asked = prefix
    return Release(NAME, asked, RANGE, PINNED, None, SOURCE)


def unknown(asked: str) -> UsageError:
    """Say that a version is not known, and which are."""
    number = parse(asked)
    before = number is not None and number < (parse("0.4") or number)
    older = "; before 0.4.1 ask for --runtime ktransformers" if before else ""
    return UsageError(
        f"kt-kernel {asked} is not known; known are {', '.join(KNOWN)} and 0.7.x, the newest "
        f"{NEWEST}{older}"
    )


class Pool(NamedTuple):
    """One pool: where its workers and its distributor are put.

    `cores` is hwloc's object for the node asked for, None where it shows none; the workers take its
    cores from `start` + 1 on. `inherited` is what libnuma left them with. `distributor` is the core
    of worker 0, number `first_core`, None where it found none. `is_defined` is False where the
    upstream code reads beyond an array to find `start`.
    """

    asked: int
    threads: int
    start: int
    cores: NumaObject | None
    inherited: libnuma.Bound
    memory: str
    first_core: int
    distributor: Spot | None
    distributor_memory: str
    is_defined: bool


def pool_map(request: Request) -> tuple[tuple[int, int], ...]:
    """Return (node asked for, threads) of each pool. Raises UsageError and LaunchRefused."""
    threads = thread_count(request, THREADS_OPTION)
    stated = request.options.get("threadpool_count")
    count = DEFAULT_POOLS
    if stated is not None:
        count = whole("threadpool_count", stated, 1, MOST_THREADS, "a number of pools")
    nodes: tuple[int, ...] = tuple(range(count))
    listed = request.options.get("numa_nodes")
    if listed is not None:
        nodes = numbers("numa_nodes", listed, MOST_NODES, "node ids such as 0,1")
        if len(nodes) != count:
            default = " (the default)" if stated is None else ""
            entries = f"{len(nodes)} entr{'y' if len(nodes) == 1 else 'ies'}"
            raise LaunchRefused(
                f"kt-kernel refuses numa_nodes of {entries} with a threadpool_count of {count}"
                f"{default}; give --kt-threadpool-count {max(1, len(nodes))}"
            )
    each, rest = divmod(threads, count)
    return tuple((node, each + (i < rest)) for i, node in enumerate(nodes))


def refusal(machine: Machine, request: Request) -> LaunchRefused | None:
    """Return why the runtime would not start, None where it would. Raises UsageError."""
    try:
        count = len(pool_map(request))
    except LaunchRefused as refused:
        return refused
    model = request.model
    if model is not None and (model.moe_intermediate_size or 0) % count:
        return LaunchRefused(
            f"kt-kernel refuses {count} pools for {model.name[:60]}, of which the "
            f"moe_intermediate_size {model.moe_intermediate_size} is no multiple of {count}"
        )
    return libnuma.refusal(machine, NAME)


def pools(machine: Machine, request: Request) -> list[Pool]:
    """Return the pools as `WorkerPool::init` and `NumaJobDistributor::init` make them."""
    objects = numa_objects(machine)
    # The mask has one bit a configured node; setting a bit beyond them does nothing.
    configured = libnuma.configured_nodes(machine)
    bindings = {k: v for k, v in libnuma.bindings(machine).items() if k < configured}
    floating = libnuma.inherited(machine)
    entries = pool_map(request)
    starts: dict[int, int] = {}
    first_cores: dict[int, int] = {}
    made: list[Pool] = []
    for index, (asked, threads) in enumerate(entries):
        inherited = bindings.get(asked, floating)
        cores = objects[asked] if asked < len(objects) else None
        first_core = first_cores.get(asked, 0)
        spot = cores.core(first_core) if cores else None
        if spot is not None:
            # Where the core is missing the count is not advanced.
            first_cores[asked] = first_core + threads
        made.append(
            Pool(
                asked,
                threads,
                starts.get(asked, 0),
                cores,
                inherited,
                memory_of(cores, inherited.memory),
                first_core,
                spot,
                memory_of(objects[index] if index < len(objects) else None, libnuma.DEFAULT),
                asked < len(entries),
            )
        )
        starts[asked] = starts.get(asked, 0) + threads
    return made


def memory_of(cores: NumaObject | None, inherited: str) -> str:
    """Return a thread's memory policy after `set_memory_to_numa`."""
    return f"bind:{cores.id}" if cores is not None and cores.gives_memory else inherited


def default_threads(machine: Machine, request: Request, release: Release) -> DefaultCount:
    """Return what `kt run` takes; the server itself has no default and ends without a count."""
    cpus = machine.cpus
    return DefaultCount(
        None if cpus is None else int(0.8 * len(cpus)),
        "0.8 times the logical CPUs of the machine (`kt run`)",
        ("affinity", "cpuset", "quota"),
        KT_RUN,
    )


def phases(request: Request) -> tuple[tuple[str, Request], ...]:
    """Return the one phase: prompts and generation run on the same workers."""
    return (("generation", request),)


def simulate(machine: Machine, request: Request, release: Release) -> Placement:
    """Place every worker, pool by pool, the distributor first.

    A pool without threads still has a distributor upstream; it computes nothing and is not listed.
    """
    refused = refusal(machine, request)
    if refused is not None:
        raise refused
    workers: list[Worker] = []
    made = pools(machine, request)
    for number, pool in enumerate(made):
        if pool.threads:
            workers.append(distributor(machine, number, pool, len(workers)))
        base = len(workers) - 1
        workers += [worker(pool, number, j, base + j) for j in range(1, pool.threads)]
    return Placement(
        release,
        thread_count(request, THREADS_OPTION),
        tuple(workers),
        1,
        tuple(pool.asked for pool in made),
        tuple(pool.threads for pool in made),
    )


def distributor(machine: Machine, number: int, pool: Pool, index: int) -> Worker:
    """Return worker 0 of a pool; without a core it is not even tied to the node."""
    first_core = str(pool.first_core) if pool.is_defined else "?"
    name, memory = f"numa_{pool.asked}_m_{first_core}", pool.distributor_memory
    if not pool.is_defined:
        return Worker(index, name, number, None, None, "none", memory)
    if pool.distributor is None:
        return Worker(index, name, number, None, machine.inherited_cpus, "none", memory)
    return pinned(index, name, number, pool.distributor, memory)


def worker(pool: Pool, number: int, j: int, index: int) -> Worker:
    """Return worker j > 0 of a pool; without a core it keeps what libnuma gave it."""
    tied, inherited = pool.inherited.node, pool.inherited.cpus
    binding = "none" if tied is None else "node"
    if not pool.is_defined:
        # Pinned or not, it stays where libnuma put it, if the two mean the same node.
        home = tied if pool.cores is None or pool.cores.home == tied else None
        binding = "none" if home is None else "node"
        return Worker(index, f"numa_{pool.asked}_t_?", number, home, None, binding, pool.memory)
    name = f"numa_{pool.asked}_t_{j + pool.start}"
    spot = pool.cores.core(j + pool.start) if pool.cores else None
    if spot is None:
        return Worker(index, name, number, tied, inherited, binding, pool.memory)
    return pinned(index, name, number, spot, pool.memory)


def pinned(index: int, name: str, number: int, spot: Spot, memory: str) -> Worker:
    """Return a worker on a core. One of which it is not known whether it found a core of its own
    is said to be tied to the node, with CPUs unknown.
    """
    cpus = None if spot.cpu is None else CpuSet((spot.cpu,))
    return Worker(index, name, number, spot.node, cpus, "cpu" if spot.certain else "node", memory)


def tally(machine: Machine, request: Request, release: Release) -> Tally:
    """Count the workers of each node without making any."""
    refused = refusal(machine, request)
    if refused is not None:
        return Tally({}, refused=refused.reason)
    entries = pool_map(request)
    counts: dict[int | None, int] = {}
    for workers in counted_pools(machine, request, entries):
        for node, number in workers:
            counts[node] = counts.get(node, 0) + number
    empty = tuple(i for i, (_, threads) in enumerate(entries) if not threads)
    unbound = counts.pop(None, 0)
    return Tally({k: v for k, v in counts.items() if k is not None and v}, unbound, empty)


Counts = list[tuple[int | None, int]]


@kept
def known_counts(machine: Machine) -> dict[tuple[int, int, int, int], Counts]:
    """Return where counts of a machine's pools are kept: by (pools, number, node, threads)."""
    return {}


def counted_pools(
    machine: Machine, request: Request, entries: tuple[tuple[int, int], ...]
) -> Iterator[Counts]:
    """Yield the (node, workers) of each pool.

    A pool whose node no other has depends on its own threads alone, so that a sweep, in which each
    pool gets a few counts only, finds most of them done.
    """
    if len({node for node, _ in entries}) < len(entries):
        yield from map(pool_counts, pools(machine, request))
        return
    known = known_counts(machine)
    keys = [(len(entries), i, node, threads) for i, (node, threads) in enumerate(entries)]
    if not all(key in known for key in keys):
        made = pools(machine, request)
        known.update((key, pool_counts(pool)) for key, pool in zip(keys, made, strict=True))
    yield from map(known.__getitem__, keys)


def pool_counts(pool: Pool) -> Counts:
    """Return (node, workers) of one pool, None standing for no node."""
    if not pool.threads:
        return []
    others, tied = pool.threads - 1, pool.inherited.node
    if not pool.is_defined:
        return [(None, 1), (worker(pool, 0, 1, 0).node, others)]
    lead = pool.distributor.node if pool.distributor else None
    counts: list[tuple[int | None, int]] = [(lead, 1)]
    if pool.cores is None:
        return [*counts, (tied, others)]
    most = pool.cores.most
    found = others if most is None else max(0, min(others, most - pool.start - 1))
    counts.append((tied, others - found))
    if pool.cores.home is not None or pool.cores.cores is None:
        return [*counts, (pool.cores.home, found)]
    taken = pool.cores.cores[pool.start + 1 : pool.start + 1 + found]
    return [*counts, *((node, 1) for _, node in taken)]


def pinned_twice(machine: Machine, request: Request) -> bool:
    """Tell whether two workers are pinned to one core although every pool has cores enough.

    So it is where hwloc shows a CPU-less node beside the node whose CPUs are its nearest: both
    have the same cores, and each pool begins with the first. The launch must not be a refused one.
    """
    objects = numa_objects(machine)
    if all(cores.home == cores.id or cores.most == 0 for cores in objects):
        return False
    taken: set[object] = set()
    for pool in pools(machine, request):
        own = pinned_cores(pool)
        if not taken.isdisjoint(own):
            return True
        taken.update(own)
    return False


def pinned_cores(pool: Pool) -> set[object]:
    """Return the cores that a pool's workers are pinned to for certain.

    A core is known by its first CPU, else by its node and its place in it.
    """
    if pool.cores is None or not pool.is_defined or not pool.threads:
        return set()
    places = [pool.first_core] if pool.distributor else []
    most = pool.start + pool.threads if pool.cores.most is None else pool.cores.most
    places += range(pool.start + 1, min(most, pool.start + pool.threads))
    spots = [(place, pool.cores.core(place)) for place in places]
    return {
        (spot.node, place) if spot.cpu is None else spot.cpu
        for place, spot in spots
        if spot is not None and spot.certain and (spot.cpu is not None or spot.node is not None)
    }
