from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.errors import LaunchRefused, NumatuneError, UsageError
from numatune.machine import Machine
from numatune.placement.placement import Placement, tally
from numatune.placement.request import Request
from numatune.placement.requests import request_of
from numatune.placement.sweep import sweep
from numatune.runtimes import ik_llama_cpp
from numatune.runtimes.runtime import Runtime
from tests.runtimes.machines import any_machine, machine, two_sockets

RUNTIME: Runtime = ik_llama_cpp
NEWEST = ik_llama_cpp.release(None, None, None)


def placed(box: Machine, threads: int | None, **options: Any) -> Placement:
    env = options.pop("env", {})
    request = Request("ik_llama.cpp", threads=threads, options=options, env=env)
    return ik_llama_cpp.simulate(box, request, NEWEST)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (None, "8337e4cd"),
        ("8337E4CD3", "8337e4cd3"),
        ("b4000", "b4000"),
        ("main-b4000-1a2b3c4", "b4000"),
        ("3347", "b3347"),
        ("4840", "b4840"),
    ],
)
def test_known_versions(written: str | None, shown: str) -> None:
    release = ik_llama_cpp.release(written, None, None)
    assert (release.version, release.behaviour) == (shown, "round-robin")
    assert ik_llama_cpp.releases(None) == (NEWEST,)


@pytest.mark.parametrize("version", ["b3346", "b4841", "deadbeef", "ggml 0.25.3", "0.1"])
def test_unknown_versions(version: str) -> None:
    with pytest.raises(UsageError, match=r"is not known; known are builds b3347 - b4840"):
        ik_llama_cpp.release(version, None, None)


def test_numa_is_that_of_llama_cpp() -> None:
    box = two_sockets(affinity="24-47")
    assert [w.node for w in placed(box, 3, numa="distribute").workers] == [0, 1, 0]
    assert [w.node for w in placed(box, 2, numa="numactl").workers] == [1, 1]
    assert [w.node for w in placed(box, 2, numa="isolate").workers] == [1, 1]
    assert {w.binding for w in placed(box, 2).workers} == {"none"}
    with pytest.raises(UsageError, match=r"ik_llama.cpp refuses --numa mirror"):
        placed(box, 2, numa="mirror")
    many = machine({i: str(i) for i in range(10)})
    with pytest.raises(LaunchRefused, match="segmentation fault"):
        placed(many, 2, numa="isolate", current_cpu=9)


def test_openmp_binds_where_numa_does_not() -> None:
    env = {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}
    box = two_sockets(2)
    assert [str(w.cpus) for w in placed(box, 3, env=env).workers] == ["0", "1", "2"]
    loose = placed(box, 3, env=env, openmp_build=False)
    assert {w.binding for w in loose.workers} == {"none"}


def test_without_a_count_the_default_is_taken() -> None:
    assert len(placed(two_sockets(3, siblings=6), None).workers) == 6


def test_there_are_no_masks() -> None:
    with pytest.raises(UsageError, match="no cpu_mask"):
        request_of({"runtime": "ik_llama.cpp", "cpu_mask": "f"})
    flags = {"-t": 8, "-tb": 16, "-rtr": True, "-thp": True, "--numa": "distribute"}
    request = request_of({"runtime": "ik_llama.cpp", "flags": flags})
    prompt = dict(ik_llama_cpp.phases(request))["prompt"]
    assert (request.threads, prompt.threads) == (8, 16)
    assert prompt.options["run_time_repack"] is True


def test_a_node_of_which_a_part_is_seen() -> None:
    request = Request("ik_llama.cpp", options={"numa": "distribute"})
    box = machine({0: "0-383", 1: "384-767"})
    assert str(sweep(box, request, ik_llama_cpp, NEWEST).safe) == "1-257"


@given(
    any_machine(),
    st.integers(1, 60),
    st.sampled_from([None, "distribute", "isolate", "numactl"]),
    st.integers(0, 12),
)
def test_the_tally_is_the_simulation(
    box: Machine, threads: int, numa: str | None, current_cpu: int
) -> None:
    options = {"numa": numa, "current_cpu": current_cpu}
    request = Request("ik_llama.cpp", threads=threads, options=options)
    placement = reason = None
    try:
        placement = ik_llama_cpp.simulate(box, request, NEWEST)
    except LaunchRefused as refused:
        reason = refused.reason
    except NumatuneError as error:
        with pytest.raises(type(error)):
            ik_llama_cpp.tally(box, request, NEWEST)
        return
    counts = ik_llama_cpp.tally(box, request, NEWEST)
    assert counts.refused == reason
    if placement is not None:
        assert (counts.nodes, counts.unbound) == tally(placement)[:2]
