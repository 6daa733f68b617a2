"""What a launcher is said to do, in the singular and the plural."""

import pytest

from numatune.frame.registry import framed
from numatune.machine import CpuSet
from numatune.sources.read import read_machine
from numatune.words import named


@pytest.mark.parametrize(
    ("launcher", "effect"),
    [
        ("numactl -N 1 ./x", "affinity to the CPUs of node 1"),
        ("numactl -N 0,1 ./x", "affinity to the CPUs of nodes 0,1"),
        ("numactl -C 3 ./x", "affinity to CPU 3"),
        ("taskset -c 3 ./x", "affinity to CPU 3"),
        ("taskset -c 2-3 ./x", "affinity to CPUs 2-3"),
        ("taskset -c 90 ./x", "refused"),
        ("docker run --cpuset-mems 1 IMG", "memory from node 1"),
        ("docker run --cpuset-cpus 5 IMG", "cpuset of CPU 5"),
        ("srun --cpu-bind=map_ldom:1 ./x", "affinity to the CPUs of node 1"),
        ("srun --cpu-bind=map_cpu:4 ./x", "affinity to CPU 4"),
    ],
)
def test_one_and_several(launcher: str, effect: str) -> None:
    machine = read_machine(synthetic="pack:2 [numa(memory=64GB)] core:4 pu:1")
    assert effect in framed(machine, launcher).layers[-1].effect


def test_ids_behind_their_word() -> None:
    assert named(CpuSet([3])) == "CPU 3"
    assert named(CpuSet(range(4))) == "CPUs 0-3"
    assert named(CpuSet([1]), "node") == "node 1"
    assert named(CpuSet(), "node") == "no node"
