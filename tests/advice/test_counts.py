"""Recommendations in the words of the runtime that was asked for, each judged again."""

import re
import shlex
import time
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.advice.manner import flags_of
from numatune.advice.plan import Plan, make_plan
from numatune.diagnosis import diagnose
from numatune.machine import Machine
from numatune.machine.assume import assumed
from numatune.placement.request import Request
from numatune.placement.requests import request_of
from numatune.rules.rule import Finding
from numatune.runtimes import named
from numatune.sources.synthetic import build

TWO_SMT = "pack:2 [numa(memory=256GB)] core:24 pu:2"
TWO = "pack:2 [numa(memory=256GB)] core:24 pu:1"

PROGRAMS = {
    "ktransformers": ("python", "-m", "ktransformers.local_chat"),
    "kt-kernel": ("python", "-m", "sglang.launch_server"),
    "llama.cpp": ("llama-server",),
    "ik_llama.cpp": ("llama-server",),
    "openmp": ("COMMAND",),
}


def planned(machine: Machine | str, runtime: str, threads: int | None, **more: object) -> Plan:
    machine = build(machine) if isinstance(machine, str) else machine
    name, _, version = runtime.partition("==")
    request = request_of({"runtime": name, "threads": threads, **more})
    return make_plan(machine, request._replace(version=version or None), [(name, version or None)])


def commands(plan: Plan, *, options: bool = False) -> list[str]:
    """Return the commands of what is to do, or of the options beside it, without remarks."""
    return [
        command.partition("   #")[0]
        for one in plan.recommendations
        if one.is_option is options and "firmware" not in one.title and "Mend a" not in one.title
        for command in one.commands
    ]


def launched(command: str, runtime: str, version: str | None = None) -> Request:
    """Read a command back as the request that it starts."""
    env: dict[str, str] = {}
    words = shlex.split(command)
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    launcher = []
    while tuple(words[: len(PROGRAMS[runtime])]) != PROGRAMS[runtime]:
        launcher.append(words.pop(0))
    given = words[len(PROGRAMS[runtime]) + 1 :]
    threads = int(env.pop("OMP_NUM_THREADS", "0")) or None
    flags: dict[str, object] = {}
    while given:
        flag, value = given.pop(0), given.pop(0)
        if flag == named(runtime).THREADS_OPTION:
            threads = int(value)
        else:
            flags[flag] = int(value) if value.isdigit() else value
    return request_of(
        {
            "runtime": runtime,
            "version": version,
            "threads": threads,
            "flags": flags,
            "env": env,
            "launcher": " ".join(launcher) or None,
        }
    )


def troubles(findings: tuple[Finding, ...]) -> set[tuple[str, str]]:
    return {(f.rule, f.subject) for f in findings if f.severity != "info"}


@pytest.mark.parametrize("runtime", ["llama.cpp", "ik_llama.cpp"])
def test_llama_cpp_is_told_to_deal_its_threads_to_the_nodes(runtime: str) -> None:
    plan = planned(TWO_SMT, runtime, 42)
    first = plan.recommendations[0]
    assert re.match(rf"Use {re.escape(runtime)} .* with -t 46 --numa distribute", first.title)
    assert "(23 + 23 workers)" in first.title
    assert "no more warning of NT107 workers-unbound" in first.why
    assert commands(plan) == ["llama-server ... -t 46 --numa distribute"]
    beside = commands(plan, options=True)
    assert "llama-server ... -t 47" in beside
    assert "numactl --interleave=all llama-server ... -t 47 --numa numactl" in beside
    assert "numactl -N 0 -m 0 llama-server ... -t 23" in beside
    assert not any("isolate" in command for command in beside)


def test_openmp_is_told_its_variables() -> None:
    plan = planned(TWO_SMT, "openmp", 42)
    assert commands(plan) == [
        "OMP_NUM_THREADS=46 OMP_PROC_BIND=spread OMP_PLACES=numa_domains COMMAND ..."
    ]
    beside = commands(plan, options=True)
    assert "OMP_NUM_THREADS=25 OMP_PROC_BIND=spread OMP_PLACES=cores COMMAND ..." in beside
    one = "OMP_NUM_THREADS=23 OMP_PROC_BIND=close OMP_PLACES=cores numactl -N 0 -m 0 COMMAND ..."
    assert one in beside


