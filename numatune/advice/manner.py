"""How each runtime is started, upgraded and set, in its own words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from numatune.machine import CpuSet, Machine, Node
from numatune.placement.placement import Release
from numatune.placement.request import Request
from numatune.rules.rank_ways import of_vllm, takes_count
from numatune.rules.ways import numa_words, option
from numatune.runtimes import named

#: What a setting is for: the launch itself, memory spread over nodes, one node alone.
LAUNCH, INTERLEAVE, ONE_NODE = "launch", "interleave", "one-node"


class Setting(NamedTuple):
    """One way to set a runtime: the request with its options or variables, behind a launcher."""

    aim: str
    request: Request
    launcher: str = ""


class Manner(NamedTuple):
    """The words of one runtime.

    `command` writes a request as the command that starts it, without its launcher. `upgrade` is the
    command that gets the newest release of it. `settings` yields what to compare on a machine.
    """

    command: Callable[[Request], str]
    upgrade: str
    settings: Callable[[Machine, Request, Release], Iterator[Setting]]


def manner_of(runtime: str) -> Manner:
    """Return the words of a runtime, plain ones for a runtime that has none here."""
    return MANNERS.get(runtime, PLAIN)


def command_of(request: Request, launcher: str = "") -> str:
    """Return the command that starts a request behind a launcher, variables first."""
    variables = dict(request.env)
    if request.runtime == "vllm" and takes_count(request):
        variables = {**variables, "OMP_NUM_THREADS": str(request.threads)}
    if request.runtime == "openmp":
        variables = {"OMP_NUM_THREADS": str(request.threads), **variables}
        variables["OMP_NUM_THREADS"] = str(request.threads)
    words = [f"{name}={quoted(value)}" for name, value in variables.items()]
    return " ".join([*words, *launcher.split(), manner_of(request.runtime).command(request)])


def ktransformers(request: Request) -> str:
    """Write a launch of ktransformers."""
    return f"python -m ktransformers.local_chat ... --cpu_infer {request.threads}"


def kt_kernel(request: Request) -> str:
    """Write a launch of kt-kernel, through SGLang."""
    nodes = request.options.get("numa_nodes")
    mapped = ""
    if isinstance(nodes, list | tuple):
        mapped = f" --kt-numa-nodes {' '.join(map(str, nodes))}"
    pools = request.options.get("threadpool_count", 2)
    return (
        f"python -m sglang.launch_server ... --kt-cpuinfer {request.threads}"
        f" --kt-threadpool-count {pools}{mapped}"
    )


def llama_cpp(request: Request) -> str:
    """Write a launch of llama.cpp or ik_llama.cpp; the server had another name at first."""
    is_old = numa_words(request) == "--numa"
    program = "./server" if is_old else "llama-server"
    return " ".join([program, "...", option(request, request.threads or 1), *flags_of(request)])


def vllm(request: Request) -> str:
    """Write a launch of vLLM, whose options say how many ranks there are."""
    return " ".join(["vllm serve ...", *flags_of(request)])


def flags_of(request: Request) -> Iterator[str]:
    """Yield the options of a request as its command line takes them, `--numa` last."""
    spellings = named(request.runtime).OPTIONS
    for name, value in sorted(request.options.items(), key=lambda item: item[0] == "numa"):
        spelled = spellings.get(name, ())
        if not spelled or name == "threads" or value is None or value is False:
            continue
        if name == "numa" and numa_words(request) == "--numa":
            yield "--numa"
        else:
            yield spelled[-1] if value is True else f"{spelled[0]} {quoted(value)}"


def quoted(value: object) -> str:
    """Return a value as a shell takes it for one word."""
    from shlex import quote

    return quote(str(value))


def sglang(request: Request) -> str:
    """Write a launch of SGLang on the CPU; the variable chooses that engine."""
    from numatune.runtimes.sglang_settings import sizes

    engine = "" if "SGLANG_USE_CPU_ENGINE" in request.env else "SGLANG_USE_CPU_ENGINE=1 "
    return f"{engine}python -m sglang.launch_server ... --device cpu {' '.join(sizes(request))}"


def any_program(request: Request) -> str:
    """Write a program that takes its threads from variables alone."""
    return "COMMAND ..."


def with_option(request: Request) -> str:
    """Write a program with its option for the count."""
    return f"COMMAND ... {option(request, request.threads or 1)}"


def own_alone(machine: Machine, request: Request, release: Release) -> Iterator[Setting]:
    """Yield the launch as it is."""
    yield Setting(LAUNCH, request)


def of_ktransformers(machine: Machine, request: Request, release: Release) -> Iterator[Setting]:
    """Yield the launch, and launchers around it where nothing in it would override them."""
    yield Setting(LAUNCH, request)
    if release.behaviour == "unbound":
        yield from launchers(machine, request)


def of_kt_kernel(machine: Machine, request: Request, release: Release) -> Iterator[Setting]:
    """Yield a pool for each node, as stated else for all of them, and one pool alone."""
    options = dict(request.options)
    if "threadpool_count" not in options:
        pools = sum(1 for node in machine.nodes if machine.node_cpus(node.id))
        options["threadpool_count"] = max(1, pools)
    yield Setting(LAUNCH, request._replace(options=options))
    pools = sum(1 for node in machine.nodes if machine.node_cpus(node.id))
    plain = {k: v for k, v in options.items() if k != "numa_nodes"} | {"threadpool_count": pools}
    if pools and plain != options:
        yield Setting(LAUNCH, request._replace(options=plain))
    if len(memory_nodes(machine)) > 1 and home_node(machine) == machine.nodes[0].id:
        # Pool 0 is on the first node, and it takes its memory from there.
        options = {k: v for k, v in options.items() if k != "numa_nodes"}
        options["threadpool_count"] = 1
        yield Setting(ONE_NODE, request._replace(options=options))


def of_llama_cpp(machine: Machine, request: Request, release: Release) -> Iterator[Setting]:
    """Yield the strategies of `--numa`, and launchers with the strategy that leaves them be."""
    yield Setting(LAUNCH, request)
    options = {k: v for k, v in request.options.items() if k not in ("numa", "threads_batch")}
    env = {k: v for k, v in request.env.items() if k != "LLAMA_ARG_NUMA"}
    plain = request._replace(options=options, env=env)
    is_old = release.behaviour == "blocks"
    for strategy in ("distribute",) if is_old else ("distribute", "isolate"):
        yield Setting(LAUNCH, plain._replace(options={**options, "numa": strategy}))
    yield Setting(LAUNCH, plain)
    kept = plain if is_old else plain._replace(options={**options, "numa": "numactl"})
    yield from interleaved(machine, kept)
    yield from on_one_node(machine, plain)


def of_openmp(machine: Machine, request: Request, release: Release) -> Iterator[Setting]:
    """Yield the policies that tie a thread to a core or to a node, and launchers.

    A number of threads that spreads evenly over cores may leave none free; over nodes it does.
    """
    yield Setting(LAUNCH, request)
    tying = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "OMP_NUM_THREADS")
    env = {k: v for k, v in request.env.items() if k not in tying}
    plain = request._replace(env=env)
    spread, close, by_node = (
        plain._replace(env={**env, "OMP_PROC_BIND": policy, "OMP_PLACES": places})
        for policy, places in (("spread", "cores"), ("close", "cores"), ("spread", "numa_domains"))
    )
    yield Setting(LAUNCH, spread)
    yield Setting(LAUNCH, close)
    yield Setting(LAUNCH, by_node)
    yield Setting(LAUNCH, plain)
    yield from interleaved(machine, by_node)
    yield from on_one_node(machine, close)


def settings_of_vllm(machine: Machine, request: Request, release: Release) -> Iterator[Setting]:
    """Yield the launch, and a rank for each node with the CPUs that vLLM itself chooses."""
    yield Setting(LAUNCH, request)
    for _, asked in of_vllm(machine, request):
        yield Setting(LAUNCH, asked._replace(threads=request.threads))


def of_sglang(machine: Machine, request: Request, release: Release) -> Iterator[Setting]:
    """Yield a rank on each node, and lists that leave a core free; it binds by itself."""
    from numatune.runtimes.sglang_settings import settings

    yield Setting(LAUNCH, request)
    for one in settings(machine, request):
        yield Setting(LAUNCH, one)


def launchers(machine: Machine, request: Request) -> Iterator[Setting]:
    """Yield `numactl` around a launch: memory spread, or one node alone."""
    yield from interleaved(machine, request)
    yield from on_one_node(machine, request)


def interleaved(machine: Machine, request: Request) -> Iterator[Setting]:
    """Yield a launch with its memory spread over the nodes that have both CPUs and memory."""
    nodes = memory_nodes(machine)
    if len(nodes) > 1:
        others = [n for n in machine.nodes if n not in nodes and n.memory_total_bytes != 0]
        which = str(CpuSet(n.id for n in nodes)) if others else "all"
        yield Setting(INTERLEAVE, request, f"numactl --interleave={which}")


def on_one_node(machine: Machine, request: Request) -> Iterator[Setting]:
    """Yield a launch on the node with the most memory."""
    home = home_node(machine)
    if home is not None and len(memory_nodes(machine)) > 1:
        yield Setting(ONE_NODE, request, f"numactl -N {home} -m {home}")


def memory_nodes(machine: Machine) -> list[Node]:
    """Return the usable nodes that have both CPUs and memory."""
    mems = machine.usable_mems
    return [
        n
        for n in machine.cpu_nodes
        if machine.node_cpus(n.id) and n.memory_total_bytes != 0 and (mems is None or n.id in mems)
    ]


def home_node(machine: Machine) -> int | None:
    """Return the first node with as much memory as any, None where sizes are not known."""
    sizes = {n.id: n.memory_total_bytes for n in memory_nodes(machine)}
    known = [size for size in sizes.values() if size is not None]
    if not known or len(known) < len(sizes):
        return None
    # Firmware takes a little from the first node: that is no reason to prefer another one.
    return next(node for node, size in sizes.items() if (size or 0) > 0.98 * max(known))


PLAIN = Manner(with_option, "", own_alone)

#: The runtimes that have words of their own. ktransformers has NUMA support only where the variable
#: was set when it was built (doc/en/install.md at v0.3.2).
MANNERS = {
    "ktransformers": Manner(
        ktransformers, "git checkout v0.3.2 && USE_NUMA=1 bash install.sh", of_ktransformers
    ),
    "kt-kernel": Manner(kt_kernel, "pip install --upgrade kt-kernel", of_kt_kernel),
    "llama.cpp": Manner(
        llama_cpp,
        "git pull && cmake -B build && cmake --build build --config Release",
        of_llama_cpp,
    ),
    "ik_llama.cpp": Manner(
        llama_cpp,
        "git pull && cmake -B build && cmake --build build --config Release",
        of_llama_cpp,
    ),
    "openmp": Manner(any_program, "", of_openmp),
    "sglang": Manner(sglang, "", of_sglang),
    "vllm": Manner(vllm, "pip install --upgrade vllm", settings_of_vllm),
}
