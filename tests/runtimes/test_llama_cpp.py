from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import numatune
from numatune.errors import LaunchRefused, MachineError, NumatuneError, UsageError
from numatune.machine import CpuSet, Machine
from numatune.placement.placement import Placement, tally
from numatune.placement.request import Request
from numatune.placement.requests import request_of
from numatune.placement.sweep import sweep
from numatune.runtimes import llama_cpp
from numatune.runtimes.runtime import Runtime
from tests.runtimes.machines import any_machine, machine, two_sockets

RUNTIME: Runtime = llama_cpp

#: Two sockets of three cores with two threads each: 0-2,6-8 and 3-5,9-11.
SMT = two_sockets(3, siblings=6)


def placed(
    box: Machine, threads: int | None, version: str | None = None, **options: Any
) -> Placement:
    env = options.pop("env", {})
    request = Request("llama.cpp", threads=threads, options=options, env=env)
    return llama_cpp.simulate(box, request, llama_cpp.release(version, None, None))


def cpus(placement: Placement) -> list[str]:
    return [str(worker.cpus) for worker in placement.workers]


def brief(placement: Placement) -> dict[tuple[int | None, str, str], int]:
    return Counter((w.node, str(w.cpus), w.binding) for w in placement.workers)


@pytest.mark.parametrize(
    ("written", "shown", "behaviour"),
    [
        (None, "ggml 0.25.3", "round-robin"),
        ("ggml 0.25.3", "ggml 0.25.3", "round-robin"),
        ("ggml-0.9.5", "ggml 0.9.5", "round-robin"),
        ("b4567", "b4567", "round-robin"),
        ("4567", "b4567", "round-robin"),
        ("version: 10386 (89e0aa6fd)", "b10386", "round-robin"),
        ("b2161", "b2161", "round-robin"),
        ("b2160", "b2160", "blocks"),
        ("b747", "b747", "blocks"),
        ("0c1e57098", "0c1e57098", "round-robin"),
        ("89e0aa6", "89e0aa6", "round-robin"),
        ("v0.3.0", "0.3.0", "round-robin"),
    ],
)
def test_known_versions(written: str | None, shown: str, behaviour: str) -> None:
    release = llama_cpp.release(written, None, None)
    assert (release.version, release.behaviour) == (shown, behaviour)
    assert llama_cpp.release(release.version, None, None) == release


@pytest.mark.parametrize(
    "version",
    [
        "b746",
        "b999999",
        "ggml 0.9.4",
        "ggml 0.26.0",
        "0.5.0",
        "0.1",
        "1234567",
        "x",
        "",
        "b",
        "ggml",
    ],
)
def test_unknown_versions_are_refused_with_the_known_ones(version: str) -> None:
    with pytest.raises(UsageError, match=r"is not known; known are builds b747 - b10819"):
        llama_cpp.release(version, None, None)


def test_a_commit_stands_in_for_a_version() -> None:
    assert llama_cpp.release(None, "0c1e57098", None).version == "0c1e57098"
    assert llama_cpp.release("b3000", "deadbeef", None).version == "b3000"
    with pytest.raises(UsageError, match="commit deadbeef is not known"):
        llama_cpp.release(None, "deadbeef", None)


def test_the_eras_side_by_side() -> None:
    assert [r.version for r in llama_cpp.releases(None)] == ["b2160", "ggml 0.25.3"]


def test_before_pull_request_5377_threads_were_dealt_in_blocks() -> None:
    old = placed(two_sockets(), 5, "b2160", numa="distribute")
    assert [w.node for w in old.workers] == [0, 0, 0, 1, 1]
    new = placed(two_sockets(), 5, "b2161", numa="distribute")
    assert [w.node for w in new.workers] == [0, 1, 0, 1, 0]
    four = machine({0: "0-3", 1: "4-7", 2: "8-11", 3: "12-15"})
    blocks = placed(four, 5, "b2000", numa="")
    assert [w.node for w in blocks.workers] == [0, 0, 1, 1, 2]


