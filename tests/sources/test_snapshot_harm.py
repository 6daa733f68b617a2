"""Snapshots that are wrong, damaged or mean harm: one clear line, and nothing worse."""

from __future__ import annotations

import builtins
import copy
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError, NumatuneError
from numatune.machine import Dimm, Gpu
from numatune.render import plain
from numatune.render.json import inspect_document, render
from numatune.rules.judge import judge
from numatune.rules.rule import Case
from numatune.sources.snapshot import read, recognises
from numatune.views.inspect import inspect_view
from tests.sources.drawn import machines
from tests.sources.test_snapshot import document_of, machine_of, refusal, written
from tests.sources.trees import small_machine

# Wrong values --------------------------------------------------------------------------------------

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
    long = ",".join(map(str, range(0, 16_000, 2)))
    nodes = [{"id": i, "kind": "dram", "cpus": long} for i in range(80)]
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


@settings(max_examples=70, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
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
