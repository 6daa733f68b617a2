"""Rules about what ggml's `--numa` does not see: nodes and CPUs beyond its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from numatune.machine import CpuSet
from numatune.placement.request import Request
from numatune.rules.facts import NO_LAUNCH, evidence, launch, listed
from numatune.rules.rule import Case, Hit, Rule, Skip
from numatune.rules.topology import NODE_FOLDER
from numatune.words import counted, named

if TYPE_CHECKING:
    from numatune.placement.placement import Release

#: The runtimes that compute with ggml.
GGML = ("llama.cpp", "ik_llama.cpp")

BEYOND_NODES = "start-node-beyond-limit"

NODES_UNKNOWN = "the NUMA nodes are not known; `numactl --hardware` lists them"
CPUS_UNKNOWN = "the CPUs of this machine are not known; `numactl --hardware` lists them"
START_UNKNOWN = (
    "the node that the process starts on is not known; --assume start_cpu=N states its CPU"
)


def strategy_of(request: Request | None, release: Release | None) -> str | None:
    """Return the strategy of ggml's `--numa`, None without one or for another runtime.

    Raises UsageError where it names a strategy that there is not.
    """
    if request is None or release is None or release.runtime not in GGML:
        return None
    if release.runtime == "llama.cpp":
        from numatune.runtimes.llama_cpp import strategy_of as of_llama

        return of_llama(request, release)
    from numatune.runtimes.ggml import strategy_of as of_ggml

    return of_ggml(request, request.options.get("numa"))


def strategy(case: Case) -> str | None:
    """Return the strategy of ggml's `--numa` in a case."""
    return strategy_of(case.request, case.release)


def has_openmp(request: Request, release: Release) -> bool:
    """Tell whether it is an OpenMP build: as stated, else as builds are by default."""
    if release.runtime == "llama.cpp":
        from numatune.runtimes.llama_cpp import has_openmp as of_llama

        return of_llama(request, release)
    from numatune.runtimes.ggml import flag

    return flag(request, "openmp_build", True)


def too_many_nodes(case: Case) -> Iterator[Hit | Skip]:
    """NT404: nodes behind the last one that ggml keeps.

    Of strategies that look at nodes only; `numactl` takes the affinity as it is.
    Source: https://github.com/ggml-org/llama.cpp/blob/0c1e57098/ggml/src/ggml-cpu/ggml-cpu.c
    """
    if case.request is None:
        yield Skip(NO_LAUNCH)
        return
    chosen = strategy(case)
    if chosen is None:
        return
    from numatune.runtimes import ggml

    if chosen == ggml.NUMACTL or ended_at_limit(case):
        return
    nodes = case.machine.nodes
    if case.machine.shows_nodes is None:
        yield Skip(NODES_UNKNOWN)
    elif len(nodes) > ggml.MAX_NODES == len(ggml.seen(case.machine).nodes):
        ids = sorted(node.id for node in nodes)
        beyond = ids[ggml.MAX_NODES :]
        crash = f"; a start on one of them crashes --numa {chosen}"
        yield Hit(
            subject="nodes",
            message=f"{counted(len(ids), 'node')}, but ggml looks at {ggml.MAX_NODES}:"
            f" {listed(beyond)} {'gets' if len(beyond) == 1 else 'get'} no thread"
            f"{crash if chosen == ggml.ISOLATE else ''} ({launch(case)})",
            fix="use --numa numactl under numactl --interleave=all, or make fewer nodes in the BIOS"
            " (NPS1, SNC off)",
            numbers={"nodes": len(ids), "limit": ggml.MAX_NODES},
            expected=f"at most {counted(ggml.MAX_NODES, 'node')}",
            actual=counted(len(ids), "node"),
            evidence=evidence(case.machine, "nodes", f"{NODE_FOLDER}/online", CpuSet(ids)),
        )


