"""Snapshots read back: the same machine, or one clear line and nothing worse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError
from numatune.machine import Core, CpuSet, Dimm, Distances, Gpu, Limits, Machine, Settings
from numatune.machine.command_line import cut
from numatune.render.json import inspect_document, render
from numatune.render.snapshot import snapshot_document
from numatune.rules.judge import judge
from numatune.rules.rule import Case
from numatune.sources.read import read_machine
from numatune.sources.snapshot import NAME, read, recognises
from tests.sources.drawn import machines
from tests.sources.trees import MACHINES, codes, large_machine, small_machine

FAST = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def written(machine: Machine, *, full: bool = True) -> str:
    return render(snapshot_document(machine, full_command_line=full))


def document_of(machine: Machine) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(written(machine))
    return document


def machine_of(document: Any) -> Machine:
    return read(json.dumps(document), "s.json")


def refusal(document: Any) -> str:
    with pytest.raises(MachineError) as caught:
        machine_of(document)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# The same machine ---------------------------------------------------------------------------------


#: Every input of every recorded machine.
INPUTS = sorted(
    path
    for path in MACHINES.glob("*/*")
    if path.suffix not in (".json", ".md") or "lscpu" in path.name
)
#: Those of them that are a /sys tree, in a folder or an archive.
TREES = [path for path in INPUTS if path.name.startswith("tree")]


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_recorded_machine_comes_back_whole(path: Path) -> None:
    machine = read_machine(path)
    back = read(written(machine), machine.source)
    assert back._replace(origins=machine.origins) == machine
    assert back.origins.keys() == machine.origins.keys()
    if path in TREES:
        assert set(back.origins.values()) == {"tree"}
    else:
        assert back.origins == machine.origins


def test_there_are_recorded_machines_of_both_kinds() -> None:
    assert len(TREES) >= 3
    assert [path.name for path in INPUTS].count("numactl.txt") >= 3


def inspected(machine: Machine) -> Any:
    """Return the document of inspect without what a snapshot says of its source."""
    document = json.loads(render(inspect_document(machine, judge(Case(machine)).findings)))
    document["topology"]["origins"] = sorted(document["topology"]["origins"])
    for finding in document["findings"]:
        for evidence in finding["evidence"]:
            del evidence["source"]
            if evidence["path"] == "/proc/cmdline":
                evidence["text"] = cut(evidence["text"])
    return document


@pytest.mark.parametrize("tree", TREES, ids=lambda path: path.parent.name)
def test_inspect_says_the_same_of_a_snapshot(tree: Path) -> None:
    live = read_machine(tree)._replace(source="this host")
    there = inspected(read(written(live, full=False), "this host"))
    here = inspected(live)
    assert there["settings"].pop("cmdline") == cut(here["settings"].pop("cmdline"))
    assert here["findings"]
    assert there == here


GPUS = st.builds(
    Gpu,
    st.sampled_from(["GPU0", "GPU1", "PCI 0000:3b:00.0"]),
    st.one_of(st.none(), st.integers(0, 300)),
    st.one_of(st.none(), st.sets(st.integers(0, 300)).map(CpuSet)),
)
DIMMS = st.builds(
    Dimm,
    st.sampled_from(["P1-DIMMA1", "内存 2", "A / 1"]),
    st.one_of(st.none(), st.just(0), st.integers(0, 1 << 40)),
    st.sampled_from([None, "DDR4", "DDR5"]),
    st.one_of(st.none(), st.integers(0, 9000)),
)


@FAST
@given(
    machines(),
    st.one_of(st.none(), st.lists(GPUS, max_size=3).map(tuple)),
    st.one_of(st.none(), st.lists(DIMMS, max_size=3).map(tuple)),
    st.one_of(st.none(), st.integers(1, 8)),
    st.sampled_from([(), ("limits",), ("cores", "packages")]),
)
def test_any_machine_comes_back_whole(
    machine: Machine,
    gpus: tuple[Gpu, ...] | None,
    dimms: tuple[Dimm, ...] | None,
    smt: int | None,
    gaps: tuple[str, ...],
) -> None:
    counts: dict[str, Any] = {}
    if machine.cores is None:
        counts["core_count"] = 7
    if machine.packages is None:
        counts["package_count"] = 2
    limits = machine.limits._replace(start_cpu=5)
    machine = machine._replace(
        gpus=gpus,
        dimms=dimms,
        smt=smt,
        gaps=gaps,
        limits=limits,
        origins={"nodes": "tree"},
        **counts,
    ).warned("odd", "a note, with “quotes” and 中文")
    text = written(machine)
    assert recognises(text)
    assert read(text, "tree") == machine
    once = read(written(machine, full=False), "tree")
    assert read(written(once, full=False), "tree") == once


def test_a_snapshot_from_before_a_field_was_there_is_whole() -> None:
    document = document_of(small_machine())
    del document["memory"]
    assert read(json.dumps(document), "tree") == small_machine()


def test_a_field_that_the_model_gains_must_get_into_the_snapshot() -> None:
    assert len(Machine._fields) == 20
    assert len(Settings._fields) == 8
    assert len(Limits._fields) == 5
    keys = document_of(small_machine()).keys()
    assert set(Machine._fields) - {"cpu"} <= keys


def test_a_table_with_holes_and_two_directions_comes_back() -> None:
    table = Distances((0, 1), ((10, None), (20, 10)))
    machine = small_machine()._replace(distances=table)
    assert read(written(machine), "tree").distances == table


# Around the snapshot ------------------------------------------------------------------------------


def test_it_is_recognised_and_nothing_else_is() -> None:
    text = written(small_machine())
    assert NAME == "numatune snapshot"
    assert recognises(text)
    assert recognises(f"Here it is:\n```json\n{text}```\nThanks!")
    assert recognises(json.dumps(json.loads(text), sort_keys=True))
    for other in ("", "{}", "available: 1 nodes (0)", '{"lscpu": []}', "numatune_snapshot: 1"):
        assert not recognises(other)


def test_a_snapshot_in_a_comment_is_read_and_the_text_around_it_named() -> None:
    text = written(small_machine())
    assert codes(read(f"\n```json\n{text}\n```\n", "s.json")) == []
    around = read(f"It is slow.\n\n```json\n{text}\n```\nThanks!", "s.json")
    assert codes(around) == ["repaired"]
    assert around.nodes == small_machine().nodes


def test_a_snapshot_whose_keys_were_sorted_is_read() -> None:
    text = json.dumps(json.loads(written(small_machine())), sort_keys=True)
    assert read(text, "tree")._replace(origins={}) == small_machine()._replace(origins={})


def test_two_snapshots_are_two_machines() -> None:
    text = written(small_machine())
    with pytest.raises(MachineError, match="more than one snapshot"):
        read(text + text, "s.json")


def test_nodes_are_sorted() -> None:
    document = document_of(small_machine())
    document["nodes"].reverse()
    assert [n.id for n in machine_of(document).nodes] == [0, 1]


# Other versions -----------------------------------------------------------------------------------


def test_a_newer_version_asks_for_an_upgrade() -> None:
    words = refusal({**document_of(small_machine()), "numatune_snapshot": 2, "nodes": "else"})
    assert "version 2" in words
    assert "upgrade numatune" in words


@pytest.mark.parametrize("version", [0, -1, "1", 1.0, True, None, [], {}])
def test_a_version_that_is_none_is_refused(version: object) -> None:
    assert "numatune_snapshot" in refusal(
        {**document_of(small_machine()), "numatune_snapshot": version}
    )


def test_names_that_are_not_known_are_left_out_and_told() -> None:
    document = document_of(small_machine())
    document["fans"] = {"file": "/etc/passwd"}
    document["nodes"][1]["fast\x1b[31m"] = True
    document["limits"]["x"] = document["settings"]["y"] = document["distances"]["z"] = 1
    machine = machine_of(document)
    assert codes(machine) == ["snapshot-newer"]
    message = machine.warnings[0].message
    for name in ("fans", "nodes[1].fast", "limits.x", "settings.y", "distances.z"):
        assert name in message
    assert message.isprintable()
    assert machine.nodes == small_machine().nodes


def test_what_is_missing_is_unknown_and_told() -> None:
    document = document_of(small_machine())
    for name in ("cores", "limits", "tool_version", "about"):
        del document[name]
    del document["nodes"][0]["cpus"]
    machine = machine_of(document)
    assert codes(machine) == ["incomplete"]
    assert "cores, limits" in machine.warnings[0].message.replace(" and ", ", ")
    assert "nodes[0].cpus" in machine.warnings[0].message
    assert "about" not in machine.warnings[0].message
    assert machine.cores is None
    assert machine.nodes[0].cpus is None
    assert {"cores", "limits"} <= set(machine.gaps)


def test_the_largest_machine_is_read() -> None:
    machine = large_machine(64, 128, 2)._replace(origins={})
    assert read(written(machine), "tree") == machine
    assert len(machine.cores or ()) == 8192


def test_a_core_may_lie_where_nothing_is_known_of_nodes() -> None:
    machine = Machine("tree", cores=(Core(CpuSet([0])),), online_cpus=CpuSet([0]))
    assert read(written(machine), "tree") == machine
