"""The best count of a setting, simulated and judged before anybody is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from numatune.advice.manner import LAUNCH, ONE_NODE, Setting, command_of, flags_of, manner_of
from numatune.advice.plan import Launch, Plan
from numatune.errors import NumatuneError
from numatune.machine import Machine
from numatune.machine.assume import assumed
from numatune.machine.likely import likely_threads_per_core
from numatune.placement.load import floating_home
from numatune.placement.placement import Release
from numatune.placement.request import Request
from numatune.placement.sweep import Trial, lacking
from numatune.rules.rank_ways import words_of
from numatune.rules.rule import SEVERITIES, Case, Finding
from numatune.rules.trial import Trouble, Wish, framed, largest, roomy, troubles, troubles_of
from numatune.rules.ways import NO_BOUND, option
from numatune.runtimes import named
from numatune.words import counted

#: What a setting may leave because it says so itself: the nodes that one node alone leaves idle.
STATED = {ONE_NODE: frozenset(("NT106",))}


class Choice(NamedTuple):
    """The best count of one setting of a release on a machine, and what it puts where.

    `split` counts the workers tied to each node with usable CPUs, by a binding or by the limits of
    the process; `unbound` those tied to none. `left` is what is wrong with it all the same.
    """

    release: Release
    setting: Setting
    split: tuple[int, ...]
    unbound: int
    lacks: tuple[str, ...]
    left: frozenset[Trouble]

    @property
    def request(self) -> Request:
        """The launch, with its count."""
        return self.setting.request

    @property
    def threads(self) -> int:
        """The count, in the unit of the runtime's own option."""
        return self.request.threads or 0

    @property
    def bound(self) -> int:
        """How many workers are tied to a node."""
        return sum(self.split)

    @property
    def critical(self) -> tuple[str, ...]:
        """The rules whose critical findings are left."""
        return tuple(sorted({one.rule for one in self.left if one.severity == SEVERITIES[0]}))

    @property
    def label(self) -> str:
        """The release as it is shown: "ktransformers 0.2.2 - 0.3.2"."""
        return f"{self.release.runtime} {self.release.versions}"

    @property
    def command(self) -> str:
        """The command that starts it so."""
        return command_of(self.request, self.setting.launcher)

    @property
    def option(self) -> str:
        """The options that matter: the count, and what ties the workers."""
        if self.release.runtime == "vllm":
            return words_of(self.request)
        words = option(self.request, self.threads)
        if self.request.options.get("numa"):
            return f"{words} {list(flags_of(self.request))[-1]}"
        if self.release.runtime == "openmp":
            tying = [f"{k}={v}" for k, v in self.request.env.items() if k.startswith("OMP_P")]
            return " ".join([words, *tying])
        return words

    @property
    def workers(self) -> str:
        """How many workers are where."""
        if self.setting.aim == ONE_NODE:
            return f"{counted(self.bound + self.unbound, 'worker')} on one node"
        if not self.bound:
            return f"{counted(self.unbound, 'worker')}, tied to no node"
        loose = f", and {self.unbound} tied to none" if self.unbound else ""
        low, high, nodes = min(self.split), max(self.split), len(self.split)
        if nodes > 4:
            each = f"{low}" if low == high else f"{low} to {high}"
            word = "worker" if each == "1" else "workers"
            return f"{each} {word} on each of {nodes} nodes{loose}"
        one = "worker" if self.split == (1,) else "workers"
        return f"{' + '.join(map(str, self.split))} {one}{loose}"


def cautious(machine: Machine) -> Machine:
    """Return the machine with the SMT that its numbering suggests, where nothing states it.

    A count for one worker a core is then safe whether the suggestion holds or not.
    """
    likely = likely_threads_per_core(machine)
    return machine if likely is None else assumed(machine, {"threads_per_core": likely})


def choices(
    machine: Machine, case: Case, present: frozenset[Trouble], aims: tuple[str, ...] = (LAUNCH,)
) -> Iterator[Choice]:
    """Yield the choice of each setting of a launch's release that brings nothing new that is wrong.

    `present` is what is wrong with the launch itself. Where that does not run, nothing critical is
    all that is asked.
    """
    request, release = case.request, case.release
    if request is None or release is None:
        return
    seen: list[tuple[Request, str]] = []
    for setting in manner_of(release.runtime).settings(machine, request, release):
        if setting.aim in aims and (setting.request, setting.launcher) not in seen:
            seen.append((setting.request, setting.launcher))
            choice = choose(machine, release, setting, case)
            if choice is not None and is_no_worse(choice, present, case.placement is not None):
                yield choice


