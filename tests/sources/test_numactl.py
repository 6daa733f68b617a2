"""What is read of each kind of paste: values, warnings, and which texts are refused."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest

from numatune.errors import MachineError
from numatune.machine import CpuSet, Machine
from numatune.sources.numactl import NAME, read, recognises

PASTES = Path(__file__).parents[2] / "fixtures" / "pastes"
EXPECTED = json.loads((PASTES / "expected.json").read_text(encoding="utf-8"))


def paste(name: str) -> str:
    with (PASTES / name).open(encoding="utf-8", newline="") as file:
        return file.read()


def codes(machine: Machine) -> list[str]:
    return sorted(warning.code for warning in machine.warnings if warning.code != "repaired")


def test_every_paste_has_an_expectation() -> None:
    assert {path.name for path in PASTES.glob("*.txt")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_paste(name: str) -> None:
    expected = EXPECTED[name]
    if expected["reading"] == "refused":
        with pytest.raises(MachineError, match="numactl --hardware"):
            read(paste(name), name)
        return
    assert recognises(paste(name))
    machine = read(paste(name), name)
    assert machine.source == name
    nodes = {
        str(node.id): {
            "cpus": None if node.cpus is None else str(node.cpus),
            "size_mb": None if node.memory_total_bytes is None else node.memory_total_bytes / 2**20,
            "free_mb": None if node.memory_free_bytes is None else node.memory_free_bytes / 2**20,
        }
        for node in machine.nodes
    }
    assert nodes == expected["nodes"]
    table = machine.distances and {
        "ids": list(machine.distances.node_ids),
        "values": [list(row) for row in machine.distances.values],
    }
    assert table == expected["distances"]
    assert codes(machine) == expected.get("warnings", [])


# What a reading says of itself --------------------------------------------------------------------

WHOLE = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3 8 9 10 11
node 0 size: 5000 MB
node 0 free: 1000 MB
node 1 cpus: 4 5 6 7 12 13 14 15
node 1 size: 6000 MB
node 1 free: 900 MB
node distances:
node   0   1 
  0:  10  21 
  1:  21  10 
"""  # noqa: W291


def changed(old: str, new: str) -> Machine:
    assert old in WHOLE
    return read(WHOLE.replace(old, new, 1), "text")


def cpus_of_node_0(machine: Machine) -> str | None:
    cpus = machine.nodes[0].cpus
    return None if cpus is None else str(cpus)


def test_gaps_and_origins_of_a_whole_text() -> None:
    machine = read(WHOLE, "lab.txt")
    assert machine.gaps == ("cores", "packages", "cpu", "limits", "settings")
    assert machine.origins == {"nodes": NAME, "memory": NAME, "distances": NAME}
    assert machine.online_cpus is None
    assert machine.cpus == CpuSet(range(16))
    assert machine.warnings == ()


def test_gaps_name_what_this_text_lacks() -> None:
    machine = read("node 0 cpus: 0 1\nnode 1 cpus: 2 3\n", "text")
    assert machine.gaps[5:] == ("distances", "memory")
    assert machine.origins == {"nodes": NAME}
    assert read("No NUMA available on this system\n", "text").gaps[5:] == (
        "distances",
        "memory",
        "cpus",
    )


def test_a_warning_names_what_is_missing_and_what_supplies_it() -> None:
    (warning,) = read(WHOLE.split("node 1 size")[0] + "node 1 size: 6000 MB\n", "text").warnings
    assert warning.code == "incomplete"
    assert "the free memory of node 1 and the distances" in warning.message
    assert "`numactl --hardware`" in warning.message


def test_an_announced_node_without_lines_is_a_node_of_which_nothing_is_known() -> None:
    machine = changed("2 nodes (0-1)", "3 nodes (0-2)")
    assert [node.id for node in machine.nodes] == [0, 1, 2]
    assert machine.nodes[2].cpus is None
    assert machine.cpus is None


