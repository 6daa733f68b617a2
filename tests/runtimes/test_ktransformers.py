from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.errors import LaunchRefused, UsageError
from numatune.machine import CpuSet, Machine
from numatune.placement.placement import Placement, tally
from numatune.placement.request import Model, Request
from numatune.runtimes import ktransformers
from numatune.runtimes.runtime import Runtime
from tests.runtimes.machines import any_machine, machine, two_sockets

RUNTIME: Runtime = ktransformers


def placed(box: Machine, version: str, threads: int, **options: object) -> Placement:
    release = ktransformers.release(version, None, None)
    request = Request("ktransformers", threads=threads, options=options)
    return ktransformers.simulate(box, request, release)


def nodes_of(placement: Placement) -> list[int | None]:
    return [worker.node for worker in placement.workers]


@pytest.mark.parametrize(
    ("version", "behaviour", "versions"),
    [
        ("0.1.0", "unbound", "0.1.0 - 0.1.4"),
        ("v0.1.4", "unbound", "0.1.0 - 0.1.4"),
        ("0.2.0", "by-tasks", "0.2.0 - 0.2.2rc1"),
        ("v0.2.1", "by-tasks", "0.2.0 - 0.2.2rc1"),
        ("0.2.1.post1", "by-tasks", "0.2.0 - 0.2.2rc1"),
        ("0.2.1+cu121torch23avx2", "by-tasks", "0.2.0 - 0.2.2rc1"),
        ("0.2.2rc1", "by-tasks", "0.2.0 - 0.2.2rc1"),
        ("0.2.2rc2", "by-workers", "0.2.2 - 0.3.2"),
        ("0.2.2", "by-workers", "0.2.2 - 0.3.2"),
        ("v0.2.3post1", "by-workers", "0.2.2 - 0.3.2"),
        ("v0.2.4.post1", "by-workers", "0.2.2 - 0.3.2"),
        ("0.3.0", "by-workers", "0.2.2 - 0.3.2"),
        ("0.3.2", "by-workers", "0.2.2 - 0.3.2"),
        ("99f6e42", "by-tasks", "0.2.0 - 0.2.2rc1"),
        ("b2bff1777502519838b8a5ec112d2566635d42e5", "by-workers", "0.2.2 - 0.3.2"),
    ],
)
def test_each_version_belongs_to_its_era(version: str, behaviour: str, versions: str) -> None:
    release = ktransformers.release(version, None, None)
    assert (release.behaviour, release.versions) == (behaviour, versions)
    assert release.source.startswith("https://github.com/kvcache-ai/ktransformers/blob/")


def test_the_eras_side_by_side() -> None:
    shown = [(r.version, r.versions, r.numa_build) for r in ktransformers.releases(None)]
    assert shown == [
        ("0.1.4", "0.1.0 - 0.1.4", None),
        ("0.2.1", "0.2.0 - 0.2.2rc1", True),
        ("0.2.2", "0.2.2 - 0.3.2", True),
    ]
    assert ktransformers.releases(True) == ktransformers.releases(None)
    (only,) = ktransformers.releases(False)
    assert (only.versions, only.behaviour, only.numa_build) == ("0.1.0 - 0.3.2", "unbound", False)


def test_the_newest_is_meant_where_none_is_named() -> None:
    assert ktransformers.release(None, None, None).version == "0.3.2"


def test_a_known_commit_decides_and_an_unknown_one_beside_a_version_does_not() -> None:
    assert ktransformers.release("0.2.1", "b2bff1777502", None).behaviour == "by-workers"
    assert ktransformers.release("0.2.1", "1234567", None).behaviour == "by-tasks"
    assert ktransformers.release(None, "99f6e421", None).version == "99f6e421"


@pytest.mark.parametrize("version", ["0.4.1", "0.7.2"])
def test_what_is_kt_kernel_by_now(version: str) -> None:
    with pytest.raises(UsageError, match=f"--runtime kt-kernel=={version}"):
        ktransformers.release(version, None, None)


