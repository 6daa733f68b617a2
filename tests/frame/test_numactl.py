import pytest

from numatune.errors import UsageError
from numatune.frame import Framed, MemoryPolicy, framed
from numatune.machine import CpuSet, Machine, Node
from tests.frame.machines import limited, text_of, tree_of


def two_nodes() -> Machine:
    """Two nodes: 0-5,12-17 and 6-11,18-23."""
    return text_of("two-node-smt")


def affinity(frame: Framed) -> str:
    assert frame.refusal is None, frame.refusal
    return str(frame.machine.limits.affinity)


def bound(kind: str, nodes: str) -> MemoryPolicy:
    return MemoryPolicy(kind, CpuSet.parse(nodes))


@pytest.mark.parametrize(
    ("options", "cpus"),
    [
        ("-N 1", "6-11,18-23"),
        ("-N1", "6-11,18-23"),
        ("--cpunodebind=0", "0-5,12-17"),
        ("--cpunode 0", "0-5,12-17"),
        ("-c 0,1", "0-23"),
        ("-N all", "0-23"),
        ("-N !0", "6-11,18-23"),
        ("-N +1", "6-11,18-23"),
        ("-N 0x1", "6-11,18-23"),
        ("-m 1 -N same", "6-11,18-23"),
        ("-C 0-3,8", "0-3,8"),
        ("-C !0-3", "4-23"),
        ("-C 3-1", "3"),
        ("-C 010", "8"),
        ("-C 0,all", "0-23"),
        ("-N 1 -C 0-3", "0-3"),
        ("-C 0-3 -N 1", "6-11,18-23"),
        ("--all -C 0-30", ""),
    ],
)
def test_cpus_are_those_that_libnuma_reads(options: str, cpus: str) -> None:
    frame = framed(two_nodes(), f"numactl {options} ./llama-cli -m model.gguf -t 8")
    if cpus:
        assert affinity(frame) == cpus
        assert [layer.name for layer in frame.layers] == ["numactl"]
    else:
        assert frame.refusal is not None
        assert frame.refusal.numbers == {"cpus": list(range(24, 31))}


def test_plus_counts_within_the_cpus_that_are_allowed() -> None:
    machine = limited(two_nodes(), cpuset_cpus="8-15")
    assert affinity(framed(machine, "numactl -C +0-3")) == "8-11"
    frame = framed(machine, "numactl -C +6-9")
    assert frame.refusal is not None
    assert "place 9 among 8-15" in frame.refusal.reason
    assert frame.refusal.numbers == {}


@pytest.mark.parametrize(
    ("options", "policy"),
    [
        ("-m 1", bound("bind", "1")),
        ("--membind=all", bound("bind", "0-1")),
        ("-i all", bound("interleave", "0-1")),
        ("--interleave=0-1", bound("interleave", "0-1")),
        ("-i ''", MemoryPolicy()),
        ("-w 0,1", bound("weighted-interleave", "0-1")),
        ("-p 1", bound("preferred", "1")),
        ("-P 0,1", bound("preferred", "0-1")),
        ("-l", MemoryPolicy("local")),
        ("--balancing --membind 0", bound("bind", "0")),
        ("-N 0 --membind same", bound("bind", "0")),
        ("-N 0", MemoryPolicy()),
    ],
)
def test_memory_policies(options: str, policy: MemoryPolicy) -> None:
    frame = framed(two_nodes(), f"numactl {options} -- program")
    assert frame.refusal is None
    assert frame.memory == policy


@pytest.mark.parametrize("machine", [text_of("memoryless-node"), tree_of("memoryless-node")])
def test_a_memoryless_node_is_out_of_range_without_all(machine: Machine) -> None:
    for option in ("-N", "-m", "-i", "-p"):
        frame = framed(machine, f"numactl {option} 1 true")
        assert frame.refusal is not None
        assert frame.refusal.numbers == {"nodes": [1]}
        assert "has no memory" in frame.refusal.reason
    assert affinity(framed(machine, "numactl --all -N 1 true")) == "4-7"
    refusal = framed(machine, "numactl -a -m 1 true").refusal
    assert refusal is not None
    assert refusal.nodes == (1,)
    assert "EINVAL" in refusal.reason
    assert framed(machine, "numactl -m all true").memory == bound("bind", "0")
    assert framed(machine, "numactl -a -i all true").memory == bound("interleave", "0")


def test_a_node_without_cpus_gives_memory_and_no_affinity() -> None:
    machine = text_of("nodes-without-cpus")
    assert framed(machine, "numactl -m 2,3 true").memory == bound("bind", "2-3")
    refusal = framed(machine, "numactl -N 2 true").refusal
    assert refusal is not None
    assert refusal.nodes == (2,)
    assert "EINVAL" in refusal.reason
    assert affinity(framed(machine, "numactl -N 0,2 true")) == "0-3"