def test_an_old_version_knows_no_strategies() -> None:
    with pytest.raises(UsageError, match=r"has no --numa isolate.*b2161"):
        placed(two_sockets(), 4, "b2000", numa="isolate")
    old = placed(two_sockets(), 4, "b2000", env={"LLAMA_ARG_NUMA": "isolate"})
    assert {w.binding for w in old.workers} == {"none"}


def test_distribute_ties_to_whole_nodes_and_numa_wins_over_a_mask() -> None:
    assert brief(placed(SMT, 5, numa="distribute")) == {
        (0, "0-2,6-8", "node"): 3,
        (1, "3-5,9-11", "node"): 2,
    }
    assert brief(placed(SMT, 2, numa="distribute", cpu_mask="1", cpu_strict="1")) == {
        (0, "0-2,6-8", "node"): 1,
        (1, "3-5,9-11", "node"): 1,
    }


def test_the_environment_gives_what_the_command_line_does_not() -> None:
    env = {"LLAMA_ARG_NUMA": "distribute", "LLAMA_ARG_THREADS": "3"}
    assert [w.node for w in placed(SMT, None, env=env).workers] == [0, 1, 0]
    assert [w.node for w in placed(SMT, 2, numa="none", env=env).workers] == [None, None]


def test_distribute_replaces_an_inherited_affinity_but_not_a_cpuset() -> None:
    assert cpus(placed(two_sockets(affinity="24-47"), 2, numa="distribute")) == ["0-23", "24-47"]
    caged = placed(two_sockets(cpuset_cpus="0-11", affinity="0-5"), 2, numa="distribute")
    assert brief(caged) == {(0, "0-11", "node"): 1, (None, "0-5", "none"): 1}


def test_where_numa_is_refused_a_mask_stays() -> None:
    box = machine({0: "0-3", 1: "4-7", 2: ""})
    options: dict[str, Any] = {"numa": "distribute", "cpu_range": "4-5", "cpu_strict": 1}
    # Threads 2 and 5 belong to the node without CPUs: steps 2 and 5 of the walk.
    openmp = placed(box, 6, **options)
    assert [str(openmp.workers[i].cpus) for i in (2, 5)] == ["4", "5"]
    pool = placed(box, 6, openmp_build=False, **options)
    assert [str(pool.workers[i].cpus) for i in (2, 5)] == ["5", "4"]


def test_numactl_keeps_the_affinity_and_overrides_a_mask() -> None:
    box = two_sockets(affinity="24-35")
    assert brief(placed(box, 3, numa="numactl")) == {(1, "24-35", "mask"): 3}
    assert brief(placed(two_sockets(), 3, numa="numactl", cpu_mask="1")) == {
        (None, "0-47", "none"): 3
    }
    assert brief(placed(two_sockets(affinity="20-27"), 1, numa="numactl")) == {
        (None, "20-27", "mask"): 1
    }


def test_nodes_after_a_gap_and_beyond_eight_are_not_seen() -> None:
    gap = machine({0: "0-3", 2: "4-7"})
    assert brief(placed(gap, 2, numa="distribute")) == {(None, "0-7", "none"): 2}
    many = machine({i: str(i) for i in range(10)})
    assert [w.node for w in placed(many, 10, numa="distribute").workers] == [*range(8), 0, 1]


def test_cpus_from_512_on_are_not_seen() -> None:
    box = machine({0: "0-191,384-575", 1: "192-383,576-767"})
    assert cpus(placed(box, 2, numa="distribute")) == ["0-191,384-511", "192-383"]
    late = machine({0: "0-511", 1: "512-600"}, affinity="512-600")
    # Both node 1 and what was inherited lie beyond, so that the kernel gets empty masks.
    assert brief(placed(late, 2, numa="distribute")) == {
        (0, "0-511", "node"): 1,
        (None, "512-600", "none"): 1,
    }
    assert brief(placed(late, 2, numa="numactl")) == {(None, "512-600", "none"): 2}


def test_an_absent_cpu_ends_the_search_an_offline_one_does_not() -> None:
    box = machine({0: "0-3", 1: "6-9"})
    offline = box._replace(offline_cpus=CpuSet([4, 5]))
    assert cpus(placed(offline, 2, numa="distribute")) == ["0-3", "6-9"]
    absent = box._replace(offline_cpus=CpuSet())
    assert cpus(placed(absent, 2, numa="distribute")) == ["0-3", "0-3,6-9"]


