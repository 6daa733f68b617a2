"""SGLang's ranks: golden launches, lists, limits, and what its native part makes of them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numatune
from numatune.errors import LaunchRefused, MachineError, UsageError
from numatune.machine import CpuSet, Machine
from numatune.machine.topology import Cpu
from numatune.placement.placement import tally as counts_of
from numatune.placement.request import Request
from numatune.placement.requests import request_of
from numatune.rules.rule import Finding
from numatune.runtimes import sglang, sglang_lists
from numatune.runtimes.sglang_settings import settings as other_launches
from numatune.runtimes.sglang_settings import words
from tests.runtimes.machines import any_machine, machine, two_sockets

BIND = "SGLANG_CPU_OMP_THREADS_BIND"
TRUTH = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "truth" / "sglang.json").read_text(encoding="utf-8")
)
RELEASE = sglang.release(None, None, None)


def machine_of(described: dict[str, Any]) -> Machine:
    described = dict(described)
    nodes = {int(i): cpus for i, cpus in described.pop("nodes").items()}
    return machine(nodes, **described)


def ranks_of(where: Machine, **request: Any) -> list[str]:
    """Return the CPUs of each rank."""
    cpus: dict[int, CpuSet] = {}
    for worker in numatune.place(where, {"runtime": "sglang", **request}).workers:
        assert worker.cpus is not None
        cpus[worker.pool] = cpus.get(worker.pool, CpuSet()) | worker.cpus
    assert list(cpus) == list(range(len(cpus)))
    return [str(one) for one in cpus.values()]


def named(where: Machine, name: str, **request: Any) -> Finding:
    """Return the one finding of that name."""
    found = numatune.diagnose(where, {"runtime": "sglang", **request})
    (one,) = (f for f in found if f.name == name)
    return one


# What the upstream code did -----------------------------------------------------------------------


@pytest.mark.parametrize("launch", TRUTH["launches"])
def test_each_rank_has_the_cpus_that_upstream_gave_it(launch: dict[str, Any]) -> None:
    assert ranks_of(machine_of(launch["machine"]), **launch["request"]) == launch["ranks"]


@pytest.mark.parametrize("launch", TRUTH["refused"])
def test_what_upstream_refuses_is_refused(launch: dict[str, Any]) -> None:
    where = machine_of(launch["machine"])
    with pytest.raises(LaunchRefused):
        numatune.place(where, launch["request"])
    found = {f.name for f in numatune.diagnose(where, launch["request"])}
    assert found & {"no-workers", "ranks-exceed-nodes"}


def test_siblings_that_are_numbered_side_by_side() -> None:
    where = numatune.read_machine(synthetic="pack:2 [numa(memory=512GB)] core:3 pu:2")
    assert ranks_of(where, tensor_parallel_size=2) == ["0,2,4", "6,8,10"]


# Ranks --------------------------------------------------------------------------------------------


def test_a_worker() -> None:
    worker = numatune.simulate(two_sockets(siblings=48), "sglang", world_size=2).workers[25]
    assert (worker.index, worker.name, worker.pool, worker.node) == (25, "rank 1 thread 1", 1, 1)
    assert (str(worker.cpus), worker.binding, worker.memory) == ("25", "cpu", "bind:1")


@pytest.mark.parametrize(
    ("options", "ranks"),
    [
        ({}, 1),
        ({"world_size": 2}, 2),
        ({"flags": {"--tp": "2"}}, 2),
        ({"flags": {"--tensor-parallel-size": 2}}, 2),
        ({"flags": {"--tp-size": 1, "--pp-size": 2}}, 2),
        ({"flags": {"--tp": 2, "--dp-size": 2}}, 4),
        ({"tensor_parallel_size": 2, "world_size": 2}, 2),
    ],
)
def test_the_number_of_ranks(options: dict[str, Any], ranks: int) -> None:
    four = machine({0: "0-3", 1: "4-7", 2: "8-11", 3: "12-15"})
    assert len(ranks_of(four, **options)) == ranks


@pytest.mark.parametrize(
    "options",
    [{"world_size": 3, "tensor_parallel_size": 2}, {"world_size": 0}, {"world_size": "x"}],
)
def test_a_number_of_ranks_that_is_none(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        numatune.simulate(two_sockets(), "sglang", **options)


def test_more_ranks_than_nodes() -> None:
    found = named(two_sockets(), "ranks-exceed-nodes", flags={"--tp": 3})
    assert (found.severity, dict(found.numbers)) == ("critical", {"ranks": 3, "nodes": 2})


def test_nodes_of_which_nothing_may_be_used_or_that_have_no_cpu_are_no_nodes() -> None:
    assert ranks_of(machine({0: "0-3", 2: "", 5: "4-7"}), tensor_parallel_size=2) == ["0-3", "4-7"]
    where = two_sockets(cpuset_cpus="24-47")
    assert ranks_of(where) == ["24-47"]
    with pytest.raises(LaunchRefused, match="2 ranks, but 1 node with"):
        numatune.simulate(where, "sglang", world_size=2)


def test_second_siblings_alone_are_nothing() -> None:
    found = named(two_sockets(siblings=48, cpuset_cpus="48-95"), "no-workers")
    assert dict(found.numbers) == {"rank": 0}


def test_a_machine_without_node_directories_is_one_node() -> None:
    flat = numatune.read_machine(synthetic="pack:1 core:4 pu:2")
    flat = flat._replace(nodes=(), gaps=())
    workers = numatune.simulate(flat, "sglang").workers
    assert [(w.node, str(w.cpus), w.memory) for w in workers][:2] == [
        (None, "0", "default"),
        (None, "2", "default"),
    ]
    with pytest.raises(LaunchRefused, match="1 node "):
        numatune.simulate(flat, "sglang", world_size=2)


def test_a_count_is_enough_where_cores_are_not_listed() -> None:
    where = two_sockets(cores_known=False)._replace(smt=2)
    workers = numatune.simulate(where, "sglang", world_size=2).workers
    assert {(w.node, w.cpus, w.binding) for w in workers} == {(0, None, "cpu"), (1, None, "cpu")}
    assert len(workers) == 24
    single = two_sockets(cores_known=False)._replace(smt=1)
    assert ranks_of(single, world_size=2) == ["0-23", "24-47"]


@pytest.mark.parametrize(
    "where",
    [
        two_sockets(cores_known=False),
        two_sockets(cores_known=False, affinity="0-5")._replace(smt=2),
    ],
)
def test_without_cores_nothing_is_placed(where: Machine) -> None:
    with pytest.raises(MachineError, match="which CPUs are threads of one core"):
        numatune.simulate(where, "sglang")
    assert ranks_of(where, env={BIND: "0-3"}) == ["0-3"]


# Lists --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3", "0-3"),
        ("5,1, 2", "1-2,5"),
        ("3-1", "3"),
        ("0x18-0x19,010", "8,24-25"),
        ("0-35", "0-11,24-35"),
        ("12-13", "12-13"),
        ("0-40", "0-40"),
    ],
)
def test_how_libnuma_reads_a_list(text: str, cpus: str) -> None:
    assert str(sglang_lists.asked(text, CpuSet.parse("0-11,24-35"))) == cpus


def test_the_first_end_of_a_range_that_may_not_be_used() -> None:
    allowed = CpuSet.parse("0-11,24-35")
    assert sglang_lists.beyond("0-35", allowed) is None
    assert sglang_lists.beyond("0-3,5-40,50", allowed) == 40


@pytest.mark.parametrize("text", ["x", "1-", "1,,2", "1 ,2", "-3", "1;2"])
def test_a_list_that_libnuma_cannot_read(text: str) -> None:
    with pytest.raises(LaunchRefused, match="can't read"):
        numatune.simulate(two_sockets(), "sglang", env={BIND: text})


@pytest.mark.parametrize("text", ["!0-3", "+0-3", "0,all", "99999", "09"])
def test_a_list_that_is_not_simulated(text: str) -> None:
    with pytest.raises(UsageError):
        numatune.simulate(two_sockets(), "sglang", env={BIND: text})


@pytest.mark.parametrize(("text", "rank"), [("", 0), ("0-3|", 1), ("0-3", 1)])
def test_a_rank_without_a_list(text: str, rank: int) -> None:
    found = named(two_sockets(), "no-workers", world_size=2 if rank else 1, env={BIND: text})
    assert dict(found.numbers) == {"rank": rank}


def test_groups_of_other_servers_are_left_alone() -> None:
    assert ranks_of(two_sockets(), env={BIND: "0-3|nonsense"}) == ["0-3"]


@pytest.mark.parametrize(
    ("listed", "memory"), [("4-7", "bind:1"), ("0-3", "bind:0"), ("0-4", "default")]
)
def test_memory_comes_from_the_nodes_of_the_first_to_the_last_cpu(listed: str, memory: str) -> None:
    where = machine({0: "0-3", 1: "4-7"})
    workers = numatune.simulate(where, "sglang", env={BIND: listed}).workers
    assert {w.memory for w in workers} == {memory}


# What the native part makes of it -----------------------------------------------------------------


def test_a_cpu_that_may_not_be_used_is_a_crash() -> None:
    where = two_sockets(affinity="0-11")
    found = named(where, "no-workers", env={BIND: "0-23"})
    assert "lists CPU 23 for rank 0" in found.message
    assert dict(found.numbers) == {"rank": 0}
    assert not [
        f for f in numatune.diagnose(where, {"runtime": "sglang"}) if f.name == "no-workers"
    ]


def test_a_node_that_gives_no_memory_is_a_crash() -> None:
    empty = named(two_sockets(memoryless=(0,)), "memoryless-node")
    assert (empty.severity, empty.numbers["nodes"]) == ("critical", [0])
    barred = two_sockets(cpuset_cpus="0-47", cpuset_mems="1")
    assert named(barred, "cpuset-cpus-mems-mismatch").severity == "critical"
    listed = {"runtime": "sglang", "env": {BIND: "24-47"}}
    assert "node-left-idle" in {f.name for f in numatune.diagnose(barred, listed)}


@pytest.mark.parametrize(
    ("cpu", "binding"),
    [
        (Cpu(), "cpu"),
        (Cpu("x86_64", features=frozenset(("avx2",))), "none"),
        (Cpu("x86_64", features=frozenset(("avx2", "amx_tile"))), "cpu"),
        (Cpu("aarch64", features=frozenset(("sve",))), "cpu"),
        (Cpu("ppc64le"), "none"),
    ],
)
def test_threads_are_pinned_with_amx_and_on_arm(cpu: Cpu, binding: str) -> None:
    where = two_sockets(siblings=48)._replace(cpu=cpu)
    workers = numatune.simulate(where, "sglang").workers
    assert {w.binding for w in workers} == {binding}
    assert len(workers) == (24 if binding == "cpu" else 48)
    assert {w.memory for w in workers} == {"bind:0" if binding == "cpu" else "default"}


def test_where_nothing_is_pinned_the_ranks_get_in_each_others_way() -> None:
    cpu = Cpu("x86_64", features=frozenset(("avx512f",)))
    where = two_sockets()._replace(cpu=cpu)
    assert named(where, "node-oversubscribed", world_size=2).numbers["workers"] == 96
    fix = named(where, "node-oversubscribed", world_size=2).fix
    assert fix == "use OMP_NUM_THREADS=24 --tp 2"
    few = {"runtime": "sglang", "world_size": 2, "env": {"OMP_NUM_THREADS": "20"}}
    assert len(numatune.place(where, few).workers) == 40


# The count ----------------------------------------------------------------------------------------


def test_a_count_can_not_be_stated() -> None:
    found = named(two_sockets(), "option-without-effect", threads=12)
    assert "24 here" in found.message
    assert len(numatune.simulate(two_sockets(), "sglang", threads=24).workers) == 24


def test_the_count_of_openmp_is_not_that_of_the_ranks() -> None:
    found = named(two_sockets(), "option-without-effect", env={"OMP_NUM_THREADS": "4"})
    assert (found.severity, found.numbers["option"]) == ("info", "OMP_NUM_THREADS")


def test_the_default_count() -> None:
    request = request_of({"runtime": "sglang", "world_size": 2})
    default = sglang.default_threads(two_sockets(siblings=48), request, RELEASE)
    assert (default.threads, default.is_derived) == (48, True)
    refused = request_of({"runtime": "sglang", "world_size": 3})
    assert sglang.default_threads(two_sockets(), refused, RELEASE).threads == 0


@pytest.mark.parametrize("version", ["0.5.22", "0.4", "main", "deadbeef"])
def test_other_versions_are_not_known(version: str) -> None:
    with pytest.raises(UsageError, match=r"known is 0\.5\.23"):
        sglang.release(version, None, None)
    assert sglang.release("v0.5.23", None, None) == RELEASE


# Other launches -----------------------------------------------------------------------------------


def test_other_launches_leave_a_core_free_and_use_each_node() -> None:
    request = request_of({"runtime": "sglang"})
    said = [words(one) for one in other_launches(two_sockets(siblings=48), request)]
    assert said == [
        f"{BIND}='0-22' --tp 1",
        "--tp 2",
        f"{BIND}='0-22|24-46' --tp 2",
    ]


def test_a_list_stays_within_a_quota() -> None:
    where = two_sockets(siblings=48)
    where = where._replace(limits=where.limits._replace(cpu_quota=9.5))
    found = named(where, "quota-below-workers", flags={"--tp": 2})
    assert found.fix.startswith(f"use {BIND}='0-3|24-27' --tp 2")


def test_an_idle_node_is_put_right_by_another_rank() -> None:
    found = named(two_sockets(siblings=48), "node-left-idle")
    assert found.fix.startswith("use --tp 2")


REQUESTS = st.fixed_dictionaries(
    {
        "runtime": st.just("sglang"),
        "world_size": st.integers(1, 4),
        "threads": st.sampled_from([None, None, 1, 4]),
        "env": st.fixed_dictionaries(
            {},
            optional={
                BIND: st.sampled_from(["all", "", "0", "0-1|2-3", "0-3|4|5,6|7", "9-1|0x3", "z"])
            },
        ),
    }
)
FLAGS = st.sampled_from([Cpu(), Cpu("x86_64", features=frozenset(("avx2",)))])


def reason_of(where: Machine, request: Request) -> str | None:
    """Return why a launch does not run, or why that is not known; None where it runs."""
    try:
        sglang.simulate(where, request, RELEASE)
    except (LaunchRefused, MachineError) as error:
        return str(error)
    ended = sglang.failure(where, request)
    return None if ended is None else ended.reason


@settings(max_examples=150)
@given(any_machine(), REQUESTS, FLAGS)
def test_counting_agrees_with_placing(where: Machine, asked: dict[str, Any], cpu: Cpu) -> None:
    where, request = where._replace(cpu=cpu), request_of(asked)
    got = sglang.tally(where, request, RELEASE)
    assert got.refused == reason_of(where, request)
    if got.refused is None:
        assert got == counts_of(sglang.simulate(where, request, RELEASE))


@settings(max_examples=50)
@given(any_machine(), REQUESTS, FLAGS)
def test_other_launches_run(where: Machine, asked: dict[str, Any], cpu: Cpu) -> None:
    where = where._replace(cpu=cpu)
    for one in other_launches(where, request_of(asked)):
        assert sglang.tally(where, one, RELEASE).refused is None
    with suppress(UsageError):
        numatune.diagnose(where, asked)
