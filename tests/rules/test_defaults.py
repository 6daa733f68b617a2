"""The count that a runtime takes where the launch names none."""

import pytest

from tests.rules.cases import (
    LAPTOP,
    ONE,
    TWO,
    TWO_SMT,
    built,
    found,
    is_good,
    judged,
    numactl,
    skip_of,
    the,
)

NAME = "default-threads-unsuitable"


@pytest.mark.parametrize(
    ("description", "facts", "request_", "threads", "sensible", "stated"),
    [
        (TWO, {"allowed_cpus": "0-7"}, {"runtime": "llama.cpp"}, 48, 8, 7),
        (TWO, {"affinity": "24-47"}, {"runtime": "ik_llama.cpp"}, 48, 24, 23),
        (TWO, {"cpu_quota": 7.65}, {"runtime": "llama.cpp"}, 48, 7, 7),
        (TWO, {"cpu_quota": 0.5}, {"runtime": "llama.cpp"}, 48, 1, 1),
        (TWO_SMT, {"cpu_quota": 100}, {"runtime": "openmp"}, 128, 64, 64),
        (TWO_SMT, {}, {"runtime": "kt-kernel"}, 102, 64, 62),
        (TWO, {}, {"runtime": "ktransformers", "version": "0.2.1"}, 10, 48, 41),
        (ONE, {"cpu_quota": 12}, {"runtime": "ktransformers", "version": "0.3.2"}, 13, 12, 12),
    ],
)
def test_defaults_that_do_not_fit(
    description: str,
    facts: dict[str, object],
    request_: dict[str, object],
    threads: int,
    sensible: int,
    stated: int,
) -> None:
    one = the(judged(built(description, **facts), **request_), NAME)
    assert dict(one.numbers) == {"threads": threads, "sensible": sensible}
    assert one.severity == "warning"
    assert one.fix.endswith(f" {stated}") or one.fix.endswith(f"={stated}")


@pytest.mark.parametrize("description", [ONE, TWO, TWO_SMT, LAPTOP])
@pytest.mark.parametrize("runtime", ["llama.cpp", "ik_llama.cpp"])
def test_one_thread_a_core_fits_the_whole_machine(description: str, runtime: str) -> None:
    assert is_good(judged(built(description), runtime=runtime), NAME)


def test_the_line_is_half_of_the_cores() -> None:
    old = {"runtime": "ktransformers", "version": "0.2.1"}
    assert found(judged(built("pack:1 [numa(memory=64GB)] core:20 pu:1"), **old), NAME)
    assert is_good(judged(built("pack:1 [numa(memory=64GB)] core:19 pu:1"), **old), NAME)
    assert is_good(judged(built("pack:1 [numa(memory=64GB)] core:10 pu:1"), **old), NAME)
    assert found(judged(built("pack:1 [numa(memory=64GB)] core:9 pu:1"), **old), NAME)


def test_a_stated_count_is_no_default() -> None:
    machine = built(TWO, cpu_quota=4)
    assert is_good(judged(machine, runtime="llama.cpp", threads=48), NAME)
    stated = judged(machine, runtime="llama.cpp", env={"LLAMA_ARG_THREADS": "48"})
    assert is_good(stated, NAME)
    team = judged(machine, runtime="openmp", env={"OMP_NUM_THREADS": "48"})
    assert is_good(team, NAME)
    wrong = judged(machine, runtime="openmp", env={"OMP_NUM_THREADS": "many"})
    assert the(wrong, NAME).numbers["threads"] == 48


def test_a_launcher_narrows_what_is_sensible() -> None:
    one = the(judged(built(TWO), runtime="llama.cpp", launcher="numactl -N 1 -m 1"), NAME)
    assert dict(one.numbers) == {"threads": 48, "sensible": 24}
    assert "cores that it may use" in one.message


def test_isolated_cpus_are_not_had() -> None:
    machine = built(TWO)
    settings = machine.settings._replace(isolated_cpus=machine.node_cpus(1))
    one = the(judged(machine._replace(settings=settings), runtime="llama.cpp"), NAME)
    assert one.numbers["sensible"] == 24


def test_the_performance_cores_of_a_hybrid_are_enough() -> None:
    machine = built("pack:1 [numa(memory=32GB)] core:24 pu:1")
    assert machine.cores is not None
    # Two cores with two threads, then twenty of one.
    mixed = (
        machine.cores[0]._replace(cpus=machine.cores[0].cpus | machine.cores[1].cpus),
        machine.cores[2]._replace(cpus=machine.cores[2].cpus | machine.cores[3].cpus),
        *machine.cores[4:],
    )
    model = "12th Gen Intel(R) Core(TM) i7"
    cpu = machine.cpu._replace(vendor="GenuineIntel", model=model, architecture="x86_64")
    hybrid = machine._replace(cores=mixed, cpu=cpu)
    diagnosis = judged(hybrid, runtime="llama.cpp")
    assert diagnosis.case.default is not None
    assert diagnosis.case.default.threads == 2
    assert is_good(diagnosis, NAME)


def test_unknown_cores_are_an_upper_bound() -> None:
    machine = numactl((0, "0-23", 515000), (1, "24-47", 515000), cpu_quota=4)
    one = the(judged(machine, runtime="openmp"), NAME)
    assert one.numbers["sensible"] == 4
    whole = numactl((0, "0-23", 515000), (1, "24-47", 515000))
    assert "lscpu" in skip_of(judged(whole, runtime="openmp"), NAME).reason


def test_what_is_not_known_is_not_judged() -> None:
    assert skip_of(judged(built(TWO)), NAME)
    assert "mystery" in skip_of(judged(built(TWO), runtime="mystery"), NAME).reason
    whole = numactl((0, "0-23", 515000), (1, "24-47", 515000))
    assert "llama.cpp" in skip_of(judged(whole, runtime="llama.cpp"), NAME).reason


@pytest.mark.parametrize(
    ("description", "request_", "count"),
    [
        # Version 0.2.1 gives node 0 the rest of an uneven split: 31 of 47 workers for 24 CPUs.
        (TWO, {"runtime": "ktransformers", "version": "0.2.1"}, 41),
        # One thread of ktransformers is no worker: with one alone it divides by nought.
        ("pack:1 core:1 pu:1", {"runtime": "ktransformers", "version": "0.2.1"}, 2),
        # Threads beside the workers spin, and need a core on each node.
        (TWO_SMT.replace("32", "24"), {"runtime": "kt-kernel"}, 46),
    ],
)
def test_the_count_that_is_named_was_tried(
    description: str, request_: dict[str, object], count: int
) -> None:
    machine = built(description)
    fix = the(judged(machine, **request_), NAME).fix
    assert fix.startswith("state the count: ")
    assert fix.endswith(f" {count}")
    after = judged(machine, **request_, threads=count)
    assert not [one for one in after.findings if one.severity == "critical"]
    assert is_good(after, "no-core-left-for-main-thread")


def test_counted_cpus_are_not_called_a_quota() -> None:
    one = the(judged(built(TWO), runtime="llama.cpp", launcher="srun -c 16"), NAME)
    assert one.message.endswith("sensible are at most 16, for the 16 CPUs that it has alone")