@pytest.mark.parametrize(
    ("version", "hint"),
    [
        ("0.2.5", r"newest of that series is 0\.2\.4\.post1.*newest of all 0\.3\.2"),
        ("0.3.3", r"newest of that series is 0\.3\.2"),
        ("0.1.5", r"newest of that series is 0\.1\.4"),
        ("0.0.1", "known are 0.1.0 - 0.1.4, 0.2.0 - 0.2.2rc1, 0.2.2 - 0.3.2"),
        ("newest", "newest is not known"),
        ("1234567", "commit 1234567 is not known"),
    ],
)
def test_unknown_versions_are_refused_with_what_is_known(version: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        ktransformers.release(version, None, None)


def test_the_machine_of_pull_request_685() -> None:
    box = two_sockets()
    workers = placed(box, "0.2.1", 42).workers
    assert Counter(worker.node for worker in workers) == {0: 16, 1: 25}
    assert [worker.node for worker in workers[:32]] == [0] * 16 + [1] * 16
    assert {worker.node for worker in workers[32:]} == {1}
    assert str(workers[0].cpus) == "0-23"
    assert (workers[40].binding, workers[40].memory) == ("node", "bind:1")
    assert workers[0].name == "worker 0 (task queue)"


def test_after_the_fix_the_first_node_gets_the_odd_worker() -> None:
    assert nodes_of(placed(two_sockets(), "0.2.2", 42)) == [0] * 21 + [1] * 20


def test_one_copy_of_the_weights_a_node_with_memory() -> None:
    assert placed(two_sockets(), "0.2.2", 9).weight_copies == 2
    assert placed(two_sockets(memoryless=[1]), "0.2.2", 9).weight_copies == 1
    assert placed(two_sockets(), "0.1.4", 9).weight_copies == 1


def test_jobs_are_run_in_the_order_given() -> None:
    assert (
        nodes_of(placed(two_sockets(), "0.2.1", 9, task_counts=(2, 8)))
        == [0, 1] + [0] * 2 + [1] * 4
    )
    assert nodes_of(placed(two_sockets(), "0.2.1", 9, task_counts=(8, 2))) == [0] * 4 + [1] * 4


def test_workers_that_no_job_wakes_are_listed_without_a_place() -> None:
    placement = placed(two_sockets(), "0.2.1", 9, task_counts=(2,))
    assert nodes_of(placement) == [0, 1] + [None] * 6
    assert {worker.binding for worker in placement.workers[2:]} == {"none"}
    assert nodes_of(placed(two_sockets(), "0.2.2", 9, task_counts=())) == [None] * 8
    assert nodes_of(placed(two_sockets(), "0.2.2", 9, task_counts=(2,))) == [0] * 4 + [1] * 4


@pytest.mark.parametrize(
    ("inner", "hidden", "jobs"),
    [(2048, 7168, (32, 112)), (1408, 2048, (22, 32)), (14336, 4096, (224, 64))],
)
def test_job_sizes_follow_from_the_sizes_of_the_model(
    inner: int, hidden: int, jobs: tuple[int, ...]
) -> None:
    model = Model("m", moe_intermediate_size=inner, hidden_size=hidden)
    release = ktransformers.release("0.2.1", None, None)
    request = Request("ktransformers", threads=300, model=model)
    assert ktransformers.task_counts(request, release) == (*jobs, 299)


def test_a_prompt_wakes_who_still_sleeps_after_the_warm_up() -> None:
    workers = placed(two_sockets(256), "0.2.1", 301).workers
    assert all(worker.node is not None for worker in workers)
    # From 112 on the first jobs of a prompt, with more tasks than workers, decide.
    assert [worker.node for worker in workers[112:]] == [i * 2 // 300 for i in range(112, 300)]


def test_an_unknown_model_is_said_where_it_matters() -> None:
    request = Request("ktransformers", threads=9, model=Model("another"))
    with pytest.raises(UsageError, match="not known for another; give its moe_intermediate_size"):
        ktransformers.simulate(two_sockets(), request, ktransformers.release("0.2.1", None, None))
    ktransformers.simulate(two_sockets(), request, ktransformers.release("0.2.2", None, None))


def test_one_thread_is_no_worker() -> None:
    for version in ("0.1.4", "0.2.1", "0.2.2"):
        with pytest.raises(LaunchRefused, match="SIGFPE") as caught:
            placed(two_sockets(), version, 1)
        assert caught.value.rule == "no-workers"
    request = Request("ktransformers", threads=1)
    counts = ktransformers.tally(two_sockets(), request, ktransformers.releases(None)[1])
    assert counts.refused is not None
    assert "SIGFPE" in counts.refused


def test_a_job_without_tasks_kills_all_but_the_fixed_version() -> None:
    for version in ("0.1.4", "0.2.1"):
        with pytest.raises(LaunchRefused, match="job without tasks"):
            placed(two_sockets(), version, 9, task_counts=(0,))
    assert nodes_of(placed(two_sockets(), "0.2.2", 9, task_counts=(0,))) == [0] * 4 + [1] * 4


def test_without_node_folders_only_the_numa_build_dies() -> None:
    bare = Machine(source="test", online_cpus=CpuSet(range(8)))
    with pytest.raises(LaunchRefused) as caught:
        placed(bare, "0.2.2", 9)
    assert caught.value.rule == "no-numa-information"
    assert nodes_of(placed(bare, "0.1.4", 9)) == [None] * 8
    plain = ktransformers.release("0.2.2", None, False)
    request = Request("ktransformers", threads=9)
    assert str(ktransformers.simulate(bare, request, plain).workers[0].cpus) == "0-7"


@pytest.mark.parametrize("threads", [0, -1, 1 << 20])
def test_counts_out_of_bounds(threads: int) -> None:
    with pytest.raises(UsageError, match="--cpu_infer"):
        placed(two_sockets(), "0.2.2", threads)


def test_without_a_count() -> None:
    with pytest.raises(UsageError, match="give one with --cpu_infer"):
        ktransformers.simulate(
            two_sockets(), Request("ktransformers"), ktransformers.releases(None)[2]
        )


@pytest.mark.parametrize("jobs", ["x", (-1,), ("a",), 1.5])
def test_wrong_task_counts(jobs: object) -> None:
    with pytest.raises(UsageError, match="task_counts"):
        placed(two_sockets(), "0.2.1", 9, task_counts=jobs)


@pytest.mark.usefixtures("untraced")
def test_a_very_large_count_is_simulated_at_once() -> None:
    started = time.process_time()
    placement = placed(two_sockets(), "0.2.1", 99999)
    assert time.process_time() - started < 8
    assert len(placement.workers) == 99998
    # The largest job has 7168 tasks; no job wakes a worker beyond them.
    assert sum(worker.node is None for worker in placement.workers) == 99998 - 7168


def test_unknown_cpus_are_said_to_be_unknown() -> None:
    workers = placed(machine({0: None, 1: None}), "0.2.2", 3).workers
    assert [(worker.node, worker.cpus) for worker in workers] == [(0, None), (1, None)]


@given(
    any_machine(),
    st.integers(1, 200),
    st.sampled_from(["0.1.4", "0.2.1", "0.2.2"]),
    st.sampled_from([None, False]),
    st.one_of(st.none(), st.lists(st.integers(0, 60), max_size=4)),
)
def test_counting_agrees_with_placing(
    box: Machine, threads: int, version: str, built: bool | None, jobs: list[int] | None
) -> None:
    release = ktransformers.release(version, None, built)
    options = {} if jobs is None else {"task_counts": jobs}
    request = Request("ktransformers", threads=threads, options=options)
    counts = ktransformers.tally(box, request, release)
    if counts.refused is not None:
        with pytest.raises(LaunchRefused) as caught:
            ktransformers.simulate(box, request, release)
        assert caught.value.reason == counts.refused
        return
    placement = ktransformers.simulate(box, request, release)
    assert counts == tally(placement)
    assert len(placement.workers) == threads - 1
    for worker in placement.workers:
        node = None if worker.node is None else box.node(worker.node)
        assert (worker.binding == "node") == (node is not None)
        if node is not None and node.cpus is not None and worker.cpus is not None:
            assert worker.cpus
            assert worker.cpus <= node.cpus


@given(st.integers(2, 300), st.integers(1, 9))
def test_the_fixed_split_is_balanced(threads: int, nodes: int) -> None:
    box = machine({i: f"{4 * i}-{4 * i + 3}" for i in range(nodes)})
    counts = Counter(nodes_of(placed(box, "0.2.2", threads)))
    sizes = [counts[i] for i in range(nodes)]
    assert sum(sizes) == threads - 1
    assert max(sizes) - min(sizes) <= 1