def test_repairs_are_told() -> None:
    machine = read("".join(f"> {line}\n" for line in WHOLE.split("\n")), "text")
    (warning,) = machine.warnings
    assert (warning.code, warning.message) == (
        "repaired",
        "undone in the text: prefixes of lines",
    )


# Damage to one value ------------------------------------------------------------------------------

LIST = "0 1 2 3 8 9 10 11"


@pytest.mark.parametrize(
    ("text", "codes_expected"),
    [
        ("0 1 2 3 8 9 1 11", ["damaged"]),  # 10, broken
        ("0 1 2 3 8 9 9 11", ["damaged"]),
        ("0 1 2 3 (P) 8 9 10 11", ["damaged"]),
        ("0 1 2 3 x 8 9 10 11", ["damaged"]),
        ("0 1 2 3 8 9 10 11>", ["damaged"]),  # less -S
        ("0 1 2 3 8 9 10 11x", ["damaged"]),
        ("0 1 2 3 8 9 10 11,", ["damaged"]),
        ("0 1 2 3 8 9 10 11 (9)", ["damaged"]),
        ("0 \u2014 11", ["damaged"]),
        ("0 to 11", ["damaged"]),
        ("0..11", ["elided"]),
        ("0 1 2 3 \u2026 11", ["elided"]),
        ("0 1 2 3 and 4 more", ["elided"]),
        ("0 1 2 3 8 9 1\u200b0 11", ["damaged"]),
        ("0 1 2 3 8 9 1\ufffd 11", ["damaged"]),
        ("0 01 2", ["damaged"]),
        ("11-8", ["damaged"]),
        ("0-4294967295", ["damaged"]),
        ("0-99999", ["damaged"]),
        ("9" * 6000, ["damaged"]),
        ("<list>", ["damaged"]),
        ("0 1 2 3 8 9 10 11\n\u21aa 12 13", ["damaged"]),
        ("0 1 2 3 8 9 10 11\n12 13 and so on", ["elided"]),
        ("0 1 2 3 8 9 10 11\n10 11", ["damaged"]),
    ],
)
def test_a_damaged_list_is_unknown_and_told(text: str, codes_expected: list[str]) -> None:
    machine = changed(LIST, text)
    assert cpus_of_node_0(machine) is None
    assert codes(machine) == codes_expected
    assert str(machine.nodes[1].cpus) == "4-7,12-15"


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3, 8-11 (8)", "0-3,8-11"),
        ("0\u20133, 8\u201311", "0-3,8-11"),  # en dash
        ("0 - 3, 8 - 11", "0-3,8-11"),
        ("0-3 8-11", "0-3,8-11"),
        ("0,1,2,3", "0-3"),
        ("0 1 2 3 \\\n8 9", "0-3,8-9"),
        ("0 1 2 3\n8 9\n10 11", "0-3,8-11"),
        ("0 1 2 3 (socket 0)", "0-3"),
        ("0 1 2 3 # 4 of them", "0-3"),
        ("0 1 2 3 <= see 2", "0-3"),
        ("0 1 2 3 - first socket", "0-3"),
        ("0 1 2 3 efficient ones", "0-3"),
        ("   -- none, CXL", ""),
        ("(0)", ""),
        ("", ""),
    ],
)
def test_other_spellings_of_a_list(text: str, cpus: str) -> None:
    machine = changed(LIST, text)
    assert cpus_of_node_0(machine) == cpus
    assert codes(machine) == []


@pytest.mark.parametrize(
    "text", ["n MB", "5", "5,000 MB", "5 000 MB", "5 GB", "~5000 MB", "05 MB", "9999999999999 MB",
             "999999999999 MB", "9" * 6000 + " MB", "5000 M"]
)  # fmt: skip
def test_a_size_that_numactl_does_not_print(text: str) -> None:
    machine = changed("5000 MB", text)
    assert machine.nodes[0].memory_total_bytes is None
    assert codes(machine) == ["damaged"]
    assert "memory" in machine.gaps


