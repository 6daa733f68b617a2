"""Firmware and hardware behind the nodes."""

import pytest

from numatune.machine import CpuSet, Machine, Node
from tests.rules.cases import LAPTOP, TWO, built, found, is_good, judged, numactl, skip_of, the

ONE_OVER_TWO = "[numa(memory=512GB)] pack:2 core:24 pu:1"
CLUSTERS = "pack:2 group:3 [numa(memory=256GB)] core:24 pu:1"


def test_one_node_over_two_packages_is_interleaved() -> None:
    one = the(judged(built(ONE_OVER_TWO)), "bios-node-interleaving-on")
    assert dict(one.numbers) == {"packages": 2, "nodes": 1}
    assert one.severity == "info"
    assert "unless numa=off" in one.message
    known = the(judged(built(ONE_OVER_TWO, cmdline="ro")), "bios-node-interleaving-on")
    assert "unless" not in known.message


@pytest.mark.parametrize(
    "machine",
    [
        built(TWO),
        built(CLUSTERS),
        built(LAPTOP),
        built(ONE_OVER_TWO, cmdline="ro numa=off"),
        built(ONE_OVER_TWO, guest="yes"),
    ],
)
def test_other_machines_are_not_interleaved(machine: Machine) -> None:
    assert is_good(judged(machine), "bios-node-interleaving-on")


def test_clusters() -> None:
    one = the(judged(built(CLUSTERS)), "sub-numa-clustering-on")
    assert dict(one.numbers) == {"nodes": 6, "packages": 2}
    assert is_good(judged(built(TWO)), "sub-numa-clustering-on")
    assert is_good(judged(built(CLUSTERS, guest="yes")), "sub-numa-clustering-on")


def test_memory_only_nodes_are_no_clusters() -> None:
    machine = numactl((0, "0-7", 9000), (1, "8-15", 9000), (2, "", 9000), packages=2)
    assert is_good(judged(machine), "sub-numa-clustering-on")


def test_emulated_nodes_say_nothing_of_the_hardware() -> None:
    nodes = [(i, "0-23", 100_000 + 30_000 * i) for i in range(4)]
    for facts in ({"cmdline": "numa=fake=4"}, {}):
        diagnosis = judged(numactl(*nodes, packages=1, **facts))
        assert is_good(diagnosis, "sub-numa-clustering-on")
        assert is_good(diagnosis, "dimms-unbalanced")


@pytest.mark.parametrize("name", ["bios-node-interleaving-on", "sub-numa-clustering-on"])
def test_packages_and_cpus_must_be_known(name: str) -> None:
    machine = numactl((0, "0-7", 9000), (1, "8-15", 9000))
    assert "packages" in skip_of(judged(machine), name).reason
    unknown = machine._replace(package_count=2, nodes=(Node(0), Node(1, CpuSet([1]))))
    assert "CPUs" in skip_of(judged(unknown), name).reason
    assert is_good(judged(numactl()), name), "without nodes another rule speaks"


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((257_700, 193_200), (0, 1)),
        ((193_200, 257_700), (1, 0)),
        ((257_700, 240_000), None),
        ((31_500, 0), None),
    ],
)
def test_unequal_node_sizes(sizes: tuple[int, int], expected: tuple[int, int] | None) -> None:
    machine = numactl((0, "0-7", sizes[0]), (1, "8-15", sizes[1]))
    got = [
        (f.numbers["largest_node"], f.numbers["smallest_node"])
        for f in found(judged(machine), "dimms-unbalanced")
    ]
    assert got == ([] if expected is None else [expected])
    assert is_good(judged(machine._replace(is_guest=True)), "dimms-unbalanced")


def test_nodes_without_cpus_may_have_any_size() -> None:
    machine = numactl((0, "0-7", 257_700), (1, "8-15", 257_700), (2, "", 65_000))
    assert is_good(judged(machine), "dimms-unbalanced")


def test_sizes_must_be_known() -> None:
    assert skip_of(judged(built("pack:2 [numa] core:4 pu:1")), "dimms-unbalanced")


def test_empty_channels() -> None:
    half = built(TWO, settings={"dimms_populated": 8, "memory_channels": 16})
    one = the(judged(half), "channels-unpopulated")
    assert dict(one.numbers) == {"populated": 8, "channels": 16}
    assert "50 %" in one.message
    full = built(TWO, settings={"dimms_populated": 32, "memory_channels": 16})
    assert is_good(judged(full), "channels-unpopulated")
    assert is_good(judged(half._replace(is_guest=True)), "channels-unpopulated")
    assert "dmidecode" in skip_of(judged(built(TWO)), "channels-unpopulated").reason
    some = built(TWO, settings={"dimms_populated": 8})
    assert "channels" in skip_of(judged(some), "channels-unpopulated").reason


def test_a_guest_is_named_and_no_firmware_behind_it() -> None:
    diagnosis = judged(built(ONE_OVER_TWO, guest="yes"))
    one = the(diagnosis, "guest-topology")
    assert one.severity == "info"
    assert "its 2 packages share 1 node" in one.message
    assert is_good(judged(built(TWO, guest="no")), "guest-topology")
    assert "systemd-detect-virt" in skip_of(judged(built(TWO)), "guest-topology").reason


def test_a_plain_guest_is_only_named() -> None:
    one = the(judged(built(TWO, guest="yes")), "guest-topology")
    assert one.message.endswith("nothing about the firmware follows from it")


def test_eight_nodes_equally_far_apart_hide_the_distances() -> None:
    nodes = [(i, f"{4 * i}-{4 * i + 3}", 9000) for i in range(8)]
    machine = numactl(*nodes, packages=3, guest="yes")
    message = the(judged(machine), "guest-topology").message
    assert "equally far apart" in message
    assert "3 packages and 8 nodes do not fit" in message
