"""Options and variables that do nothing."""

import pytest

from tests.rules.cases import ONE, TWO, built, found, is_good, judged, numactl, skip_of, the

NAME = "option-without-effect"
LLAMA = {"runtime": "llama.cpp", "threads": 24}
DISTRIBUTE = {"--numa": "distribute"}
SPREAD = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"}


def named(**request: object) -> list[object]:
    """Return the options that are named for a launch on two nodes."""
    return [one.numbers["option"] for one in found(judged(built(TWO), **request), NAME)]


@pytest.mark.parametrize(
    ("request_", "option"),
    [
        ({"flags": DISTRIBUTE | {"-C": "ff"}}, "--cpu-mask"),
        ({"flags": DISTRIBUTE | {"-C": "ff", "-Cr": "8-9"}}, "--cpu-mask and --cpu-range"),
        ({"flags": DISTRIBUTE, "env": SPREAD}, "OMP_PROC_BIND and OMP_PLACES"),
        ({"flags": {"-C": "ff"}, "env": SPREAD}, "OMP_PROC_BIND and OMP_PLACES"),
        ({"flags": DISTRIBUTE, "env": {"GOMP_CPU_AFFINITY": "0-23"}}, "GOMP_CPU_AFFINITY"),
        ({"flags": {"-Cb": "ff"}}, "--cpu-mask-batch"),
        ({"flags": {"--cpu-strict": 1}}, "--cpu-strict"),
        ({"flags": {"-C": "0"}}, "--cpu-mask"),
        ({"flags": {"-Cr": "0-23"}, "version": "b6000"}, "--cpu-range"),
        ({"env": {"OMP_PROC_BIND": "true"}, "openmp_build": False}, "OMP_PROC_BIND"),
        ({"env": {"OMP_PROC_BIND": "true"}, "version": "b3000"}, "OMP_PROC_BIND"),
        ({"env": {"OMP_PLACES": "core"}}, "OMP_PLACES"),
        ({"env": {"OMP_NUM_THREADS": "8"}}, "OMP_NUM_THREADS"),
        ({"env": {"GGML_NUMA": "1"}}, "GGML_NUMA"),
    ],
)
def test_llama_cpp(request_: dict[str, object], option: str) -> None:
    assert named(**LLAMA, **request_) == [option]


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"flags": DISTRIBUTE},
        {"flags": {"-C": "ffffff", "--cpu-strict": 1}},
        {"flags": {"-Cr": "0-23", "-tb": 8, "-Cb": "ff"}},
        {"flags": {"-Cr": "0-23"}, "version": "b6000", "openmp_build": False},
        {"env": SPREAD},
        {"env": SPREAD, "openmp_build": True},
        {"env": {"OMP_PROC_BIND": "false"}, "flags": DISTRIBUTE},
        {"env": {"OMP_NUM_THREADS": "24"}},
        # It ties the main thread before ggml looks at its affinity.
        {"env": SPREAD, "flags": {"--numa": "numactl"}},
        {"flags": {"--some-other-option": 1, "-m": "model.gguf"}},
        {"env": {"KMP_BLOCKTIME": "0"}},
    ],
)
def test_llama_cpp_reads_these(request_: dict[str, object]) -> None:
    assert is_good(judged(built(TWO), **LLAMA, **request_), NAME)


def test_a_single_thread_takes_no_mask() -> None:
    request = {"runtime": "llama.cpp", "threads": 1, "flags": {"-C": "f0"}}
    assert the(judged(built(TWO), **request), NAME).fix == "use taskset -c 4-7"
    assert is_good(judged(built(TWO), **request, openmp_build=False), NAME)


def test_a_count_of_openmp_beside_a_stated_one_is_a_remark() -> None:
    request = {"runtime": "llama.cpp", "env": {"OMP_NUM_THREADS": "8"}}
    assert the(judged(built(TWO), **request, threads=24), NAME).severity == "info"
    default = the(judged(built(TWO), **request), NAME)
    assert (default.severity, default.fix) == ("warning", "use -t 8")


@pytest.mark.parametrize("ids", [(0, 2), (1, 2), (0, 2, 4, 6)])
@pytest.mark.parametrize("runtime", ["llama.cpp", "ik_llama.cpp"])
def test_nodes_that_ggml_does_not_find(ids: tuple[int, ...], runtime: str) -> None:
    machine = numactl(*((i, f"{8 * n}-{8 * n + 7}", 1000) for n, i in enumerate(ids)))
    one = the(judged(machine, runtime=runtime, threads=8, flags=DISTRIBUTE), NAME)
    assert one.numbers["option"] == "--numa"
    assert is_good(judged(machine, runtime=runtime, threads=8), NAME)


def test_one_node_needs_no_option() -> None:
    assert is_good(judged(built(ONE), runtime="llama.cpp", threads=8, flags=DISTRIBUTE), NAME)


