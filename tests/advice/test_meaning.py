import pytest

import numatune
from numatune.advice.meaning import meaning


def said(synthetic: str, **assume: object) -> str:
    return "\n".join(meaning(numatune.read_machine(synthetic=synthetic, assume=assume)))


def test_one_node_needs_nothing() -> None:
    assert "All memory is equally near" in said("pack:1 [numa(memory=64GB)] core:8 pu:2")


def test_several_nodes_share_the_weights() -> None:
    text = said("pack:4 [numa(memory=64GB)] core:8 pu:1")
    assert "reads 75% of its weights across the interconnect" in text
    assert "4 copies" in text


def test_interleaved_by_firmware_unless_it_is_a_guest() -> None:
    shape = "[numa(memory=64GB)] pack:2 core:8 pu:1"
    assert "the firmware interleaves" in said(shape)
    guest = said(shape, guest="yes")
    assert "firmware interleaves" not in guest
    assert "virtual machine" in guest


@pytest.mark.parametrize(
    ("assume", "words"),
    [
        ({"allowed_cpus": "0-3"}, "CPUs 0-3 only (4 of 16)"),
        ({"cpu_quota": 4.5}, "quota of 4.5 CPUs"),
    ],
)
def test_limits_are_said(assume: dict[str, object], words: str) -> None:
    assert words in said("pack:2 [numa(memory=64GB)] core:8 pu:1", **assume)


def test_odd_nodes_are_named() -> None:
    text = "\n".join(
        meaning(
            numatune.read_machine(
                text="available: 3 nodes (0-2)\nnode 0 cpus: 0 1\nnode 0 size: 100 MB\n"
                "node 1 cpus: 2 3\nnode 1 size: 0 MB\nnode 2 cpus:\nnode 2 size: 500 MB\n"
            )
        )
    )
    assert "Node 1 has CPUs and no memory" in text
    assert "Node 2 has memory and no CPU" in text
    assert "no NUMA node" in "\n".join(
        meaning(numatune.read_machine(text="No NUMA available on this system"))
    )
