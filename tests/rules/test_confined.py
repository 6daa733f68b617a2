"""Memory that a launcher or a cpuset holds on nodes where no worker runs."""

import pytest

from tests.rules.cases import ONE, TWO, built, found, is_good, judged, numactl, the

NAME = "memory-bound-to-other-node"
FOUR = "pack:4 [numa(memory=128GB)] core:8 pu:1"
SPREAD = {"runtime": "llama.cpp", "threads": 46, "flags": {"--numa": "distribute"}}


@pytest.mark.parametrize("runtime", ["llama.cpp", "openmp"])
def test_numactl_that_crosses_cpus_and_memory(runtime: str) -> None:
    crossed = judged(built(TWO), runtime=runtime, threads=23, launcher="numactl -N 1 -m 0 ./x")
    one = the(crossed, NAME)
    assert dict(one.numbers) == {"bound_to": 0, "runs_on": 1, "workers": 23}
    assert one.severity == "critical"
    assert one.message.startswith("all 23 workers run on node 1 and read memory of node 0")
    assert one.fix == "bind it where the workers run: numactl -N 1 -m 1"
    mended = judged(built(TWO), runtime=runtime, threads=23, launcher="numactl -N 1 -m 1 ./x")
    assert is_good(mended, NAME)


@pytest.mark.parametrize(
    ("launcher", "fix"),
    [
        ("numactl -m 0 ./x", "numactl -m 0-1, or numactl --interleave=0-1"),
        ("systemd-run -p NUMAPolicy=bind -p NUMAMask=0 ./x", "NUMAPolicy=bind -p NUMAMask=0-1"),
        ("docker run --cpuset-mems 0 IMG", "--cpuset-mems 0-1 (docker)"),
    ],
)
def test_workers_of_two_nodes_with_the_memory_of_one(launcher: str, fix: str) -> None:
    one = the(judged(built(TWO), **SPREAD, launcher=launcher), NAME)
    assert dict(one.numbers) == {"bound_to": 0, "runs_on": 1, "workers": 23}
    assert one.message.startswith("23 of 46 workers, on node 1, read memory of node 0")
    assert fix in one.fix


@pytest.mark.parametrize(
    "launcher",
    ["numactl -m 0,1 ./x", "numactl --interleave=0 ./x", "numactl -p 0 ./x", "docker run IMG"],
)
def test_what_binds_nothing_away_is_silent(launcher: str) -> None:
    assert is_good(judged(built(TWO), **SPREAD, launcher=launcher), NAME)


def test_several_nodes_on_either_side() -> None:
    request = {**SPREAD, "threads": 28}
    one = the(judged(built(FOUR), **request, launcher="numactl -m 1,2 ./x"), NAME)
    assert dict(one.numbers) == {"bound_to": [1, 2], "runs_on": [0, 3], "workers": 14}
    wide = judged(built(FOUR), runtime="openmp", threads=15, launcher="numactl -N 0,1 -m 2 ./x")
    assert dict(the(wide, NAME).numbers) == {"bound_to": 2, "runs_on": [0, 1], "workers": 15}


@pytest.mark.parametrize("runtime", ["kt-kernel", "ktransformers"])
def test_a_runtime_that_binds_its_memory_itself_replaces_the_policy(runtime: str) -> None:
    diagnosis = judged(built(TWO), runtime=runtime, threads=45, launcher="numactl -m 0 ./x")
    assert is_good(diagnosis, NAME)


@pytest.mark.parametrize(
    "request_",
    [{"runtime": "kt-kernel"}, {"runtime": "ktransformers", "version": "0.3.2"}],
)
def test_a_binding_that_the_container_refuses_is_no_fact(request_: dict[str, object]) -> None:
    inside = "docker run --cpuset-cpus 0-23 IMG"
    refused = judged(built(TWO), **request_, threads=24, launcher=inside)
    assert is_good(refused, NAME)
    assert the(refused, "memory-policy-forbidden").numbers["workers"]
    able = judged(
        built(TWO), **request_, threads=24, launcher=inside.replace(" IMG", " --cap-add SYS_NICE I")
    )
    assert found(able, NAME)
    assert is_good(able, "memory-policy-forbidden")


def test_a_cpuset_is_said_once() -> None:
    inside = "docker run --cpuset-cpus 0-23 --cpuset-mems 1 IMG"
    diagnosis = judged(built(TWO), runtime="llama.cpp", threads=20, launcher=inside)
    assert is_good(diagnosis, NAME)
    assert found(diagnosis, "cpuset-cpus-mems-mismatch")


def test_memory_without_cpus_is_bound_to_on_purpose() -> None:
    machine = numactl((0, "0-7", 96000), (1, "", 16000), threads_per_core=1)
    diagnosis = judged(machine, runtime="llama.cpp", threads=7, launcher="numactl -m 1 ./x")
    assert is_good(diagnosis, NAME)


def test_a_node_without_memory_has_none_to_be_near_to() -> None:
    machine = numactl((0, "0-7", 96000), (1, "8-15", 0), threads_per_core=1)
    request = {**SPREAD, "threads": 14}
    assert is_good(judged(machine, **request, launcher="numactl -m 0 ./x"), NAME)


@pytest.mark.parametrize(
    ("launcher", "severity", "where"),
    [
        ("numactl --interleave=all ./x", "info", "is spread over nodes, wherever they run"),
        ("numactl -m 0 ./x", "warning", "comes from node 0: numactl binds it"),
        ("docker run --cpuset-mems 1 IMG", "warning", "comes from node 1: the cpuset confines it"),
        ("nice ./x", "warning", "lies wherever it was first touched"),
    ],
)
def test_where_the_memory_of_wandering_workers_is(launcher: str, severity: str, where: str) -> None:
    diagnosis = judged(built(TWO), runtime="llama.cpp", threads=47, launcher=launcher)
    one = the(diagnosis, "workers-unbound")
    assert one.severity == severity
    assert f"; their memory {where}" in one.message
    assert is_good(diagnosis, NAME)


def test_refused_bindings_do_not_matter_where_one_node_gives_all_memory() -> None:
    request = {"runtime": "kt-kernel", "threads": 23, "flags": {"--kt-threadpool-count": 1}}
    held = "docker run --cpuset-cpus 24-47 --cpuset-mems 1 IMG"
    assert is_good(judged(built(TWO), **request, launcher=held), "memory-policy-forbidden")
    loose = "docker run --cpuset-cpus 24-47 IMG"
    assert found(judged(built(TWO), **request, launcher=loose), "memory-policy-forbidden")


def test_of_a_pool_of_undefined_place_no_place_is_stated() -> None:
    flags = {"--kt-threadpool-count": 1, "--kt-numa-nodes": [1]}
    one = the(judged(built(TWO), runtime="kt-kernel", threads=20, flags=flags), NAME)
    assert "1 worker meant for node 1 has its memory bound to node 0" in one.message


def test_a_machine_with_one_memory_has_no_other() -> None:
    request = {"runtime": "kt-kernel", "threads": 14, "flags": {"--kt-threadpool-count": 1}}
    diagnosis = judged(built(ONE), **request, launcher="docker run --cpuset-cpus 0-15 IMG")
    assert is_good(diagnosis, "memory-policy-forbidden")