def test_more_free_than_there_is() -> None:
    machine = changed("free: 1000", "free: 7000")
    assert machine.nodes[0].memory_total_bytes is None
    assert machine.nodes[0].memory_free_bytes is None
    assert codes(machine) == ["damaged"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("10  21", "10  300"),
        ("10  21", "10  2"),
        ("10  21", "10  0"),
        ("10  21", "10"),
        ("10  21", "10  21  21"),
        ("  1:  21  10", "  2:  21  10"),
        ("  1:  21  10 \n", ""),
        ("node   0   1 \n", "node   0   1   2\n"),
        ("node   0   1 \n", "node   1   0\n"),
        ("  1:  21  10 \n", "  1:  21  10 \n  2:  21  21 \n"),
    ],
)
def test_a_table_that_is_not_whole_is_left_out(old: str, new: str) -> None:
    machine = changed(old, new)
    assert machine.distances is None
    assert codes(machine) == ["damaged-table"]
    assert "distances" in machine.gaps


def test_what_follows_a_table_is_not_of_it() -> None:
    machine = read(WHOLE + "64\n 10 = local\n 21: remote\n", "text")
    assert machine.distances is not None
    assert codes(machine) == []


def test_a_local_distance_of_zero_is_what_some_firmware_says() -> None:
    text = WHOLE.replace("10  21", " 0  21").replace("21  10", "21   0")
    distances = read(text, "text").distances
    assert distances is not None
    assert distances.values == ((0, 21), (21, 0))


# The node list ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "codes_expected"),
    [
        ("available: 2 nodes (0-)", []),  # left open, as beyond the mask of the process
        ("available: 3 nodes (0-)", ["incomplete"]),
        ("available: 1 nodes (0)", ["contradiction"]),
        ("available: 2 nodes (0,2)", ["contradiction", "incomplete"]),
        ("available: 3 nodes (0-1)", ["contradiction"]),
        ("available: 2 nodes (0-4294967295)", ["damaged"]),
        ("available: 2 nodes (0", ["damaged"]),
        ("0/3 nodes are available: 3 node(s) had a taint", ["incomplete"]),
    ],
)
def test_header(header: str, codes_expected: list[str]) -> None:
    machine = changed("available: 2 nodes (0-1)", header)
    assert codes(machine) == codes_expected
    assert cpus_of_node_0(machine) == "0-3,8-11"


def test_a_node_id_beyond_all_nodes_is_left_out() -> None:
    machine = read(WHOLE.replace("node 1 ", "node 70000 "), "text")
    assert [node.id for node in machine.nodes] == [0, 1]
    assert codes(machine) == ["damaged", "incomplete"]


# Several outputs ----------------------------------------------------------------------------------

OTHER = WHOLE.replace("5000", "7000").replace("21", "32")


@pytest.mark.parametrize(
    "text",
    [
        WHOLE + OTHER,
        f"```\n{WHOLE}```\nand\n```\n{OTHER}```\n",
        "".join(f"h1: {a}\nh2: {b}\n" for a, b in zip(WHOLE.split("\n"), OTHER.split("\n"),
                                                      strict=True)),
        "".join(f"0: {a}\n1: {b}\n" for a, b in zip(WHOLE.split("\n"), OTHER.split("\n"),
                                                    strict=True)),
        OTHER + "$ numactl -H\n" + WHOLE[:200],
        "$ numactl -H\nNo NUMA available on this system\n$ ssh b numactl -H\n" + OTHER,
    ],
    ids=("one after the other", "fences", "pdsh", "srun -l", "whole, then cut", "no NUMA, then"),
)  # fmt: skip
def test_the_last_whole_output_is_taken(text: str) -> None:
    machine = read(text, "text")
    assert (machine.nodes, machine.distances) == (
        read(OTHER, "text").nodes,
        read(OTHER, "text").distances,
    )
    assert codes(machine) == ["two-outputs"]