@pytest.mark.parametrize("runtime", ["llama.cpp", "ik_llama.cpp", "openmp", "kt-kernel"])
def test_nobody_is_sent_to_another_runtime(runtime: str) -> None:
    plan = planned(TWO_SMT, runtime, 42)
    text = repr(plan.recommendations)
    assert "Upgrade" not in text
    own = {"kt-kernel": "kt-cpuinfer"}.get(runtime, "")
    assert [word for word in ("cpu_infer", "kt-cpuinfer", "t 42") if word in text] == (
        [own] if own else []
    )
    assert "0 + 0" not in text


def test_the_first_numa_of_llama_cpp_took_no_strategy() -> None:
    plan = planned(TWO, "llama.cpp==b2160", 40)
    assert commands(plan) == ["./server ... -t 46 --numa"]


def test_a_good_launch_is_kept_with_its_options() -> None:
    plan = planned(TWO_SMT, "llama.cpp", 46, flags={"--numa": "distribute", "--no-repack": True})
    assert plan.recommendations[0].title.startswith("Keep llama.cpp")
    (command,) = commands(plan)
    assert command == "llama-server ... -t 46 --no-repack --numa distribute"


def test_loose_workers_are_said_to_be_tied_to_no_node() -> None:
    loose = planned(TWO, "llama.cpp", 8)
    assert "# 47 workers, tied to no node" in repr(loose.recommendations)
    one = planned("pack:1 [numa(memory=64GB)] core:49 pu:1", "llama.cpp", 8)
    assert "-t 48 (48 workers)" in one.recommendations[0].title
    many = planned("pack:8 [numa(memory=64GB)] core:12 pu:1", "llama.cpp", 8)
    assert "(11 workers on each of 8 nodes)" in many.recommendations[0].title


def test_a_later_release_of_the_same_runtime_is_an_upgrade() -> None:
    plan = planned(TWO, "ktransformers==0.2.1", 42)
    assert plan.recommendations[0].title.startswith("Upgrade: ktransformers 0.2.2 - 0.3.2")


def test_a_quota_and_a_cpuset_hold_for_every_setting() -> None:
    machine = assumed(build(TWO_SMT), {"cpu_quota": 12})
    counts = re.findall(r" -t (\d+)", repr(planned(machine, "llama.cpp", 42).recommendations))
    assert counts
    assert max(map(int, counts)) <= 11
    machine = assumed(build(TWO_SMT), {"allowed_cpus": "0-7", "allowed_mems": "0"})
    assert not [c for c in commands(planned(machine, "llama.cpp", 8)) if "--numa" in c]


def test_prompts_get_the_count_too() -> None:
    plan = planned(TWO_SMT, "llama.cpp", 40, flags={"--numa": "distribute", "-tb": 96})
    assert commands(plan) == ["llama-server ... -t 46 -tb 46 --numa distribute"]


def test_an_interleave_beside_a_gpu_is_not_recommended() -> None:
    plan = planned(TWO_SMT, "llama.cpp", 40, gpus=1)
    assert not any("--interleave" in c for c in commands(plan, options=True))


def test_options_are_written_as_the_runtime_spells_them() -> None:
    request = request_of(
        {
            "runtime": "llama.cpp",
            "threads": 4,
            "flags": {"--numa": "numactl", "--cpu-mask": "ff", "--mlock": True, "-tb": 8},
        }
    )
    assert " ".join(flags_of(request)) == "-C ff --mlock -tb 8 --numa numactl"


MACHINES = (
    "pack:1 [numa(memory=32GB)] core:8 pu:2",
    "pack:2 [numa(memory=32GB)] core:6 pu:1",
    "pack:2 [numa(memory=32GB)] core:5 pu:2(indexes=core:pack)",
    "pack:2 group:2 [numa(memory=32GB)] core:4 pu:2",
    "pack:5 group:2 [numa(memory=8GB)] core:3 pu:1",
)

