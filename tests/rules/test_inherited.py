"""Bindings that leave other threads on the CPU of the main one."""

import pytest

from numatune.machine import CpuSet
from numatune.rules.inherited import is_narrow
from tests.rules.cases import TWO, TWO_SMT, built, is_good, judged, numactl, skip_of, the

NUMACTL = {"runtime": "llama.cpp", "threads": 40, "flags": {"--numa": "numactl"}}
KT = {"runtime": "kt-kernel", "threads": 46}


def test_numa_numactl_takes_the_one_cpu_that_libgomp_left() -> None:
    diagnosis = judged(built(TWO), **NUMACTL, env={"OMP_PROC_BIND": "close"})
    one = the(diagnosis, "binding-inherited")
    assert (one.severity, dict(one.numbers)) == ("critical", {"cpus": 1})
    assert one.message.startswith(
        "OMP_PROC_BIND=close leaves the main thread on CPU 0, and all 40 threads under --numa"
    )
    placement = diagnosis.case.placement
    assert placement is not None
    assert {str(w.cpus) for w in placement.workers} == {"0"}, "as the upstream code places them"


def test_a_place_of_a_core_has_two_cpus_with_smt() -> None:
    env = {"OMP_PLACES": "cores"}
    one = the(judged(built(TWO_SMT), **NUMACTL, env=env), "binding-inherited")
    assert one.numbers == {"cpus": 2}
    assert "CPUs 0,64 (one core)" in one.message


@pytest.mark.parametrize(
    "request_",
    [
        {**NUMACTL, "env": {"OMP_PLACES": "sockets"}},
        {**NUMACTL, "env": {"OMP_PROC_BIND": "false", "OMP_PLACES": "cores"}},
        {**NUMACTL, "env": {"OMP_NUM_THREADS": "40"}},
        {**NUMACTL, "flags": {"--numa": "distribute"}, "env": {"OMP_PROC_BIND": "close"}},
        {**NUMACTL, "flags": {}, "env": {"OMP_PROC_BIND": "close"}},
        {
            **NUMACTL,
            "flags": {"--numa": "numactl", "--openmp-build": "off"},
            "env": {"OMP_PROC_BIND": "close"},
        },
        {"runtime": "openmp", "threads": 40, "env": {"OMP_PROC_BIND": "close"}},
    ],
)
def test_threads_that_are_placed_otherwise_inherit_nothing(request_: dict[str, object]) -> None:
    assert is_good(judged(built(TWO), **request_), "binding-inherited")


def test_the_task_queue_of_kt_kernel_is_tied_by_nobody_else() -> None:
    env = {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"}
    one = the(judged(built(TWO), **KT, env=env), "binding-inherited")
    assert (one.severity, dict(one.numbers)) == ("critical", {"cpus": 1})
    assert "task queue" in one.message
    assert one.fix == "unset OMP_PROC_BIND OMP_PLACES"
    assert is_good(judged(built(TWO), **KT, env={"OMP_NUM_THREADS": "4"}), "binding-inherited")


def test_workers_of_ktransformers_without_numa_support_all_inherit() -> None:
    request = {"runtime": "ktransformers", "version": "0.3.2", "cpu_infer": 32}
    env = {"GOMP_CPU_AFFINITY": "4-15"}
    one = the(judged(built(TWO), **request, numa_build=False, env=env), "binding-inherited")
    assert one.severity == "critical"
    assert "CPU 4, and all 31 workers inherit" in one.message
    tied = the(judged(built(TWO), **request, numa_build=True, env=env), "binding-inherited")
    assert tied.severity == "warning", "its workers and their queue are tied to nodes"


def test_a_launcher_that_leaves_one_cpu() -> None:
    request = {"runtime": "llama.cpp", "threads": 8}
    one = the(judged(built(TWO), **request, launcher="taskset -c 3 ./server"), "binding-inherited")
    assert (one.severity, dict(one.numbers)) == ("critical", {"cpus": 1})
    assert "CPU 3, and all 8 workers" in one.message
    assert one.fix.endswith("taskset -c 0-47")
    stated = the(judged(built(TWO, affinity="3"), **request), "binding-inherited")
    assert stated.evidence[0].path == "affinity"
    pinned = the(judged(built(TWO, affinity="3"), **KT), "binding-inherited")
    assert "task queue" in pinned.message


@pytest.mark.parametrize(
    "request_",
    [
        {"runtime": "llama.cpp", "threads": 1, "launcher": "taskset -c 3 ./server"},
        {"runtime": "llama.cpp", "threads": 8, "launcher": "taskset -c 0-7 ./server"},
        {
            "runtime": "llama.cpp",
            "threads": 8,
            "launcher": "taskset -c 3 ./server",
            "flags": {"--numa": "distribute"},
        },
        {"runtime": "llama.cpp", "threads": 8, "launcher": "docker run --cpuset-cpus 3 image"},
    ],
)
def test_one_cpu_is_no_loss_where_no_more_is_needed_or_allowed(request_: dict[str, object]) -> None:
    assert is_good(judged(built(TWO), **request_), "binding-inherited")


def test_what_is_not_known_is_skipped() -> None:
    bare = numactl((0, "0-23", 64000), (1, "24-47", 64000))
    env = {"OMP_PLACES": "cores"}
    assert "main thread" in skip_of(judged(bare, **KT, env=env), "binding-inherited").reason
    assert skip_of(judged(built(TWO)), "binding-inherited")
    assert skip_of(judged(built(TWO), runtime="mystery", env=env), "binding-inherited")


def test_one_core_is_narrow() -> None:
    machine = built(TWO_SMT)
    assert is_narrow(machine, CpuSet([5]))
    assert is_narrow(machine, CpuSet([5, 69]))
    assert not is_narrow(machine, CpuSet([5, 6]))
    assert not is_narrow(machine._replace(cores=None), CpuSet([5, 69]))
