"""Snapshots read back: the same machine, or one clear line and nothing worse."""

from __future__ import annotations

import builtins
import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError, NumatuneError
from numatune.machine import Core, CpuSet, Dimm, Distances, Gpu, Limits, Machine, Settings
from numatune.machine.command_line import cut
from numatune.render import plain
from numatune.render.json import inspect_document, render
from numatune.render.snapshot import snapshot_document
from numatune.rules.judge import judge
from numatune.rules.rule import Case
from numatune.sources.read import read_machine
from numatune.sources.snapshot import NAME, read, recognises
from numatune.views.inspect import inspect_view
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


def test_a_field_that_the_model_gains_must_get_into_the_snapshot() -> None:
    assert len(Machine._fields) == 19
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


# What is wrong ------------------------------------------------------------------------------------

Change = Callable[[dict[str, Any]], object]


def put(*path: str | int, value: object) -> Change:
    def change(document: dict[str, Any]) -> None:
        inner: Any = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


def full_document() -> dict[str, Any]:
    return document_of(
        small_machine()._replace(gpus=(Gpu("GPU0", 0),), dimms=(Dimm("A1", 1, "DDR5", 1),))
    )


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (put("nodes", value=None), "nodes"),
        (put("nodes", value={}), "nodes"),
        (put("nodes", 0, value=[]), "nodes[0]"),
        (put("nodes", 1, "id", value=None), "nodes[1].id"),
        (put("nodes", 1, "id", value=1.5), "nodes[1].id"),
        (put("nodes", 1, "id", value=True), "nodes[1].id"),
        (put("nodes", 1, "id", value=-1), "nodes[1].id"),
        (put("nodes", 1, "id", value=65536), "nodes[1].id"),
        (put("nodes", 1, "id", value=0), "nodes[1].id"),
        (put("nodes", 0, "cpus", value="0-4294967295"), "nodes[0].cpus"),
        (put("nodes", 0, "cpus", value="3-1"), "nodes[0].cpus"),
        (put("nodes", 0, "cpus", value="0x3"), "nodes[0].cpus"),
        (put("nodes", 0, "cpus", value=[0, 1]), "nodes[0].cpus"),
        (put("nodes", 0, "cpus", value="0-8"), "nodes[0].cpus"),
        (put("nodes", 0, "memory_total_bytes", value=-1), "nodes[0].memory_total_bytes"),
        (put("nodes", 0, "memory_total_bytes", value=1 << 70), "nodes[0].memory_total_bytes"),
        (put("nodes", 0, "memory_free_bytes", value="1 GB"), "nodes[0].memory_free_bytes"),
        (put("nodes", 0, "kind", value="fast"), "nodes[0].kind"),
        (put("nodes", 0, "kind", value=None), "nodes[0].kind"),
        (put("cores", 2, "cpus", value="2,7"), "cores[3].cpus"),
        (put("cores", 2, "cpus", value=""), "cores[2].cpus"),
        (put("cores", 2, "cpus", value="2,8"), "cores[2].cpus"),
        (put("cores", 2, "node_id", value="1"), "cores[2].node_id"),
        (put("packages", 1, "cpus", value="1-3,6-7"), "packages[1].cpus"),
        (put("packages", 1, "cpus", value="9"), "packages[1].cpus"),
        (put("packages", 1, "id", value=0), "packages[1].id"),
        (put("package_count", value=3), "package_count"),
        (put("core_count", value=5), "core_count"),
        (put("core_count", value=0), "core_count"),
        (put("smt", value=-2), "smt"),
        (put("offline_cpus", value="7-9"), "offline_cpus"),
        (put("online_cpus", value="0-6"), "cpus"),
        (put("is_guest", value=1), "is_guest"),
        (put("cpu_model", value=["x"]), "cpu_model"),
        (put("cpu_model", value="x" * 70_000), "cpu_model"),
        (put("cpu_features", value={"fpu": True}), "cpu_features"),
        (put("distances", value=[[10]]), "distances"),
        (put("distances", "values", value=[[10, 21]]), "distances.values"),
        (put("distances", "values", 1, value=[10]), "distances.values"),
        (put("distances", "values", 1, value="ab"), "distances.values"),
        (put("distances", "values", 1, 0, value=-10), "distances.values"),
        (put("distances", "values", 1, 0, value="10"), "distances.values"),
        (put("distances", "node_ids", value=[0, 5]), "distances.node_ids"),
        (put("distances", "node_ids", value=[0, 0]), "distances.node_ids"),
        (put("distances", "node_ids", value=[0, "1"]), "distances.node_ids"),
        (put("limits", value="none"), "limits"),
        (put("limits", "cpu_quota", value=0), "limits.cpu_quota"),
        (put("limits", "cpu_quota", value="4"), "limits.cpu_quota"),
        (put("limits", "affinity", value="all"), "limits.affinity"),
        (put("settings", "numa_balancing", value="1"), "settings.numa_balancing"),
        (put("settings", "dimms_populated", value=-1), "settings.dimms_populated"),
        (put("settings", "cmdline", value=1), "settings.cmdline"),
        (put("gpus", 0, "name", value=None), "gpus[0].name"),
        (put("dimms", 0, "size_bytes", value=-1), "dimms[0].size_bytes"),
        (put("gaps", value="cores"), "gaps"),
        (put("gaps", value=[1]), "gaps"),
        (put("gaps", value=["x"] * 1000), "gaps"),
        (put("origins", value=[]), "origins"),
        (put("origins", value={str(i): "x" for i in range(1000)}), "origins"),
        (put("origins", value={"nodes": 1}), "origins.nodes"),
        (put("warnings", value=[{"code": "x"}]), "warnings[0].message"),
    ],
)
def test_a_wrong_value_is_named_by_its_place(change: Change, place: str) -> None:
    document = full_document()
    change(document)
    words = refusal(document)
    assert words.startswith("s.json: ")
    assert place in words
    assert "numatune snapshot -o FILE" in words
    assert len(words) < 500


