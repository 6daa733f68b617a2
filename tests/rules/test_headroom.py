"""What the workers leave for the other threads."""

from tests.rules.cases import ONE, TWO, TWO_SMT, built, is_good, judged, numactl, skip_of, the


def test_a_pinned_worker_on_every_core() -> None:
    one = the(judged(built(TWO), runtime="kt-kernel", threads=48), "no-core-left-for-main-thread")
    assert dict(one.numbers) == {"workers": 48, "cores": 48}
    assert one.fix == "use --kt-cpuinfer 46"
    fewer = judged(built(TWO), runtime="kt-kernel", threads=46)
    assert is_good(fewer, "no-core-left-for-main-thread")


def test_more_workers_than_cores_count_all() -> None:
    diagnosis = judged(built(TWO_SMT), runtime="kt-kernel", threads=102)
    assert dict(the(diagnosis, "no-core-left-for-main-thread").numbers) == {
        "workers": 102, "cores": 64,
    }  # fmt: skip


def test_only_cores_of_the_cpuset_count() -> None:
    machine = built(TWO, allowed_cpus="0-11,24-35", allowed_mems="0-1")
    diagnosis = judged(machine, runtime="kt-kernel", threads=24)
    assert the(diagnosis, "no-core-left-for-main-thread").numbers["cores"] == 24


def test_masks_are_no_pins() -> None:
    diagnosis = judged(built(TWO), runtime="ktransformers", version="0.2.2", cpu_infer=49)
    assert is_good(diagnosis, "no-core-left-for-main-thread")
    one = the(diagnosis, "no-headroom")
    assert dict(one.numbers) == {"workers": 48, "cpus": 48}
    assert one.fix == "use --cpu_infer 47"


def test_cores_must_be_known() -> None:
    machine = numactl((0, "0-23", 515000), (1, "24-47", 515000))
    diagnosis = judged(machine, runtime="kt-kernel", threads=48)
    assert "lscpu" in skip_of(diagnosis, "no-core-left-for-main-thread").reason
    assert the(diagnosis, "no-headroom").numbers["cpus"] == 48


def test_headroom_is_all_that_the_process_may_use() -> None:
    request = {"runtime": "ktransformers", "version": "0.2.2", "numa_build": False}
    assert is_good(judged(built(TWO), **request, cpu_infer=25), "no-headroom")
    confined = judged(built(TWO, affinity="0-23"), **request, cpu_infer=25)
    assert the(confined, "no-headroom").numbers["cpus"] == 24
    # The workers are bound to both nodes, but the second threads of the cores stay free.
    smt = judged(built(TWO_SMT), runtime="ktransformers", version="0.2.2", cpu_infer=65)
    assert is_good(smt, "no-headroom")


def test_a_quota_that_the_workers_use_up() -> None:
    machine = built(ONE, cpu_quota=4)
    one = the(judged(machine, runtime="mystery", threads=4), "no-headroom")
    assert dict(one.numbers) == {"workers": 4, "cpus": 4}
    assert is_good(judged(machine, runtime="mystery", threads=3), "no-headroom")
    part = built(ONE, cpu_quota=4.5)
    assert is_good(judged(part, runtime="mystery", threads=4), "no-headroom")


def test_headroom_is_not_judged_without_cpus() -> None:
    diagnosis = judged(numactl(), runtime="mystery", threads=4)
    assert skip_of(diagnosis, "no-headroom")
    assert skip_of(judged(built(TWO), runtime="mystery"), "no-headroom")


def test_a_single_cpu_needs_another_and_no_setting() -> None:
    one = the(judged(built(TWO, affinity="0"), runtime="openmp"), "no-headroom")
    assert one.fix.startswith("give the process more CPUs")


def test_a_quota_that_is_short_is_what_is_spoken_of() -> None:
    one = the(judged(built(TWO, cpu_quota=8), runtime="llama.cpp", threads=48), "no-headroom")
    assert one.message.startswith("48 workers take more than a quota of 8 CPUs; the rest of the")
    assert dict(one.numbers) == {"workers": 48, "cpus": 8}