def too_many_cpus(case: Case) -> Iterator[Hit | Skip]:
    """NT405: CPUs behind the last one that ggml keeps, which this process might use.

    Source: https://github.com/ggml-org/llama.cpp/blob/0c1e57098/ggml/src/ggml-cpu/ggml-cpu.c
    """
    if case.request is None:
        yield Skip(NO_LAUNCH)
        return
    machine, chosen = case.machine, strategy(case)
    if chosen is None or ended_at_limit(case):
        return
    from numatune.runtimes import ggml

    cpus = machine.inherited_cpus if chosen == ggml.NUMACTL else machine.usable_cpus
    if machine.cpus is None or cpus is None:
        yield Skip(CPUS_UNKNOWN)
        return
    view = ggml.seen(machine)
    beyond = CpuSet.of_mask(cpus.mask >> ggml.MAX_CPUS << ggml.MAX_CPUS)
    if view.is_numa and view.cpu_limit == ggml.MAX_CPUS and beyond:
        yield Hit(
            subject="CPUs",
            message=f"{counted(len(machine.cpus), 'CPU')}, but ggml looks at {ggml.MAX_CPUS}:"
            f" --numa ties no thread to {named(beyond)} ({launch(case)})",
            fix="leave --numa out and interleave the memory (numactl --interleave=all), or switch"
            " SMT off in the BIOS",
            numbers={"cpus": len(machine.cpus), "limit": ggml.MAX_CPUS},
            expected=f"CPUs up to {ggml.MAX_CPUS - 1}",
            actual=f"CPUs up to {beyond.mask.bit_length() - 1}",
            evidence=evidence(machine, "nodes", "/sys/devices/system/cpu/online", machine.cpus),
        )


def start_beyond(case: Case) -> Iterator[Hit | Skip]:
    """NT406: `--numa isolate` started on a node that is not in ggml's table.

    Source: https://github.com/ggml-org/llama.cpp/blob/0c1e57098/ggml/src/ggml-cpu/ggml-cpu.c
    """
    if case.request is None:
        yield Skip(NO_LAUNCH)
        return
    if strategy(case) is None:
        return
    from numatune.runtimes import ggml

    refusal, ids = case.refusal, [node.id for node in case.machine.nodes]
    if refusal is not None and refusal.rule == BEYOND_NODES:
        node = refusal.numbers.get("node")
        inside = CpuSet(i for i in ids if i < ggml.MAX_NODES)
        yield Hit(
            subject="launch",
            message=f"{refusal.reason} ({launch(case)})",
            fix=f"use --numa distribute, or start it on {named(inside, 'node')}: numactl -N"
            f" {inside}",
            numbers=refusal.numbers,
            expected=f"a start on {named(inside, 'node')}",
            actual=f"a start on node {node}",
            evidence=evidence(
                case.machine, "limits", "start_cpu", case.machine.limits.start_cpu or f"node {node}"
            ),
        )
        return
    is_open = strategy(case) == ggml.ISOLATE and case.placement is None and refusal is None
    if is_open and (not ids or max(ids) >= ggml.MAX_NODES):
        yield Skip(START_UNKNOWN if ids else NODES_UNKNOWN)


def ended_at_limit(case: Case) -> bool:
    """Tell whether the launch ends because of a limit, which is then said once."""
    return case.refusal is not None and case.refusal.rule == BEYOND_NODES


UPSTREAM = (
    "https://github.com/ggml-org/llama.cpp/blob/0c1e57098/ggml/src/ggml-cpu/ggml-cpu.c",
    "https://github.com/ikawrakow/ik_llama.cpp/blob/8337e4cd3861406fc04e0854b1409cd1b027fbc9/"
    "ggml/src/ggml.c",
)

RULES = (
    Rule(
        "NT404",
        "node-limit-exceeded",
        "warning",
        "The machine has more NUMA nodes than the runtime can see.\n"
        "ggml keeps a table of eight: the CPUs and the memory bandwidth of all further\n"
        "nodes are not used.",
        UPSTREAM,
        too_many_nodes,
    ),
    Rule(
        "NT405",
        "cpu-limit-exceeded",
        "warning",
        "The machine has more logical CPUs than the runtime can see.\n"
        "ggml counts to 512: CPUs with higher numbers get no thread, so that nodes are\n"
        "smaller for it than they are.",
        UPSTREAM,
        too_many_cpus,
    ),
    Rule(
        "NT406",
        BEYOND_NODES,
        "critical",
        "The process starts on a node that is not in the runtime's table.\n"
        "ggml's --numa isolate takes the number of that node as an index, reads beyond\n"
        "the table and crashes.",
        UPSTREAM,
        start_beyond,
    ),
)
