"""Other settings of vLLM that change where its ranks go."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.errors import NumatuneError
from numatune.machine import Machine
from numatune.placement.request import Request
from numatune.runtimes import vllm_ranks

TENSOR = "--tensor-parallel-size"


def of_vllm(machine: Machine, request: Request) -> Iterator[tuple[str, Request]]:
    """Yield words and a launch each: a rank for each usable node, then fewer changes.

    The thread count is left open, as it follows from the settings.
    """
    nodes = usable_nodes(machine)
    if not nodes:
        return
    request = request._replace(threads=None)
    options = {k: v for k, v in request.options.items() if k != "pipeline_parallel_size"}
    if len(nodes) > 1 or "tensor_parallel_size" in options:
        options["tensor_parallel_size"] = len(nodes)
    spread = request._replace(options=options)
    own = (vllm_ranks.VISIBLE, vllm_ranks.RESERVED)
    bound = {k: v for k, v in request.env.items() if k not in own}
    if vllm_ranks.binding_of(request) != vllm_ranks.AUTO:
        bound[vllm_ranks.BIND] = vllm_ranks.AUTO
    if nodes != allowed(machine):
        bound[vllm_ranks.VISIBLE] = ",".join(map(str, nodes))
    for one in (spread, spread._replace(env=bound), request._replace(env=bound)):
        yield words_of(one), one


def words_of(request: Request) -> str:
    """Return what decides where the ranks go: the variables and the options that are set."""
    names = (vllm_ranks.BIND, vllm_ranks.VISIBLE, vllm_ranks.RESERVED)
    words = [f"{name}={request.env[name]}" for name in names if name in request.env]
    if not takes_count(request):
        words += [f"{TENSOR} {request.options.get('tensor_parallel_size', 1)}"]
    elif request.threads is not None:
        words += [f"OMP_NUM_THREADS={request.threads}"]
    return " ".join(words)


def takes_count(request: Request) -> bool:
    """Tell whether a count of threads can be stated for a launch of vLLM."""
    return vllm_ranks.binding_of(request) == vllm_ranks.NOBIND


def usable_nodes(machine: Machine) -> tuple[int, ...]:
    """Return the nodes of which the process has both memory and CPUs, by id."""
    cpus = machine.inherited_cpus
    homes = {n.id for n in machine.cpu_nodes if n.cpus and cpus is not None and n.cpus & cpus}
    return tuple(node for node in allowed(machine) if node in homes)


def allowed(machine: Machine) -> tuple[int, ...]:
    """Return the nodes of which the process has memory, () where that is not known."""
    try:
        return vllm_ranks.allowed_nodes(machine)
    except NumatuneError:
        return ()