def test_ik_llama_cpp_has_no_masks() -> None:
    request = {"runtime": "ik_llama.cpp", "threads": 24}
    assert named(**request, flags={"-C": "ff", "--cpu-strict": 1}) == ["--cpu-strict", "-C"]
    assert named(**request, flags=DISTRIBUTE, env=SPREAD) == ["OMP_PROC_BIND and OMP_PLACES"]
    assert named(**request, flags=DISTRIBUTE) == []


@pytest.mark.parametrize(
    ("env", "option"),
    [
        ({"KMP_AFFINITY": "compact"}, "KMP_AFFINITY"),
        ({"OMP_PLACES": "core"}, "OMP_PLACES"),
        ({"OMP_PROC_BIND": "scatter"}, "OMP_PROC_BIND"),
        ({"OMP_WAIT_POLICY": "spin"}, "OMP_WAIT_POLICY"),
        ({"OMP_PLACES": "{0},{100}"}, "OMP_PLACES"),
        ({"OMP_PLACES": "cores", "OMP_PROC_BIND": "FALSE"}, "OMP_PLACES"),
        ({"OMP_PLACES": "cores", "GOMP_CPU_AFFINITY": "0-47"}, "GOMP_CPU_AFFINITY"),
    ],
)
def test_libgomp(env: dict[str, str], option: str) -> None:
    assert named(runtime="openmp", threads=24, env=env) == [option]


@pytest.mark.parametrize(
    "env",
    [
        {},
        SPREAD,
        {"GOMP_CPU_AFFINITY": "0-47"},
        # Not valid places are left out, and then the other variable counts.
        {"OMP_PROC_BIND": "false"},
        {"OMP_DYNAMIC": "true", "OMP_NUM_THREADS": "24"},
    ],
)
def test_libgomp_reads_these(env: dict[str, str]) -> None:
    assert named(runtime="openmp", threads=24, env=env) == []


def test_the_other_variable_counts_where_the_first_is_not_valid() -> None:
    env = {"OMP_PLACES": "core", "GOMP_CPU_AFFINITY": "0-47"}
    assert named(runtime="openmp", threads=24, env=env) == ["OMP_PLACES"]


def test_libiomp() -> None:
    request = {"runtime": "openmp", "version": "libiomp", "threads": 24}
    env = {"KMP_AFFINITY": "compact"}
    assert named(**request, env=env) == []
    assert named(**request, env=env | {"GOMP_SPINCOUNT": "1"}) == ["GOMP_SPINCOUNT"]


def test_the_map_of_nodes_came_with_a_version() -> None:
    request = {"runtime": "kt-kernel", "threads": 46, "flags": {"--kt-numa-nodes": [0, 1]}}
    assert named(**request, version="0.5.2") == ["--kt-numa-nodes"]
    for version in ("0.5.3", "0.7.0", "0.5.3.post1"):
        assert named(**request, version=version) == []
    assert named(runtime="kt-kernel", threads=46, version="0.5.2") == []


def test_each_names_its_source() -> None:
    request = {"flags": DISTRIBUTE | {"-C": "ff", "-Cb": "f"}, "env": SPREAD}
    for one in found(judged(built(TWO), **LLAMA, **request), NAME):
        assert one.evidence[0].source.startswith("https://")
        assert one.evidence[0].path == one.numbers["option"]


def test_what_is_not_known_is_not_judged() -> None:
    assert skip_of(judged(built(TWO)), NAME)
    assert "mystery" in skip_of(judged(built(TWO), runtime="mystery", threads=4), NAME).reason
    blind = built("pack:1 core:4 pu:1")._replace(nodes=(), gaps=("nodes",))
    request = {"runtime": "llama.cpp", "threads": 4, "flags": DISTRIBUTE}
    assert "numactl" in skip_of(judged(blind, **request), NAME).reason


def test_places_that_the_machine_does_not_show_are_left_open() -> None:
    request = {"runtime": "llama.cpp", "threads": 4, "env": {"GOMP_CPU_AFFINITY": "0-3"}}
    assert is_good(judged(numactl(), **request), NAME)


def test_a_mask_outside_of_the_cpuset_is_refused() -> None:
    confined = built(TWO, allowed_cpus="24-47", allowed_mems="1")
    one = the(judged(confined, runtime="llama.cpp", threads=8, flags={"-C": "ff"}), NAME)
    assert "cpuset" in one.message
    assert is_good(judged(confined, runtime="llama.cpp", threads=8, flags={"-Cr": "20-30"}), NAME)


def test_a_mask_counts_for_threads_that_numa_could_not_tie() -> None:
    nodes = numactl((0, "0-15", 1000), (1, "", 1000))
    request = {"runtime": "llama.cpp", "threads": 8, "flags": DISTRIBUTE | {"-C": "ff"}}
    assert is_good(judged(nodes, **request), NAME)
