"""Memory that may not be used, and platforms that hide a part of the machine."""

import pytest

from numatune.machine import Machine
from tests.rules.cases import ONE, TWO, built, found, is_good, judged, numactl, skip_of, the

GB = 10**9
SMALL, LIMIT = "bound-memory-too-small", "platform-limit"
LLAMA = {"runtime": "llama.cpp", "threads": 20}
WSL = "initrd=\\initrd.img WSL_ROOT_INIT=1 panic=-1 nr_cpus=16 console=hvc0"


def model(size: int) -> dict[str, object]:
    """Return a model of so many GB."""
    return {"name": "the model", "bytes": size * GB}


@pytest.mark.parametrize(
    ("launcher", "nodes"),
    [
        ("numactl -N 1 -m 1 ./server", [1]),
        ("docker run --cpuset-cpus 0-23 --cpuset-mems 0 image", [0]),
        ("systemd AllowedMemoryNodes=1 AllowedCPUs=24-47", [1]),
    ],
)
def test_a_model_larger_than_the_node_it_is_bound_to(launcher: str, nodes: list[int]) -> None:
    one = the(judged(built(TWO), **LLAMA, launcher=launcher, model=model(600)), SMALL)
    assert one.severity == "critical"
    assert dict(one.numbers) == {
        "nodes": nodes,
        "needed_bytes": 600 * GB,
        "available_bytes": 512 * GB,
    }
    assert is_good(judged(built(TWO), **LLAMA, launcher=launcher, model=model(500)), SMALL)


@pytest.mark.parametrize(
    "launcher",
    [
        "numactl --interleave=all ./server",
        "numactl -N 1 -p 1 ./server",
        "numactl -N 1 ./server",
        "numactl -m 0,1 ./server",
        None,
    ],
)
def test_memory_that_may_come_from_everywhere(launcher: str | None) -> None:
    assert is_good(judged(built(TWO), **LLAMA, launcher=launcher, model=model(900)), SMALL)


def test_a_machine_that_is_too_small_as_a_whole_is_not_meant() -> None:
    request = {**LLAMA, "launcher": "numactl -m 1 ./server"}
    assert is_good(judged(built(TWO), **request, model=model(1025)), SMALL)
    assert found(judged(built(TWO), **request, model=model(1024)), SMALL)


def test_a_pool_of_kt_kernel_keeps_its_share_on_its_node() -> None:
    request = {"runtime": "kt-kernel", "threads": 20, "model": model(600)}
    one = the(judged(built(TWO), **request, flags={"--kt-threadpool-count": 1}), SMALL)
    assert one.numbers["nodes"] == [0]
    assert "--kt-threadpool-count 2" in one.fix
    assert is_good(judged(built(TWO), **request, flags={"--kt-threadpool-count": 2}), SMALL)
    uneven = numactl((0, "0-15", 800_000), (1, "16-31", 200_000), packages=2, cores=16)
    small = the(judged(uneven, **request, flags={"--kt-threadpool-count": 2}), SMALL)
    assert small.numbers == {
        "nodes": [1],
        "needed_bytes": 300 * GB,
        "available_bytes": 200_000 << 20,
    }


def test_pools_in_a_container_that_forbids_policies_are_not_bound() -> None:
    request = {"runtime": "kt-kernel", "threads": 20, "flags": {"--kt-threadpool-count": 1}}
    inside = judged(built(TWO), **request, model=model(600), launcher="docker run image ./server")
    assert is_good(inside, SMALL)


def test_copies_of_ktransformers_count_within_a_cpuset() -> None:
    request = {"runtime": "ktransformers", "version": "0.3.2", "cpu_infer": 20, "model": model(300)}
    inside = built(TWO, allowed_cpus="0-23", allowed_mems="0")
    assert the(judged(inside, **request), SMALL).numbers["needed_bytes"] == 600 * GB
    assert is_good(judged(inside, **request, numa_build=False), SMALL)
    bound = judged(built(TWO), **request, launcher="numactl -m 0 ./server")
    assert is_good(bound, SMALL), "each copy is bound to its own node"


def test_sizes_must_be_known() -> None:
    request = {**LLAMA, "launcher": "numactl -m 1 ./server"}
    assert "--model" in skip_of(judged(built(TWO), **request), SMALL).reason
    assert "GPU" in skip_of(judged(built(TWO), **request, gpus=1, model=model(600)), SMALL).reason
    nodes = tuple(node._replace(memory_total_bytes=None) for node in built(TWO).nodes)
    bare = built(TWO, allowed_cpus="0-23", allowed_mems="0")._replace(nodes=nodes)
    assert "numactl" in skip_of(judged(bare, **LLAMA, model=model(600)), SMALL).reason
    assert skip_of(judged(built(TWO)), SMALL)


@pytest.mark.parametrize("policy", ["best-effort", "restricted", "single-numa-node"])
def test_the_kubelet_takes_eight_nodes(policy: str) -> None:
    request = {**LLAMA, "launcher": f"kubernetes cpu=4 policy=static,topology={policy}"}
    sixteen = built("pack:2 group:8 [numa(memory=64GB)] core:4 pu:1")
    one = the(judged(sixteen, **request), LIMIT)
    assert one.numbers == {"limit": 8, "nodes": 16}
    assert f"topology={policy}" in one.message
    eight = built("pack:2 group:4 [numa(memory=64GB)] core:8 pu:1")
    assert is_good(judged(eight, **request), LIMIT)


def test_the_kubelet_without_a_policy_takes_any_number() -> None:
    sixteen = built("pack:2 group:8 [numa(memory=64GB)] core:4 pu:1")
    for launcher in ("kubernetes cpu=4 topology=none", "kubernetes cpu=4", "docker run image"):
        assert is_good(judged(sixteen, **LLAMA, launcher=launcher), LIMIT)


def test_nodes_that_are_not_known_are_not_counted() -> None:
    request = {**LLAMA, "launcher": "kubernetes cpu=4 topology=restricted"}
    assert "numactl" in skip_of(judged(Machine("a text", gaps=("nodes",)), **request), LIMIT).reason


def test_wsl_shows_one_node_of_two_packages() -> None:
    machine = built("[numa(memory=64GB)] pack:2 core:8 pu:1", cmdline=WSL)
    one = the(judged(machine), LIMIT)
    assert (one.severity, dict(one.numbers)) == ("warning", {"limit": 1})
    assert one.evidence[0].text == "initrd=\\initrd.img"


def test_wsl_with_one_package_may_hide_another() -> None:
    assert "WSL" in skip_of(judged(built(ONE, cmdline=WSL)), LIMIT).reason
    assert is_good(judged(built(TWO, cmdline=WSL)), LIMIT), "nodes are shown"
    same = "[numa(memory=64GB)] pack:2 core:8 pu:1"
    assert is_good(judged(built(same, cmdline="initrd=/initrd.img quiet")), LIMIT)
    assert is_good(judged(built(same)), LIMIT)


def test_what_is_asked_for_is_an_option() -> None:
    held = "docker run --cpuset-cpus 0-23 --cpuset-mems 0 image"
    skip = skip_of(judged(built(TWO), **LLAMA, launcher=held), SMALL)
    assert skip.reason == "the size of the model is not known (--model NAME)"
