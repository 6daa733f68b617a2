"""Ranks: more than nodes, without a CPU, and what rules about counts say of a runtime without one."""

import pytest

from numatune.advice.plan import make_plan
from numatune.placement.requests import request_of
from tests.rules.cases import TWO, built, found, is_good, judged, numactl, skip_of, the

SMT = "pack:2 [numa(memory=512GB)] core:24 pu:2(indexes=core:pack)"
FOUR = "pack:4 [numa(memory=64GB)] core:8 pu:1"
BIND = "VLLM_CPU_OMP_THREADS_BIND"


@pytest.mark.parametrize(("machine", "ranks", "nodes"), [(TWO, 3, 2), (FOUR, 8, 4)])
def test_more_ranks_than_nodes(machine: str, ranks: int, nodes: int) -> None:
    diagnosis = judged(built(machine), runtime="vllm", tensor_parallel_size=ranks)
    one = the(diagnosis, "ranks-exceed-nodes")
    assert dict(one.numbers) == {"ranks": ranks, "nodes": nodes}
    assert (one.severity, one.fix) == ("critical", f"use --tensor-parallel-size {nodes}")
    assert found(diagnosis, "node-oversubscribed") == found(diagnosis, "no-workers") == []


def test_as_many_ranks_as_nodes_and_lists() -> None:
    for request in (
        {"tensor_parallel_size": 2},
        {"tensor_parallel_size": 3, "env": {BIND: "0-7|8-22|24-46"}},
        {"tensor_parallel_size": 3, "env": {BIND: "nobind", "OMP_NUM_THREADS": "15"}},
    ):
        diagnosis = judged(built(TWO), runtime="vllm", **request)
        assert is_good(diagnosis, "ranks-exceed-nodes")
        assert found(diagnosis, "node-left-idle") == []


def test_a_wrong_number_of_lists_is_another_refusal() -> None:
    diagnosis = judged(built(TWO), runtime="vllm", env={BIND: "0-7|24-31"})
    assert "2 lists for 1 rank" in the(diagnosis, "no-workers").message
    assert is_good(diagnosis, "ranks-exceed-nodes")


def test_cpus_without_the_memory_of_their_node() -> None:
    machine = built(SMT, allowed_cpus="24-47,72-95", allowed_mems="0-1")
    diagnosis = judged(machine, runtime="vllm", env={BIND: "auto"})
    one = the(diagnosis, "no-workers")
    assert dict(one.numbers) == {"rank": 0}
    assert "no CPU of node 0" in one.message
    assert "CPU_VISIBLE_MEMORY_NODES=1" in one.fix
    assert dict(the(diagnosis, "cpuset-excludes-node").numbers) == {"node": 0, "workers": 23}
    mended = judged(machine, runtime="vllm", env={"CPU_VISIBLE_MEMORY_NODES": "1"})
    assert is_good(mended, "no-workers")
    assert is_good(mended, "cpuset-excludes-node")


def test_an_affinity_is_no_cpuset() -> None:
    diagnosis = judged(built(TWO, affinity="24-47"), runtime="vllm")
    assert dict(the(diagnosis, "no-workers").numbers) == {"rank": 0}
    assert found(diagnosis, "cpuset-excludes-node") == []


def test_a_node_without_cpus_takes_a_rank() -> None:
    machine = numactl((0, "0-22", 64000), (1, "", 64000), (2, "23-45", 64000), threads_per_core=1)
    diagnosis = judged(machine, runtime="vllm", tensor_parallel_size=2)
    one = the(diagnosis, "cpuless-node-given-workers")
    assert dict(one.numbers) == {"node": 1, "rank": 1, "workers": 0}
    assert one.fix == "use CPU_VISIBLE_MEMORY_NODES=0,2 --tensor-parallel-size 2"
    assert dict(the(diagnosis, "no-workers").numbers) == {"rank": 1}
    assert found(diagnosis, "cpuset-excludes-node") == []


def test_an_empty_list_and_a_reserve_that_takes_all() -> None:
    empty = judged(built(TWO), runtime="vllm", tensor_parallel_size=2, env={BIND: "0-3|"})
    assert "its list is empty" in the(empty, "no-workers").message
    small = built("pack:2 [numa(memory=8GB)] core:4 pu:1")
    env = {"VLLM_CPU_NUM_OF_RESERVED_CPU": "7"}
    all_reserved = judged(small, runtime="vllm", tensor_parallel_size=2, env=env)
    one = the(all_reserved, "no-workers")
    assert (dict(one.numbers), "reserved" in one.message) == ({"rank": 1}, True)


def test_one_rank_leaves_a_node_idle() -> None:
    one = the(judged(built(SMT), runtime="vllm"), "node-left-idle")
    assert dict(one.numbers) == {"nodes": [1]}
    assert one.fix.startswith("use --tensor-parallel-size 2,")


def test_a_list_over_two_nodes() -> None:
    diagnosis = judged(built(TWO), runtime="vllm", env={BIND: "0-47"})
    numbers = dict(the(diagnosis, "memory-bound-to-other-node").numbers)
    assert numbers == {"bound_to": 0, "runs_on": 1, "workers": 24}
    fix = the(diagnosis, "memory-bound-to-other-node").fix
    assert fix == f"use {BIND}=auto --tensor-parallel-size 2"


