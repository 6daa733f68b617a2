"""Affinity, cpusets and the CPU quota."""

import pytest

from numatune.machine import CpuSet, Limits, Machine
from tests.rules.cases import LAPTOP, ONE, TWO, built, is_good, judged, numactl, skip_of, the

NUMA = {"runtime": "ktransformers", "version": "0.2.2", "cpu_infer": 9}


def as_read(machine: Machine) -> Machine:
    """Return the machine as a reader gives it that found no limit but the memory nodes."""
    limits = Limits(cpuset_mems=machine.usable_mems)
    gaps = tuple(gap for gap in machine.gaps if gap != "limits")
    return machine._replace(
        limits=limits, gaps=gaps, origins={**machine.origins, "limits": "this host"}
    )


def test_numactl_does_not_confine_a_numa_build() -> None:
    one = the(judged(built(TWO, affinity="24-47"), **NUMA), "affinity-overridden")
    assert one.message.startswith("started on CPUs 24-47, but 4 of 8 workers may run on CPUs 0-23")
    assert one.fix.startswith("use a build without NUMA, or leave taskset or numactl out")


@pytest.mark.parametrize("node", [0, 1])
def test_what_holds_workers_is_tried_with_its_values(node: int) -> None:
    launcher = f"numactl -N {node} -m {node}"
    asked = {"runtime": "ktransformers", "version": "0.3.2", "cpu_infer": 24}
    fix = the(judged(built(TWO), **asked, launcher=launcher), "affinity-overridden").fix
    # A cpuset of one node would bar the workers of the other: that is critical.
    assert "cpuset" not in fix
    assert fix.startswith("use a build without NUMA")
    kept = judged(built(TWO), **asked, numa_build=False, launcher=launcher)
    assert is_good(kept, "affinity-overridden")
    # The only pool of kt-kernel is on node 0.
    assert ("use kt-kernel with --kt-cpuinfer 23 --kt-threadpool-count 1" in fix) == (node == 0)


def test_a_cpuset_is_named_with_its_cpus_and_nodes() -> None:
    asked = {"runtime": "kt-kernel", "threads": 8}
    fix = the(judged(built(TWO, affinity="8-47"), **asked), "affinity-overridden").fix
    assert "--cpuset-cpus 8-47 --cpuset-mems 0-1, or systemd-run -p AllowedCPUs=8-47 -p" in fix
    inside = judged(built(TWO, allowed_cpus="8-47", allowed_mems="0-1"), **asked)
    assert not [one for one in inside.findings if one.severity == "critical"]


def test_isolated_cpus_are_not_what_a_launcher_left_out() -> None:
    machine = built(TWO, affinity="4-47")
    machine = machine._replace(settings=machine.settings._replace(isolated_cpus=CpuSet(range(4))))
    fix = the(judged(machine, runtime="kt-kernel", threads=8), "affinity-overridden").fix
    assert fix.startswith("leave isolcpus= out of the kernel command line: CPUs 0-3 are isolated")
    assert "taskset" not in fix


def test_taskset_does_not_confine_pinned_workers() -> None:
    diagnosis = judged(built(TWO, affinity="0-11"), runtime="kt-kernel", threads=8)
    one = the(diagnosis, "affinity-overridden")
    assert one.numbers["workers"] == 4
    assert "24-27" in one.message


def test_an_affinity_that_is_kept_is_fine() -> None:
    plain = judged(built(TWO, affinity="24-47"), **NUMA, numa_build=False)
    assert is_good(plain, "affinity-overridden")
    assert is_good(judged(built(TWO, affinity="0-47"), **NUMA), "affinity-overridden")
    assert is_good(judged(as_read(built(TWO)), **NUMA), "affinity-overridden")


@pytest.mark.parametrize(
    ("name", "supply"),
    [
        ("affinity-overridden", "taskset"),
        ("cpuset-excludes-node", "_allowed_list"),
        ("cpuset-cpus-mems-mismatch", "allowed_cpus"),
        ("quota-below-workers", "cpu.max"),
    ],
)
def test_unknown_limits_are_skipped_and_absent_ones_are_good(name: str, supply: str) -> None:
    assert supply in skip_of(judged(built(TWO), **NUMA), name).reason
    assert is_good(judged(as_read(built(TWO)), **NUMA), name)


@pytest.mark.parametrize(
    "name", ["affinity-overridden", "cpuset-excludes-node", "quota-below-workers"]
)
def test_limits_of_a_launch_need_a_launch(name: str) -> None:
    assert "launch" in skip_of(judged(built(TWO)), name).reason


@pytest.mark.parametrize(
    ("limits", "launch", "node"),
    [
        ({"allowed_cpus": "0-23", "allowed_mems": "0"}, NUMA, 1),
        ({"allowed_cpus": "24-47", "allowed_mems": "1"}, NUMA, 0),
        ({"allowed_cpus": "0-23", "allowed_mems": "0-1"}, NUMA, 1),
        ({"allowed_cpus": "0-47", "allowed_mems": "0"}, NUMA, 1),
        ({"allowed_cpus": "0-23", "allowed_mems": "0"}, {"runtime": "kt-kernel", "threads": 8}, 1),
    ],
)
def test_workers_for_a_node_outside_of_the_cpuset(
    limits: dict[str, object], launch: dict[str, object], node: int
) -> None:
    diagnosis = judged(built(TWO, **limits), **launch)
    one = the(diagnosis, "cpuset-excludes-node")
    assert dict(one.numbers) == {"node": node, "workers": 4}
    assert the(diagnosis, "workers-unbound").numbers["workers"] == 4
    assert "kt-threadpool-count" in one.fix


