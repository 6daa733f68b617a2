"""What a fix says is done, and the launch is judged again: its finding must be gone."""

import re
import time
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.diagnosis import diagnose
from numatune.machine import Machine
from numatune.machine.assume import assumed
from numatune.placement.request import Request
from numatune.placement.requests import request_of
from numatune.rules import remedy, trial
from numatune.rules.rule import Finding
from numatune.rules.trial import Wish, largest, roomy
from numatune.sources.synthetic import build
from tests.rules.cases import TWO, built, is_good, judged, numactl, the

#: The rules whose fixes name options that were tried.
TRIED = (
    "NT101", "NT102", "NT103", "NT106", "NT107", "NT109", "NT111", "NT113", "NT117", "NT201",
    "NT402", "NT504", "NT506",
)  # fmt: skip

COUNT = re.compile(r"(?:--cpu_infer|--kt-cpuinfer|(?<!\S)-t|OMP_NUM_THREADS)[ =](\d+)")


def done(fix: str, request: Request) -> list[Request]:
    """Return the launches that a fix names, () where it says in words what must change."""
    launches = []
    for part in re.split(r", or (?=use|leave|upgrade)", fix):
        words = part.split(", or ")[0].split(", and measure")[0].split(", unless")[0]
        if re.match(r"(use|leave|upgrade)\b", words) and ("=" in words or " -" in words):
            launches.append(with_words(words, request))
        elif found := re.fullmatch(r"upgrade to ktransformers (\S+)", words):
            launches.append(request._replace(version=found[1], commit=None))
    return launches


def with_words(words: str, request: Request) -> Request:
    """Return a launch with the options that some words name."""
    if "use kt-kernel with" in words:
        request = request._replace(runtime="kt-kernel", version=None, numa_build=None, options={})
    if newer := re.match(r"upgrade to ktransformers (\S+)", words):
        request = request._replace(version=newer[1])
    options, env = dict(request.options), dict(request.env)
    if "leave --kt-numa-nodes out" in words:
        del options["numa_nodes"]
    if pools := re.search(r"--kt-threadpool-count (\d+)", words):
        options["threadpool_count"] = int(pools[1])
    if numa := re.search(r"--numa (\w+)", words):
        options["numa"] = numa[1]
    env |= dict(re.findall(r"(OMP_P\w+)=(\S+)", words))
    request = request._replace(options=options, env=env)
    if count := COUNT.search(words):
        request = request._replace(threads=int(count[1]))
    return request


def assert_mends(machine: Machine, request: Request, finding: Finding) -> int:
    """Check every launch that a fix names, and return how many there are."""
    before = {f.rule for f in diagnose(machine, request).findings if f.severity == "critical"}
    launches = done(finding.fix, request)
    for launch in launches:
        after = diagnose(machine, launch)
        assert after.case.placement is not None, (finding.fix, launch)
        rules = {f.rule for f in after.findings}
        assert finding.rule not in rules, (finding.rule, finding.fix, request, launch)
        critical = {f.rule for f in after.findings if f.severity == "critical"}
        assert critical <= before, (finding.rule, finding.fix, request, launch)
    return len(launches)


MACHINES = (
    "pack:1 [numa(memory=32GB)] core:4 pu:2",
    "pack:2 [numa(memory=32GB)] core:6 pu:1",
    "pack:2 [numa(memory=32GB)] core:4 pu:2(indexes=core:pack)",
    "pack:2 group:2 [numa(memory=32GB)] core:3 pu:2",
    "pack:3 [numa(memory=32GB)] core:5 pu:1",
    "numa:2 core:3 pu:1",
)

LIMITS: tuple[Mapping[str, object], ...] = (
    {},
    {"cpu_quota": 5},
    {"cpu_quota": 1.5},
    {"allowed_cpus": "0-3"},
    {"allowed_cpus": "0-3", "allowed_mems": "0"},
    {"affinity": "0-2"},
)