def test_a_share_of_the_weights_and_the_cache_must_fit_the_node() -> None:
    model = {"name": "some model", "bytes": 600_000_000_000}
    one = the(judged(built(TWO), runtime="vllm", model=model), "bound-memory-too-small")
    assert dict(one.numbers) == {
        "nodes": [0],
        "needed_bytes": 600_000_000_000,
        "available_bytes": 512_000_000_000,
    }
    assert one.fix.startswith("use --tensor-parallel-size 2")
    both = {"runtime": "vllm", "tensor_parallel_size": 2, "model": model}
    assert is_good(judged(built(TWO), **both), "bound-memory-too-small")
    cached = judged(built(TWO), **both, env={"VLLM_CPU_KVCACHE_SPACE": "200"})
    shares = found(cached, "bound-memory-too-small")
    assert [one.numbers["nodes"] for one in shares] == [[0], [1]]
    assert shares[0].numbers["needed_bytes"] == 300_000_000_000 + (200 << 30)
    assert "VLLM_CPU_KVCACHE_SPACE" in shares[0].fix


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ({}, []),
        ({"OMP_NUM_THREADS": "8"}, ["OMP_NUM_THREADS"]),
        ({"OMP_NUM_THREADS": "8", BIND: "nobind"}, []),
        ({"OMP_PROC_BIND": "close", "LD_PRELOAD": ""}, ["OMP_PROC_BIND"]),
        ({"KMP_AFFINITY": "compact", "LD_PRELOAD": "libiomp5.so"}, ["KMP_AFFINITY"]),
        ({"VLLM_CPU_NUM_OF_RESERVED_CPU": "2"}, []),
        ({"VLLM_CPU_NUM_OF_RESERVED_CPU": "2", BIND: "0-7"}, ["VLLM_CPU_NUM_OF_RESERVED_CPU"]),
    ],
)
def test_variables_that_do_nothing(env: dict[str, str], options: list[str]) -> None:
    diagnosis = judged(built(TWO), runtime="vllm", env=env)
    idle = found(diagnosis, "option-without-effect")
    assert [one.numbers["option"] for one in idle] == options


def test_a_count_can_not_be_stated() -> None:
    diagnosis = judged(built(TWO), runtime="vllm", threads=40)
    one = the(diagnosis, "option-without-effect")
    assert "starts 23 in a rank" in one.message
    assert found(diagnosis, "no-workers") == []


def test_rules_about_counts_are_silent() -> None:
    diagnosis = judged(built(SMT), runtime="vllm")
    assert is_good(diagnosis, "default-threads-unsuitable")
    equal = judged(
        numactl((0, "0-7", 9000), (1, "8-23", 9000), threads_per_core=1),
        runtime="vllm",
        tensor_parallel_size=2,
        env={BIND: "0-3|8-11"},
    )
    assert is_good(equal, "uneven-nodes")
    beyond = judged(built(TWO, affinity="0-7"), runtime="vllm", env={BIND: "8-11"})
    assert "vLLM" in skip_of(beyond, "affinity-overridden").reason


def test_too_little_is_known() -> None:
    diagnosis = judged(numactl((0, "0-7", 9000), (1, "8-15", 9000)), runtime="vllm")
    assert "lscpu -e" in skip_of(diagnosis, "node-left-idle").reason
    assert "lscpu -e" in skip_of(diagnosis, "ranks-exceed-nodes").reason


def planned(machine: str, **request: object) -> list[str]:
    """The recommendations of a plan: titles and commands that are no options."""
    asked = request_of({"runtime": "vllm", **request})
    plan = make_plan(built(machine), asked, (("vllm", None),))
    first = [one for one in plan.recommendations if not one.is_option]
    return [text for one in first for text in (one.title, *one.commands)]


@pytest.mark.parametrize("request_", [{}, {"tensor_parallel_size": 5}, {"threads": 7}])
def test_a_plan_asks_for_a_rank_a_node(request_: dict[str, object]) -> None:
    title, command = planned(FOUR, **request_)
    assert title == "Use vllm 0.33.x with --tensor-parallel-size 4 (7 + 7 + 7 + 7 workers)"
    assert command == "vllm serve ... --tensor-parallel-size 4"


def test_a_plan_keeps_what_is_right() -> None:
    title, command = planned(TWO, tensor_parallel_size=2)
    assert title == "Keep vllm 0.33.x with --tensor-parallel-size 2 (23 + 23 workers)"
    assert command == "vllm serve ... --tensor-parallel-size 2"


def test_a_plan_leaves_a_count_where_one_can_be_stated() -> None:
    env = {BIND: "nobind", "OMP_NUM_THREADS": "9"}
    asked = request_of({"runtime": "vllm", "env": env})
    machine = built("pack:1 [numa(memory=8GB)] core:8 pu:1")
    plan = make_plan(machine, asked, (("vllm", None),))
    assert str(plan.sweeps[0].safe) == "1-8"
    commands = [text for one in plan.recommendations for text in one.commands]
    assert f"{BIND}=nobind OMP_NUM_THREADS=7 vllm serve ..." in commands
