"""Rules about pools of threads beside the workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from numatune.rules.facts import NO_LAUNCH, cores_within, launch
from numatune.rules.frames import counts_as_quota
from numatune.rules.inherited import IN_PYTORCH
from numatune.rules.placement import CORES_UNKNOWN, CPUS_UNKNOWN
from numatune.rules.rule import Case, Evidence, Hit, Rule, Skip
from numatune.words import counted

THREADING = (
    "https://github.com/pytorch/pytorch/blob/31ec6ba427ed1f36be3360e2539d3d63191fac6f/docs/source/"
    "notes/cpu_threading_torchscript_inference.rst"
)

#: The variables that size PyTorch's pool, the one that goes before the other first.
VARIABLES = ("MKL_NUM_THREADS", "OMP_NUM_THREADS")


class Pool(NamedTuple):
    """The size of a pool, and the variable that says so, None where it is the default."""

    threads: int
    variable: str | None


def oversubscribed(case: Case) -> Iterator[Hit | Skip]:
    """NT118: a pool beside the workers that has more threads than there are CPUs for it.

    Of PyTorch's intra-op pool alone. Its default, one thread a core, sees a CPU quota as little as
    OpenMP does; how much of the work is PyTorch's is not known, so that alone is information.
    Source: `THREADING`
    """
    request, release, machine = case.request, case.release, case.machine
    if request is None:
        yield Skip(NO_LAUNCH)
        return
    if release is None:
        yield Skip(f"which pools {request.runtime or 'it'} has is not known here")
        return
    if release.runtime not in IN_PYTORCH or case.refusal is not None:
        return
    room, what = room_of(case)
    pool = stated_pool(request.env)
    if pool is None:
        if machine.limits.cpu_quota is None or counts_as_quota(case):
            return
        cores = (
            None
            if machine.inherited_cpus is None
            else cores_within(machine, machine.inherited_cpus)
        )
        if cores is None:
            yield Skip(CORES_UNKNOWN)
            return
        pool = Pool(cores, None)
    if room is None:
        yield Skip(CPUS_UNKNOWN)
    elif pool.threads > room:
        by = pool.variable or "as is its default, one a core"
        text = f"{pool.variable}={pool.threads}" if pool.variable else "OMP_NUM_THREADS not set"
        yield Hit(
            subject="PyTorch",
            message=f"PyTorch's own pool has {counted(pool.threads, 'thread')} ({by}) for {what},"
            f" beside the workers ({launch(case)})",
            fix=f"set {pool.variable or 'OMP_NUM_THREADS'}={max(1, room)}, or less",
            numbers={"threads": pool.threads, "cpus": room},
            expected=f"at most {counted(max(1, room), 'thread')}",
            actual=counted(pool.threads, "thread"),
            evidence=(Evidence("environment", pool.variable or "OMP_NUM_THREADS", text),),
            severity=None if pool.variable else "info",
        )


def room_of(case: Case) -> tuple[int | None, str]:
    """Return how many CPUs the process may use at a time, None where unknown, and in words."""
    cpus, quota = case.machine.inherited_cpus, case.machine.limits.cpu_quota
    room = None if cpus is None else len(cpus)
    if quota is not None and (room is None or int(quota) < room):
        is_own = counts_as_quota(case)
        return int(quota), f"{quota:g} CPUs of its own" if is_own else f"a quota of {quota:g} CPUs"
    return room, "" if room is None else counted(room, "CPU")


def stated_pool(env: Mapping[str, str]) -> Pool | None:
    """Return what the environment says of the size of the pool, None where it says nothing."""
    for variable in VARIABLES:
        first = env.get(variable, "").partition(",")[0].strip()
        if first.isascii() and first.isdecimal() and 0 < len(first) < 7 and int(first) > 0:
            return Pool(int(first), variable)
    return None


RULES = (
    Rule(
        "NT118",
        "other-pools-oversubscribe",
        "warning",
        "A pool of threads beside the workers has more threads than CPUs for them.\n"
        "PyTorch keeps one of its own for what it computes on the CPU; a variable or a\n"
        "quota makes it too large, and it pushes the workers aside.",
        (
            THREADING,
            "https://gcc.gnu.org/onlinedocs/libgomp/OMP_005fNUM_005fTHREADS.html",
            "https://github.com/pytorch/torchtitan/pull/4031",
        ),
        oversubscribed,
    ),
)
