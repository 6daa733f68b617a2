"""Thread counts that do not divide by the nodes."""

import pytest

from tests.rules.cases import TWO, built, is_good, judged, numactl, skip_of, the

FOUR = "pack:4 [numa(memory=128GB)] core:16 pu:1"
DISTRIBUTE = {"--numa": "distribute"}


@pytest.mark.parametrize(
    ("machine", "threads", "nodes", "fix"),
    [
        (TWO, 25, 2, "use -t 24 or -t 26"),
        (TWO, 47, 2, "use -t 46 or -t 48"),
        (TWO, 49, 2, "use -t 48"),
        (TWO, 1, 2, "use -t 2"),
        (FOUR, 30, 4, "use -t 28 or -t 32"),
    ],
)
@pytest.mark.parametrize("runtime", ["llama.cpp", "ik_llama.cpp"])
def test_a_count_that_is_no_multiple(
    machine: str, threads: int, nodes: int, fix: str, runtime: str
) -> None:
    diagnosis = judged(built(machine), runtime=runtime, threads=threads, flags=DISTRIBUTE)
    one = the(diagnosis, "threads-not-multiple-of-nodes")
    assert dict(one.numbers) == {"threads": threads, "nodes": nodes}
    assert (one.severity, one.fix) == ("info", fix)


def test_multiples_and_launches_that_divide_nothing() -> None:
    for request in (
        {"threads": 48, "flags": DISTRIBUTE},
        {"threads": 25},
        {"threads": 25, "flags": {"--numa": "numactl"}},
    ):
        diagnosis = judged(built(TWO), runtime="llama.cpp", **request)
        assert is_good(diagnosis, "threads-not-multiple-of-nodes")


def test_only_the_nodes_that_ggml_sees_count() -> None:
    gap = numactl((0, "0-7", 1000), (1, "8-15", 1000), (8, "16-23", 1000))
    one = the(
        judged(gap, runtime="llama.cpp", threads=9, flags=DISTRIBUTE),
        "threads-not-multiple-of-nodes",
    )
    assert dict(one.numbers) == {"threads": 9, "nodes": 2}
    hidden = numactl((1, "0-7", 1000), (2, "8-15", 1000))
    nothing = judged(hidden, runtime="llama.cpp", threads=9, flags=DISTRIBUTE)
    assert is_good(nothing, "threads-not-multiple-of-nodes")


def test_prompts_count_for_themselves() -> None:
    flags = DISTRIBUTE | {"-tb": 27}
    diagnosis = judged(built(TWO), runtime="llama.cpp", threads=24, flags=flags)
    assert the(diagnosis, "threads-not-multiple-of-nodes").numbers["threads"] == 27


def test_the_pools_of_kt_kernel() -> None:
    one = the(judged(built(TWO), runtime="kt-kernel", threads=41), "threads-not-multiple-of-nodes")
    assert dict(one.numbers) == {"threads": 41, "nodes": 2}
    assert one.fix == "use --kt-cpuinfer 40 or --kt-cpuinfer 42"
    single = judged(built(TWO), runtime="kt-kernel", threads=41, threadpool_count=1)
    assert is_good(single, "threads-not-multiple-of-nodes")


def test_without_a_placement_it_is_not_judged() -> None:
    assert skip_of(judged(built(TWO)), "threads-not-multiple-of-nodes")
    unknown = judged(built(TWO), runtime="mystery", threads=25)
    assert "mystery" in skip_of(unknown, "threads-not-multiple-of-nodes").reason
