"""All rules at once: order, completeness, speed, and no machine that breaks them."""

import sys
import time
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numatune.errors import LaunchRefused
from numatune.machine import CpuSet, Limits, Machine, Node, Settings
from numatune.placement.requests import request_of
from numatune.rules import every_rule
from numatune.rules.judge import judge
from numatune.rules.rule import SEVERITIES, Case
from tests.rules.cases import LAPTOP, NUMBERS, TWO, built, check, found, judged, numactl, the


def test_findings_come_gravest_first_then_by_rule_and_subject() -> None:
    machine = built(
        "pack:4 group:3 [numa(memory=64GB)] core:2 pu:1",
        settings={"numa_balancing": 1, "zone_reclaim_mode": 1},
    )
    findings = judged(machine, runtime="ktransformers", version="0.2.2", cpu_infer=50).findings
    ranks = [(SEVERITIES.index(f.severity), f.rule) for f in findings]
    assert ranks == sorted(ranks)
    nodes = [f.numbers["node"] for f in findings if f.rule == "NT101"]
    assert nodes == list(range(12)), "node 10 comes after node 9"


def test_every_rule_is_either_good_or_skipped_or_speaks() -> None:
    for diagnosis in (judged(built(TWO)), judged(built(TWO), runtime="kt-kernel", threads=42)):
        spoken = {f.rule for f in diagnosis.findings} | {s.rule for s in diagnosis.skipped}
        assert spoken | set(diagnosis.good) == {r.id for r in every_rule()}


def test_the_same_case_gives_the_same_verdict() -> None:
    machine = built(TWO, settings={"numa_balancing": 1})
    case = judged(machine, runtime="ktransformers", version="0.2.1", cpu_infer=42).case
    assert judge(case) == judge(case)


@pytest.mark.parametrize(
    "request_",
    [
        {"runtime": "ktransformers", "version": "0.3.2", "cpu_infer": 7},
        {"runtime": "ktransformers", "version": "0.3.2", "cpu_infer": 9, "numa_build": False},
        {"runtime": "kt-kernel", "threads": 7, "flags": {"--kt-threadpool-count": 1}},
    ],
)
def test_a_laptop_with_a_sane_launch_has_nothing_above_info(request_: dict[str, object]) -> None:
    diagnosis = judged(built(LAPTOP), **request_)
    assert {f.severity for f in diagnosis.findings} <= {"info"}


@pytest.mark.parametrize(
    "request_",
    [
        {"runtime": "ktransformers", "version": "0.2.2", "cpu_infer": 42},
        {"runtime": "ktransformers", "version": "0.3.2", "cpu_infer": 47},
        {"runtime": "kt-kernel", "version": "0.7.0", "threads": 46},
    ],
)
def test_a_sound_server_with_a_good_launch_has_no_finding(request_: dict[str, object]) -> None:
    machine = built(
        TWO,
        cmdline="ro quiet",
        guest="no",
        settings={
            "numa_balancing": 0,
            "zone_reclaim_mode": 0,
            "dimms_populated": 16,
            "memory_channels": 16,
        },
    )
    assert not judged(machine, **request_, numa_requested=True).findings


def test_a_refused_launch_is_a_critical_finding() -> None:
    one = the(
        judged(built(TWO), runtime="ktransformers", version="0.2.1", cpu_infer=1), "no-workers"
    )
    assert one.severity == "critical"
    assert "SIGFPE" in one.message


def test_a_refusal_of_an_unknown_kind_is_named_all_the_same() -> None:
    request = request_of({"runtime": "kt-kernel", "threads": 4})
    refusal = LaunchRefused("no luck today", "some-later-rule", node=3)
    one = next(f for f in judge(Case(built(TWO), request, None, None, refusal)).findings)
    assert (one.name, one.severity, dict(one.numbers)) == ("no-workers", "critical", {"node": 3})


def test_a_refusal_makes_the_finding_that_explains_it_critical() -> None:
    machine = numactl((0, "0-7", 0), (1, "8-15", 0))
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.2", cpu_infer=9)
    assert the(diagnosis, "memoryless-node").severity == "critical"
    assert the(judged(machine), "memoryless-node").severity == "warning"


def test_judging_is_cheap_enough_for_a_provisioning_script() -> None:
    case = judged(built(TWO), runtime="ktransformers", version="0.2.1", cpu_infer=42).case
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        judge(case)
    finally:
        sys.setprofile(None)
    assert 500 < calls < 6000, "some 4000 calls take 1.5 ms"


@pytest.mark.usefixtures("untraced")
def test_a_hundred_thousand_workers_are_judged_in_time() -> None:
    diagnosis = judged(built(TWO), runtime="ktransformers", version="0.2.2", cpu_infer=100_000)
    start = time.process_time()
    judge(diagnosis.case)
    assert time.process_time() - start < 5
    assert [f.numbers["workers"] for f in found(diagnosis, "node-oversubscribed")] == [
        50_000,
        49_999,
    ]


nodes = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.none() | st.integers(0, (1 << 12) - 1).map(CpuSet.of_mask),
        st.none() | st.sampled_from([0, 1 << 30, 1 << 40]),
    ).map(lambda parts: Node(*parts)),
    max_size=4,
    unique_by=lambda node: node.id,
)
sets = st.none() | st.integers(0, (1 << 13) - 1).map(CpuSet.of_mask)
machines = st.builds(
    lambda found, smt, guest, limits, packages, settings_: Machine(
        "made up",
        nodes=tuple(sorted(found)),
        smt=smt,
        is_guest=guest,
        limits=limits,
        package_count=packages,
        settings=settings_,
    ),
    nodes,
    st.none() | st.just(1),
    st.none() | st.booleans(),
    st.tuples(sets, sets, sets, st.none() | st.floats(0.1, 20)).map(lambda parts: Limits(*parts)),
    st.none() | st.integers(1, 4),
    st.tuples(
        st.none() | st.sampled_from(["", "numa=off", "a numa=fake=4 b"]),
        st.none() | st.integers(0, 3),
        st.none() | st.integers(0, 7),
    ).map(lambda parts: Settings(*parts)),
)
requests = st.fixed_dictionaries(
    {"runtime": st.sampled_from(["ktransformers", "kt-kernel", "something-else"])},
    optional={
        "threads": st.integers(1, 30),
        "numa_build": st.booleans(),
        "numa_requested": st.booleans(),
        "env": st.sampled_from([{}, {"USE_NUMA": "0"}, {"USE_NUMA": "1"}]),
        "instances": st.integers(1, 2),
        "gpus": st.integers(0, 1),
        "launcher": st.sampled_from(["numactl --interleave=all", "numactl -i0,1", "taskset 1"]),
    },
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(machines, st.none() | requests)
def test_no_machine_breaks_the_rules(machine: Machine, request: dict[str, object] | None) -> None:
    diagnosis = judged(machine, **(request or {}))
    check(diagnosis)
    placement = diagnosis.case.placement
    for one in diagnosis.findings:
        assert one.name in NUMBERS
        if one.name in ("node-oversubscribed", "workers-share-core"):
            places = one.numbers.get("cpus", one.numbers.get("cores"))
            assert one.numbers["by"] == one.numbers["workers"] - places > 0  # type: ignore[operator]
        if one.name == "workers-unbound":
            assert placement is not None
            assert one.numbers["workers"] <= sum(w.node is None for w in placement.workers)  # type: ignore[operator]
