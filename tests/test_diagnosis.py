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
    assert names == {"weight-copies-exceed-memory", "numa-balancing-enabled"}


def test_an_unknown_version_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"9\.9"):
        diagnose(built(TWO), request_of({"runtime": "ktransformers", "version": "9.9"}))