def present_of(plan: Plan, launch: Launch, machine: Machine) -> frozenset[Trouble]:
    """Return what is wrong with a launch as it is, on a machine that may be a cautious one."""
    case = launch.case
    if machine is plan.machine or case.request is None:
        return troubles_of((*plan.findings, *launch.findings))
    return troubles(machine, case.request, case.frame) or frozenset()


def is_no_worse(choice: Choice, present: frozenset[Trouble], runs: bool) -> bool:
    """Tell whether a choice brings no finding above info that the present launch has not."""
    stated = STATED.get(choice.setting.aim, frozenset())
    new = {one for one in choice.left - present if one.rule not in stated}
    return not any(runs or one.severity == SEVERITIES[0] for one in new)


def choose(machine: Machine, release: Release, setting: Setting, case: Case) -> Choice | None:
    """Return the largest balanced count of a setting with a free core a node, else the largest.

    None where no count is safe, or the machine or the launcher does not allow the setting.
    """
    frame, inside = case.frame, machine
    request = setting.request._replace(version=release.version, commit=None)
    try:
        if setting.launcher:
            frame = framed(machine, setting.launcher)
            if frame.refusal is not None:
                return None
            inside = frame.machine
            words = f"{request.launcher or ''} {setting.launcher}".strip()
            request = request._replace(launcher=words)
        wish = roomy(inside)
        count = largest(inside, request, NO_BOUND, wish)
        count = count or largest(inside, request, NO_BOUND, Wish(most=wish.most))
        if count is None:
            return None
        request = with_count(request, count)
        runtime = named(release.runtime)
        trial = Trial(inside, request, runtime, release)
        lacks = lacking(trial.loads(count)[0])
        tally = runtime.tally(inside, request, release)
    except NumatuneError:  # a model, a machine or options that this release refuses
        return None
    left = troubles(inside, request, frame)
    if left is None:
        return None
    counts, loose = dict(tally.nodes), tally.unbound
    home = floating_home(inside)
    if home is not None and loose:  # the limits tie them as firmly as a binding does
        counts[home], loose = counts.get(home, 0) + loose, 0
    split = tuple(counts.get(n.id, 0) for n in machine.cpu_nodes if machine.node_cpus(n.id))
    shown = request._replace(launcher=setting.request.launcher)
    return Choice(release, setting._replace(request=shown), split, loose, lacks, left)


def with_count(request: Request, count: int) -> Request:
    """Return a launch with a count, for its prompts too where they have one of their own."""
    options = request.options
    if "threads_batch" in options:
        options = {**options, "threads_batch": count}
    return request._replace(threads=count, options=options)


def best_of(found: list[Choice]) -> Choice | None:
    """Return the choice that leaves least wrong, ties most workers, and changes least."""

    def worth(choice: Choice) -> tuple[int, int, int]:
        return -len(choice.critical), -len(choice.left), choice.bound

    return max(found, key=worth, default=None)


def is_kept(choice: Choice, present: Request | None) -> bool:
    """Tell whether a choice is the present launch: its options, variables and count."""
    if present is None:
        return False
    own = choice.request
    return (own.threads, dict(own.env)) == (present.threads, dict(present.env)) and (
        has_same_settings(choice, present)
    )


def has_same_settings(choice: Choice, present: Request | None) -> bool:
    """Tell whether a choice has the options of the present launch; kt-kernel's default is one."""
    if present is None or choice.setting.launcher:
        return False
    default = {"threadpool_count": 2} if choice.release.runtime == "kt-kernel" else {}
    own, given = ({**default, **one.options} for one in (choice.request, present))
    return own == given and dict(choice.request.env) == dict(present.env)


def mended_by(choice: Choice, findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """Return the names of the findings above info that a choice does not have any more."""
    left = {one.rule for one in choice.left}
    gone = [f for f in findings if f.severity != SEVERITIES[-1] and f.rule not in left]
    return tuple(dict.fromkeys(f"{f.rule} {f.name}" for f in gone))