def test_sparse_ids_are_ids_and_an_inverse_counts_nodes() -> None:
    machine = text_of("node-ids-0-2-3")
    assert affinity(framed(machine, "numactl -N 3 true")) == "8-11"
    assert affinity(framed(machine, "numactl -N +1 true")) == "4-7"
    assert affinity(framed(machine, "numactl -N 0-3 true")) == "0-11"
    refusal = framed(machine, "numactl -N 1 true").refusal
    assert refusal is not None
    assert refusal.nodes == (1,)
    # libnuma inverts the first three ids, of which 1 is no node and 3 is not one.
    assert affinity(framed(machine, "numactl -N !0 true")) == "4-7"


def test_a_cpu_outside_of_the_cpuset_or_the_affinity_is_refused() -> None:
    machine = limited(two_nodes(), cpuset_cpus="0-7")
    refusal = framed(machine, "numactl -C 6-9 true").refusal
    assert refusal is not None
    assert refusal.numbers == {"cpus": [8, 9]}
    assert affinity(framed(machine, "numactl --all -C 6-9 true")) == "6-7"
    assert affinity(framed(machine, "numactl -N 1 true")) == "6-7"
    # What is in between the ends of a range and not allowed is left out without a word.
    machine = limited(two_nodes(), affinity="0-3,8-11")
    assert affinity(framed(machine, "numactl -C 2-9 true")) == "2-3,8-9"


def test_isolated_cpus_are_for_all_and_taskset_alone() -> None:
    machine = tree_of("isolated-cpus")
    assert str(machine.limits.affinity) == "0-1,4-9,12-15"
    refusal = framed(machine, "numactl -C 2,3 true").refusal
    assert refusal is not None
    assert refusal.cpus == (2, 3)
    assert "isolated" in refusal.reason
    assert affinity(framed(machine, "numactl --all -C 2,3 true")) == "2-3"
    assert affinity(framed(machine, "taskset -c 2,3 true")) == "2-3"
    assert affinity(framed(machine, "numactl -N 0 true")) == "0-7"


def test_an_offline_cpu_may_be_named_and_is_not_used() -> None:
    machine = tree_of("cpus-offline")
    frame = framed(machine, "numactl -C 4-5 true")
    assert affinity(frame) == "4"
    assert any("CPU 5" in note for note in frame.notes)
    refusal = framed(machine, "numactl -C 5 true").refusal
    assert refusal is not None
    assert refusal.cpus == (5,)
    assert "EINVAL" in refusal.reason


def test_a_cpuset_without_the_node_refuses_it() -> None:
    machine = limited(two_nodes(), cpuset_mems="0")
    for options in ("-m 1", "-N 1", "-i 0,1"):
        refusal = framed(machine, f"numactl {options} true").refusal
        assert refusal is not None
        assert refusal.nodes == (1,)


def test_preferred_takes_one_node() -> None:
    refusal = framed(two_nodes(), "numactl -p all true").refusal
    assert refusal is not None
    assert refusal.nodes == (0, 1)


@pytest.mark.parametrize(
    "nodes", ["netdev:eth0", "file:/data", "pci:0:3:0", "ip:host", "block:sda"]
)
def test_the_node_of_a_device_is_open(nodes: str) -> None:
    frame = framed(two_nodes(), f"numactl -N {nodes} -m {nodes} true")
    assert frame.machine.limits.affinity is None
    assert frame.memory == MemoryPolicy("bind")
    assert nodes in frame.notes[0]


@pytest.mark.parametrize(
    "options",
    [
        "-C", "-C x", "-C 1-", "-C 1,", "-C 08", "-C -1", "-C 1:2", "-m=0", "-N foo", "-m 0 -i 1",
        "-m 0 --all", "-N same", "--cpu 0", "--nonsense 0", "-Z", "--all=1", "-H", "--show",
        "--shm x", "-C 100000000000000000000", "–membind 0", "-m 0 -b",
    ],
)  # fmt: skip
def test_what_numactl_answers_with_its_usage(options: str) -> None:
    with pytest.raises(UsageError):
        framed(two_nodes(), f"numactl {options} true")


def test_without_nodes_nothing_is_guessed() -> None:
    machine = Machine("nothing", gaps=("nodes", "cpus"))
    frame = framed(machine, "numactl -N 1 -m 1 true")
    assert frame.machine == machine
    assert frame.memory == MemoryPolicy("bind")
    assert "numactl --hardware" in frame.notes[0]
    frame = framed(machine, "numactl -C 0-3 true")
    assert affinity(frame) == "0-3"
    assert "not known" in frame.notes[0]
    frame = framed(machine, "numactl -C +0-3 true")
    assert frame.machine == machine
    assert "open" in frame.notes[0]


def test_nodes_whose_cpus_or_memory_are_not_known() -> None:
    machine = Machine("sizes", nodes=(Node(0, None, 1 << 30), Node(1, None, None)))
    frame = framed(machine, "numactl -N 0 -m 1 true")
    assert frame.machine.limits.affinity is None
    assert frame.memory == bound("bind", "1")
    assert len(frame.notes) == 2