def test_isolate_stays_on_the_node_it_starts_on() -> None:
    assert {w.node for w in placed(two_sockets(), 4, numa="isolate", current_cpu=30).workers} == {1}
    limits = two_sockets().limits._replace(start_cpu=3)
    box = two_sockets()._replace(limits=limits)
    assert {w.node for w in placed(box, 4, numa="isolate").workers} == {0}
    inside = two_sockets(affinity="30-40")
    assert {w.node for w in placed(inside, 4, numa="isolate").workers} == {1}
    with pytest.raises(MachineError, match="start_cpu"):
        placed(two_sockets(), 4, numa="isolate")
    with pytest.raises(MachineError, match="CPU 99"):
        placed(two_sockets(), 4, numa="isolate", current_cpu=99)


def test_isolate_crashes_on_a_node_that_its_table_does_not_hold() -> None:
    box = machine({i: str(i) for i in range(10)})
    with pytest.raises(LaunchRefused, match="segmentation fault") as refused:
        placed(box, 2, numa="isolate", current_cpu=9)
    assert refused.value.rule == "start-node-beyond-limit"
    assert refused.value.numbers == {"node": 9, "limit": 8}
    request = Request("llama.cpp", threads=2, options={"numa": "isolate", "current_cpu": 9})
    counts = llama_cpp.tally(box, request, llama_cpp.release(None, None, None))
    assert counts.refused is not None
    # A node that was not found, within the table, has an empty mask there.
    gap = machine({0: "0-3", 1: "4-7", 5: "8-11"})
    assert brief(placed(gap, 2, numa="isolate", current_cpu=9)) == {(None, "0-11", "none"): 2}
    # Where but one node is seen nothing is looked up.
    single = machine({0: "0-3", 9: "4-7"})
    assert brief(placed(single, 1, numa="isolate", current_cpu=5)) == {(None, "0-7", "none"): 1}


def test_masks_are_or_ed_and_walked() -> None:
    both = placed(SMT, 3, cpu_mask="0x8", cpu_range="0-1", cpu_strict=True)
    assert cpus(both) == ["0", "1", "3"]
    assert [(w.node, w.binding) for w in both.workers] == [(0, "cpu"), (0, "cpu"), (1, "cpu")]
    assert brief(placed(SMT, 2, cpu_range="0-3")) == {(None, "0-3", "mask"): 2}
    assert brief(placed(SMT, 2, cpu_range="-2")) == {(0, "0-2", "mask"): 2}
    assert brief(placed(SMT, 2, cpu_range="9-")) == {(1, "9-11", "mask"): 2}


def test_the_main_thread_comes_last_in_a_pthread_build() -> None:
    options: dict[str, Any] = {"cpu_range": "0-3", "cpu_strict": 1, "openmp_build": False}
    assert cpus(placed(SMT, 3, **options)) == ["2", "0", "1"]
    assert cpus(placed(SMT, 6, **options)) == ["1", "0", "1", "2", "3", "0"]


def test_one_thread_of_an_openmp_build_takes_no_mask() -> None:
    assert cpus(placed(SMT, 1, cpu_range="0-3")) == ["0-11"]
    assert cpus(placed(SMT, 1, cpu_range="0-3", openmp_build=False)) == ["0-3"]


def test_a_mask_outside_of_the_cpuset_is_refused_by_the_kernel() -> None:
    box = two_sockets(cpuset_cpus="0-5")
    assert brief(placed(box, 2, cpu_range="24-30")) == {(None, "0-5", "none"): 2}
    assert cpus(placed(box, 3, cpu_range="4-6", cpu_strict=1)) == ["4", "5", "0-5"]


def test_an_empty_mask_is_none() -> None:
    assert brief(placed(SMT, 2, cpu_mask="0", cpu_strict=1)) == {(None, "0-11", "none"): 2}


