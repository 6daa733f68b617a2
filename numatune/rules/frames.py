"""Rules about the launchers around the process: what they refuse, and what they forbid inside."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.errors import UsageError
from numatune.rules.confined import confined
from numatune.rules.facts import NO_LAUNCH, launch
from numatune.rules.rule import SEVERITIES, Case, Evidence, Hit, Rule, Skip
from numatune.words import counted

#: The name under which a launch ends when its launcher does not start it, and when a container
#: forbids the memory policy that its launcher asks for.
REFUSED, FORBIDDEN = "launcher-refused", "memory-policy-forbidden"

#: Launchers inside which a seccomp profile may forbid memory policies.
CONTAINERS = ("docker", "podman", "kubernetes")

POLICY_UNKNOWN = (
    "whether the container allows set_mempolicy is not known; inside it `numactl -m 0 true` tells"
)

DOCKER_PROFILE = (
    "https://github.com/moby/moby/blob/b985e2313a8676e18072b442911fc8f64f17d440/vendor/github.com/"
    "moby/profiles/seccomp/default_linux.go"
)


def refused(case: Case) -> Iterator[Hit | Skip]:
    """NT507: a launcher that ends before it starts the program.

    Source: numactl.c at
    https://github.com/numactl/numactl/tree/93c1fe5fabf38502ca315598bf74699c41300df9
    """
    frame = case.frame
    if case.request is None:
        yield Skip(NO_LAUNCH)
    elif frame is None and case.request.launcher:
        yield Skip(unread(case))
    elif frame is not None and frame.refusal is not None and not is_forbidden(case):
        refusal = frame.refusal
        yield Hit(
            subject=refusal.launcher,
            message=f"{unstarted(case)} ({launch(case)})",
            fix=instead(case),
            numbers=refusal.numbers,
            expected="a launcher that starts the program",
            actual="refused",
            evidence=stated(case),
        )


def unstarted(case: Case) -> str:
    """Say which launcher starts nothing, and why."""
    refusal = case.frame.refusal if case.frame is not None else None
    if refusal is None:
        return "the launcher starts nothing"
    reason = refusal.reason.removeprefix(f"{refusal.launcher}: ")
    return f"{refusal.launcher} does not start it: {reason}"


def unread(case: Case) -> str:
    """Return why the launcher of a case is not understood."""
    from numatune.frame.registry import framed

    try:
        framed(case.machine, (case.request.launcher if case.request else None) or "")
    except UsageError as error:
        return f"the launcher is not understood: {error}"
    return "the launcher was not looked into"


def instead(case: Case) -> str:
    """Say what to ask the launcher for."""
    from numatune.frame.kernel import memory_nodes

    if case.frame is None or case.frame.refusal is None:
        return "leave the launcher out"
    refusal, machine = case.frame.refusal, case.frame.machine
    nodes, cpus = memory_nodes(machine), machine.usable_cpus
    if refusal.nodes and nodes:
        return f"name only nodes that it may use and that have memory: {nodes}"
    if refusal.cpus and cpus:
        return f"name only CPUs that are online and in its cpuset: {cpus}"
    return f"ask {refusal.launcher} for what this machine has (numatune inspect)"


def forbidden(case: Case) -> Iterator[Hit | Skip]:
    """NT508: memory that is to be bound in a container that forbids it.

    numactl then ends, and what the runtime binds itself is not bound: libnuma prints a warning and
    goes on. Sources: https://github.com/kvcache-ai/ktransformers/issues/350 and `DOCKER_PROFILE`
    """
    frame = case.frame
    if case.request is None:
        yield Skip(NO_LAUNCH)
        return
    if frame is None or frame.may_set_policy:
        return
    from numatune.frame.kernel import memory_nodes

    binding = sum(w.memory != "default" for w in case.placement.workers) if case.placement else 0
    ends = is_forbidden(case)
    if frame.may_set_policy is None:
        is_asked = binding or frame.memory.kind != "default"
        if is_asked and any(layer.name in CONTAINERS for layer in frame.layers):
            yield Skip(POLICY_UNKNOWN)
        return
    held = confined(case)
    nodes = memory_nodes(case.machine) if held is None else held.nodes
    if not ends and (not binding or (nodes is not None and len(nodes) == 1)):
        return  # nothing is to be bound, or all memory is of one node anyway
    whose = f"the memory of {counted(binding, 'worker')}"
    said = (
        unstarted(case)
        if ends
        else (
            f"the container forbids set_mempolicy and mbind, so {whose} is not bound and lies"
            " wherever it was first touched"
        )
    )
    yield Hit(
        subject="memory policy",
        message=f"{said} ({launch(case)})",
        fix=allowing(case),
        numbers={"workers": binding} if binding else {},
        expected="a container that allows set_mempolicy",
        actual="refused" if ends else "EPERM, and memory that is not bound",
        evidence=stated(case),
        severity=SEVERITIES[0] if ends else None,
    )


def is_forbidden(case: Case) -> bool:
    """Tell whether a launcher inside a container ends because the container forbids its policy."""
    frame = case.frame
    if frame is None or frame.refusal is None or frame.may_set_policy is not False:
        return False
    return "forbids set_mempolicy" in frame.refusal.reason


def allowing(case: Case) -> str:
    """Say what makes the container allow it, or do without."""
    layers = case.frame.layers if case.frame is not None else ()
    container = next((one.name for one in reversed(layers) if one.name in CONTAINERS), "docker")
    if container == "kubernetes":
        return (
            "add SYS_NICE to the capabilities of the container (securityContext), or let the"
            " memory manager confine it to nodes"
        )
    return f"{container} run --cap-add SYS_NICE, or confine it from outside: --cpuset-mems"


def counts_as_quota(case: Case) -> bool:
    """Tell whether the quota is a number of CPUs that the process has alone, ids unknown.

    So it is with the static policy of Kubernetes and with `srun -c`: no period stops anybody, and
    no more threads than that can run. See docs/frames.md.
    """
    notes = case.frame.notes if case.frame is not None else ()
    return any("counted like a quota" in note for note in notes)


def raised(case: Case) -> str:
    """Say where the quota of the innermost launcher that sets one is raised."""
    layers = case.frame.layers if case.frame is not None else ()
    for layer in reversed(layers):
        if layer.name == "srun":
            return "ask for more CPUs (srun -c)"
        if layer.name == "kubernetes":
            return "raise the CPU limit of the pod"
        if "quota" in layer.effect.lower():
            option = f"{layer.name} run --cpus" if layer.name in CONTAINERS else "CPUQuota="
            return f"raise the quota ({option})"
    return "raise the quota"


def stated(case: Case) -> tuple[Evidence, ...]:
    """Return the launcher as it is written."""
    launcher = case.request.launcher if case.request is not None else None
    return (Evidence("launcher", "", launcher),) if launcher else ()


RULES = (
    Rule(
        "NT507",
        REFUSED,
        "critical",
        "A launcher asks for CPUs or nodes that it can't have, and starts nothing.\n"
        "numactl, taskset, a container or a pod names ids that do not exist, are not\n"
        "allowed, or have no memory; the program is never run.",
        (
            "https://github.com/numactl/numactl/blob/"
            "93c1fe5fabf38502ca315598bf74699c41300df9/numactl.c",
            "https://github.com/moby/moby/blob/b985e2313a8676e18072b442911fc8f64f17d440/daemon/"
            "daemon_unix.go",
            "https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/",
        ),
        refused,
    ),
    Rule(
        "NT508",
        FORBIDDEN,
        "warning",
        "The container forbids memory policies, and something in it asks for one.\n"
        "numactl -m and -i fail inside, and a runtime that binds its memory itself runs\n"
        "with memory that is not bound.",
        (
            "https://github.com/kvcache-ai/ktransformers/issues/350",
            DOCKER_PROFILE,
            "https://github.com/sgl-project/sglang/pull/28401",
            "https://github.com/moby/moby/issues/37241",
        ),
        forbidden,
    ),
)
