"""Golden launches: how many workers the runtimes' own code tied to each node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import numatune
from tests.runtimes.machines import machine

FOLDER = Path(__file__).parents[2] / "fixtures" / "truth"


def launches() -> list[Any]:
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        entries = json.loads(path.read_text())["launches"]
        found += [pytest.param(e, id=f"{path.stem}-{i}") for i, e in enumerate(entries)]
    return found


def test_there_are_launches_of_both_runtimes() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} >= {"ktransformers", "kt-kernel"}
    assert len(launches()) > 40


@pytest.mark.parametrize("launch", launches())
def test_launch(launch: dict[str, Any]) -> None:
    described = dict(launch["machine"])
    nodes = {int(i): cpus for i, cpus in described.pop("nodes").items()}
    placement = numatune.place(machine(nodes, **described), launch["request"])
    counts: dict[str, int] = {}
    for worker in placement.workers:
        key = "unbound" if worker.node is None else str(worker.node)
        counts[key] = counts.get(key, 0) + 1
    assert counts == launch["workers"]
    assert [worker.index for worker in placement.workers] == list(range(len(placement.workers)))