def test_masks_by_version() -> None:
    with pytest.raises(UsageError, match="has no CPU masks"):
        placed(SMT, 2, "b3000", cpu_mask="1")
    with pytest.raises(UsageError, match="pull request 8672"):
        placed(SMT, 2, "b4000", cpu_mask="1", openmp_build=False)
    with pytest.raises(UsageError, match="pull request 16164"):
        placed(SMT, 2, "b6452", cpu_mask="1")
    assert cpus(placed(SMT, 2, "b6451", cpu_mask="1")) == ["0-11", "0-11"]
    assert cpus(placed(SMT, 2, "b7045", cpu_mask="1")) == ["0", "0"]
    assert cpus(placed(SMT, 2, "b5857", cpu_mask="1", openmp_build=False)) == ["0", "0"]
    assert cpus(placed(SMT, 2, "ggml 0.9.5", cpu_mask="1")) == ["0", "0"]


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("numa", "banana", "refuses --numa banana"),
        ("numa", "mirror", "refuses --numa mirror"),
        ("cpu_mask", "fg", "not hexadecimal"),
        ("cpu_mask", "0Xff", "not hexadecimal"),
        ("cpu_mask", "f" * 129, "129 digits"),
        ("cpu_mask", 255, "text of hex digits"),
        ("cpu_mask", "0-600", "above 511"),
        ("cpu_mask", "5-2", "backwards"),
        ("cpu_range", "5", "lo-hi"),
        ("cpu_range", "5-2", "backwards"),
        ("cpu_range", "0-512", "beyond"),
        ("cpu_range", "a-3", "whole number"),
        ("cpu_strict", "maybe", "on or off"),
        ("openmp_build", "perhaps", "on or off"),
    ],
)
def test_wrong_values(option: str, value: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        placed(SMT, 4, **{option: value})


def test_the_longest_mask() -> None:
    assert brief(placed(SMT, 2, cpu_mask="0x" + "f" * 128)) == {(None, "0-11", "mask"): 2}


def test_openmp_binds_what_neither_numa_nor_a_mask_does() -> None:
    env = {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}
    box = two_sockets(3)
    assert cpus(placed(box, 3, env=env)) == ["0", "1", "2"]
    assert cpus(placed(box, 3, env=env, openmp_build=False)) == ["0-5"] * 3
    assert cpus(placed(box, 3, env=env, numa="distribute")) == ["0-2", "3-5", "0-2"]
    assert cpus(placed(box, 3, env=env, cpu_mask="38")) == ["3-5"] * 3
    assert cpus(placed(box, 2, "b3000", env=env)) == ["0-5"] * 2
    assert cpus(placed(box, 2, "b3077", env=env)) == ["0", "1"]
    # The main thread sits on its place when ggml asks for its affinity.
    assert brief(placed(box, 3, env=env, numa="numactl")) == {(0, "0", "mask"): 3}
    assert cpus(placed(box, 2, env={"OMP_NUM_THREADS": "4"})) == ["0-5"] * 2


def test_without_a_count_the_default_is_taken() -> None:
    assert len(placed(SMT, None).workers) == 6
    with pytest.raises(UsageError, match=r"takes the physical cores.*-t"):
        placed(two_sockets(cores_known=False), None)


def test_without_a_node_directory_numa_does_nothing() -> None:
    bare = Machine("bare", online_cpus=CpuSet([0, 1]))
    assert brief(placed(bare, 2, numa="distribute")) == {(None, "0-1", "none"): 2}
    with pytest.raises(MachineError, match="states no NUMA nodes"):
        placed(bare._replace(gaps=("nodes",)), 2, numa="distribute")


def test_nodes_of_unknown_cpus() -> None:
    workers = placed(machine({0: "0-3", 1: None}), 2, numa="distribute").workers
    assert [(w.node, w.cpus, w.binding) for w in workers][1] == (1, None, "node")


def test_phases() -> None:
    def asked(**options: Any) -> dict[str, Request]:
        return dict(llama_cpp.phases(Request("llama.cpp", threads=8, options=options)))

    assert list(asked()) == ["generation"]
    assert list(asked(threads_batch=8)) == ["generation"]
    # Without a count of its own the prompt takes all from generation, and its mask is ignored.
    assert list(asked(cpu_mask_batch="f", cpu_mask="3")) == ["generation"]
    both = asked(threads_batch="16", cpu_mask_batch="f", cpu_mask="3", cpu_strict=1, numa="isolate")
    assert both["generation"].threads == 8
    assert both["generation"].options["cpu_mask"] == "3"
    assert both["prompt"].threads == 16
    assert both["prompt"].options == {"cpu_mask": "f", "numa": "isolate"}
    # With a count it does not take over the mask.
    assert asked(threads_batch=8, cpu_mask="3")["prompt"].options == {}
    with pytest.raises(UsageError, match="--threads-batch 0"):
        asked(threads_batch=0)


def test_the_command_lines_own_spellings() -> None:
    request = request_of(
        {
            "runtime": "llama.cpp",
            "flags": {"-t": 4, "-C": "f", "-Cr": "8-9", "--cpu-strict": 1, "-tb": 8, "-Cb": "ff",
                      "--no-repack": True, "-c": 4096},
        }
    )  # fmt: skip
    assert request.threads == 4
    assert request.options["cpu_range"] == "8-9"
    assert dict(llama_cpp.phases(request))["prompt"].options["cpu_mask"] == "ff"


def test_a_sweep_sees_a_mask_that_is_smaller_than_its_node() -> None:
    def safe(box: Machine, **options: Any) -> str:
        request = Request("llama.cpp", options=options)
        found = sweep(box, request, llama_cpp, llama_cpp.release(None, None, None))
        return str(found.safe)

    assert safe(two_sockets(8), cpu_range="2-4") == "1-3"
    assert safe(two_sockets(8), cpu_range="6-9", cpu_strict=1) == "1-4"
    assert safe(SMT, cpu_mask="0-1,6-7", cpu_strict=1) == "1-2"
    assert safe(SMT, cpu_mask="0-1,6-7") == "1-2"
    assert safe(two_sockets(8), numa="distribute") == "1-16"
    # Of node 1 only 128 CPUs are seen.
    uneven = machine({0: "0-383", 1: "384-767"})
    assert safe(uneven, numa="distribute") == "1-257"
    assert safe(two_sockets(8, cores_known=False), cpu_range="2-4") == "1-3"


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "numa": st.sampled_from(["distribute", "isolate", "numactl", "none"]),
        "cpu_mask": st.integers(0, 1 << 24).map(lambda mask: f"{mask:x}"),
        "cpu_range": st.sampled_from(["0-3", "2-", "-7", "4-11"]),
        "cpu_strict": st.booleans(),
        "openmp_build": st.booleans(),
        "current_cpu": st.integers(0, 12),
    },
)


