"""Several outputs of one machine joined, and two machines kept apart."""

import pytest

from numatune.errors import MachineError
from numatune.machine import Core, Cpu, CpuSet, Distances, Limits, Machine, Node, Package, Warning
from numatune.sources.merge import merged

MIB = 1 << 20


def numactl(**changes: object) -> Machine:
    machine = Machine(
        "numactl.txt",
        nodes=(
            Node(0, CpuSet.parse("0-1,4-5"), 100 * MIB, 50 * MIB),
            Node(1, CpuSet.parse("2-3,6-7"), 100 * MIB, 60 * MIB),
        ),
        distances=Distances((0, 1), ((10, 21), (21, 10))),
        gaps=("cores", "packages", "cpu", "limits", "settings"),
        origins=dict.fromkeys(("nodes", "memory", "distances"), "numactl --hardware"),
    )
    return machine._replace(**changes)  # type: ignore[arg-type]


def lscpu(**changes: object) -> Machine:
    machine = Machine(
        "lscpu.txt",
        cpu=Cpu("x86_64", "GenuineIntel", "Xeon", frozenset(("avx2",))),
        nodes=(Node(0, CpuSet.parse("0-1,4-5")), Node(1, CpuSet.parse("2-3,6-7"))),
        cores=tuple(Core(CpuSet((i, i + 4)), i // 2) for i in range(4)),
        packages=(Package(0, CpuSet.parse("0-1,4-5")), Package(1, CpuSet.parse("2-3,6-7"))),
        online_cpus=CpuSet(range(8)),
        offline_cpus=CpuSet(),
        gaps=("memory", "distances", "limits", "settings"),
        origins=dict.fromkeys(("nodes", "cores", "packages", "cpu"), "lscpu -e"),
    )
    return machine._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("swapped", [False, True])
def test_each_fact_comes_from_the_source_that_states_it(swapped: bool) -> None:
    pair = [lscpu(), numactl()] if swapped else [numactl(), lscpu()]
    machine = merged(pair)
    assert machine.nodes[0].memory_total_bytes == 100 * MIB
    assert machine.distances == numactl().distances
    assert machine.packages_known == 2
    assert machine.threads_per_core == 2
    assert machine.node_core_count(1) == 2
    assert machine.cpu.model == "Xeon"
    assert machine.gaps == ("limits", "settings")
    assert machine.origins["memory"] == "numactl --hardware (numactl.txt)"
    assert machine.origins["cores"] == "lscpu -e (lscpu.txt)"
    assert [c.node_id for c in machine.cores or ()] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (
            numactl(),
            lscpu(nodes=(Node(0, CpuSet.parse("0-3")), Node(1, CpuSet.parse("4-7")))),
            r"CPUs of node 0: 0-1,4-5 in numactl.txt, 0-3 in lscpu.txt",
        ),
        (
            numactl(),
            numactl(source="b.txt", nodes=(numactl().nodes[0], Node(1, CpuSet.parse("2-3,6-7"), 300 * MIB))),
            r"memory of node 1 in bytes: 104857600 in numactl.txt, 314572800 in b.txt",
        ),
        (
            numactl(),
            numactl(source="b.txt", distances=Distances((0, 1), ((10, 20), (20, 10)))),
            "distance from node 0 to 1: 21 in numactl.txt, 20 in b.txt",
        ),
        (lscpu(), lscpu(source="b.txt", cpu=Cpu(model="EPYC")), "CPU model: Xeon in lscpu.txt, EPYC in b.txt"),
        (numactl(smt=1), lscpu(), "threads a core: 1 in numactl.txt, 2 in lscpu.txt"),
        (numactl(package_count=4), lscpu(), "number of packages: 4 in numactl.txt, 2 in lscpu.txt"),
        (
            lscpu(),
            lscpu(source="b.txt", cores=tuple(Core(CpuSet((2 * i, 2 * i + 1))) for i in range(4))),
            "cores: .* in lscpu.txt, .* in b.txt",
        ),
        (
            numactl(),
            numactl(source="b.txt", nodes=(*numactl().nodes, Node(2, CpuSet((8,)), MIB))),
            "node 2 is missing in numactl.txt",
        ),
        (lscpu(), lscpu(source="b.txt", online_cpus=CpuSet(range(4))), "online CPUs: 0-7 in lscpu.txt, 0-3 in b.txt"),
    ],
)  # fmt: skip
def test_a_contradiction_names_both_values_and_sources(
    one: Machine, other: Machine, words: str
) -> None:
    with pytest.raises(MachineError, match=words):
        merged([one, other])
    with pytest.raises(MachineError, match="one machine only"):
        merged([other, one])


