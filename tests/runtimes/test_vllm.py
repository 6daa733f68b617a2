"""vLLM's CPU backend: which CPUs and which memory its ranks get."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import numatune
from numatune.errors import LaunchRefused, MachineError, UsageError
from numatune.machine import Cpu, CpuSet, Machine
from numatune.placement.placement import Placement, tally
from numatune.placement.request import Request
from numatune.placement.sweep import sweep
from numatune.runtimes import vllm
from tests.runtimes.machines import any_machine, machine, two_sockets

NEWEST = vllm.release(None, None, None)
TRUTH = json.loads((Path(__file__).parents[2] / "fixtures" / "truth" / "vllm.json").read_text())
BIND, RESERVED = "VLLM_CPU_OMP_THREADS_BIND", "VLLM_CPU_NUM_OF_RESERVED_CPU"
VISIBLE = "CPU_VISIBLE_MEMORY_NODES"


def asked(
    tp: object = 1, threads: int | None = None, env: Mapping[str, str] | None = None, **more: object
) -> Request:
    options = {"tensor_parallel_size": tp, **more}
    return Request("vllm", threads=threads, env=env or {}, options=options)


def placed(here: Machine, tp: object = 1, **env: str) -> Placement:
    return vllm.simulate(here, asked(tp, env=env), NEWEST)


def ranks(placement: Placement) -> list[str]:
    """The CPUs of each rank together."""
    found = [CpuSet()] * len(placement.pool_threads)
    for worker in placement.workers:
        found[worker.pool] |= worker.cpus or CpuSet()
    return [str(cpus) for cpus in found]


def memories(placement: Placement) -> list[tuple[int, str]]:
    return sorted({(worker.pool, worker.memory) for worker in placement.workers})


def described(launch: dict[str, Any]) -> Machine:
    facts = dict(launch["machine"])
    nodes = {int(i): cpus for i, cpus in facts.pop("nodes").items()}
    return machine(nodes, **facts)


# What upstream did -------------------------------------------------------------------------------


@pytest.mark.parametrize("launch", TRUTH["launches"])
def test_each_rank_has_the_cpus_that_upstream_gave_it(launch: dict[str, Any]) -> None:
    placement = numatune.place(described(launch), launch["request"])
    if launch["ranks"] is None:
        assert {worker.binding for worker in placement.workers} == {"none"}
    else:
        assert ranks(placement) == launch["ranks"]
        assert placement.threads == max(len(CpuSet.parse(cpus)) for cpus in launch["ranks"])


@pytest.mark.parametrize("launch", TRUTH["refused"])
def test_what_upstream_refused(launch: dict[str, Any]) -> None:
    with pytest.raises(LaunchRefused) as refused:
        numatune.place(described(launch), launch["request"])
    is_few = launch["words"].startswith("Not enough allowed NUMA")
    assert refused.value.rule == ("ranks-exceed-nodes" if is_few else "no-workers")


def test_siblings_that_are_neighbours() -> None:
    here = numatune.read_machine(synthetic="pack:2 [numa(memory=64GB)] core:4 pu:2")
    assert ranks(placed(here, 2)) == ["1,3,5", "9,11,13"]


# An automatic binding ----------------------------------------------------------------------------


def test_a_thread_for_each_core_of_a_node_but_the_last() -> None:
    placement = placed(two_sockets(siblings=48), 2)
    first, last = placement.workers[0], placement.workers[-1]
    assert (first.index, first.pool, first.node, str(first.cpus)) == (0, 0, 0, "48")
    assert (last.index, last.pool, last.node, str(last.cpus)) == (45, 1, 1, "94")
    assert {(w.binding, w.memory) for w in placement.workers} == {
        ("cpu", "bind:0"),
        ("cpu", "bind:1"),
    }
    assert (placement.threads, placement.pool_threads, placement.pool_nodes) == (23, (23, 23), ())
    assert last.name == "rank 1, thread 22"


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        (None, ["8-10", "12-14"]),
        ("x86_64", ["8-10", "12-14"]),
        ("s390x", ["8-11", "12-14"]),
        ("aarch64", ["0-3,8-10", "4-7,12-14"]),
        ("riscv64", ["0-3,8-10", "4-7,12-14"]),
        ("ppc64le", ["0-3,8-11", ""]),
    ],
)
def test_architectures(architecture: str | None, expected: list[str]) -> None:
    here = machine({0: "0-3,8-11", 1: "4-7,12-15"}, siblings=8)
    here = here._replace(cpu=Cpu(architecture=architecture))
    assert ranks(placed(here, 2)) == expected


def test_an_architecture_without_a_rule_needs_lists() -> None:
    here = two_sockets()._replace(cpu=Cpu(architecture="loongarch64"))
    with pytest.raises(LaunchRefused, match="loongarch64"):
        placed(here)
    assert ranks(placed(here, **{BIND: "0-3"})) == ["0-3"]


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("0", ["0-3", "4-7"]),
        ("1", ["0-3", "4-6"]),
        ("3", ["0-2", "4-5"]),
        ("7", ["0", ""]),
        ("8", ["0-3", "4-7"]),
        ("999999999", ["0-3", "4-7"]),
        ("-1", ["0-3", "4-7"]),
    ],
)
def test_the_reserve_is_divided_and_dropped_where_it_takes_all(
    stated: str, expected: list[str]
) -> None:
    here = machine({0: "0-3", 1: "4-7"})
    assert ranks(placed(here, 2, **{RESERVED: stated})) == expected


@pytest.mark.parametrize("stated", ["", "two", "1.5", "9" * 400])
def test_a_reserve_that_is_no_number(stated: str) -> None:
    with pytest.raises(LaunchRefused, match="no whole number"):
        placed(two_sockets(), **{RESERVED: stated})


def test_ranks_are_tensor_times_pipeline_parallel() -> None:
    here = machine({0: "0-3", 1: "4-7", 2: "8-11", 3: "12-15"})
    four = vllm.simulate(here, asked(2, pipeline_parallel_size="2"), NEWEST)
    assert ranks(four) == ["0-2", "4-6", "8-10", "12-14"]
    with pytest.raises(LaunchRefused) as refused:
        vllm.simulate(here, asked(5), NEWEST)
    assert refused.value.rule == "ranks-exceed-nodes"
    assert dict(refused.value.numbers) == {"ranks": 5, "nodes": 4}
    sending = vllm.simulate(here, asked(2, kv_transfer_config="{}"), NEWEST)
    assert ranks(sending) == ["0-1", "4-5"]
    with pytest.raises(UsageError, match="data-parallel"):
        vllm.simulate(here, asked(1, data_parallel_size=2), NEWEST)


def test_nodes_are_those_of_mems_allowed_in_the_order_asked_for() -> None:
    here = machine({0: "0-3", 2: "4-7", 5: "8-11"}, memoryless=[2])
    assert ranks(placed(here, 2)) == ["0-2", "8-10"]
    assert ranks(placed(here, **{VISIBLE: "5,0"})) == ["8-10"]
    assert ranks(placed(here, 2, **{VISIBLE: "5,2,0"})) == ["8-10", "0-2"]
    within = machine({0: "0-3", 1: "4-7"}, cpuset_mems="1")
    assert ranks(placed(within)) == ["4-6"]
    for words in ({VISIBLE: "0"}, {VISIBLE: "7"}):
        with pytest.raises(LaunchRefused, match="node of its own"):
            placed(within, **words)
    with pytest.raises(LaunchRefused, match="no list"):
        placed(within, **{VISIBLE: "0-1"})


def test_a_node_without_cpus_takes_a_rank() -> None:
    here = machine({0: "0-22", 1: "", 2: "23-45"})
    placement = placed(here, 2)
    assert ranks(placement) == ["0-21", ""]
    assert placement.pool_threads == (22, 0)
    assert tally(placement).empty_pools == (1,)


def test_a_machine_without_nodes_is_one_node() -> None:
    here = machine({0: "0-3"})._replace(nodes=(), online_cpus=CpuSet(range(4)))
    workers = placed(here).workers
    assert [(w.node, str(w.cpus), w.memory) for w in workers] == [
        (None, str(cpu), "default") for cpu in range(3)
    ]
    with pytest.raises(LaunchRefused, match="1 node"):
        placed(here, 2)


# Lists, and nothing bound ------------------------------------------------------------------------


def test_lists_are_taken_as_written() -> None:
    placement = placed(two_sockets(), 2, **{BIND: "5,2-4,2|40-47"})
    assert ranks(placement) == ["2-5", "40-47"]
    assert [worker.node for worker in placement.workers] == [0] * 4 + [1] * 8
    assert ranks(placed(two_sockets(), 2, **{BIND: "0-3|"})) == ["0-3", ""]
    assert ranks(placed(two_sockets(), **{BIND: "8-4"})) == [""]


@pytest.mark.parametrize("value", ["Auto", "0-3,", "0-3-5", "-1", "a|b", "0x3", "٣"])
def test_what_is_no_list(value: str) -> None:
    with pytest.raises(LaunchRefused):
        placed(two_sockets(), value.count("|") + 1, **{BIND: value})


def test_a_list_of_ids_that_no_machine_has_is_not_built() -> None:
    with pytest.raises(UsageError, match="beyond"):
        placed(two_sockets(), **{BIND: "0-999999999"})
    with pytest.raises(LaunchRefused):
        placed(two_sockets(), **{BIND: "0-" + "9" * 400})


def test_a_list_over_two_nodes_takes_memory_from_the_first() -> None:
    placement = placed(two_sockets(), **{BIND: "0-47"})
    assert [worker.node for worker in placement.workers] == [0] * 24 + [1] * 24
    assert memories(placement) == [(0, "bind:0")]


@pytest.mark.parametrize(
    ("preload", "binding", "node", "cpus"),
    [
        ("/opt/lib/libiomp5.so", "cpu", 0, "20"),
        ("libtcmalloc.so libgomp.so.1", "cpu", 0, "20"),
        ("libtcmalloc.so", "mask", None, "20-27"),
        ("", "mask", None, "20-27"),
    ],
)
def test_who_pins(preload: str, binding: str, node: int | None, cpus: str) -> None:
    worker = placed(two_sockets(), **{BIND: "20-27", "LD_PRELOAD": preload}).workers[0]
    assert (worker.binding, worker.node, str(worker.cpus)) == (binding, node, cpus)


def test_a_mask_that_is_a_node_and_two_libraries_at_once() -> None:
    env = {RESERVED: "0", "LD_PRELOAD": ""}
    worker = placed(two_sockets(), **env).workers[0]
    assert (worker.binding, worker.node, str(worker.cpus)) == ("node", 0, "0-23")
    with pytest.raises(LaunchRefused, match="libiomp and libgomp"):
        placed(two_sockets(), LD_PRELOAD="libiomp5.so:libgomp.so.1")


def test_memory_is_that_of_the_first_cpu_or_the_first_node_allowed() -> None:
    here = two_sockets(cpuset_mems="1")
    assert memories(placed(here, **{BIND: "0-3"})) == [(0, "bind:1")]
    assert memories(placed(here, **{BIND: "nobind"})) == [(0, "bind:1")]
    started = two_sockets(affinity="24-47")
    assert memories(placed(started, **{BIND: "20-30"})) == [(0, "bind:1")]


def test_nothing_is_bound_but_memory() -> None:
    here = two_sockets(siblings=48, affinity="24-47")
    env = {BIND: "nobind", "OMP_NUM_THREADS": "8,4"}
    default = vllm.default_threads(here, asked(2, env=env), NEWEST)
    assert (default.threads, default.is_derived) == (8, False)
    placement = vllm.simulate(here, asked(2, 5, env), NEWEST)
    assert {(w.node, str(w.cpus), w.binding, w.memory) for w in placement.workers} == {
        (None, "24-47", "none", "bind:1")
    }
    assert (placement.threads, placement.pool_threads) == (5, (5, 5))
    bare = vllm.default_threads(here, asked(env={BIND: "nobind"}), NEWEST)
    assert (bare.threads, bare.ignores) == (24, ("quota",))


# The count ---------------------------------------------------------------------------------------


def test_the_count_follows_and_no_other_is_possible() -> None:
    here = two_sockets()
    default = vllm.default_threads(here, asked(2), NEWEST)
    assert (default.threads, default.is_derived) == (23, True)
    assert len(vllm.simulate(here, asked(2, 23), NEWEST).workers) == 46
    with pytest.raises(LaunchRefused, match="starts 23 in a rank") as refused:
        vllm.simulate(here, asked(2, 24), NEWEST)
    assert refused.value.rule == "option-without-effect"
    swept = sweep(here, asked(2), vllm, NEWEST)
    assert (str(swept.safe), swept.recommended, swept.cliffs) == ("23", 23, ())


def test_a_launch_that_ends_has_the_count_0_and_says_why_when_it_is_placed() -> None:
    one_node = two_sockets(cpuset_mems="0")
    assert vllm.default_threads(one_node, asked(2), NEWEST).threads == 0
    with pytest.raises(LaunchRefused):
        numatune.place(one_node, {"runtime": "vllm", "tensor_parallel_size": 2})
    empty = two_sockets(cpuset_cpus="24-47")
    assert numatune.place(empty, {"runtime": "vllm"}).workers == ()


def test_what_must_be_known() -> None:
    with pytest.raises(MachineError, match="lscpu -e"):
        placed(two_sockets(cores_known=False))
    with pytest.raises(MachineError, match="CPUs of node 0"):
        placed(machine({0: None, 1: "0-3"})._replace(online_cpus=CpuSet(range(8))))
    with pytest.raises(MachineError, match="states no NUMA nodes"):
        placed(machine({}, gaps=["nodes"])._replace(online_cpus=CpuSet(range(8))))
    no_smt = two_sockets(cores_known=False)._replace(smt=1)
    assert ranks(placed(no_smt)) == ["0-22"]


@pytest.mark.parametrize("version", ["0.33.0", "v0.33.0", "0.33.1"])
def test_versions(version: str) -> None:
    assert vllm.release(version, None, None).behaviour == NEWEST.behaviour


@pytest.mark.parametrize(("version", "commit"), [("0.6.3", None), ("new", None), (None, "0870602")])
def test_unknown_versions(version: str | None, commit: str | None) -> None:
    with pytest.raises(UsageError, match=r"known is 0\.33"):
        vllm.release(version, commit, None)


def test_too_many_ranks_or_threads() -> None:
    with pytest.raises(UsageError):
        placed(two_sockets(), 1025)
    with pytest.raises(UsageError):
        placed(two_sockets(), "two")
    with pytest.raises(UsageError, match="beyond what is simulated"):
        vllm.simulate(two_sockets(), asked(1024, 130_000, {BIND: "nobind"}), NEWEST)


environments = st.fixed_dictionaries(
    {},
    optional={
        BIND: st.sampled_from(["auto", "nobind", "0-3", "0-2|3-9", "1,5|", "x"]),
        RESERVED: st.sampled_from(["0", "1", "5", "x"]),
        VISIBLE: st.sampled_from(["0", "1,0", "3,7", "x"]),
        "LD_PRELOAD": st.sampled_from(["", "libiomp5.so", "libgomp.so"]),
        "OMP_NUM_THREADS": st.sampled_from(["3", "x"]),
    },
)


@given(any_machine(), environments, st.integers(1, 3), st.one_of(st.none(), st.integers(1, 9)))
def test_the_tally_is_that_of_the_placement(
    here: Machine, env: dict[str, str], tp: int, threads: int | None
) -> None:
    request = asked(tp, threads, env)
    reason, placement = None, None
    try:
        placement = vllm.simulate(here, request, NEWEST)
    except UsageError:
        return
    except (LaunchRefused, MachineError) as error:
        reason = str(error)
    counts = vllm.tally(here, request, NEWEST)
    assert counts.refused == reason
    if placement is None:
        return
    assert counts == tally(placement)
    assert sum(placement.pool_threads) == len(placement.workers)
    assert [worker.index for worker in placement.workers] == list(range(len(placement.workers)))
    if env.get(BIND, "auto") == "auto":
        mine = here.inherited_cpus
        assert all(w.cpus is not None and mine is not None and w.cpus <= mine
                   for w in placement.workers)  # fmt: skip


@given(any_machine(), environments, st.integers(1, 3))
def test_every_launch_is_diagnosed(here: Machine, env: dict[str, str], tp: int) -> None:
    request = {"runtime": "vllm", "tensor_parallel_size": tp, "env": env}
    try:
        findings = numatune.diagnose(here, request)
    except UsageError:
        assert env.get("OMP_NUM_THREADS") or env.get(BIND)
        return
    assert all("\n" not in one.message + one.fix for one in findings)


def test_a_sweep_of_a_large_machine_is_quick() -> None:
    nodes = {i: f"{i * 64}-{i * 64 + 63}" for i in range(16)}
    started = time.perf_counter()
    swept = sweep(machine(nodes), asked(16), vllm, NEWEST)
    assert swept.recommended == 63
    assert time.perf_counter() - started < 2
