"""Golden launches of llama.cpp: which CPUs ggml's own code tied each thread to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import numatune
from numatune.machine import CpuSet
from tests.runtimes.machines import machine

PATH = Path(__file__).parents[2] / "fixtures" / "truth" / "llama_cpp.jsonl"
LINES = [json.loads(line) for line in PATH.read_text().splitlines()]
LAUNCHES = [line for line in LINES if "cpus" in line]


def test_the_launches_cover_every_way_to_tie_a_thread() -> None:
    asked = [launch["request"] for launch in LAUNCHES]
    assert len(LAUNCHES) > 100
    assert {r.get("numa") for r in asked} == {None, "distribute", "isolate", "numactl"}
    assert {(r.get("cpu_strict"), r["openmp_build"]) for r in asked if "cpu_mask" in r} == {
        (strict, openmp) for strict in (0, 1) for openmp in (True, False)
    }


@pytest.mark.parametrize("launch", LAUNCHES, ids=range(len(LAUNCHES)))
def test_launch(launch: dict[str, Any]) -> None:
    described = dict(launch["machine"])
    nodes = {int(i): cpus for i, cpus in described.pop("nodes").items()}
    offline = CpuSet.parse(described.pop("offline", ""))
    box = machine(nodes, **described)._replace(offline_cpus=offline)
    request = {"runtime": "llama.cpp", "version": "0c1e57098", **launch["request"]}
    workers = numatune.place(box, request).workers
    assert [str(worker.cpus) for worker in workers] == launch["cpus"]
    assert [worker.index for worker in workers] == list(range(len(workers)))
    for worker in workers:
        assert worker.binding != "cpu" or (worker.cpus is not None and len(worker.cpus) == 1)
        node = None if worker.node is None else box.node_cpus(worker.node)
        assert worker.cpus is not None
        assert node is None or worker.cpus <= node
