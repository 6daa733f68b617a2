"""A sound machine with a good request: nothing above info."""

import pytest

from tests.rules.cases import LAPTOP, ONE, TWO, TWO_SMT, built, judged

CLUSTERS = "pack:2 group:4 [numa(memory=96GB)] core:16 pu:2(indexes=core:pack)"
FOUR = "pack:4 [numa(memory=256GB)] core:28 pu:2(indexes=core:pack)"
EIGHT = "pack:8 [numa(memory=512GB)] core:16 pu:1"
DISTRIBUTE = {"--numa": "distribute"}
SPREAD = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"}


@pytest.mark.parametrize(
    ("machine", "request_"),
    [
        (TWO, {"runtime": "llama.cpp", "threads": 46, "flags": DISTRIBUTE}),
        (TWO_SMT, {"runtime": "llama.cpp", "threads": 62, "flags": DISTRIBUTE}),
        (TWO_SMT, {"runtime": "llama.cpp", "flags": DISTRIBUTE}),
        (FOUR, {"runtime": "llama.cpp", "threads": 108, "flags": {**DISTRIBUTE, "-tb": 108}}),
        (EIGHT, {"runtime": "ik_llama.cpp", "threads": 120, "flags": DISTRIBUTE}),
        (CLUSTERS, {"runtime": "ik_llama.cpp", "threads": 120, "flags": DISTRIBUTE}),
        (ONE, {"runtime": "llama.cpp", "threads": 15}),
        (LAPTOP, {"runtime": "ik_llama.cpp"}),
        (LAPTOP, {"runtime": "llama.cpp", "threads": 7, "flags": DISTRIBUTE}),
        (TWO, {"runtime": "openmp", "threads": 24, "env": SPREAD}),
        (ONE, {"runtime": "openmp", "threads": 15, "env": SPREAD}),
        (TWO, {"runtime": "kt-kernel", "threads": 46}),
        (TWO_SMT, {"runtime": "kt-kernel", "threads": 62}),
        (TWO, {"runtime": "ktransformers", "version": "0.2.2", "cpu_infer": 47}),
    ],
)
def test_nothing_above_info(machine: str, request_: dict[str, object]) -> None:
    findings = judged(built(machine), **request_).findings
    assert [(f.severity, f.name) for f in findings if f.severity != "info"] == []
