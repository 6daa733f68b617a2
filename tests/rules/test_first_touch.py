"""Weights that lie where they were first touched."""

import pytest

from tests.rules.cases import ONE, TWO, built, found, is_good, judged, numactl, skip_of, the

NAME = "page-placement-first-touch"
LLAMA = {"runtime": "llama.cpp", "threads": 48}
DISTRIBUTE = {"--numa": "distribute"}


@pytest.mark.parametrize("runtime", ["llama.cpp", "ik_llama.cpp"])
def test_the_loading_thread_puts_all_on_one_node(runtime: str) -> None:
    one = the(judged(built(TWO), runtime=runtime, threads=48), NAME)
    assert one.severity == "warning"
    assert "one of nodes 0 and 1" in one.message
    assert "--interleave=all" in one.fix
    assert ("--no-repack" in one.fix) == (runtime == "llama.cpp")


def test_distribute_is_named_only_where_it_does_no_harm() -> None:
    # llama.cpp knows of 8 nodes, so that 16 workers would come to each of them.
    many = built("pack:16 [numa(memory=32GB)] core:8 pu:1")
    assert "distribute" not in the(judged(many, runtime="llama.cpp"), NAME).fix
    # A node without CPUs would be given workers.
    bare = numactl((0, "0-7", 9000), (1, "8-15", 9000), (2, "", 9000), threads_per_core=1)
    assert "distribute" not in the(judged(bare, runtime="llama.cpp", threads=12), NAME).fix


def test_one_node_has_no_wrong_place() -> None:
    assert is_good(judged(built(ONE), runtime="llama.cpp", threads=12), NAME)
    confined = built(TWO, allowed_cpus="0-23", allowed_mems="0")
    assert is_good(judged(confined, runtime="llama.cpp", threads=24), NAME)


@pytest.mark.parametrize(
    "launcher",
    [
        "numactl --interleave=all",
        "numactl -i 0,1",
        "numactl -N 1 -m 1",
        "numactl -N 0",
        "taskset -c 0-23",
        "mpirun -n 1 numactl --interleave=all",
    ],
)
def test_a_launcher_that_makes_it_good(launcher: str) -> None:
    diagnosis = judged(built(TWO), runtime="llama.cpp", threads=24, launcher=launcher)
    assert is_good(diagnosis, NAME)


def test_a_policy_that_interleaves_nothing_does_not() -> None:
    diagnosis = judged(built(TWO), runtime="llama.cpp", threads=48, launcher="numactl --localalloc")
    assert the(diagnosis, NAME).severity == "warning"


def test_distribute_is_only_as_good_as_the_first_run() -> None:
    one = the(judged(built(TWO), **LLAMA, flags=DISTRIBUTE), NAME)
    assert one.severity == "info"
    assert "drop_caches" in one.fix


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"--mlock": True}, "the loading thread"),
        ({"--no-mmap": True}, "the loading thread"),
        ({"-tb": 24}, "-tb 24"),
    ],
)
def test_what_spoils_distribute(flags: dict[str, object], words: str) -> None:
    one = the(judged(built(TWO), **LLAMA, flags=DISTRIBUTE | flags), NAME)
    assert one.severity == "warning"
    assert words in one.message
    assert "use --numa distribute" not in one.fix


def test_the_same_count_for_prompts_changes_nothing() -> None:
    one = the(judged(built(TWO), **LLAMA, flags=DISTRIBUTE | {"-tb": 48}), NAME)
    assert one.severity == "info"


@pytest.mark.parametrize(
    ("model", "runtime", "options", "severity"),
    [
        ("Llama 70B Q4_0", "llama.cpp", {}, "warning"),
        ("DeepSeek-R1-q4_k_m", "llama.cpp", {}, "warning"),
        ("DeepSeek-R1-Q4_K_M", "llama.cpp", {"no_repack": True}, "info"),
        ("DeepSeek-R1-Q4_K_M", "ik_llama.cpp", {}, "info"),
        ("DeepSeek-R1-Q4_K_M", "ik_llama.cpp", {"run_time_repack": True}, "warning"),
        ("Llama 70B f16", "llama.cpp", {}, "info"),
    ],
)
def test_weights_that_are_repacked(
    model: str, runtime: str, options: dict[str, object], severity: str
) -> None:
    request = {"threads": 48, "model": {"name": model}, "numa": "distribute", **options}
    assert the(judged(built(TWO), runtime=runtime, **request), NAME).severity == severity


def test_a_gap_in_the_ids_leaves_the_loading_thread() -> None:
    gap = numactl((0, "0-15", 1000), (2, "16-31", 1000))
    one = the(judged(gap, runtime="llama.cpp", threads=32, flags=DISTRIBUTE), NAME)
    assert (one.severity, "distribute" in one.fix) == ("warning", False)
    assert "the loading thread" in one.message


def test_threads_that_float_under_numa() -> None:
    nodes = numactl((0, "0-15", 1000), (1, "16-31", 1000), (2, "", 1000))
    one = the(judged(nodes, runtime="llama.cpp", threads=30, flags=DISTRIBUTE), NAME)
    assert one.severity == "warning"
    assert "10 threads tied to no node" in one.message


def test_a_mask_on_one_node_and_a_loading_thread_anywhere() -> None:
    flags = {"--cpu-range": "0-7", "--cpu-strict": 1}
    one = the(judged(built(TWO), runtime="llama.cpp", threads=8, flags=flags), NAME)
    assert one.fix.endswith("numactl -N 0 -m 0")
    # libgomp ties the loading thread to its first place, which is on node 0 as well.
    bound = judged(
        built(TWO), runtime="llama.cpp", threads=8, flags=flags, env={"OMP_PROC_BIND": "close"}
    )
    assert is_good(bound, NAME)


def test_isolate_reads_and_touches_on_one_node() -> None:
    machine = built(TWO, start_cpu=30)
    diagnosis = judged(machine, runtime="llama.cpp", threads=24, flags={"--numa": "isolate"})
    assert is_good(diagnosis, NAME)


def test_memory_of_one_node_leaves_no_choice() -> None:
    machine = numactl((0, "0-15", 64000), (1, "16-31", 0))
    assert is_good(judged(machine, runtime="llama.cpp", threads=32), NAME)


def test_runtimes_that_bind_their_memory() -> None:
    assert is_good(judged(built(TWO), runtime="kt-kernel", threads=46), NAME)
    old = {"runtime": "ktransformers", "version": "0.2.2", "cpu_infer": 47}
    assert is_good(judged(built(TWO), **old), NAME)
    assert skip_of(judged(built(TWO), **old, numa_build=False), NAME)


def test_a_node_of_memory_alone_is_no_other_place() -> None:
    machine = numactl((0, "0-15", 1000), (1, "", 1000))
    assert is_good(judged(machine, runtime="mystery", threads=8), NAME)
    assert is_good(judged(machine, runtime="llama.cpp", threads=8), NAME)


def test_what_is_not_known_is_not_judged() -> None:
    assert skip_of(judged(built(TWO)), NAME)
    assert "mystery" in skip_of(judged(built(TWO), runtime="mystery", threads=4), NAME).reason
    assert "openmp" in skip_of(judged(built(TWO), runtime="openmp", threads=4), NAME).reason
    blind = built("pack:1 core:4 pu:1")._replace(nodes=(), gaps=("nodes",))
    assert "numactl" in skip_of(judged(blind, runtime="llama.cpp", threads=4), NAME).reason
    assert not found(judged(built(TWO), runtime="ollama", threads=8), NAME)