def test_a_snapshot_of_nothing_is_refused() -> None:
    assert "states no CPU" in refusal({"numatune_snapshot": 1, "nodes": []})
    assert "nodes is missing" in refusal({"numatune_snapshot": 1})


HEAD = '{"numatune_snapshot": 1, "nodes": [{"id": 0, "kind": "dram"}], '


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + '"gaps": []', "not whole"),
        (HEAD + '"smt": 1, "smt": 2}', "'smt' is stated twice"),
        (HEAD + '"limits": {"affinity": "0", "x": 1, "affinity": "1"}}', "'affinity' is stated"),
        (HEAD + f'"x": {"[" * 5000}{"]" * 5000}}}', "nested too deeply"),
        (HEAD + '"x": ' + '{"a":' * 5000 + "1" + "}" * 5001, "nested too deeply"),
        (HEAD + f'"x": {"[" * 1_000_000}', "parts"),
        (HEAD + f'"x": [{"1," * 2_000_000}1]}}', "values"),
        (HEAD + f'"x": "{"a" * (9 << 20)}"}}', "larger than 8 MB"),
        (HEAD + f'"smt": 1{"0" * 5000}}}', "number of 5001 digits"),
        (HEAD + f'"x": 1.{"0" * 5000}}}', "number of 5002 digits"),
        (HEAD + '"limits": {"cpu_quota": 1e999}}', "cpu_quota"),
        (HEAD + '"limits": {"cpu_quota": NaN}}', "NaN is no number"),
        (HEAD + '"limits": {"cpu_quota": -Infinity}}', "-Infinity is no number"),
        (HEAD + '"cpu_model": "a\tb"}', "not whole"),
        (HEAD + "'smt': 1}", "not whole"),
        (HEAD + '"cores": [' + '{"cpus": "0"},' * 20_000 + '{"cpus": "1"}]}', "more than 16384"),
        ("[" * 100_000, "nested too deeply"),
        ("7", "no snapshot"),
    ],
)
def test_what_means_harm_is_refused_with_one_line(text: str, words: str) -> None:
    with pytest.raises(MachineError, match=words) as caught:
        read(text, "s.json")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_lists_of_ids_are_bounded_together() -> None:
    long = ",".join(map(str, range(0, 30_000, 3)))
    nodes = [{"id": i, "kind": "dram", "cpus": long} for i in range(40)]
    assert "all lists of ids" in refusal({"numatune_snapshot": 1, "nodes": nodes})


