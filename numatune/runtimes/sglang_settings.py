"""Other launches of SGLang on one machine: a rank on each node, and lists that leave cores free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from numatune.errors import NumatuneError
from numatune.machine import CpuSet, Machine
from numatune.placement.request import Request
from numatune.runtimes.sglang import (
    BIND,
    COUNT,
    OPTIONS,
    SIZES,
    binds,
    failure,
    first_threads,
    ranks,
    world_size,
)


def settings(machine: Machine, request: Request) -> Iterator[Request]:
    """Yield launches without a count: a core of each rank free, a rank on each node, and both.

    They place in another way than the request, and run. Where nothing is pinned, no setting changes
    that, and only the threads of the ranks are made fewer. There are none where too little is known
    of the machine.
    """
    bare = request._replace(threads=None)
    if not binds(machine):
        yield from without_sharing(machine, bare)
        return
    spread = a_rank_a_node(machine, bare)
    found = [*with_room(machine, bare), *spread]
    found += [roomy for one in spread for roomy in with_room(machine, one)]
    said = {words(bare)}
    for one in found:
        if words(one) not in said and failure(machine, one) is None:
            said.add(words(one))
            yield one


def a_rank_a_node(machine: Machine, request: Request) -> tuple[Request, ...]:
    """Return the launch with a tensor parallel rank on each node that can hold one."""
    try:
        number = len(first_threads(machine))
    except NumatuneError:
        return ()
    env = {name: value for name, value in request.env.items() if name != BIND}
    return (request._replace(options=sized(request, number), env=env),) if number else ()


def without_sharing(machine: Machine, request: Request) -> Iterator[Request]:
    """Yield the launch with as many of PyTorch's threads in each rank as there are cores for it."""
    env = {name: value for name, value in request.env.items() if name != COUNT}
    try:
        found = ranks(machine, request._replace(env=env))
    except NumatuneError:
        return
    least = found[0].threads // len(found)
    if least:
        yield request._replace(env={**env, COUNT: str(least)})


def sized(request: Request, number: int) -> Mapping[str, object]:
    """Return the options with so many tensor parallel ranks and no other ones."""
    options = {k: v for k, v in request.options.items() if k not in (*SIZES, "world_size")}
    return {**options, "tensor_parallel_size": number}


def with_room(machine: Machine, request: Request) -> Iterator[Request]:
    """Yield the launch with the same ranks on as many of their cores each, the last one free.

    A CPU quota leaves them no more than it carries beside one other thread.
    """
    try:
        found = ranks(machine, request)
    except NumatuneError:
        return
    cores = machine.cores or ()
    each = []
    for rank in found:
        cpus = rank.cpus or CpuSet()
        # Of a list that holds both threads of a core, the first counts.
        seconds = (part for core in cores if len(part := core.cpus & cpus) > 1)
        extra = CpuSet(cpu for part in seconds for cpu in list(part)[1:])
        each.append(list(cpus - extra))
    least = min(map(len, each), default=0) - 1
    quota = machine.limits.cpu_quota
    if quota is not None:
        least = min(least, (int(quota) - 1) // max(1, len(each)))
    if least > 0:
        lists = "|".join(str(CpuSet(cpus[:least])) for cpus in each)
        yield request._replace(env={**request.env, BIND: lists})


def words(request: Request) -> str:
    """Return the settings that decide where threads go, as a command line writes them."""
    listed = request.env.get(BIND)
    parts = [f"{BIND}='{listed}'"] if listed and listed != "all" else []
    parts += [f"{COUNT}={request.env[COUNT]}"] if COUNT in request.env else []
    return " ".join([*parts, *sizes(request)])


def sizes(request: Request) -> list[str]:
    """Return the options that give the numbers of ranks, `--tp` always. Raises UsageError."""
    stated = [name for name in SIZES[1:] if request.options.get(name) is not None]
    if not stated or request.options.get("world_size") is not None:
        return [f"--tp {world_size(request)}"]
    tensor = request.options.get(SIZES[0], 1)
    return [
        f"--tp {tensor}",
        *(f"{OPTIONS[name][0]} {request.options[name]}" for name in stated),
    ]
