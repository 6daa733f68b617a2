from __future__ import annotations

import pytest

from numatune.errors import LaunchRefused
from numatune.machine import CpuSet, Machine
from numatune.runtimes.libnuma import (
    Bound,
    bindings,
    configured_nodes,
    inherited,
    refusal,
    tied_nodes,
)
from tests.runtimes.machines import machine, two_sockets


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


def test_a_node_is_bound_with_all_its_cpus_and_its_memory() -> None:
    box = two_sockets(24, siblings=48)
    assert bindings(box)[1] == Bound(1, cpus("24-47,72-95"), "bind:1")


def test_an_inherited_affinity_is_overridden() -> None:
    box = two_sockets(affinity="24-47")
    assert bindings(box)[0] == Bound(0, cpus("0-23"), "bind:0")
    assert inherited(box) == Bound(None, cpus("24-47"), "default")


def test_a_cpuset_cuts_the_mask_or_refuses_it() -> None:
    part = two_sockets(cpuset_cpus="0-11,24-35", cpuset_mems="0-1")
    assert bindings(part)[1] == Bound(1, cpus("24-35"), "bind:1")
    one = two_sockets(cpuset_cpus="0-23", cpuset_mems="0")
    assert bindings(one)[1] == Bound(None, cpus("0-23"), "default")
    only_memory = two_sockets(cpuset_cpus="0-11", cpuset_mems="0-1")
    assert bindings(only_memory)[1] == Bound(None, cpus("0-11"), "bind:1")


def test_memoryless_nodes_are_not_counted_and_not_allowed() -> None:
    box = two_sockets(memoryless=[0])
    assert configured_nodes(box) == 1
    assert bindings(box)[0] == Bound(None, cpus("0-47"), "default")
    assert tied_nodes(box) == {1}


def test_a_cpuless_node_gives_memory_only() -> None:
    box = machine({0: "0-3", 1: "", 2: "4-7"})
    assert configured_nodes(box) == 3
    assert bindings(box)[1] == Bound(None, cpus("0-7"), "bind:1")


def test_a_node_of_unknown_cpus_is_bound_to_them_all_the_same() -> None:
    box = machine({0: None})
    assert bindings(box)[0] == Bound(0, None, "bind:0")


def test_a_cpuset_counts_for_binding_and_not_for_counting() -> None:
    assert configured_nodes(two_sockets(cpuset_mems="0")) == 2


def test_without_nodes_the_process_ends() -> None:
    refused = refusal(Machine(source="test"), "kt-kernel")
    assert isinstance(refused, LaunchRefused)
    assert refused.rule == "no-numa-information"
    assert "invalid number" in str(refused)
    assert refusal(two_sockets(), "kt-kernel") is None


def test_without_memory_on_any_node_it_ends_too() -> None:
    refused = refusal(machine({0: "0-3"}, memoryless=[0]), "kt-kernel")
    assert refused is not None
    assert (refused.rule, refused.numbers) == ("memoryless-node", {"nodes": [0]})


@pytest.mark.parametrize("count", [1, 2, 8])
def test_nodes_of_unknown_size_count_as_having_memory(count: int) -> None:
    box = machine({i: str(i) for i in range(count)})
    unknown = tuple(node._replace(memory_total_bytes=None) for node in box.nodes)
    assert configured_nodes(box._replace(nodes=unknown)) == count
