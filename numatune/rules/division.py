"""Rules about thread counts that do not divide by what the work is divided by."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.rules.facts import launch, option_for, unplaced
from numatune.rules.ggml_limits import strategy
from numatune.rules.rule import Case, Hit, Rule, Skip
from numatune.words import counted


def not_a_multiple(case: Case) -> Iterator[Hit | Skip]:
    """NT104: a thread count that is no multiple of the nodes among which it is divided.

    Sources: https://github.com/ggml-org/llama.cpp/pull/1556 (ggml), and
    https://github.com/kvcache-ai/ktransformers/blob/95009ea6/kt-kernel/cpu_backend/worker_pool.cpp
    """
    placement = case.placement
    if placement is None:
        yield unplaced(case)
        return
    nodes = nodes_used(case)
    threads = placement.threads
    if not nodes or threads % nodes == 0:
        return
    lower = threads // nodes * nodes
    room = case.machine.usable_cpus
    most = lower + nodes if room is None else len(room)
    counts = [count for count in (lower, lower + nodes) if 0 < count <= most]
    yield Hit(
        subject="threads",
        message=f"{counted(threads, 'thread')} for {counted(nodes, 'node')}: not all of them get"
        f" the same number ({launch(case)})",
        fix=f"use {' or '.join(option_for(case, count) for count in counts or [nodes])}",
        numbers={"threads": threads, "nodes": nodes},
        expected=f"a multiple of {nodes}",
        actual=str(threads),
    )


def nodes_used(case: Case) -> int:
    """Return among how many nodes the runtime divides its threads, 0 where it does not.

    ggml divides among the nodes that it sees, kt-kernel among its pools.
    """
    if case.placement is not None and case.placement.pool_nodes:
        return len(set(case.placement.pool_nodes))
    chosen = strategy(case)
    if chosen is None:
        return 0
    from numatune.runtimes import ggml

    if chosen != ggml.DISTRIBUTE:
        return 0
    return len(ggml.seen(case.machine).nodes)


RULES = (
    Rule(
        "NT104",
        "threads-not-multiple-of-nodes",
        "info",
        "The thread count is not a multiple of the nodes among which it is divided.\n"
        "Nodes get unequal numbers of threads, and the work of a step ends with the\n"
        "slowest of them.",
        (
            "https://github.com/ggml-org/llama.cpp/pull/1556",
            "https://github.com/kvcache-ai/ktransformers/blob/"
            "95009ea6856c0799e517e93cb12be5e8494bc7ce/kt-kernel/cpu_backend/worker_pool.cpp",
        ),
        not_a_multiple,
    ),
)
