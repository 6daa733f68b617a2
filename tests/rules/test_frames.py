"""What launchers refuse, what containers forbid, and CPUs that a launcher only counts."""

import pytest

from tests.rules.cases import TWO, built, found, is_good, judged, numactl, skip_of, the

KT = {"runtime": "kt-kernel", "threads": 46}
LLAMA = {"runtime": "llama.cpp", "threads": 40, "flags": {"--numa": "distribute"}}


@pytest.mark.parametrize(
    ("launcher", "numbers", "fix"),
    [
        ("numactl -m 5 ./server", {"nodes": [5]}, "have memory: 0-1"),
        ("numactl -N 0,7 ./server", {"nodes": [7]}, "have memory: 0-1"),
        ("numactl -C 47-48 ./server", {"cpus": [48]}, "in its cpuset: 0-47"),
        ("taskset -c 60-61 ./server", {"cpus": [60, 61]}, "in its cpuset: 0-47"),
        ("docker run --cpuset-cpus 46-49 image", {"cpus": [48, 49]}, "in its cpuset: 0-47"),
        ("docker run --cpus 64 image", {}, "ask docker for what"),
    ],
)
def test_a_launcher_that_starts_nothing(
    launcher: str, numbers: dict[str, object], fix: str
) -> None:
    diagnosis = judged(built(TWO), **KT, launcher=launcher)
    one = the(diagnosis, "launcher-refused")
    assert (one.severity, dict(one.numbers)) == ("critical", numbers)
    assert fix in one.fix
    assert one.evidence[0].text == launcher
    assert diagnosis.case.placement is None
    assert not [f for f in diagnosis.findings if f.name != "launcher-refused"]


def test_a_node_without_memory_is_refused_though_it_has_cpus() -> None:
    machine = numactl((0, "0-7", 64000), (1, "8-15", 0))
    one = the(judged(machine, **KT, launcher="numactl -N 1 ./server"), "launcher-refused")
    assert one.numbers["nodes"] == [1]
    assert "node 1 has no memory" in one.message


def test_the_cpuset_of_a_container_narrows_what_numactl_takes() -> None:
    inside = "docker run --cap-add SYS_NICE --cpuset-mems 0 image numactl -m 1 ./server"
    assert the(judged(built(TWO), **KT, launcher=inside), "launcher-refused").numbers == {
        "nodes": [1]
    }
    assert is_good(judged(built(TWO), **KT, launcher="numactl -m 1 ./server"), "launcher-refused")


def test_a_refusal_is_said_of_a_runtime_that_is_not_known() -> None:
    diagnosis = judged(built(TWO), runtime="mystery", launcher="numactl -m 9 ./server")
    assert the(diagnosis, "launcher-refused").numbers == {"nodes": [9]}


def test_a_launcher_that_is_not_understood_is_skipped() -> None:
    diagnosis = judged(built(TWO), **KT, launcher="kt run")
    assert "kt is no launcher" in skip_of(diagnosis, "launcher-refused").reason
    assert "launch" in skip_of(judged(built(TWO)), "launcher-refused").reason


@pytest.mark.parametrize("option", ["-m 0", "--interleave=all", "-p 1"])
def test_numactl_ends_in_a_container_that_forbids_policies(option: str) -> None:
    launcher = f"docker run image numactl {option} ./server"
    diagnosis = judged(built(TWO), **LLAMA, launcher=launcher)
    one = the(diagnosis, "memory-policy-forbidden")
    assert one.severity == "critical"
    assert "SYS_NICE" in one.fix
    assert is_good(diagnosis, "launcher-refused"), "it is said once"
    allowed = launcher.replace("run", "run --cap-add SYS_NICE")
    assert is_good(judged(built(TWO), **LLAMA, launcher=allowed), "memory-policy-forbidden")
    outside = f"numactl {option} ./server"
    assert is_good(judged(built(TWO), **LLAMA, launcher=outside), "memory-policy-forbidden")


def test_numactl_that_ends_for_a_runtime_that_is_not_known() -> None:
    launcher = "podman run image numactl -m 0 ./server"
    diagnosis = judged(built(TWO), runtime="mystery", launcher=launcher)
    one = the(diagnosis, "memory-policy-forbidden")
    assert one.severity == "critical"
    assert one.fix.startswith("podman run --cap-add")


def test_a_runtime_that_binds_memory_is_not_bound() -> None:
    one = the(
        judged(built(TWO), **KT, launcher="docker run image ./server"), "memory-policy-forbidden"
    )
    assert (one.severity, dict(one.numbers)) == ("warning", {"workers": 46})
    pod = "kubernetes cpu=47 seccomp=RuntimeDefault"
    other = the(judged(built(TWO), **KT, launcher=pod), "memory-policy-forbidden")
    assert "securityContext" in other.fix


