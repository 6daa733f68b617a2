"""Pools of threads beside the workers."""

import pytest

from tests.rules.cases import TWO, TWO_SMT, built, found, is_good, judged, numactl, skip_of, the

KT = {"runtime": "kt-kernel", "threads": 46}
NAME = "other-pools-oversubscribe"


@pytest.mark.parametrize(
    ("env", "threads"),
    [
        ({"OMP_NUM_THREADS": "96"}, 96),
        ({"OMP_NUM_THREADS": " 49,2"}, 49),
        ({"OMP_NUM_THREADS": "8", "MKL_NUM_THREADS": "64"}, 64),
    ],
)
def test_a_pool_larger_than_the_machine(env: dict[str, str], threads: int) -> None:
    one = the(judged(built(TWO), **KT, env=env), NAME)
    assert (one.severity, dict(one.numbers)) == ("warning", {"threads": threads, "cpus": 48})
    assert one.fix.endswith("_NUM_THREADS=48, or less")


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"OMP_NUM_THREADS": "48"},
        {"OMP_NUM_THREADS": "96", "MKL_NUM_THREADS": "8"},
        {"OMP_NUM_THREADS": "-1"},
        {"OMP_NUM_THREADS": "9" * 40},
        {"OMP_NUM_THREADS": "\u0663"},
    ],
)
def test_a_pool_that_fits_or_that_is_not_stated(env: dict[str, str]) -> None:
    assert is_good(judged(built(TWO), **KT, env=env), NAME)


def test_cpus_are_those_that_the_process_may_use() -> None:
    request = {**KT, "threads": 20, "env": {"OMP_NUM_THREADS": "48"}}
    inside = "docker run --cap-add SYS_NICE --cpuset-cpus 0-11,24-35 image ./server"
    assert the(judged(built(TWO), **request, launcher=inside), NAME).numbers["cpus"] == 24
    bound = the(judged(built(TWO), **request, launcher="numactl -N 1 ./server"), NAME)
    assert bound.numbers == {"threads": 48, "cpus": 24}
    static = the(judged(built(TWO), **request, launcher="kubernetes cpu=22 policy=static"), NAME)
    assert static.numbers["cpus"] == 22
    assert "quota" not in static.message


def test_the_default_pool_does_not_see_a_quota() -> None:
    quota = built(TWO_SMT, cpu_quota=8)
    one = the(judged(quota, runtime="ktransformers", version="0.3.2", cpu_infer=7), NAME)
    assert (one.severity, dict(one.numbers)) == ("info", {"threads": 64, "cpus": 8})
    assert is_good(judged(built(TWO_SMT), **KT), NAME)
    static = judged(built(TWO), **KT, launcher="kubernetes cpu=16 policy=static")
    assert not found(static, NAME), "it sees the CPUs that the pod has alone"


def test_programs_without_pytorch_have_no_such_pool() -> None:
    env = {"OMP_NUM_THREADS": "96"}
    for runtime in ("llama.cpp", "openmp"):
        assert is_good(judged(built(TWO), runtime=runtime, threads=8, env=env), NAME)


def test_what_is_not_known_is_skipped() -> None:
    bare = numactl((0, "0-23", 64000), (1, "24-47", 64000), cpu_quota=8)
    assert "lscpu" in skip_of(judged(bare, **KT), NAME).reason
    env = {"OMP_NUM_THREADS": "96"}
    loose = {"runtime": "ktransformers", "version": "0.3.2", "cpu_infer": 9, "numa_build": False}
    assert "CPUs" in skip_of(judged(numactl(), **loose, env=env), NAME).reason
    assert skip_of(judged(built(TWO)), NAME)
    assert "mystery" in skip_of(judged(built(TWO), runtime="mystery", env=env), NAME).reason
