"""ktransformers 0.1 to 0.3: the CPU backend before kt-kernel.

`cpu_infer` N makes N - 1 compute workers; worker 0 is the thread of the task queue. Built with
USE_NUMA (from 0.2.0 on) each worker ties itself and its memory to a node at its first job. Up to
0.2.2rc1 the node is id * nodes / tasks, with the tasks of that job as divisor where they are fewer
than the workers, so that the split depends on the model; from commit b2bff177 on the divisor is
the number of workers. Sources: `ERAS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from numatune.errors import LaunchRefused, UsageError
from numatune.knowledge.models import DEFAULT_MODEL
from numatune.machine import Machine
from numatune.placement.placement import Placement, Release, Tally, Worker
from numatune.placement.request import Request
from numatune.runtimes import libnuma
from numatune.runtimes.options import numbers, thread_count
from numatune.runtimes.runtime import DefaultCount
from numatune.runtimes.versions import canonical, commit_of, parse, same_commit

NAME = "ktransformers"
THREADS_OPTION = "--cpu_infer"
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "threads": ("--cpu_infer", "--cpu-infer"),
    "task_counts": ("--task-counts",),
}

#: Behaviours: no thread is bound; the job's tasks divide; the workers divide.
UNBOUND, BY_TASKS, BY_WORKERS = "unbound", "by-tasks", "by-workers"

REPOSITORY = "https://github.com/kvcache-ai/ktransformers"
BACKEND = "ktransformers/ktransformers_ext/cpu_backend/backend.cpp"

#: More tasks than any job has.
MOST_TASKS = 1 << 30


class Era(NamedTuple):
    """Versions that behave alike: their tags, and commits that people name."""

    behaviour: str
    range: str
    stands_for: str
    tags: tuple[str, ...]
    commits: tuple[str, ...]
    source: str


ERAS = (
    Era(
        UNBOUND,
        "0.1.0 - 0.1.4",
        "0.1.4",
        ("0.1.0", "0.1.1", "0.1.2", "0.1.3", "0.1.4"),
        ("25620829cee0", "5e83bc0c822d", "77a34c289c03", "233bbb8c55e5", "022b89381943"),
        f"{REPOSITORY}/blob/022b89381943ab4152053d18fff0d8bed6b54339/{BACKEND}",
    ),
    Era(
        BY_TASKS,
        "0.2.0 - 0.2.2rc1",
        "0.2.1",
        ("0.2.0", "0.2.1", "0.2.1.post1", "0.2.2rc1"),
        (
            "098602b08fdc", "7527619f532f", "65d73ea3f862", "09f5c5e77e81", "9c71bcb0bb82",
            "99f6e42113a3",
        ),
        f"{REPOSITORY}/blob/99f6e42113a374ff8b9b2fe535113f4f5bd12283/{BACKEND}",
    ),
    Era(
        BY_WORKERS,
        "0.2.2 - 0.3.2",
        "0.2.2",
        (
            "0.2.2rc2", "0.2.2", "0.2.3", "0.2.3.post1", "0.2.3.post2", "0.2.4", "0.2.4.post1",
            "0.3", "0.3.1", "0.3.2",
        ),
        (
            "b2bff1777502", "9b41720d2016", "48b980079054", "63b1c8525bdc", "7544eadd415c",
            "c51818c39a98", "8d0292aa4421", "25cee5810e8d", "ac95b6c710d8", "6617549de0d1",
            "d7811a4f32f9", "32f3d7befb90", "495ae374780b",
        ),
        f"{REPOSITORY}/blob/b2bff1777502519838b8a5ec112d2566635d42e5/{BACKEND}",
    ),
)  # fmt: skip

NEWEST = "0.3.2"


def releases(numa_build: bool | None) -> tuple[Release, ...]:
    """Return the eras side by side; without a NUMA build they all behave alike."""
    if numa_build is False:
        return (release(NEWEST, None, False),)
    return tuple(release(era.stands_for, None, numa_build) for era in ERAS)


def release(version: str | None, commit: str | None, numa_build: bool | None) -> Release:
    """Return how a version or a commit behaves, None being the newest. A known commit decides.

    Without a word on the build it is taken to have NUMA support. Raises UsageError where the
    version is not known, and where it is kt-kernel in fact.
    """
    era, asked = era_of(version, commit)
    if numa_build is False:
        whole_range = f"{ERAS[0].tags[0]} - {NEWEST}"
        return Release(NAME, asked, whole_range, UNBOUND, False, era.source)
    built = None if era.behaviour == UNBOUND else True
    return Release(NAME, asked, era.range, era.behaviour, built, era.source)


def era_of(version: str | None, commit: str | None) -> tuple[Era, str]:
    """Return the era and the version as it is shown. Raises UsageError."""
    if version is not None and parse(version) is None and commit_of(version):
        version, commit = None, commit or version
    prefix = commit_of(commit) if commit else None
    found = None
    if prefix:
        found = next((era for era in ERAS if same_commit(prefix, era.commits)), None)
    if version is None:
        if commit is None:
            return ERAS[-1], NEWEST
        if found is None or prefix is None:
            raise unknown(f"commit {commit[:40]}")
        return found, prefix
    number, written = parse(version), canonical(version)
    if number is None or written is None:
        raise unknown(version[:40])
    if number >= (parse("0.4.1") or number):
        raise UsageError(
            f"ktransformers {written} computes with kt-kernel, which places workers in another way;"
            f" ask for --runtime kt-kernel=={written} (known there: 0.4.1 - 0.7.x)"
        )
    by_tag = next((era for era in ERAS if number in map(parse, era.tags)), None)
    if by_tag is None and found is None:
        raise unknown(written)
    return found or by_tag or ERAS[-1], written


def unknown(asked: str) -> UsageError:
    """Say that a version is not known, and which are."""
    ranges = ", ".join(era.range for era in ERAS)
    number = parse(asked)
    series = []
    if number is not None:
        tags = [tag for era in ERAS for tag in era.tags]
        series = [tag for tag in tags if (known := parse(tag)) and known.series == number.series]
    newest = f"the newest of that series is {series[-1]}, " if series else ""
    return UsageError(
        f"ktransformers {asked} is not known; known are {ranges}: {newest}the newest of all "
        f"{NEWEST}; from 0.4.1 on it is kt-kernel"
    )


#: Before 0.2.4 the number stood in configs/config.yaml; since then it is counted.
#: https://github.com/kvcache-ai/ktransformers/commit/25cee5810e8d
FIRST_COUNTED = "0.2.4"
CONFIG = (
    f"{REPOSITORY}/blob/25cee5810e8da6c2ce4611b413b0fb14c853b4a8"
    "/ktransformers/server/config/config.py"
)


def default_threads(machine: Machine, request: Request, release: Release) -> DefaultCount:
    """Return 10 before 0.2.4, from then on psutil's count of physical cores less 3."""
    number, first = parse(release.version), parse(FIRST_COUNTED)
    if number is not None and first is not None and number < first:
        source = f"{REPOSITORY}/blob/v0.2.1/ktransformers/configs/config.yaml"
        return DefaultCount(10, "a fixed number", ("affinity", "cpuset", "quota"), source)
    cores = machine.cores_known
    return DefaultCount(
        None if cores is None else cores - 3,
        "the physical cores of the machine less 3",
        ("affinity", "cpuset", "quota"),
        CONFIG,
    )