def test_text_that_would_steer_a_terminal_is_cleaned() -> None:
    document = full_document()
    evil = "\x1b]0;t\x07\n\ud800[bold]"
    document["cpu_model"] = document["gpus"][0]["name"] = evil
    document["warnings"] = [{"code": evil, "message": evil}]
    document["gaps"], document["origins"] = [evil], {evil: evil}
    machine = machine_of(document)
    (warning,) = machine.warnings
    texts = [machine.cpu.model, machine.gpus[0].name if machine.gpus else "", *warning]
    for text in (*texts, *machine.gaps, *machine.origins, *machine.origins.values()):
        assert text is not None
        assert text.isprintable()
        assert text.strip().endswith("[bold]")


def test_no_file_that_it_names_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    document = full_document()
    for name in ("source", "tool_version", "cpu_model", "include", "$ref"):
        document[name] = "/etc/hostname"
    document["settings"]["cmdline"] = "initrd=/etc/hostname @/etc/hostname"
    text = json.dumps(document)
    judge(Case(machine_of(document)))  # whatever is imported late is imported here

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    for module, name in ((builtins, "open"), (os, "open"), (os, "stat"), (os, "listdir")):
        monkeypatch.setattr(module, name, refuse)
    judge(Case(read(text, "s.json")))


# Any damage ---------------------------------------------------------------------------------------

JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 1, 3, 255, 65535, 65536, 1 << 63, 10**22, 1.5, 1e308, "", "0", "0-3", "3-1",
     "0-65535", "x", "\0", "\ud800", "\x1b[31m", "dram", "numa=off", [], {}, [[]], [0], [[10]],
     {"id": 0, "kind": "dram"}, {"node_ids": [0], "values": [[10]]}]
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found = [(*path, key) for key, _ in inner]
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(one, dict | list):
            found += places(one, (*path, key))
    return found


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Draw a snapshot of which values were dropped, replaced, copied elsewhere or nested."""
    document = document_of(draw(machines()))
    for _ in range(draw(st.integers(1, 4))):
        found = places(document)
        if not found:
            break
        *path, last = draw(st.sampled_from(found))
        holder: Any = document
        for key in path:
            holder = holder[key]
        way = draw(st.sampled_from(["drop", "junk", "copy", "nest", "deep", "again"]))
        if way == "drop":
            del holder[last]
        elif way == "junk":
            holder[last] = copy.deepcopy(draw(JUNK))
        elif way == "copy":
            value: Any = document
            for key in draw(st.sampled_from(found)):
                value = value[key]
            holder[last] = copy.deepcopy(value)
        elif way == "again" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        else:
            for _ in range(60 if way == "deep" else 1):
                holder[last] = [holder[last]]
    text = json.dumps(document)
    if draw(st.booleans()):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 9)))
        text = (
            text[:start]
            + draw(st.sampled_from(["", "9", '"', "{", "]", "\\u12", "1e9"]))
            + text[end:]
        )
    return text


@settings(FAST, max_examples=70)
@given(damaged())
def test_damage_is_refused_or_read_and_nothing_else(text: str) -> None:
    recognises(text)
    try:
        machine = read(text, "s.json")
    except MachineError:
        return
    assert written(machine)
    try:
        findings = judge(Case(machine)).findings
    except NumatuneError:
        return
    render(inspect_document(machine, findings))
    shown = plain.render(inspect_view(machine._replace(packages=None), findings))
    assert shown.replace("\n", "").isprintable()


def test_the_largest_machine_is_read() -> None:
    machine = large_machine(64, 128, 2)._replace(origins={})
    assert read(written(machine), "tree") == machine
    assert len(machine.cores or ()) == 8192


def test_a_core_may_lie_where_nothing_is_known_of_nodes() -> None:
    machine = Machine("tree", cores=(Core(CpuSet([0])),), online_cpus=CpuSet([0]))
    assert read(written(machine), "tree") == machine
