"""HMAT ratings, memory-side caches, tiers and generic initiators, as kernels show them."""

from pathlib import Path

import pytest

import numatune
from numatune.machine import Access, CpuSet, Machine, Memory, MemoryCache, MemoryTier, Node
from numatune.machine.memory_kinds import with_memory_kinds
from tests.sources.trees import NODE, small_machine, write_files, write_tree

TIERS = "sys/devices/virtual/memory_tiering"


def read(root: Path, **files: str) -> Memory | None:
    write_tree(small_machine(), root)
    write_files(root, {path.replace("__", "/"): text for path, text in files.items()})
    return numatune.read_machine(root=root).memory


def test_a_machine_that_states_nothing_has_none(tmp_path: Path) -> None:
    assert read(tmp_path) is None


def test_the_class_of_cpus_comes_before_that_of_any_device(tmp_path: Path) -> None:
    files = {
        f"{NODE}/node1/access0/initiators/read_latency": "5\n",
        f"{NODE}/node1/access1/initiators/read_latency": "90\n",
        f"{NODE}/node1/access1/initiators/read_bandwidth": "1000\n",
        f"{NODE}/node1/access1/initiators/node1/uevent": "",
        f"{NODE}/node1/access1/initiators/node7/uevent": "",
        f"{NODE}/node0/access0/initiators/write_latency": "80\n",
    }
    memory = read(tmp_path, **files)
    assert memory == Memory(
        accesses=(
            Access(0, CpuSet(), write_latency_ns=80),
            Access(1, CpuSet([1]), read_bandwidth_mib_s=1000, read_latency_ns=90),
        )
    )


@pytest.mark.parametrize("text", ["0\n", "-5\n", "fast\n", "9" * 17, "", "1e3\n"])
def test_a_rating_that_is_none_is_unknown(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, **{f"{NODE}/node0/access0/initiators/read_latency": text}) is None


def test_caches_and_tiers(tmp_path: Path) -> None:
    memory = read(
        tmp_path,
        **{
            f"{NODE}/node0/memory_side_cache/index1/size": "17179869184\n",
            f"{NODE}/node0/memory_side_cache/index2/size": "?\n",
            f"{NODE}/node0/memory_side_cache/index999/size": "1\n",
            f"{TIERS}/memory_tier10/nodelist": "1\n",
            f"{TIERS}/memory_tier4/nodelist": "0\n",
            f"{TIERS}/memory_tier5/nodelist": "\n",
            f"{TIERS}/memory_tier6/nodelist": "x\n",
        },
    )
    assert memory == Memory(
        caches=(MemoryCache(0, 1, 16 << 30), MemoryCache(0, 2, None)),
        tiers=(MemoryTier(4, CpuSet([0])), MemoryTier(10, CpuSet([1]))),
    )


def test_a_device_without_cpus_is_a_generic_initiator_of_a_node_that_there_is(
    tmp_path: Path,
) -> None:
    machine = small_machine()
    empty = Node(3, CpuSet(), 0, 0)
    write_tree(machine._replace(nodes=(*machine.nodes, empty), distances=None), tmp_path)
    write_files(tmp_path, {f"{NODE}/has_generic_initiator": "3,9\n"})
    memory = numatune.read_machine(root=tmp_path).memory
    assert memory == Memory(generic_initiators=CpuSet([3]))


@pytest.mark.parametrize(
    ("model", "size", "guest", "kind"),
    [
        ("Intel(R) Xeon(R) CPU Max 9480", 64 << 30, False, "hbm"),
        ("Intel(R) Xeon(R) CPU Max 9480", 16 << 30, False, "hbm"),
        ("Intel(R) Xeon(R) CPU Max 9480", 256 << 30, False, "unknown"),
        ("Intel(R) Xeon(R) CPU Max 9480", 64 << 30, True, "unknown"),
        ("Intel(R) Xeon Phi(TM) CPU 7210 @ 1.30GHz", 16 << 30, False, "hbm"),
        ("Intel(R) Xeon(R) Platinum 8480+", 64 << 30, False, "unknown"),
        (None, 64 << 30, False, "unknown"),
    ],
)
def test_high_bandwidth_memory_is_told_by_cpu_and_size(
    model: str | None, size: int, guest: bool, kind: str
) -> None:
    machine = small_machine()
    nodes = (*machine.nodes, Node(2, CpuSet(), size))
    machine = machine._replace(
        nodes=nodes, cpu=machine.cpu._replace(model=model), is_guest=guest, distances=None
    )
    found = with_memory_kinds(machine)
    assert [n.kind for n in found.nodes] == ["dram", "dram", kind]


def test_what_a_driver_names_stays(tmp_path: Path) -> None:
    machine = small_machine()
    cpu = machine.cpu._replace(model="Intel(R) Xeon(R) CPU Max 9480")
    far = Node(2, CpuSet(), 64 << 30, None, "cxl")
    named: Machine = machine._replace(cpu=cpu, nodes=(*machine.nodes, far))
    assert with_memory_kinds(named) == named