def phases(request: Request) -> tuple[tuple[str, Request], ...]:
    """Return the one phase: prompts and generation run on the same workers."""
    return (("generation", request),)


class Share(NamedTuple):
    """Workers `first` to `end` - 1, which ask for the node number `node` (None: for none)."""

    first: int
    end: int
    node: int | None


def shares(request: Request, release: Release, nodes: int) -> Iterator[Share]:
    """Yield which workers ask for which of `nodes` nodes; those that no job wakes ask for none."""
    workers = workers_of(request)
    if release.behaviour == UNBOUND:
        yield Share(0, workers, None)
        return
    awake = 0
    for tasks in task_counts(request, release):
        if awake == workers:
            break
        running = workers if release.behaviour == BY_WORKERS else min(workers, tasks)
        for node in range(nodes if running > awake else 0):
            # Worker id gets node id * nodes // running: these are the ids of one node.
            first = max(awake, -(-node * running // nodes))
            end = -(-(node + 1) * running // nodes)
            if first < end:
                yield Share(first, end, node)
        awake = max(awake, running)
    if awake < workers:
        yield Share(awake, workers, None)


def workers_of(request: Request) -> int:
    """Return the number of compute workers, which may be 0. Raises UsageError."""
    return thread_count(request, THREADS_OPTION) - 1


def task_counts(request: Request, release: Release) -> tuple[int, ...]:
    """Return the task numbers of the jobs in the order in which they first run.

    At start every expert is warmed up, then a prompt of ten tokens or more is read, then decoding
    begins (`MOE::warm_up`, `forward_many`, `forward_one` with strides of 64, 256 and 64 in
    https://github.com/kvcache-ai/ktransformers/blob/v0.2.1/ktransformers/ktransformers_ext/operators/llamafile/moe.cpp).
    Raises UsageError where they are needed and the model's sizes are not known.
    """
    stated = request.options.get("task_counts")
    if stated is not None:
        return numbers("task_counts", stated, MOST_TASKS, "the tasks of each job")
    if release.behaviour != BY_TASKS:
        return (1,)
    model = request.model or DEFAULT_MODEL
    inner, hidden = model.moe_intermediate_size, model.hidden_size
    if not inner or not hidden:
        raise UsageError(
            f"ktransformers {release.versions} places workers by the sizes of the model's experts, "
            f"not known for {model.name[:60]}; give its moe_intermediate_size and hidden_size"
        )
    warm_up = (inner // 64, hidden // 64)
    if not model.experts or not model.experts_per_token:
        # A prompt's jobs are some hundred times larger; they wake whoever still sleeps.
        return (*warm_up, max(workers_of(request), 1))
    prompt = (inner // 256 * model.experts, hidden // 256 * model.experts)
    return (*warm_up, *prompt, inner // 64 * model.experts_per_token, hidden // 64)


def refusal(machine: Machine, request: Request, release: Release) -> LaunchRefused | None:
    """Return why a launch dies, None where it runs."""
    if not workers_of(request):
        return LaunchRefused(
            "cpu_infer 1 leaves no compute worker, as one of them is not counted: ktransformers "
            f"{release.version} dies of a division by zero (SIGFPE); give 2 or more"
        )
    if release.behaviour != UNBOUND:
        ended = libnuma.refusal(machine, f"ktransformers {release.version}")
        if ended is not None:
            return ended
    if release.behaviour != BY_WORKERS and 0 in task_counts(request, release):
        return LaunchRefused(
            f"a job without tasks ends ktransformers {release.version} with a division by zero"
            " (SIGFPE)"
        )
    return None


def simulate(machine: Machine, request: Request, release: Release) -> Placement:
    """Place every worker. One that no job wakes is listed as unbound: it has no place yet."""
    refused = refusal(machine, request, release)
    if refused is not None:
        raise refused
    nodes = libnuma.configured_nodes(machine)
    floating = libnuma.inherited(machine)
    bindings = libnuma.bindings(machine)
    workers = []
    for first, end, node in shares(request, release, nodes):
        bound = floating if node is None else bindings.get(node, floating)
        binding = "none" if bound.node is None else "node"
        workers += [
            Worker(i, name_of(i), 0, bound.node, bound.cpus, binding, bound.memory)
            for i in range(first, end)
        ]
    copies = 1 if release.behaviour == UNBOUND else nodes
    return Placement(release, workers_of(request) + 1, tuple(workers), copies)


def name_of(index: int) -> str:
    """Return what a worker is called here; the threads themselves have no names."""
    return "worker 0 (task queue)" if index == 0 else f"worker {index}"


@lru_cache(maxsize=64)
def firsts(running: int, nodes: int) -> tuple[int, ...]:
    """Return the first worker of each node, and the one behind the last of all; see `shares`."""
    return tuple(-(-node * running // nodes) for node in range(nodes + 1))


def tally(machine: Machine, request: Request, release: Release) -> Tally:
    """Count the workers of each node without making any."""
    refused = refusal(machine, request, release)
    if refused is not None:
        return Tally({}, refused=refused.reason)
    workers = workers_of(request)
    if release.behaviour == UNBOUND:
        return Tally({}, workers)
    nodes = libnuma.configured_nodes(machine)
    totals, awake = [0] * nodes, 0
    for tasks in task_counts(request, release):
        running = workers if release.behaviour == BY_WORKERS else min(workers, tasks)
        if running <= awake:
            continue
        starts: Sequence[int] = firsts(running, nodes)
        if awake:
            starts = [first if first > awake else awake for first in starts]
        totals = [
            n + end - first for n, first, end in zip(totals, starts, starts[1:], strict=False)
        ]
        awake = running
    tied = libnuma.tied_nodes(machine)
    counts = {node: n for node, n in enumerate(totals) if n and node in tied}
    return Tally(counts, workers - sum(counts.values()))
