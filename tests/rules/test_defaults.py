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
    ("description", "facts", "request_", "threads", "sensible"),
    [
        (TWO, {"allowed_cpus": "0-7"}, {"runtime": "llama.cpp"}, 48, 8),
        (TWO, {"affinity": "24-47"}, {"runtime": "ik_llama.cpp"}, 48, 24),
        (TWO, {"cpu_quota": 7.65}, {"runtime": "llama.cpp"}, 48, 7),
        (TWO, {"cpu_quota": 0.5}, {"runtime": "llama.cpp"}, 48, 1),
        (TWO_SMT, {"cpu_quota": 100}, {"runtime": "openmp"}, 128, 64),
        (TWO_SMT, {}, {"runtime": "kt-kernel"}, 102, 64),
        (TWO, {}, {"runtime": "ktransformers", "version": "0.2.1"}, 10, 48),
        (ONE, {"cpu_quota": 12}, {"runtime": "ktransformers", "version": "0.3.2"}, 13, 12),
    ],
)
def test_defaults_that_do_not_fit(
    description: str,
    facts: dict[str, object],
    request_: dict[str, object],
    threads: int,
    sensible: int,
) -> None:
    one = the(judged(built(description, **facts), **request_), NAME)
    assert dict(one.numbers) == {"threads": threads, "sensible": sensible}
    assert one.severity == "warning"
    assert one.fix.endswith(str(sensible))


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