def test_a_runtime_that_binds_no_memory_does_not_miss_it() -> None:
    launcher = "docker run image ./server"
    assert is_good(judged(built(TWO), **LLAMA, launcher=launcher), "memory-policy-forbidden")
    plain = {"runtime": "ktransformers", "version": "0.3.2", "cpu_infer": 9, "numa_build": False}
    assert is_good(judged(built(TWO), **plain, launcher=launcher), "memory-policy-forbidden")


def test_a_profile_of_ones_own_may_allow_it_or_not() -> None:
    launcher = "docker run --security-opt seccomp=own.json image ./server"
    diagnosis = judged(built(TWO), **KT, launcher=launcher)
    assert "set_mempolicy" in skip_of(diagnosis, "memory-policy-forbidden").reason
    assert is_good(judged(built(TWO), **LLAMA, launcher=launcher), "memory-policy-forbidden")
    inside = launcher.replace("./server", "numactl -m 0 ./server")
    assert skip_of(judged(built(TWO), **LLAMA, launcher=inside), "memory-policy-forbidden")


@pytest.mark.parametrize("launcher", ["srun -c 16 ./server", "kubernetes cpu=16 policy=static"])
def test_cpus_of_its_own_are_no_quota(launcher: str) -> None:
    request = {"runtime": "llama.cpp", "flags": {"--numa": "distribute"}, "launcher": launcher}
    over = the(judged(built(TWO), **request, threads=20), "quota-below-workers")
    assert dict(over.numbers) == {"workers": 20, "quota": 16, "by": 4, "budget": 16}
    assert "period" not in over.message
    assert "docker" not in over.fix
    full = the(judged(built(TWO), **request, threads=16), "no-headroom")
    assert "16 workers take all 16 CPUs that it has alone" in full.message
    assert not found(judged(built(TWO), **request, threads=14), "quota-below-workers")


@pytest.mark.parametrize("launcher", ["docker run --cpus 16 image", "kubernetes cpu=16"])
def test_a_real_quota_stops_all_of_them(launcher: str) -> None:
    request = {"runtime": "llama.cpp", "flags": {"--numa": "distribute"}, "launcher": launcher}
    over = the(judged(built(TWO), **request, threads=20), "quota-below-workers")
    assert "part of every period" in over.message
    full = the(judged(built(TWO), **request, threads=16), "no-headroom")
    assert "a quota of 16 CPUs" in full.message


@pytest.mark.parametrize(
    ("launcher", "speaks"),
    [
        ("numactl --interleave=all ./server", True),
        ("numactl -w 0,1 ./server", True),
        ("numactl -i 1 ./server", False),
        ("numactl -i 0,1 numactl -m 0 ./server", False),
        ("numactl -i all docker run image ./server", False),
    ],
)
def test_only_the_policy_that_the_process_starts_with_spreads_buffers(
    launcher: str, speaks: bool
) -> None:
    diagnosis = judged(built(TWO), **LLAMA, gpus=1, launcher=launcher)
    assert bool(found(diagnosis, "interleave-with-gpu-buffers")) is speaks


@pytest.mark.parametrize(
    "request_",
    [
        {"runtime": "openmp", "threads": 8},
        {"runtime": "llama.cpp", "threads": 8},
        {"runtime": "ik_llama.cpp", "threads": 8},
    ],
)
def test_libgomp_ends_a_program_whose_threads_may_not_start(request_: dict[str, object]) -> None:
    inside = built(TWO, allowed_cpus="0-23", allowed_mems="0-1")
    env = {"GOMP_CPU_AFFINITY": "20-30"}
    diagnosis = judged(inside, **request_, env=env)
    one = the(diagnosis, "no-workers")
    assert one.severity == "critical"
    assert "CPUs 24-27" in one.message
    assert diagnosis.case.placement is None
    few = judged(inside, **{**request_, "threads": 4}, env=env)
    assert is_good(few, "no-workers"), "four threads stay on CPUs 20-23"
    assert is_good(judged(built(TWO), **request_, env=env), "no-workers")


def test_a_build_without_openmp_does_not_end_so() -> None:
    inside = built(TWO, allowed_cpus="0-23", allowed_mems="0-1")
    flags = {"--openmp-build": "off"}
    env = {"GOMP_CPU_AFFINITY": "20-30"}
    own_threads = judged(inside, runtime="llama.cpp", threads=8, flags=flags, env=env)
    assert is_good(own_threads, "no-workers")