def test_sizes_that_differ_by_rounding_keep_the_finer_one() -> None:
    finer = numactl(
        source="meminfo",
        nodes=(Node(0, CpuSet.parse("0-1,4-5"), 100 * MIB + 4096), Node(1, CpuSet.parse("2-3,6-7"), 100 * MIB)),
    )  # fmt: skip
    for pair in ([numactl(), finer], [finer, numactl()]):
        assert merged(pair).nodes[0].memory_total_bytes == 100 * MIB + 4096


def test_a_format_that_hides_memory_only_nodes_does_not_contradict() -> None:
    with_hbm = numactl(nodes=(*numactl().nodes, Node(2, CpuSet(), 16 * MIB), Node(3, CpuSet(), 0)))
    machine = merged([with_hbm, lscpu()])
    assert [n.id for n in machine.nodes] == [0, 1, 2, 3]


def test_cpus_listed_although_offline_do_not_contradict() -> None:
    unfiltered = lscpu(
        nodes=(Node(0, CpuSet.parse("0-1,4-5")), Node(1, CpuSet.parse("2-3,6-8"))),
        offline_cpus=CpuSet((8,)),
    )
    assert str(merged([numactl(), unfiltered]).nodes[1].cpus) == "2-3,6-7"


def test_a_likely_owner_gives_way_and_forbidden_cpus_are_added() -> None:
    likely = lscpu(
        nodes=(Node(0, CpuSet(range(8))), Node(1, CpuSet())),
        warnings=(Warning("node-cpus-likely", "node 0 is likely the owner"),),
    )
    left_out = lscpu(
        nodes=(Node(0, CpuSet((0, 4))), Node(1, CpuSet.parse("2-3,6-7"))),
        warnings=(Warning("cpus-left-out", "a cgroup hides CPUs"),),
    )
    for doubtful in (likely, left_out):
        machine = merged([doubtful, numactl()])
        assert [str(n.cpus) for n in machine.nodes] == ["0-1,4-5", "2-3,6-7"]
        assert not machine.warnings
    with pytest.raises(MachineError, match="CPUs of node 0"):
        merged([left_out._replace(nodes=(Node(0, CpuSet((0, 2))),)), numactl()])


def test_a_part_stated_in_part_gives_way_to_the_whole() -> None:
    partial = lscpu(source="xml", cores=lscpu().cores[:2], gaps=("memory", "cores"))  # type: ignore[index]
    assert len(merged([partial, lscpu()]).cores or ()) == 4


def test_counts_alone_tell_the_cores_of_a_node() -> None:
    counts = lscpu(cores=None, packages=None, smt=2, core_count=4, package_count=2)
    machine = merged([numactl(), counts])
    assert machine.cores is None
    assert (machine.node_core_count(0), machine.cores_known, machine.packages_known) == (2, 4, 2)


def test_a_blind_numactl_is_overruled_by_a_source_that_shows_nodes() -> None:
    blind = Machine(
        "a", warnings=(Warning("no-numa-information", "no NUMA"), Warning("other", "kept"))
    )
    machine = merged([blind, numactl()])
    assert [w.code for w in machine.warnings] == ["other"]
    assert len(machine.nodes) == 2


def test_limits_are_joined_field_by_field() -> None:
    one = numactl(limits=Limits(affinity=CpuSet((0,))))
    other = lscpu(limits=Limits(cpu_quota=2.0))
    assert merged([one, other]).limits == Limits(affinity=CpuSet((0,)), cpu_quota=2.0)
