"""A machine and a request, placed and judged."""

import pytest

from numatune.diagnosis import diagnose
from numatune.errors import UsageError
from numatune.placement.requests import request_of
from tests.rules.cases import TWO, built


def test_a_machine_alone() -> None:
    diagnosis = diagnose(built(TWO))
    assert diagnosis.case.request is None
    assert {s.name for s in diagnosis.skipped} >= {"node-oversubscribed", "no-workers"}


def test_a_launch_is_placed_and_judged() -> None:
    request = request_of({"runtime": "ktransformers", "version": "0.2.1", "cpu_infer": 42})
    diagnosis = diagnose(built(TWO), request)
    assert diagnosis.case.placement is not None
    assert [f.name for f in diagnosis.findings] == ["node-oversubscribed", "uneven-worker-split"]


def test_a_refused_launch_is_a_finding() -> None:
    request = request_of({"runtime": "ktransformers", "version": "0.2.1", "cpu_infer": 1})
    diagnosis = diagnose(built(TWO), request)
    assert diagnosis.case.refusal is not None
    assert [f.name for f in diagnosis.findings] == ["no-workers"]


def test_an_unknown_runtime_and_a_missing_count_leave_the_rest_to_judge() -> None:
    machine = built(TWO, cpu_quota=4, settings={"numa_balancing": 1})
    names = {
        f.name for f in diagnose(machine, request_of({"runtime": "new", "threads": 8})).findings
    }
    assert names == {"quota-below-workers", "numa-balancing-enabled"}
    model = {"name": "large", "bytes": 10**12}
    request = request_of({"runtime": "ktransformers", "version": "0.2.1", "model": model})
    names = {f.name for f in diagnose(machine, request).findings}
    assert {"weight-copies-exceed-memory", "numa-balancing-enabled"} <= names


def test_without_a_count_the_default_of_the_runtime_is_judged() -> None:
    machine = built(TWO)
    asked = {"runtime": "ktransformers", "version": "0.2.1"}
    case = diagnose(machine, request_of(asked)).case
    assert case.default is not None
    assert (case.default.threads, case.placement and case.placement.threads) == (10, 10)
    counted = diagnose(machine, request_of(asked | {"version": "0.2.4"})).case
    assert machine.cores_known is not None
    assert counted.placement is not None
    assert counted.placement.threads == machine.cores_known - 3
    stated = diagnose(machine, request_of(asked | {"threads": 8})).case
    assert stated.default is None


def test_prompts_and_generation_are_both_judged() -> None:
    machine = built(TWO)
    cpus = len(machine.cpus or ())
    asked = {"runtime": "llama.cpp", "threads": cpus // 2, "flags": {"--numa": "distribute"}}
    good = {f.name for f in diagnose(machine, request_of(asked)).findings}
    assert "node-oversubscribed" not in good
    prompt = asked | {"threads_batch": 2 * cpus}
    found = diagnose(machine, request_of(prompt)).findings
    assert [f.name for f in found].count("node-oversubscribed") == 2
    assert all(
        f"tb {2 * cpus}" in f.message and "-tb" in f.fix
        for f in found
        if f.name == "node-oversubscribed"
    )


def test_a_frame_changes_what_is_judged() -> None:
    machine = built(TWO)
    asked = {"runtime": "llama.cpp", "threads": 4}
    names = {f.name for f in diagnose(machine, request_of(asked)).findings}
    assert "workers-unbound" in names
    held = diagnose(machine, request_of(asked | {"launcher": "numactl -N 1 -m 1"}))
    assert held.case.frame is not None
    assert held.case.machine.limits.affinity == machine.node_cpus(1)
    assert "workers-unbound" not in {f.name for f in held.findings}
    strange = diagnose(machine, request_of(asked | {"launcher": "mpirun -n 2"}))
    assert strange.case.frame is None


def test_an_unknown_version_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"9\.9"):
        diagnose(built(TWO), request_of({"runtime": "ktransformers", "version": "9.9"}))
