"""Where memory goes."""

import pytest

from numatune.rules.memory import interleave_of
from tests.rules.cases import ONE, TWO, built, found, is_good, judged, numactl, skip_of, the

R1_Q4 = {"name": "DeepSeek-R1 Q4_K_M", "bytes": 405_000_000_000,
         "moe_intermediate_size": 2048, "hidden_size": 7168}  # fmt: skip
GPU = {"runtime": "mystery", "launcher": "numactl --interleave=all", "gpus": 2}


def test_a_crossed_map_binds_the_distributors_to_the_other_node() -> None:
    request = {"--kt-threadpool-count": 2, "--kt-numa-nodes": [1, 0]}
    diagnosis = judged(built(TWO), runtime="kt-kernel", threads=8, flags=request)
    assert [dict(f.numbers) for f in found(diagnosis, "memory-bound-to-other-node")] == [
        {"pool": 0, "bound_to": 0, "runs_on": 1, "workers": 1},
        {"pool": 1, "bound_to": 1, "runs_on": 0, "workers": 1},
    ]
    straight = judged(built(TWO), runtime="kt-kernel", threads=8)
    assert is_good(straight, "memory-bound-to-other-node")


def test_a_pool_of_undefined_place_is_where_its_other_workers_are() -> None:
    request = {"--kt-threadpool-count": 1, "--kt-numa-nodes": [1]}
    diagnosis = judged(built(TWO), runtime="kt-kernel", threads=48, flags=request)
    one = the(diagnosis, "memory-bound-to-other-node")
    assert (one.numbers["bound_to"], one.numbers["runs_on"]) == (0, 1)


def test_several_pools_on_a_node_cross_where_their_number_is_another() -> None:
    request = {"--kt-threadpool-count": 4, "--kt-numa-nodes": [0, 0, 1, 1]}
    diagnosis = judged(built(TWO), runtime="kt-kernel", threads=16, flags=request)
    one = the(diagnosis, "memory-bound-to-other-node")
    assert (one.numbers["pool"], one.numbers["bound_to"], one.numbers["runs_on"]) == (1, 1, 0)


def test_memory_of_a_node_whose_cpus_the_cpuset_leaves_out() -> None:
    machine = built(TWO, allowed_cpus="0-11", allowed_mems="0-1")
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.2", cpu_infer=9)
    assert dict(the(diagnosis, "memory-bound-to-other-node").numbers) == {
        "bound_to": 1, "runs_on": 0, "workers": 4,
    }  # fmt: skip


def test_memory_of_a_node_without_cpus_serves_workers_elsewhere() -> None:
    machine = numactl((0, "0-7", 9000), (1, "8-15", 9000), (2, "", 9000), threads_per_core=1)
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.2", cpu_infer=9)
    one = the(diagnosis, "memory-bound-to-other-node")
    assert dict(one.numbers) == {"bound_to": 2, "runs_on": [0, 1], "workers": 2}
    assert "--kt-threadpool-count 2" in one.fix


def test_without_a_launch_no_memory_is_bound() -> None:
    assert skip_of(judged(built(TWO)), "memory-bound-to-other-node")


@pytest.mark.parametrize(
    ("machine", "size", "copies"),
    [
        ("pack:2 [numa(memory=512GB)] core:64 pu:2", 713_000_000_000, 2),
        ("pack:2 [numa(memory=512GB)] core:64 pu:2", 405_000_000_000, None),
        ("pack:4 [numa(memory=320GB)] core:16 pu:2", 405_874_409_472, 4),
        ("pack:2 group:2 [numa(memory=256GB)] core:12 pu:1", 405_000_000_000, 4),
        ("pack:1 [numa(memory=64GB)] core:12 pu:1", 70_000_000_000, 1),
    ],
)
def test_copies_against_memory(machine: str, size: int, copies: int | None) -> None:
    model = {"name": "a model", "bytes": size}
    diagnosis = judged(built(machine), runtime="ktransformers", version="0.2.3", model=model)
    got = [f.numbers["copies"] for f in found(diagnosis, "weight-copies-exceed-memory")]
    assert got == ([] if copies is None else [copies])
    plain = judged(
        built(machine), runtime="ktransformers", version="0.2.3", model=model, numa_build=False
    )
    assert is_good(plain, "weight-copies-exceed-memory")
    split = judged(built(machine), runtime="kt-kernel", version="0.7.0", model=model)
    assert is_good(split, "weight-copies-exceed-memory")


def test_the_message_names_what_is_needed_and_what_is_there() -> None:
    model = {"name": "R1 Q8_0", "bytes": 713_000_000_000}
    diagnosis = judged(built(TWO), runtime="ktransformers", version="0.2.1", model=model)
    message = the(diagnosis, "weight-copies-exceed-memory").message
    assert "2 copies of R1 Q8_0 of 664 GiB, one a node: 1328 GiB for 954 GiB installed" in message


def test_a_copy_must_fit_its_own_node() -> None:
    machine = numactl((0, "0-7", 900_000), (1, "8-15", 300_000))
    diagnosis = judged(machine, runtime="ktransformers", cpu_infer=9, model=R1_Q4)
    one = the(diagnosis, "weight-copies-exceed-memory")
    assert "does not fit node 1" in one.message
    assert "2 copies of DeepSeek-R1 Q4_K_M of 377 GiB" in one.message


def test_a_memoryless_node_has_no_copy() -> None:
    machine = numactl((0, "0-7", 500_000), (1, "8-15", 0))
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.2", model=R1_Q4)
    assert is_good(diagnosis, "weight-copies-exceed-memory")


def test_copies_are_not_judged_without_sizes() -> None:
    launch = {"runtime": "ktransformers", "cpu_infer": 9}
    assert "--model" in skip_of(judged(built(TWO), **launch), "weight-copies-exceed-memory").reason
    unknown = built("pack:2 [numa] core:8 pu:1")
    diagnosis = judged(unknown, **launch, model=R1_Q4)
    assert "numactl" in skip_of(diagnosis, "weight-copies-exceed-memory").reason


def test_a_blanket_interleave_beside_a_gpu() -> None:
    one = the(judged(built(TWO), **GPU), "interleave-with-gpu-buffers")
    assert "2 GPUs" in one.message
    for change in ({"gpus": 0}, {"launcher": "numactl -N 0"}, {"launcher": None}):
        assert is_good(judged(built(TWO), **{**GPU, **change}), "interleave-with-gpu-buffers")
    assert is_good(judged(built(ONE), **GPU), "interleave-with-gpu-buffers")


def test_an_interleave_without_a_word_on_gpus_is_not_judged() -> None:
    diagnosis = judged(built(TWO), **{**GPU, "gpus": None})
    assert "GPU" in skip_of(diagnosis, "interleave-with-gpu-buffers").reason


@pytest.mark.parametrize(
    ("launcher", "option"),
    [
        ("numactl --interleave=all", "numactl --interleave=all"),
        ("/usr/bin/numactl -i 0,1 --", "numactl -i 0,1"),
        ("numactl -i0-1 env A=b", "numactl -i0-1"),
        ("numactl --weighted-interleave=0,1", "numactl --weighted-interleave=0,1"),
        ("numactl -N 0 -m 0", None),
        ("taskset --interleave", None),
        ("", None),
    ],
)
def test_the_interleave_option_is_found(launcher: str, option: str | None) -> None:
    assert interleave_of(launcher) == option