@given(
    any_machine(),
    st.integers(1, 80),
    OPTIONS,
    st.sampled_from(["b2160", "b5857", None]),
    st.sampled_from([{}, {"OMP_PLACES": "threads"}, {"OMP_PROC_BIND": "spread"}]),
)
def test_the_tally_is_the_simulation(
    box: Machine, threads: int, options: dict[str, Any], version: str | None, env: dict[str, str]
) -> None:
    request = Request("llama.cpp", threads=threads, options=options, env=env)
    release = llama_cpp.release(version, None, None)
    placement = reason = None
    try:
        placement = llama_cpp.simulate(box, request, release)
    except LaunchRefused as refused:
        reason = refused.reason
    except NumatuneError as error:
        with pytest.raises(type(error)):
            llama_cpp.tally(box, request, release)
        return
    counts = llama_cpp.tally(box, request, release)
    assert counts.refused == reason
    if placement is None:
        return
    assert (counts.nodes, counts.unbound) == tally(placement)[:2]
    assert len(placement.workers) == threads
    usable = box.usable_cpus
    for worker in placement.workers:
        assert worker.cpus is None or usable is None or worker.cpus <= usable
        assert worker.node is None or box.node(worker.node) is not None


def test_the_public_api_takes_the_options() -> None:
    workers = numatune.simulate(SMT, "llama.cpp", threads=2, numa="distribute").workers
    assert [worker.name for worker in workers] == ["thread 0 (main)", "thread 1"]
    assert [worker.memory for worker in workers] == ["default", "default"]