def test_interleaved_outputs_without_names_share_no_value() -> None:
    lines = zip(WHOLE.split("\n"), OTHER.split("\n"), strict=True)
    machine = read("".join(f"{a}\n{b}\n" for a, b in lines), "text")
    assert machine.nodes[0].memory_total_bytes is None
    assert machine.distances is None
    assert "contradiction" in codes(machine)


def test_a_mention_in_prose_is_no_line_of_the_output() -> None:
    text = f"I see node 0 size: 1 MB there.\n{WHOLE}And node 1 size: 2 MB, how?\n"
    machine = read(text, "text")
    assert machine.nodes == read(WHOLE, "text").nodes
    assert codes(machine) == []


def test_outputs_without_first_lines_come_apart() -> None:
    """Two hosts, or two greps: values of one never complete the other."""
    first = "node 0 cpus: 0 1\nnode 1 cpus: 2 3\n"
    machine = read(first + "node 0 cpus: 0 1 2 3\nnode 1 cpus: 4 5 6 7\n", "text")
    assert [str(node.cpus) for node in machine.nodes] == ["0-3", "4-7"]
    assert codes(machine) == ["incomplete", "two-outputs"]
    machine = read(first + "node 0 size: 10 MB\nnode 1 size: 20 MB\n", "text")
    assert [node.memory_total_bytes for node in machine.nodes] == [None, None]
    assert "two-outputs" in codes(machine)


def test_lscpu_that_contradicts_is_told() -> None:
    beside = "NUMA node0 CPU(s): 0-3\nNUMA node1 CPU(s): 4-7\n"
    machine = read(WHOLE + beside, "text")
    assert codes(machine) == ["contradiction"]
    assert cpus_of_node_0(machine) == "0-3,8-11"
    agreeing = "NUMA node0 CPU(s): 0-3,8-11\nNUMA node1 CPU(s): 4-7,12-15\n"
    assert codes(read(WHOLE + agreeing, "text")) == []


def test_what_libnuma_guessed_is_not_believed() -> None:
    warned = "libnuma: Warning: Cannot parse cpumap. Assuming one node\n" + WHOLE
    machine = read(warned, "text")
    assert [node.cpus for node in machine.nodes] == [None, None]
    assert codes(machine) == ["not-available"]


# Recognising --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Architecture: x86_64\nNUMA node(s): 2\nNUMA node0 CPU(s): 0-7\n",
        "0/3 nodes are available: 3 node(s) had untolerated taint\n",
        "Node 0 MemTotal: 12 kB\nNode 0, zone DMA\n",
        "\x89PNG\r\n\x1a\n" + "\x00\xff" * 500,
        "package:2 core:4 pu:2",
    ],
)
def test_other_texts_are_not_recognised(text: str) -> None:
    assert not recognises(text)
    with pytest.raises(MachineError, match="no NUMA node in this text"):
        read(text, "text")


@pytest.mark.parametrize("length", [0, 24, 30, 100])
def test_a_text_without_a_usable_node_is_refused_in_one_line(length: int) -> None:
    with pytest.raises(MachineError) as caught:
        read(WHOLE[: min(length, 38)], "text")
    assert "\n" not in str(caught.value)
    assert "numactl --hardware" in str(caught.value)


# Size ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize(
    "text",
    [
        WHOLE + "\n" * 30_000_000,
        "node 0 cpus: " + "1 2 " * 7_500_000,
        "node " + "1" * 30_000_000,
        WHOLE * 120_000,
    ],
    ids=("line ends", "one list", "digits", "outputs"),
)
def test_a_hostile_text_takes_bounded_time(text: str) -> None:
    start = time.process_time()
    with suppress(MachineError):
        assert "too-long" in codes(read(text, "text"))
    assert time.process_time() - start < 5


def test_an_output_deep_inside_a_long_log_is_found() -> None:
    machine = read("x = 1\n" * 1_000_000 + WHOLE + "y = 2\n" * 1_000_000, "text")
    assert machine.nodes == read(WHOLE, "text").nodes
    assert codes(machine) == ["too-long"]
