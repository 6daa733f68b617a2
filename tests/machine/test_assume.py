import pytest

from numatune.errors import UsageError
from numatune.machine import Core, CpuSet, Distances, Machine, Node
from numatune.machine.assume import assumed
from numatune.sources.synthetic import build

GAPS = ("cores", "packages", "cpu", "limits", "settings")


def two_nodes(*cpus: str) -> Machine:
    nodes = tuple(Node(i, CpuSet.parse(c), 1 << 30) for i, c in enumerate(cpus))
    return Machine("text", nodes=nodes, gaps=GAPS)


def test_threads_per_core_pair_the_halves_of_each_node() -> None:
    machine = assumed(two_nodes("0-5,12-17", "6-11,18-23"), {"smt": "2"})
    assert machine.threads_per_core == 2
    assert machine.cores is not None
    assert [str(c.cpus) for c in machine.cores[:2]] == ["0,12", "1,13"]
    assert machine.cores[6] == Core(CpuSet([6, 18]), None, 1)
    assert "cores" not in machine.gaps
    assert machine.origins["cores"] == "assumed"


def test_packages_are_nodes_only_where_the_numbers_match() -> None:
    both = assumed(two_nodes("0-3", "4-7"), {"packages": 2})
    assert [str(p.cpus) for p in both.packages or ()] == ["0-3", "4-7"]
    one = assumed(two_nodes("0-7"), {"packages": 2})
    assert (one.packages, one.packages_known) == (None, 2)


def test_packages_are_the_groups_of_near_nodes_or_all_of_them() -> None:
    near, far = 12, 32
    rows = [(10, near, far, far), (near, 10, far, far), (far, far, 10, near), (far, far, near, 10)]
    nodes = tuple(Node(i, CpuSet([i, i + 4])) for i in range(4))
    machine = Machine("text", nodes=nodes, distances=Distances((0, 1, 2, 3), tuple(rows)))
    for count, sets in (
        (2, ["0-1,4-5", "2-3,6-7"]),
        (1, ["0-7"]),
        (4, ["0,4", "1,5", "2,6", "3,7"]),
    ):
        found = assumed(machine, {"packages": count})
        assert [str(p.cpus) for p in found.packages or ()] == sets
        assert found.origins["packages"] == "assumed"
    three = assumed(machine, {"packages": 3})
    assert (three.packages, three.packages_known) == (None, 3)
    flat = machine._replace(distances=None)
    assert assumed(flat, {"packages": 2}).packages is None


def test_cores_without_threads_are_counted_per_machine() -> None:
    machine = assumed(two_nodes("0-3", "4-7"), {"cores": 4})
    assert machine.threads_per_core == 2
    assert machine.node_cores(1) == (CpuSet([4, 6]), CpuSet([5, 7]))
    without_nodes = assumed(Machine("text"), {"cores": 16, "threads_per_core": 2})
    assert (without_nodes.cores_known, without_nodes.threads_per_core) == (16, 2)


def test_limits_and_settings() -> None:
    machine = assumed(
        two_nodes("0-3", "4-7"),
        {
            "allowed_cpus": "0-3,99",
            "allowed_mems": "0",
            "affinity": "2-5",
            "cpu_quota": 2.5,
            "start_cpu": 3,
            "cmdline": "quiet numa=off",
            "settings": {"numa_balancing": 1, "memory_channels": 16},
            "zone_reclaim_mode": "1",
            "guest": "yes",
        },
    )
    assert str(machine.limits.cpuset_cpus) == "0-3"
    assert str(machine.inherited_cpus) == "2-3"
    assert machine.limits.cpu_quota == 2.5
    assert machine.settings.numa_balancing == 1
    assert machine.settings.zone_reclaim_mode == 1
    assert machine.settings.cmdline == "quiet numa=off"
    assert machine.is_guest is True


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"smt": "x"}, "whole number"),
        ({"smt": "0"}, "between 1 and 8"),
        ({"smt": "3"}, "can't be cores of 3"),
        ({"cores": "5"}, "can't be 5 equal cores"),
        ({"cores": "8", "smt": "2"}, "2"),
        ({"packages": "two"}, "whole number"),
        ({"allowed_cpus": "zero"}, "write a list"),
        ({"allowed_cpus": "99"}, "no such CPU"),
        ({"allowed_mems": "7"}, "no such node"),
        ({"cpu_quota": "-1"}, "above 0"),
        ({"cpu_quota": "nan"}, "above 0"),
        ({"guest": "maybe"}, "yes or no"),
        ({"colour": "red"}, "not known; known: .*smt"),
        ({"settings": "x"}, "mapping"),
        ({"numa_balancing": "on"}, "whole number"),
    ],
)
def test_what_can_not_hold_is_refused(facts: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        assumed(two_nodes("0-3", "4-7"), facts)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"smt": "1"}, "has 2 threads a core, --assume says 1"),
        ({"packages": "4"}, "has 2 packages, --assume says 4"),
        ({"cores": "4"}, "has 8 cores, --assume says 4"),
    ],
)
def test_a_contradiction_names_both_values(facts: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        assumed(build("pack:2 core:4 pu:2"), facts)


def test_the_same_fact_again_changes_nothing() -> None:
    machine = build("pack:2 [numa(memory=1GB)] core:4 pu:2")
    assert assumed(machine, {"smt": 2, "packages": 2, "cores": 8}) == machine
