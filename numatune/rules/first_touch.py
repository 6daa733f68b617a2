"""Rules about weights that lie where they were first touched and not where they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from numatune.machine import CpuSet, Machine
from numatune.rules.facts import NO_LAUNCH, launch, listed, node_evidence, unplaced
from numatune.rules.ggml_limits import GGML, has_openmp, strategy
from numatune.rules.memory import interleave_of
from numatune.rules.rule import Case, Evidence, Hit, Rule, Skip
from numatune.words import counted

#: Types of weights that are repacked at load on x86 and ARM, by the names of models:
#: https://github.com/ggml-org/llama.cpp/blob/0c1e57098/ggml/src/ggml-cpu/repack.cpp
REPACKED = r"(?i)(?<![A-Z0-9])Q4_[0K]"
REPACKING = ("x86_64", "amd64", "aarch64", "arm64")

PLACES_UNKNOWN = "the CPUs of a node are not known; `numactl --hardware` shows them"
NODES_UNKNOWN = "the NUMA nodes are not known; `numactl --hardware` lists them"

SPREAD = "interleave the weights: numactl --interleave=all"


class Reason(NamedTuple):
    """Why pages do not lie where they are read, what to do, and how grave it is."""

    why: str
    fix: str
    severity: str | None = None


def first_touch(case: Case) -> Iterator[Hit | Skip]:
    """NT203: weights on the node of the thread that touched them first, read from other nodes.

    The loading thread is the main one and runs wherever the process may; it touches first unless
    `--numa` leaves the mapping to the threads that compute.
    Source: https://github.com/ggml-org/llama.cpp/pull/1556
    """
    request, placement = case.request, case.placement
    if request is None:
        yield Skip(NO_LAUNCH)
        return
    if case.machine.shows_nodes is None:
        yield Skip(NODES_UNKNOWN)
        return
    targets = page_nodes(case)
    if len(case.machine.cpu_nodes) < 2 or is_interleaved(case) or len(targets) < 2:
        return
    if case.release is None or case.release.runtime not in GGML:
        if not binds_memory(case):
            yield Skip(f"where {request.runtime or 'it'} puts its weights is not known here")
        return
    if placement is None:
        yield unplaced(case)
        return
    readers = reading_nodes(case)
    if readers is None:
        yield Skip(PLACES_UNKNOWN)
        return
    reason = reason_of(case, readers)
    if reason is None:
        return
    yield Hit(
        subject="weights",
        message=f"{reason.why} ({launch(case)})",
        fix=reason.fix,
        expected="weights on the nodes that read them, or spread over all",
        actual="weights where they were first touched",
        evidence=(*policy_evidence(case), *node_evidence(case.machine, readers)),
        severity=reason.severity,
    )


def reason_of(case: Case, readers: CpuSet) -> Reason | None:
    """Return what is wrong with the places of the weights, None where nothing is."""
    request = case.request
    if request is None:
        return None
    from numatune.runtimes import ggml

    mapped = ggml.page_placement(request)
    is_numa = strategy(case) is not None and ggml.seen(case.machine).is_numa
    if mapped == ggml.LOADER or not is_numa:
        loaders = nodes_of(case.machine, loading_cpus(case))
        if len(readers | loaders) < 2:
            return None
        threads = counted(0 if case.placement is None else len(case.placement.workers), "thread")
        home = listed(loaders) if len(loaders) == 1 else f"its own node, one of {listed(loaders)}"
        return Reason(
            f"the loading thread puts the weights on {home}, and {threads} on {listed(readers)}"
            f" read{'s' if threads == '1 thread' else ''} them",
            loader_fix(case, readers),
        )
    if len(readers) < 2:
        return None
    return shared_reason(case, mapped == ggml.FIRST_TOUCH_OR_REPACKED)


def shared_reason(case: Case, repacks: bool) -> Reason:
    """Return why pages that threads of several nodes touch first may lie on the wrong one.

    Threads own rows by their number, so that one count has one division. That a prompt divides
    otherwise and that pages stay in the cache can't be seen here: that alone is information.
    """
    request = case.request
    batch = None if request is None else request.options.get("threads_batch")
    loose = [w for w in case.placement.workers if w.node is None] if case.placement else []
    if repacks and is_repacked(case):
        return Reason(
            "weights of this type are repacked by the loading thread, which puts them on its own"
            " node, whatever --numa says",
            f"use --no-repack, or {SPREAD}",
        )
    if request is not None and batch is not None and str(batch) != str(request.threads):
        return Reason(
            f"-tb {batch} divides the rows otherwise than -t {request.threads}: each page lies on"
            " the node of the thread that read it first, in one of the two",
            "use the same number for -t and -tb",
        )
    if loose:
        return Reason(
            f"{counted(len(loose), 'thread')} tied to no node: the pages that"
            f" {'it touches' if len(loose) == 1 else 'they touch'} first stay where"
            f" {'it was' if len(loose) == 1 else 'they were'} at that moment",
            f"tie every thread to a node (see the other findings), or {SPREAD}",
        )
    return Reason(
        "each page lies on the node of the thread that reads it first: right for generation only"
        " if generation reads first, and if it is not in the page cache yet",
        "drop the page cache (echo 3 > /proc/sys/vm/drop_caches), then load with a run that only"
        " generates: llama-bench -p 0 with the same -t and --numa",
        "info",
    )


def loading_cpus(case: Case) -> CpuSet | None:
    """Return the CPUs of the loading thread, which libgomp ties to its first place if to any."""
    request, release = case.request, case.release
    if request is not None and release is not None:
        from numatune.runtimes.ggml import bound_by_openmp

        bound = bound_by_openmp(case.machine, request, 1, has_openmp(request, release))
        if bound:
            return bound[0].cpus
    return case.machine.inherited_cpus


def loader_fix(case: Case, readers: CpuSet) -> str:
    """Say how weights that the loading thread touches come to their readers."""
    from numatune.runtimes import ggml

    if len(readers) == 1:
        node = readers.first()
        return f"start it on that node: numactl -N {node} -m {node}"
    if case.request is None or not ggml.seen(case.machine).is_numa:
        return SPREAD
    options = {**case.request.options, "numa": ggml.DISTRIBUTE}
    mapped = ggml.page_placement(case.request._replace(options=options))
    if mapped == ggml.LOADER:
        return f"leave --no-mmap, --mlock and repacking out, or {SPREAD}"
    repack = " --no-repack" if mapped == ggml.FIRST_TOUCH_OR_REPACKED else ""
    if repack:
        options["no_repack"] = True
    from numatune.rules.remedy import NO_REMEDY, is_clean, once

    distributed = case.request._replace(options=options)
    other = f"{SPREAD}, or use --numa distribute{repack}"
    said = once(case, ("NT203",), lambda: other if is_clean(case, distributed) else SPREAD)
    return SPREAD if said == NO_REMEDY else said


def binds_memory(case: Case) -> bool:
    """Tell whether every worker takes its memory from a node that it names."""
    placement = case.placement
    return placement is not None and all(w.memory != "default" for w in placement.workers)


def is_repacked(case: Case) -> bool:
    """Tell whether the weights are known to be of a type that is repacked at load."""
    model = case.request.model if case.request is not None else None
    architecture = case.machine.cpu.architecture
    if architecture is not None and architecture.lower() not in REPACKING:
        return False
    return model is not None and re.search(REPACKED, model.name) is not None


def is_interleaved(case: Case) -> bool:
    """Tell whether the memory policy of the launcher spreads pages over nodes."""
    if case.frame is not None:
        return case.frame.memory.kind in ("interleave", "weighted-interleave")
    launcher = "" if case.request is None else case.request.launcher or ""
    return interleave_of(launcher) is not None


def page_nodes(case: Case) -> CpuSet:
    """Return the nodes that pages may come to: those with memory, within cpuset and policy."""
    nodes = CpuSet(n.id for n in case.machine.nodes if n.memory_total_bytes != 0)
    mems = case.machine.limits.cpuset_mems
    if mems is not None:
        nodes &= mems
    policy = None if case.frame is None else case.frame.memory
    if policy is not None and policy.kind in ("bind", "preferred") and policy.nodes is not None:
        nodes &= policy.nodes
    return nodes


def reading_nodes(case: Case) -> CpuSet | None:
    """Return the nodes on which workers may run, None where that is not known."""
    nodes: set[int] = set()
    for cpus, node in {(w.cpus, w.node) for w in case.placement.workers} if case.placement else ():
        if node is not None:
            nodes.add(node)
        elif cpus is None:
            return None
        else:
            nodes.update(nodes_of(case.machine, cpus))
    return CpuSet(nodes)


def nodes_of(machine: Machine, cpus: CpuSet | None) -> CpuSet:
    """Return the nodes that have one of some CPUs; all that have CPUs where these are unknown."""
    return CpuSet(
        node.id for node in machine.cpu_nodes if cpus is None or (node.cpus and node.cpus & cpus)
    )


def policy_evidence(case: Case) -> tuple[Evidence, ...]:
    """Return the launcher as it is written."""
    launcher = None if case.request is None else case.request.launcher
    return (Evidence("launcher", "", launcher),) if launcher else ()


RULES = (
    Rule(
        "NT203",
        "page-placement-first-touch",
        "warning",
        "Weights lie on the node that touched them first, and others read them, too.\n"
        "The loader, repacking, the page cache or another division of the threads put\n"
        "pages on the wrong node, and nothing moves them.",
        (
            "https://github.com/ggml-org/llama.cpp/pull/1556",
            "https://github.com/ggml-org/llama.cpp/issues/11744",
            "https://github.com/ggml-org/llama.cpp/blob/0c1e57098/src/llama-mmap.cpp",
            "https://github.com/ggml-org/llama.cpp/pull/18698",
        ),
        first_touch,
    ),
)