def test_a_cpuset_with_a_part_of_each_node_excludes_none() -> None:
    machine = built(TWO, allowed_cpus="0-11,24-35", allowed_mems="0-1")
    assert is_good(judged(machine, **NUMA), "cpuset-excludes-node")


def test_one_pool_in_the_cpuset_of_one_node_is_fine() -> None:
    machine = built(TWO, allowed_cpus="24-47", allowed_mems="1")
    request = {"--kt-threadpool-count": 1}
    diagnosis = judged(machine, runtime="kt-kernel", threads=8, flags=request)
    assert not diagnosis.findings


def test_a_plain_build_places_nobody_outside() -> None:
    machine = built(TWO, allowed_cpus="0-23", allowed_mems="0")
    assert is_good(judged(machine, **NUMA, numa_build=False), "cpuset-excludes-node")


@pytest.mark.parametrize(
    ("cpus", "mems", "agree"),
    [
        ("24-47", "0-1", False),
        ("0-23", "1", False),
        ("0-47", "0", False),
        ("0-47", "0-1", True),
        ("0-11,24-25", "0-1", True),
        ("24-47", "1", True),
    ],
)
def test_cpus_and_memory_of_a_cpuset(cpus: str, mems: str, agree: bool) -> None:
    diagnosis = judged(built(TWO, allowed_cpus=cpus, allowed_mems=mems))
    assert is_good(diagnosis, "cpuset-cpus-mems-mismatch") is agree


def test_nodes_without_cpus_or_memory_need_not_agree() -> None:
    nodes = ((0, "0-7", 9000), (1, "8-15", 0), (2, "", 9000))
    machine = numactl(*nodes, allowed_cpus="0-15", allowed_mems="0,2")
    assert is_good(judged(machine), "cpuset-cpus-mems-mismatch")


@pytest.mark.parametrize(
    ("quota", "workers", "numbers"),
    [
        (4, 8, {"workers": 8, "quota": 4, "by": 4, "budget": 4}),
        (7.65, 8, {"workers": 8, "quota": 7.65, "by": 1, "budget": 7}),
        (7.65, 7, None),
        (8, 8, None),
        (0.5, 1, {"workers": 1, "quota": 0.5, "by": 1, "budget": 0}),
    ],
)
def test_a_quota_is_rounded_down(
    quota: float, workers: int, numbers: dict[str, object] | None
) -> None:
    diagnosis = judged(built(ONE, cpu_quota=quota), runtime="mystery", threads=workers)
    if numbers is None:
        assert is_good(diagnosis, "quota-below-workers")
    else:
        assert dict(the(diagnosis, "quota-below-workers").numbers) == numbers


def test_the_fix_of_a_quota_is_in_the_unit_of_the_option() -> None:
    diagnosis = judged(built(LAPTOP, cpu_quota=4), runtime="ktransformers", cpu_infer=9)
    assert the(diagnosis, "quota-below-workers").fix.startswith("use --cpu_infer 4, or raise")
    diagnosis = judged(built(LAPTOP, cpu_quota=0.5), runtime="ktransformers", cpu_infer=9)
    assert the(diagnosis, "quota-below-workers").fix.startswith("raise the quota")


@pytest.mark.parametrize(
    ("launcher", "words"),
    [
        ("docker run --cpus 8 image", "raise the quota (docker run --cpus)"),
        ("podman run --cpus 8 image", "raise the quota (podman run --cpus)"),
        ("systemd-run -p CPUQuota=800%", "raise the quota (CPUQuota=)"),
        ("kubernetes cpu=8", "raise the CPU limit of the pod"),
        ("srun -c 8", "ask for more CPUs (srun -c)"),
    ],
)
def test_a_quota_is_raised_where_it_was_set(launcher: str, words: str) -> None:
    diagnosis = judged(built(TWO), runtime="llama.cpp", launcher=launcher)
    assert the(diagnosis, "quota-below-workers").fix == f"use -t 7, or {words}"
    # What it says brings no warning of another rule, which says the same.
    assert the(diagnosis, "no-headroom").fix == "use -t 7"
    assert the(diagnosis, "default-threads-unsuitable").fix == "state the count: -t 7"
    after = judged(built(TWO), runtime="llama.cpp", threads=7, launcher=launcher)
    assert is_good(after, "quota-below-workers")
    assert is_good(after, "no-headroom")


def test_a_pool_that_is_lost_in_an_allowed_node_is_not_outside() -> None:
    machine = built(TWO, allowed_cpus="24-47", allowed_mems="1")
    diagnosis = judged(machine, runtime="kt-kernel", threads=8)
    assert is_good(diagnosis, "cpuset-excludes-node")
    assert the(diagnosis, "workers-unbound").fix.startswith("use --kt-threadpool-count 1")
