"""Which thread count, which version, how many pools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from numatune.advice.plan import ERAS, Launch, Plan
from numatune.advice.recommendation import Recommendation
from numatune.errors import NumatuneError
from numatune.machine import Machine
from numatune.machine.assume import assumed
from numatune.machine.likely import likely_threads_per_core
from numatune.placement.placement import Release, Tally
from numatune.placement.request import Request
from numatune.placement.sweep import Sweep, sweep
from numatune.runtimes import named
from numatune.runtimes.runtime import Runtime

#: How to get a release that places its workers evenly. ktransformers has NUMA support only where
#: the variable was set when it was built (doc/en/install.md at v0.3.2).
INSTALL = {
    "ktransformers": "git checkout v0.3.2 && USE_NUMA=1 bash install.sh",
    "kt-kernel": "pip install --upgrade kt-kernel",
}

#: A release is worth an upgrade where another one ties at least this many times as many workers.
WORTHWHILE = 1.05


class Choice(NamedTuple):
    """The best count of one release on a machine, and what it puts where.

    `bound` counts the workers tied to a node, `split` those of each node with CPUs.
    """

    runtime: Runtime
    release: Release
    request: Request
    threads: int
    bound: int
    split: tuple[int, ...]
    lacks: tuple[str, ...]

    @property
    def label(self) -> str:
        """The release as it is shown: "ktransformers 0.2.2 - 0.3.2"."""
        return f"{self.release.runtime} {self.release.versions}"

    @property
    def command(self) -> str:
        """The command that starts it so."""
        if self.release.runtime != "kt-kernel":
            return f"python -m ktransformers.local_chat ... --cpu_infer {self.threads}"
        pools = self.request.options.get("threadpool_count", 2)
        nodes = self.request.options.get("numa_nodes")
        mapped = "" if not isinstance(nodes, list | tuple) else f" --kt-numa-nodes {spaced(nodes)}"
        return (
            f"python -m sglang.launch_server ... --kt-cpuinfer {self.threads}"
            f" --kt-threadpool-count {pools}{mapped}"
        )

    @property
    def option(self) -> str:
        """The option and the count alone."""
        return f"{self.runtime.THREADS_OPTION} {self.threads}"


def spaced(values: list[object] | tuple[object, ...]) -> str:
    """Return values as arguments of an option."""
    return " ".join(map(str, values))


def split_words(split: tuple[int, ...]) -> str:
    """Return "23 + 23", or for many equal nodes "16 on each of 8 nodes"."""
    if len(split) > 4 and len(set(split)) == 1:
        return f"{split[0]} on each of {len(split)} nodes"
    return " + ".join(map(str, split))


def best_counts(plan: Plan) -> Iterator[Recommendation]:
    """Yield an upgrade where one helps, and the best count of the releases in question."""
    machine = cautious(plan.machine)
    chosen = [choice_of(machine, plan, index) for index in range(len(plan.launches))]
    newest = list(alternatives(machine, plan.request, [c for c in chosen if c]))
    most = max((c.bound for c in (*filter(None, chosen), *newest)), default=0)
    has_nodes = len(machine.cpu_nodes) > 1
    outclassed = [
        launch
        for launch, choice in zip(plan.launches, chosen, strict=True)
        if has_nodes and (choice.bound if choice else 0) * WORTHWHILE < most
    ]
    best = [c for c in newest if c.bound * WORTHWHILE >= most]
    if outclassed and best:
        yield upgrade(plan, outclassed, best)
    for launch, choice in zip(plan.launches, chosen, strict=True):
        is_asked_for = bool(plan.request.runtime) or not has_nodes
        if choice is None or not (choice.bound or is_asked_for):
            continue
        if launch in outclassed:
            yield staying(plan, launch, choice)
        elif not outclassed or plan.request.runtime:
            yield use(plan, launch, choice)


def cautious(machine: Machine) -> Machine:
    """Return the machine with the SMT that its numbering suggests, where nothing states it.

    A count for one worker a core is then safe whether the suggestion holds or not.
    """
    likely = likely_threads_per_core(machine)
    return machine if likely is None else assumed(machine, {"threads_per_core": likely})


def caution(plan: Plan) -> str:
    """Return the words that say on what a count rests where SMT is only likely."""
    likely = likely_threads_per_core(plan.machine)
    return "" if likely is None else f"; takes {likely} threads a core, as the CPU numbers suggest"


def choice_of(machine: Machine, plan: Plan, index: int) -> Choice | None:
    """Return the best count of a launch's release, None where no count is safe."""
    case = plan.launches[index].case
    if case.request is None or case.release is None:
        return None
    runtime = named(case.release.runtime)
    request = with_pools(machine, case.request, runtime)
    swept = plan.sweeps[index]
    if machine is not plan.machine or request != case.request:
        swept = sweep(machine, request, runtime, case.release)
    return choose(machine, request, runtime, case.release, swept)


def with_pools(machine: Machine, request: Request, runtime: Runtime) -> Request:
    """Return the request with a pool a node, unless it says how many or has no pools."""
    if "threadpool_count" not in runtime.OPTIONS or "threadpool_count" in request.options:
        return request
    pools = sum(1 for node in machine.nodes if machine.node_cpus(node.id))
    return request._replace(options={**request.options, "threadpool_count": max(1, pools)})


