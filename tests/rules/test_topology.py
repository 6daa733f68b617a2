"""The nodes that the kernel shows."""

from numatune.machine import Machine
from tests.rules.cases import LAPTOP, TWO, built, found, is_good, judged, numactl, skip_of, the


def test_nodes_with_cpus_and_no_memory() -> None:
    machine = numactl((0, "0-7", 0), (1, "8-15", 32_000), (2, "16-23", 0))
    one = the(judged(machine), "memoryless-node")
    assert one.numbers["nodes"] == [0, 2]
    assert [e.text for e in one.evidence] == ["0 bytes", "0 bytes"]
    assert is_good(judged(built(TWO)), "memoryless-node")


def test_memory_without_cpus_and_an_empty_node_are_something_else() -> None:
    machine = numactl((0, "0-7", 9000), (1, "", 9000), (2, "", 0))
    diagnosis = judged(machine)
    assert is_good(diagnosis, "memoryless-node")
    assert the(diagnosis, "memory-only-nodes").numbers["nodes"] == [1]


def test_memory_must_be_known() -> None:
    assert skip_of(judged(built("pack:2 [numa] core:4 pu:1")), "memoryless-node")


def test_a_cpuless_node_gets_a_share_of_ktransformers_workers() -> None:
    machine = numactl((0, "0-7", 9000), (1, "8-15", 9000), (2, "", 9000), threads_per_core=1)
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.2", cpu_infer=9)
    one = the(diagnosis, "cpuless-node-given-workers")
    assert dict(one.numbers) == {"node": 2, "workers": 2}
    assert the(diagnosis, "workers-unbound").numbers["workers"] == 2


def test_a_pool_on_a_cpuless_node() -> None:
    machine = numactl((0, "0-7", 9000), (1, "8-15", 9000), (2, "", 9000), threads_per_core=1)
    request = {"--kt-threadpool-count": 3}
    diagnosis = judged(machine, runtime="kt-kernel", threads=9, flags=request)
    assert dict(the(diagnosis, "cpuless-node-given-workers").numbers) == {"node": 2, "workers": 3}
    two = judged(machine, runtime="kt-kernel", threads=9)
    assert is_good(two, "cpuless-node-given-workers")


def test_pools_that_share_the_cores_of_a_neighbour_crowd_them() -> None:
    text = """\
available: 3 nodes (0-2)
node 0 cpus: 0 1 2 3
node 0 size: 9000 MB
node 0 free: 9000 MB
node 1 cpus: 4 5 6 7
node 1 size: 9000 MB
node 1 free: 9000 MB
node 2 cpus:
node 2 size: 9000 MB
node 2 free: 9000 MB
node distances:
node   0   1   2
  0:  10  21  24
  1:  21  10  14
  2:  24  14  10
"""
    from numatune.sources.read import read_machine

    machine = read_machine(text=text, assume={"threads_per_core": 1, "packages": 2})
    request = {"--kt-threadpool-count": 3}
    diagnosis = judged(machine, runtime="kt-kernel", threads=9, flags=request)
    one = the(diagnosis, "node-oversubscribed")
    assert dict(one.numbers) == {"node": 1, "workers": 6, "cpus": 3, "by": 3}
    assert one.message.startswith("CPUs 4-6 of node 1: ")
    assert "--kt-threadpool-count 2" in one.fix


def test_a_cpuset_is_no_cpuless_node() -> None:
    machine = built(TWO, allowed_cpus="0-23", allowed_mems="0")
    diagnosis = judged(machine, runtime="ktransformers", version="0.2.2", cpu_infer=9)
    assert is_good(diagnosis, "cpuless-node-given-workers")
    assert skip_of(judged(machine), "cpuless-node-given-workers")


def test_sparse_ids() -> None:
    machine = numactl((0, "0-7", 9000), (8, "8-15", 9000))
    one = the(judged(machine), "sparse-node-ids")
    assert one.actual == "0, 8"
    assert found(judged(numactl((1, "0-7", 9000))), "sparse-node-ids")
    assert is_good(judged(built(TWO)), "sparse-node-ids")


def test_no_node_at_all_is_a_warning_until_libnuma_is_used() -> None:
    nothing = numactl()
    assert the(judged(nothing), "no-numa-information").severity == "warning"
    for runtime, numa_build, severity in (
        ("ktransformers", True, "critical"),
        ("ktransformers", False, "warning"),
        ("kt-kernel", None, "critical"),
        ("mystery", None, "warning"),
    ):
        diagnosis = judged(nothing, runtime=runtime, threads=9, numa_build=numa_build)
        assert the(diagnosis, "no-numa-information").severity == severity, runtime
    old = judged(nothing, runtime="ktransformers", version="0.1.4", threads=9)
    assert the(old, "no-numa-information").severity == "warning"


def test_without_a_thread_count_libnuma_ends_it_as_well() -> None:
    diagnosis = judged(numactl(), runtime="kt-kernel")
    assert the(diagnosis, "no-numa-information").severity == "critical"


def test_one_node_is_numa_information_enough() -> None:
    diagnosis = judged(built(LAPTOP))
    assert is_good(diagnosis, "no-numa-information")
    assert is_good(diagnosis, "sparse-node-ids")


def test_the_kind_of_memory_only_nodes_is_told_where_it_is_known() -> None:
    machine = numactl((0, "0-7", 9000), (1, "", 9000), (2, "", 9000))
    assert "kind" not in the(judged(machine), "memory-only-nodes").numbers
    assert the(judged(of_kind(machine, "hbm", "hbm")), "memory-only-nodes").numbers["kind"] == "hbm"
    mixed = the(judged(of_kind(machine, "cxl", "unknown")), "memory-only-nodes")
    assert mixed.numbers["kind"] == {1: "cxl"}
    assert "numactl --interleave=0" in mixed.fix
    assert is_good(judged(built(TWO)), "memory-only-nodes")


def of_kind(machine: Machine, *kinds: str) -> Machine:
    first, *rest = machine.nodes
    made = [n._replace(kind=kind) for n, kind in zip(rest, kinds, strict=True)]
    return machine._replace(nodes=(first, *made))


def test_nodes_of_unknown_cpus_are_not_called_memory_only() -> None:
    machine = built(TWO)
    unknown = machine._replace(nodes=tuple(n._replace(cpus=None) for n in machine.nodes))
    assert skip_of(judged(unknown), "memory-only-nodes")
