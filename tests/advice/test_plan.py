"""Plans of the machines that the project was started for, and of odd ones."""

import time

import pytest

import numatune
from numatune.advice.plan import Plan, make_plan
from numatune.errors import UsageError
from numatune.machine import Machine
from numatune.placement.request import Request
from numatune.placement.requests import request_of
from numatune.render.plain import render
from numatune.views.plan import plan_view

TWO_BY_24 = "pack:2 [numa(memory=512GB)] core:24 pu:1"

TWO_NODE_BOX = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3 4 5 12 13 14 15 16 17
node 0 size: 386900 MB
node 0 free: 385800 MB
node 1 cpus: 6 7 8 9 10 11 18 19 20 21 22 23
node 1 size: 387000 MB
node 1 free: 385900 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
"""


def planned(machine: Machine, threads: int | None = None, *chosen: tuple[str, str | None]) -> Plan:
    return make_plan(machine, Request(chosen[0][0] if chosen else "", threads=threads), chosen)


def titles(plan: Plan) -> list[str]:
    return [one.title for one in plan.recommendations]


def commands(plan: Plan) -> str:
    return "\n".join(c for one in plan.recommendations for c in one.commands)


def test_pr685_is_told_to_upgrade_or_to_stay_below_the_cliff() -> None:
    plan = planned(numatune.read_machine(synthetic=TWO_BY_24), 42)
    upgrade, staying = plan.recommendations[:2]
    assert upgrade.title.startswith("Upgrade: ")
    assert "25 workers for 24 CPUs" in upgrade.why
    assert "--cpu_infer 47" in upgrade.title
    assert "--kt-cpuinfer 46" in upgrade.title
    assert "0.2.0 - 0.2.2rc1" not in upgrade.title
    assert staying.title.startswith("Staying on ktransformers 0.2.0 - 0.2.2rc1")
    assert "41 is the last that holds" in staying.why
    assert "42 makes 25 workers" in staying.why


def test_a_sound_launch_of_a_fixed_version_is_kept() -> None:
    machine = numatune.read_machine(synthetic=TWO_BY_24)
    plan = planned(machine, 47, ("ktransformers", "0.2.2"))
    assert titles(plan)[0].startswith("Keep ktransformers")
    assert not [f for f in plan.launches[0].findings if f.severity != "info"]


def test_without_a_count_the_default_is_shown_and_the_recommended_one_named() -> None:
    plan = planned(numatune.read_machine(synthetic=TWO_BY_24))
    # ktransformers before 0.2.4 takes 10; `kt run` takes 0.8 times the CPUs.
    assert [launch.threads for launch in plan.launches if launch.case.release] == [10, 10, 10, 38]
    assert [swept.recommended for swept in plan.sweeps] == [48, 34, 47, 46]


def test_without_a_count_and_a_default_the_recommended_one_is_shown() -> None:
    blind = numatune.read_machine(text=TWO_NODE_BOX)
    [launch] = planned(blind, None, ("ktransformers", "0.3.2")).launches
    assert launch.case.default is None
    assert launch.threads == planned(blind, None, ("ktransformers", "0.3.2")).sweeps[0].recommended


def test_the_two_node_box_is_told_of_the_firmware_with_reason_and_cost() -> None:
    machine = numatune.read_machine(text=TWO_NODE_BOX, assume={"packages": 2, "smt": 2})
    firmware = next(r for r in planned(machine, 12).recommendations if "firmware" in r.title)
    assert "0.66 to 1.06" in firmware.effect
    assert "can't be looked up" in firmware.effect
    assert "reboot" in firmware.cost
    assert any("NPS0" in c for c in firmware.commands)
    assert any("Node Interleaving" in c for c in firmware.commands)


@pytest.mark.parametrize("guest", ["yes", "no"])
def test_firmware_advice_is_for_hardware_only(guest: str) -> None:
    machine = numatune.read_machine(text=TWO_NODE_BOX, assume={"packages": 2, "guest": guest})
    assert ("firmware" in " ".join(titles(planned(machine, 12)))) == (guest == "no")


def test_an_interleaved_machine_is_recognised_and_a_guest_of_its_shape_is_not() -> None:
    text = "[numa(memory=773GB)] pack:2 core:6 pu:2"
    for guest, name in (("no", "bios-node-interleaving-on"), ("yes", "guest-topology")):
        machine = numatune.read_machine(synthetic=text, assume={"guest": guest})
        names = {f.name for f in planned(machine, 12).findings}
        assert name in names
        assert len(names & {"bios-node-interleaving-on", "guest-topology"}) == 1


def test_likely_smt_makes_the_advice_careful_and_says_so() -> None:
    plan = planned(numatune.read_machine(text=TWO_NODE_BOX), 12)
    assert "--cpu_infer 11 (5 + 5 workers)" in titles(plan)[0]
    assert "2 threads a core, as the CPU numbers suggest" in plan.recommendations[0].why
    assert plan.launches[2].loads[0].cores is None


def test_kt_kernel_gets_a_pool_a_node() -> None:
    four = numatune.read_machine(synthetic="pack:4 [numa(memory=256GB)] core:16 pu:1")
    plan = planned(four, 32, ("kt-kernel", None))
    assert "--kt-cpuinfer 60 --kt-threadpool-count 4" in commands(plan)
    one = numatune.read_machine(synthetic="pack:1 [numa(memory=256GB)] core:16 pu:2")
    assert "--kt-cpuinfer 15 --kt-threadpool-count 1" in commands(planned(one, 8))


def test_a_quota_lowers_the_count() -> None:
    machine = numatune.read_machine(synthetic=TWO_BY_24, assume={"cpu_quota": 12})
    plan = planned(machine, 47, ("ktransformers", "0.2.2"))
    assert "--cpu_infer 12" in commands(plan)


def test_interleaving_names_the_nodes_where_some_have_no_cpu() -> None:
    text = TWO_NODE_BOX.replace("2 nodes (0-1)", "3 nodes (0-2)").replace(
        "node distances", "node 2 cpus:\nnode 2 size: 64000 MB\nnode 2 free: 64000 MB\nnode distances"
    ).split("node distances")[0]  # fmt: skip
    plan = planned(numatune.read_machine(text=text + "No distance information available.\n"), 12)
    assert "--interleave=0-1 " in commands(plan)
    assert "--interleave=all" not in commands(plan)


def test_a_machine_without_nodes_is_planned_for() -> None:
    machine = numatune.read_machine(text="No NUMA available on this system\n")
    plan = planned(machine, 8)
    refused = [launch.case.refusal for launch in plan.launches]
    assert refused[0] is None
    assert all(refusal and refusal.rule == "no-numa-information" for refusal in refused[1:])


@pytest.mark.parametrize("threads", [0, -1])
def test_no_number_of_threads_is_a_usage_error(threads: int) -> None:
    with pytest.raises(UsageError, match="not a number of threads"):
        planned(numatune.read_machine(synthetic=TWO_BY_24), threads)


@pytest.mark.parametrize(
    ("synthetic", "assume"),
    [
        ("pack:1 [numa(memory=16GB)] core:4 pu:2", {}),
        ("pu:1", {}),
        ("pack:8 [numa(memory=64GB)] core:12 pu:2", {}),
        ("pack:2 group:4 [numa(memory=64GB)] core:8 pu:2(indexes=core:pack)", {}),
        (TWO_BY_24, {"allowed_cpus": "0-3", "allowed_mems": "1"}),
        (TWO_BY_24, {"affinity": "47", "cpu_quota": 0.5}),
        ("numa:2 core:3 pu:1", {}),
    ],
)
@pytest.mark.parametrize("threads", [None, 1, 2, 7, 41, 300])
def test_every_view_of_every_plan_can_be_drawn(
    synthetic: str, assume: dict[str, object], threads: int | None
) -> None:
    plan = planned(numatune.read_machine(synthetic=synthetic, assume=assume), threads)
    for verbosity in (-1, 0, 1):
        text = render(plan_view(plan, verbosity=verbosity))
        assert text.count("safe ") >= 4
        assert ("Do this" in text) == (verbosity >= 0)


@pytest.mark.parametrize(
    ("threads", "second", "words"),
    [
        (12, "256000", "numactl -N 0 -m 0"),
        (12, "0", "numactl -N 0 -m 0"),
        (40, "256000", "numactl --interleave=all"),  # no node has a CPU for each worker
    ],
)
def test_loose_workers_are_sent_where_they_fit(threads: int, second: str, words: str) -> None:
    text = TWO_NODE_BOX.replace("387000", second).replace("385900", "0")
    machine = numatune.read_machine(text=text)
    request = {"runtime": "ktransformers", "cpu_infer": threads, "numa_build": False}
    fixes = [f.fix for f in numatune.diagnose(machine, request) if f.name == "workers-unbound"]
    assert words in fixes[0]


def test_loose_workers_are_not_sent_to_a_node_without_memory() -> None:
    text = TWO_NODE_BOX.replace("386900", "0").replace("385800", "0")
    machine = numatune.read_machine(text=text)
    request = {"runtime": "ktransformers", "cpu_infer": 8, "numa_build": False}
    fixes = [f.fix for f in numatune.diagnose(machine, request) if f.name == "workers-unbound"]
    assert "numactl -N 1 -m 1" in fixes[0]


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("ktransformers", {}),
        ("kt-kernel", {}),
        ("llama.cpp", {}),
        ("ik_llama.cpp", {}),
        ("openmp", {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"}),
    ],
)
def test_a_plan_for_the_largest_machine_takes_seconds(
    name: str, environment: dict[str, str]
) -> None:
    machine = numatune.read_machine(synthetic="pack:64 [numa(memory=64GB)] core:32 pu:2")
    request = request_of({"runtime": name, "threads": 4096, "env": environment})
    start = time.process_time()
    plan = make_plan(machine, request, [(name, None)])
    # 0.7 to 2 s on a machine of 2026, where four eras of ktransformers take longest.
    assert time.process_time() - start < 15
    assert all(swept.highest >= 4096 for swept in plan.sweeps)