LIMITS: tuple[Mapping[str, object], ...] = (
    {},
    {"cpu_quota": 5},
    {"allowed_cpus": "0-4", "allowed_mems": "0"},
    {"affinity": "0-5"},
    {"guest": "no"},
)

RUNTIMES = (
    "ktransformers==0.1.4", "ktransformers==0.2.1", "ktransformers==0.2.2", "kt-kernel",
    "llama.cpp", "ik_llama.cpp", "openmp",
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(MACHINES),
    st.sampled_from(LIMITS),
    st.sampled_from(RUNTIMES),
    st.integers(1, 30),
)
def test_nothing_recommended_is_worse_or_contradicts_the_rest(
    description: str, limits: Mapping[str, object], runtime: str, threads: int
) -> None:
    machine = assumed(build(description), limits)
    plan = planned(machine, runtime, threads)
    name, _, version = runtime.partition("==")
    launch = plan.launches[0]
    present = troubles((*plan.findings, *launch.findings))
    own = [c for c in commands(plan) if tuple(shlex.split(c)) and of_runtime(c, name)]
    every = [c for c in (*own, *commands(plan, options=True)) if of_runtime(c, name)]
    if not any(one.title.startswith("Upgrade") for one in plan.recommendations):
        assert len(own) <= 1, own  # one count, one setting
        for command in every:
            after = diagnose(machine, launched(command, name, version or None))
            assert after.case.placement is not None, command
            new = troubles(after.findings) - present
            new = {f for f in new if f[0] != "NT106" or command in own}
            assert launch.case.placement is None or not new, (command, new)
    binds = name == "kt-kernel" or version.startswith("0.2")
    text = repr(plan.recommendations)
    # What places memory by node is neither interleaved around nor in the firmware.
    refused = launch.case.placement is None
    assert not (binds and not refused and limits == {} and len(machine.nodes) > 1) or not (
        "--interleave" in text or "Interleaving = Enabled" in text
    )
    assert not ("Interleaving = Enabled" in text and "one node a socket" in text)


def of_runtime(command: str, runtime: str) -> bool:
    return " ".join(PROGRAMS[runtime]) in command


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("runtime", ["llama.cpp", "openmp", "ik_llama.cpp"])
def test_a_plan_of_a_large_machine_is_quick(runtime: str) -> None:
    machine = build("pack:8 group:8 [numa(memory=64GB)] core:32 pu:2")
    start = time.process_time()
    assert planned(machine, runtime, 4096).recommendations
    assert time.process_time() - start < 12


def test_no_upgrade_to_what_the_cpuset_forbids() -> None:
    machine = assumed(build(TWO), {"allowed_cpus": "0-11,24-35", "allowed_mems": "0"})
    plan = planned(machine, "ktransformers", 17)
    assert not [one for one in plan.recommendations if one.title.startswith(("Upgrade", "Best"))]
    left = [
        one.why for one in plan.recommendations if one.title.startswith("Use ktransformers 0.2")
    ]
    assert left
    assert all("stays" in why for why in left)


def test_pools_that_leave_a_critical_finding_are_not_kept() -> None:
    machine = build("pack:2 [numa(memory=64GB)] core:24 pu:1")
    for options in ({"threadpool_count": 4}, {"numa_nodes": [1, 0]}):
        request = request_of({"runtime": "kt-kernel", "threads": 20, **options})
        first = make_plan(machine, request, [("kt-kernel", None)]).recommendations[0]
        assert "stays" not in first.why
        assert first.commands[0].endswith("--kt-cpuinfer 46 --kt-threadpool-count 2")


def test_what_is_not_balanced_is_not_said_to_be() -> None:
    machine = build("pack:5 [numa(memory=64GB)] core:2 pu:1")
    request = request_of({"runtime": "llama.cpp", "threads": 5})
    text = " ".join(
        r.title for r in make_plan(machine, request, [("llama.cpp", None)]).recommendations
    )
    assert "1 worker on each of 5 nodes" in text
