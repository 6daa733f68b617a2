import pytest

import numatune
from numatune.machine import Machine

MACHINE = numatune.read_machine(synthetic="pack:2 [numa(memory=512GB)] core:24 pu:1")


def test_simulate_as_documented() -> None:
    placement = numatune.simulate(MACHINE, "ktransformers", version="0.2.1", cpu_infer=42)
    worker = placement.workers[0]
    assert (worker.index, worker.pool, worker.node, worker.binding) == (0, 0, 0, "node")
    assert (str(worker.cpus), worker.memory) == ("0-23", "bind:0")


def test_place_and_diagnose_take_a_mapping() -> None:
    request = {
        "runtime": "kt-kernel",
        "version": "0.7.0",
        "cpu_infer": 60,
        "flags": {"--kt-threadpool-count": 2},
    }
    assert len(numatune.place(MACHINE, request).workers) == 60
    findings = numatune.diagnose(MACHINE, request)
    assert findings[0].name == "node-oversubscribed"
    assert findings[0].rule == "NT101"
    assert findings[0].severity == "critical"
    assert findings[0].numbers["by"] == 6


def test_a_refused_launch_raises_and_is_a_finding() -> None:
    with pytest.raises(numatune.LaunchRefused, match=r"."):
        numatune.simulate(MACHINE, "ktransformers", version="0.2.1", cpu_infer=1)
    names = [
        f.name
        for f in numatune.diagnose(
            MACHINE, {"runtime": "ktransformers", "version": "0.2.1", "cpu_infer": 1}
        )
    ]
    assert "no-workers" in names


def test_what_is_not_known_still_tells_about_the_machine() -> None:
    machine = numatune.read_machine(
        synthetic="pack:1 group:2 [numa(memory=64GB)] core:4 pu:1", assume={"numa_balancing": 1}
    )
    for request in ({"runtime": "nonesuch", "threads": 4}, {"runtime": "ktransformers"}):
        names = {f.name for f in numatune.diagnose(machine, request)}
        assert {"numa-balancing-enabled", "sub-numa-clustering-on"} <= names


def test_errors_are_numatunes() -> None:
    for call in (
        lambda: numatune.simulate(MACHINE, "nonesuch", threads=4),
        lambda: numatune.simulate(MACHINE, "ktransformers", version="7", cpu_infer=4),
        lambda: numatune.simulate(Machine("no CPUs"), "kt-kernel"),
        lambda: numatune.simulate(MACHINE, "ktransformers", cpu_infer=4, colour="red"),
        lambda: numatune.read_machine("/nonexistent"),
        lambda: numatune.read_machine("a", text="b"),
    ):
        with pytest.raises(numatune.NumatuneError):
            call()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = numatune.nonesuch
    assert "simulate" in dir(numatune)