def choose(
    machine: Machine, request: Request, runtime: Runtime, release: Release, swept: Sweep
) -> Choice | None:
    """Return the sweep's recommended count, lowered to what a CPU quota carries."""
    count = swept.recommended
    quota = machine.limits.cpu_quota
    lacks = swept.lacks
    while count is not None:
        tally = runtime.tally(machine, request._replace(threads=count), release)
        if quota is None or workers_of(tally) <= max(1, int(quota) - 1):
            break
        count = max((n for n in swept.safe if n < count), default=None)
        lacks = ()
    if count is None:
        return None
    split = tuple(tally.nodes.get(n.id, 0) for n in machine.cpu_nodes)
    bound = sum(tally.nodes.values())
    return Choice(runtime, release, request, count, bound, split, lacks)


def workers_of(tally: Tally) -> int:
    """Return how many workers there are in all."""
    return sum(tally.nodes.values()) + tally.unbound


def alternatives(machine: Machine, request: Request, known: list[Choice]) -> Iterator[Choice]:
    """Yield what the newest release of each runtime could do, kt-kernel with a pool a node.

    A choice that is known already is not computed again.
    """
    asked = request._replace(version=None, commit=None, numa_build=None, options={})
    for name in ERAS:
        runtime = named(name)
        release = runtime.releases(None)[-1]
        one = asked._replace(runtime=name, version=release.version)
        one = with_pools(machine, one, runtime)
        done = [c for c in known if c.release == release and c.request.options == one.options]
        if done and done[0].request.model == one.model:
            yield done[0]
            continue
        try:
            choice = choose(machine, one, runtime, release, sweep(machine, one, runtime, release))
        except NumatuneError:  # a model or a machine that this release refuses
            continue
        if choice is not None:
            yield choice


def upgrade(plan: Plan, outclassed: list[Launch], best: list[Choice]) -> Recommendation:
    """Say which release to move to, and with which count."""
    ways = [f"{c.label} with {c.option} ({split_words(c.split)} workers)" for c in best]
    commands = []
    for choice in best:
        commands += [INSTALL[choice.release.runtime], choice.command]
    fallen = [launch for launch in outclassed if is_oversubscribed(launch)]
    reasons = [f"{label_of(launch)}: {first_reason(launch)}" for launch in (fallen or outclassed)]
    word = "Upgrade" if fallen or plan.request.runtime else "Best"
    copies = any(c.release.numa_build for c in best)
    return Recommendation(
        title=f"{word}: {', or '.join(ways)}",
        why="; ".join(reasons) + caution(plan),
        commands=tuple(commands),
        effect="the same number of workers on each node, none without a CPU of its own",
        cost="a new build or installation"
        + ("; ktransformers built with NUMA keeps one copy of the experts on each node" * copies),
        confidence="derived from the upstream code",
    )


def staying(plan: Plan, launch: Launch, choice: Choice) -> Recommendation:
    """Say the best count of a release that another one outclasses."""
    swept = plan.sweeps[plan.launches.index(launch)]
    cliff = next((c for c in swept.cliffs if c.kind == "oversubscribed"), None)
    never = ""
    if cliff is not None and cliff.start > choice.threads:
        where = "" if cliff.node is None else f" for node {cliff.node}"
        never = (
            f"; {cliff.start} is the last that holds, {cliff.end} makes"
            f" {cliff.workers} workers{where} on {cliff.cpus} CPUs"
        )
    return Recommendation(
        title=f"Staying on {choice.label}: {choice.option} ({split_words(choice.split)} workers)",
        why=merits(choice) + never + caution(plan),
        commands=(choice.command,),
        effect="no node has more workers than CPUs",
        cost="none",
        confidence="derived from the upstream code",
    )


def merits(choice: Choice) -> str:
    """Return why a count is the recommended one."""
    if choice.lacks:
        return f"the largest safe count; it lacks {' and '.join(choice.lacks)}"
    return "the largest count with balanced nodes and a free core a node"


def use(plan: Plan, launch: Launch, choice: Choice) -> Recommendation:
    """Say the best count of a release."""
    word = "Keep" if launch.threads == choice.threads and launch.case.placement else "Use"
    return Recommendation(
        title=f"{word} {choice.label} with {choice.option} ({split_words(choice.split)} workers)",
        why=merits(choice) + caution(plan),
        commands=(choice.command,),
        effect="no node has more workers than CPUs, no two workers share a core",
        cost="none",
        confidence="derived from the upstream code",
    )


def is_oversubscribed(launch: Launch) -> bool:
    """Tell whether a launch puts more workers than CPUs on some node."""
    return any(load.oversubscribed_by for load in launch.loads)


def label_of(launch: Launch) -> str:
    """Return the release of a launch as it is shown."""
    release = launch.case.release
    return "" if release is None else f"{release.runtime} {release.versions}"


def first_reason(launch: Launch) -> str:
    """Return the gravest finding of a launch in its own words."""
    if launch.findings:
        return launch.findings[0].message
    return "it ties fewer workers to the nodes"