REQUESTS = st.one_of(
    st.fixed_dictionaries(
        {"runtime": st.just("ktransformers"), "version": st.sampled_from(["0.1.4", "0.2.1", "0.3"])}
    ),
    st.fixed_dictionaries(
        {"runtime": st.just("kt-kernel")},
        optional={"threadpool_count": st.integers(1, 6)},
    ),
    st.sampled_from(
        [
            {"runtime": "kt-kernel", "threadpool_count": 2, "numa_nodes": [1, 0]},
            {"runtime": "kt-kernel", "threadpool_count": 2, "numa_nodes": [0, 3]},
            {"runtime": "kt-kernel", "threadpool_count": 3, "numa_nodes": [0, 0, 1]},
        ]
    ),
    st.fixed_dictionaries(
        {
            "runtime": st.sampled_from(["llama.cpp", "ik_llama.cpp"]),
            "numa": st.sampled_from(["none", "distribute", "numactl"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "runtime": st.just("openmp"),
            "env": st.sampled_from(
                [{}, {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}, {"OMP_PLACES": "threads"}]
            ),
        }
    ),
)


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(MACHINES), st.sampled_from(LIMITS), REQUESTS, st.integers(1, 30))
def test_a_fix_mends_its_finding_and_brings_no_critical_one(
    description: str, limits: Mapping[str, object], asked: dict[str, object], threads: int
) -> None:
    machine = assumed(build(description), limits)
    request = request_of({**asked, "threads": threads})
    for finding in diagnose(machine, request).findings:
        if finding.rule in TRIED:
            assert_mends(machine, request, finding)


@pytest.mark.parametrize(
    ("machine", "request_", "name", "fix"),
    [
        # The count alone would leave two pools without a node.
        (
            built("pack:2 [numa(memory=64GB)] core:8 pu:1"),
            {"runtime": "kt-kernel", "threads": 40, "threadpool_count": 4},
            "pool-without-node",
            "use --kt-cpuinfer 14 --kt-threadpool-count 2",
        ),
        # The pools alone would leave a worker too many on each node.
        (
            built("pack:4 [numa(memory=64GB)] core:4 pu:1"),
            {"runtime": "kt-kernel", "threads": 20},
            "node-left-idle",
            "use --kt-cpuinfer 12 --kt-threadpool-count 4, unless a part of the machine is meant",
        ),
        # An entry beyond the nodes is mended by the map that is there without one.
        (
            built(TWO),
            {"runtime": "kt-kernel", "threads": 8, "threadpool_count": 2, "numa_nodes": [0, 2]},
            "pool-without-node",
            "leave --kt-numa-nodes out and use --kt-threadpool-count 2",
        ),
        (
            built(TWO),
            {"runtime": "llama.cpp", "threads": 40},
            "workers-unbound",
            "use --numa distribute",
        ),
        (
            built(TWO),
            {"runtime": "openmp", "threads": 20, "env": {"OMP_PLACES": "cores"}},
            "node-left-idle",
            "use OMP_PROC_BIND=spread OMP_PLACES=numa_domains, unless a part of the machine is meant",
        ),
        (
            built(TWO),
            {"runtime": "llama.cpp", "threads": 60, "numa": "distribute"},
            "node-oversubscribed",
            "use -t 46",
        ),
        # No count runs within a part of a CPU.
        (
            built(TWO, cpu_quota=0.5),
            {"runtime": "llama.cpp", "threads": 4},
            "quota-below-workers",
            "raise the quota",
        ),
    ],
)
def test_the_fix_is_the_nearest_launch_that_helps(
    machine: Machine, request_: dict[str, object], name: str, fix: str
) -> None:
    diagnosis = diagnose(machine, request_of(request_))
    finding = next(f for f in diagnosis.findings if f.name == name)
    assert finding.fix == fix
    assert assert_mends(machine, request_of(request_), finding) == ("raise" not in fix)


@pytest.mark.parametrize(
    ("threads", "options", "env", "name", "fix"),
    [
        (
            46,
            {"runtime": "openmp"},
            {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"},
            "uneven-worker-split",
            "use OMP_PROC_BIND=spread OMP_PLACES=numa_domains",
        ),
        (
            46,
            {"runtime": "llama.cpp", "flags": {"-C": "0xffffffffffff", "--cpu-strict": 1}},
            {},
            "uneven-worker-split",
            "use --numa distribute",
        ),
        (
            48,
            {"runtime": "llama.cpp", "flags": {"-C": "0xffffffffffff", "--cpu-strict": 1}},
            {},
            "no-headroom",
            "use -t 47",
        ),
    ],
)
def test_a_fix_loses_no_node_and_few_workers(
    threads: int, options: dict[str, object], env: dict[str, str], name: str, fix: str
) -> None:
    asked = {**options, "threads": threads, "env": env}
    one = the(judged(built(TWO), **asked), name)
    assert one.fix == fix
    [launch] = done(one.fix, request_of(asked))
    after = diagnose(built(TWO), launch)
    assert is_good(after, name)
    assert is_good(after, "node-left-idle")
    assert launch.threads is not None
    assert launch.threads >= threads - 1


def test_an_idle_node_that_the_launcher_left_out_needs_another_launcher() -> None:
    launched = {"runtime": "kt-kernel", "threads": 22, "threadpool_count": 1}
    one = the(judged(built(TWO), **launched, launcher="numactl -N 0 -m 0"), "node-left-idle")
    assert one.fix == "start it without taskset or numactl, unless a part of the machine is meant"


def test_settings_are_said_once() -> None:
    machine = built("pack:2 [numa(memory=64GB)] core:4 pu:2(indexes=core:pack)")
    one = the(judged(machine, runtime="sglang", launcher="kubernetes cpu=2"), "quota-below-workers")
    assert one.fix.count("--tp 1") == 1


def test_no_fix_of_an_uneven_split_halves_the_workers() -> None:
    asked = {"runtime": "ktransformers", "version": "0.2.1", "threads": 41}
    one = the(judged(built(TWO), **asked), "uneven-worker-split")
    assert one.fix == "upgrade to ktransformers 0.2.2"


def test_kt_kernel_in_place_of_ktransformers_has_room() -> None:
    asked = {"runtime": "ktransformers", "version": "0.3.2", "threads": 24}
    machine = built("pack:2 [numa(memory=512GB)] core:24 pu:2", allowed_cpus="0-23")
    fix = the(judged(machine, **asked), "cpuset-excludes-node").fix
    assert fix.endswith("use kt-kernel with --kt-cpuinfer 11 --kt-threadpool-count 1")
    after = judged(machine, runtime="kt-kernel", threads=11, threadpool_count=1)
    assert is_good(after, "workers-share-core")
    assert is_good(after, "no-core-left-for-main-thread")


def test_a_node_without_cpus_gives_its_pool_to_those_that_have_some() -> None:
    machine = numactl((0, "0-7", 9000), (1, "8-15", 9000), (2, "", 9000), threads_per_core=1)
    asked = {"runtime": "kt-kernel", "threads": 12, "threadpool_count": 3}
    one = the(judged(machine, **asked), "cpuless-node-given-workers")
    assert one.fix == "use --kt-threadpool-count 2"
    assert assert_mends(machine, request_of(asked), one) == 1


def test_words_are_all_that_is_left_where_no_launch_helps() -> None:
    machine = built("pack:2 [numa(memory=64GB)] core:1 pu:1")
    one = the(judged(machine, runtime="kt-kernel", threads=3), "node-oversubscribed")
    assert one.fix == remedy.NO_REMEDY


def test_findings_of_one_launch_share_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Request] = []

    def counted(machine: Machine, request: Request, frame: object) -> frozenset[trial.Trouble]:
        tried.append(request)
        return trial.troubles(machine, request) or frozenset()

    monkeypatch.setattr(remedy, "troubles", counted)
    machine = built("pack:8 [numa(memory=64GB)] core:4 pu:2")
    findings = diagnose(machine, request_of({"runtime": "ktransformers", "threads": 60})).findings
    assert len([f for f in findings if f.name == "workers-share-core"]) == 8
    assert len(tried) == 1


@given(st.integers(1, 5), st.integers(1, 6), st.sampled_from(["0.2.1", "0.2.2", "kt", "llama"]))
@settings(max_examples=40, deadline=None)
def test_the_search_finds_what_trying_every_count_finds(nodes: int, cores: int, which: str) -> None:
    machine = build(f"pack:{nodes} [numa(memory=8GB)] core:{cores} pu:1")
    asked = {
        "kt": Request("kt-kernel", options={"threadpool_count": nodes}),
        "llama": Request("llama.cpp", options={"numa": "distribute"}),
    }.get(which, Request("ktransformers", version=which))
    for wish in (Wish(), Wish(evenly=True), roomy(machine), Wish(most=3)):
        every = [n for n in range(1, nodes * cores + 2) if largest(machine, asked, n, wish) == n]
        assert largest(machine, asked, 1 << 14, wish) == max(every, default=None)


@pytest.mark.usefixtures("untraced")
def test_a_diagnosis_of_many_nodes_is_not_slowed_down_by_its_fixes() -> None:
    machine = build("pack:8 group:8 [numa(memory=64GB)] core:8 pu:2")
    request = request_of({"runtime": "kt-kernel", "threads": 1024, "threadpool_count": 64})
    start = time.process_time()
    findings = diagnose(machine, request).findings
    assert len(findings) >= 64
    assert time.process_time() - start < 2
