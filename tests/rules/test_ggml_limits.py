"""Nodes and CPUs beyond the tables of ggml."""

import pytest

from tests.rules.cases import TWO, built, found, is_good, judged, numactl, skip_of, the

SIXTEEN = "pack:4 group:4 [numa(memory=32GB)] core:8 pu:1"
EIGHT = "pack:4 group:2 [numa(memory=32GB)] core:8 pu:1"
LARGE = "pack:2 [numa(memory=1024GB)] core:192 pu:2(indexes=core:pack)"
GGML = pytest.mark.parametrize("runtime", ["llama.cpp", "ik_llama.cpp"])


def numa(strategy: str) -> dict[str, str]:
    return {"--numa": strategy}


@GGML
def test_nodes_from_the_ninth_on(runtime: str) -> None:
    diagnosis = judged(built(SIXTEEN), runtime=runtime, threads=64, flags=numa("distribute"))
    one = the(diagnosis, "node-limit-exceeded")
    assert dict(one.numbers) == {"nodes": 16, "limit": 8}
    assert "nodes 8, 9, 10" in one.message
    eight = judged(built(EIGHT), runtime=runtime, threads=64, flags=numa("distribute"))
    assert is_good(eight, "node-limit-exceeded")


def test_a_limit_that_nobody_runs_into() -> None:
    for flags in ({}, numa("numactl")):
        diagnosis = judged(built(SIXTEEN), runtime="llama.cpp", threads=64, flags=flags)
        assert is_good(diagnosis, "node-limit-exceeded")
    assert is_good(judged(built(SIXTEEN), runtime="openmp", threads=8), "node-limit-exceeded")


def test_a_gap_in_the_ids_is_not_the_limit() -> None:
    nodes = [(i, f"{4 * i}-{4 * i + 3}", 1000) for i in (*range(7), *range(8, 11))]
    diagnosis = judged(numactl(*nodes), runtime="llama.cpp", threads=7, flags=numa("distribute"))
    assert is_good(diagnosis, "node-limit-exceeded")
    nine = [(i, f"{4 * i}-{4 * i + 3}", 1000) for i in (*range(8), 16)]
    one = the(
        judged(numactl(*nine), runtime="llama.cpp", threads=8, flags=numa("distribute")),
        "node-limit-exceeded",
    )
    assert one.numbers["nodes"] == 9
    assert "node 16 gets no thread" in one.message


@GGML
def test_cpus_from_512_on(runtime: str) -> None:
    diagnosis = judged(built(LARGE), runtime=runtime, threads=64, flags=numa("distribute"))
    one = the(diagnosis, "cpu-limit-exceeded")
    assert dict(one.numbers) == {"cpus": 768, "limit": 512}
    assert "CPUs 512-767" in one.message
    assert is_good(diagnosis, "node-limit-exceeded")
    assert is_good(judged(built(LARGE), runtime=runtime, threads=64), "cpu-limit-exceeded")


def test_cpus_beyond_that_it_may_not_use_anyway() -> None:
    confined = built(LARGE, allowed_cpus="0-383", allowed_mems="0-1")
    request = {"runtime": "llama.cpp", "threads": 64}
    diagnosis = judged(confined, **request, flags=numa("distribute"))
    assert is_good(diagnosis, "cpu-limit-exceeded")
    # numactl keeps the affinity, distribute replaces it.
    tied = built(LARGE, affinity="0-63")
    assert is_good(judged(tied, **request, flags=numa("numactl")), "cpu-limit-exceeded")
    assert the(judged(tied, **request, flags=numa("distribute")), "cpu-limit-exceeded")


def test_a_machine_of_exactly_512_cpus() -> None:
    machine = built("pack:2 [numa(memory=1024GB)] core:128 pu:2")
    diagnosis = judged(machine, runtime="llama.cpp", threads=64, flags=numa("distribute"))
    assert is_good(diagnosis, "cpu-limit-exceeded")


@GGML
def test_isolate_on_a_node_beyond_the_table(runtime: str) -> None:
    machine = built(SIXTEEN, start_cpu=127)
    diagnosis = judged(machine, runtime=runtime, threads=8, flags=numa("isolate"))
    one = the(diagnosis, "start-node-beyond-limit")
    assert dict(one.numbers) == {"node": 15, "limit": 8}
    assert one.severity == "critical"
    assert one.fix.endswith("numactl -N 0-7")
    assert not found(diagnosis, "node-limit-exceeded"), "said once"
    assert not found(diagnosis, "no-workers")


def test_isolate_crashes_with_few_nodes_too() -> None:
    nodes = [(i, f"{8 * n}-{8 * n + 7}", 1000) for n, i in enumerate((0, 1, 8, 9))]
    request = {"runtime": "llama.cpp", "threads": 8, "flags": numa("isolate")}
    crashed = judged(numactl(*nodes, start_cpu=16), **request)
    assert the(crashed, "start-node-beyond-limit").numbers["node"] == 8
    started = judged(numactl(*nodes, start_cpu=8), **request)
    assert is_good(started, "start-node-beyond-limit")
    for some in (nodes, nodes[:3]):
        unknown = judged(numactl(*some), **request)
        assert "start_cpu" in skip_of(unknown, "start-node-beyond-limit").reason
    assert is_good(judged(built(TWO), **request), "start-node-beyond-limit")


def test_one_node_is_not_looked_at() -> None:
    machine = built("pack:1 [numa(memory=1024GB)] core:300 pu:2")
    diagnosis = judged(machine, runtime="llama.cpp", threads=64, flags=numa("distribute"))
    assert is_good(diagnosis, "cpu-limit-exceeded")


def test_isolate_on_a_good_node_warns_of_the_next_start() -> None:
    machine = built(SIXTEEN, start_cpu=3)
    diagnosis = judged(machine, runtime="llama.cpp", threads=8, flags=numa("isolate"))
    assert "crashes" in the(diagnosis, "node-limit-exceeded").message


def test_without_a_launch_or_nodes_they_are_not_judged() -> None:
    machine = built("pack:1 core:4 pu:1")._replace(nodes=(), gaps=("nodes",), online_cpus=None)
    alone = judged(built(SIXTEEN))
    blind = judged(machine, runtime="llama.cpp", threads=4, flags=numa("isolate"))
    for name in ("node-limit-exceeded", "cpu-limit-exceeded", "start-node-beyond-limit"):
        assert skip_of(alone, name)
        assert "numactl" in skip_of(blind, name).reason


def test_the_commands_of_the_fixes_are_whole() -> None:
    request = {"runtime": "llama.cpp", "threads": 64, "flags": numa("distribute")}
    assert (
        "numactl --interleave=all,"
        in the(judged(built(SIXTEEN), **request), "node-limit-exceeded").fix
    )
    apart = numactl((1, "0-7", 1000), (2, "8-15", 1000))
    idle = judged(apart, runtime="llama.cpp", threads=8, flags=numa("distribute"))
    fixes = [one.fix for one in idle.findings if "counts nodes from 0" in one.message]
    assert [fix.split("use one node: ")[1] for fix in fixes] == ["numactl -N 1 -m 1"]
