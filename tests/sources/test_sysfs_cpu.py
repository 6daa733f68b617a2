"""CPUs, cores and packages, and every oddity that real machines show."""

from __future__ import annotations

from pathlib import Path

import pytest

from numatune.machine import Core, CpuSet, Distances, Limits, Node, Package
from tests.sources.trees import (
    CPU,
    NODE,
    codes,
    kernel_mask,
    read,
    remove,
    small_machine,
    without_notes,
    write_files,
    write_tree,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the tree of the small machine, to be damaged."""
    return write_tree(small_machine(), tmp_path / "tree")


def test_cpus_that_are_offline_count_for_no_node_core_or_package(root: Path) -> None:
    """After offlining, old kernels go on listing CPUs 5 and 7 in all of these files."""
    write_files(root, {f"{CPU}/online": "0-4,6\n", f"{CPU}/offline": "5,7-127\n"})
    machine = read(root)
    assert machine.warnings == ()
    assert str(machine.offline_cpus) == "5,7"
    assert [str(n.cpus) for n in machine.nodes] == ["0-1,4", "2-3,6"]
    assert [str(c.cpus) for c in machine.cores or ()] == ["0,4", "1", "2,6", "3"]
    assert [str(p.cpus) for p in machine.packages or ()] == ["0-1,4", "2-3,6"]
    assert machine.threads_per_core is None


def test_possible_sizes_nothing(root: Path) -> None:
    """Virtual machines say that 256 CPUs and 64 nodes are possible."""
    write_files(root, {f"{CPU}/possible": "0-255\n", f"{NODE}/possible": "0-63\n"})
    write_files(root, {f"{CPU}/offline": "8-255\n"})
    machine = read(root)
    assert without_notes(machine) == small_machine()._replace(origins={})
    assert machine.warnings == ()


def test_without_cpu_online_the_folders_tell(root: Path) -> None:
    """An offline CPU has no topology; cpu0 has no "online" file, and is online."""
    remove(root, f"{CPU}/o*line")
    remove(root, f"{CPU}/p*")
    remove(root, f"{CPU}/cpu5/topology/*")
    (root / CPU / "cpu5/topology").rmdir()
    write_files(root, {f"{CPU}/cpu5/online": "0\n"})
    machine = read(root)
    assert str(machine.online_cpus) == "0-4,6-7"
    assert str(machine.offline_cpus) == "5"
    assert [str(c.cpus) for c in machine.cores or ()] == ["0,4", "1", "2,6", "3,7"]


def test_without_any_topology_the_online_files_tell(tmp_path: Path) -> None:
    files = {f"{CPU}/cpu{n}/uevent": "" for n in range(4)}
    machine = read(write_files(tmp_path, {**files, f"{CPU}/cpu3/online": "0\n"}))
    assert str(machine.online_cpus) == "0-2"
    assert str(machine.offline_cpus) == "3"
    assert machine.cores is None
    assert machine.packages is None
    assert codes(machine) == ["no-numa-information", "cores-unknown", "packages-unknown"]


def test_a_kernel_without_package_ids(root: Path) -> None:
    """POWER, s390 and RISC-V say -1, and list a core or a book as a package's CPUs."""
    ids = {f"{CPU}/cpu{n}/topology/physical_package_id": "-1\n" for n in range(8)}
    machine = read(write_files(root, ids))
    assert machine.packages is None
    assert codes(machine) == ["packages-unknown"]
    assert "packages" in machine.gaps
    assert machine.cores_known == 4
    assert {core.package_id for core in machine.cores or ()} == {None}


def test_package_ids_count_where_the_sets_do_not(root: Path) -> None:
    """Some kernels list one core as a package's CPUs, some the whole machine; ids may be odd."""
    files = {}
    for n in range(8):
        folder = f"{CPU}/cpu{n}/topology"
        files[f"{folder}/physical_package_id"] = "65536\n" if n in (0, 1, 4, 5) else "196867\n"
        files[f"{folder}/core_siblings_list"] = "0-7\n" if n == 0 else f"{n}\n"
    machine = read(write_files(root, files))
    assert machine.packages == (
        Package(65536, CpuSet.parse("0-1,4-5")),
        Package(196867, CpuSet.parse("2-3,6-7")),
    )


def test_one_package_for_each_cpu(tmp_path: Path) -> None:
    """Some virtual machines have 32 packages of one core in one node."""
    everyone = CpuSet(range(32))
    machine = small_machine()._replace(
        nodes=(Node(0, everyone, 1 << 36, 0, "dram"),),
        cores=tuple(Core(CpuSet([n]), n, 0) for n in range(32)),
        packages=tuple(Package(n, CpuSet([n])) for n in range(32)),
        distances=Distances((0,), ((10,),)),
        online_cpus=everyone,
        limits=Limits(cpuset_mems=CpuSet([0])),
    )
    assert without_notes(read(write_tree(machine, tmp_path))) == machine._replace(origins={})


def test_core_ids_are_not_trusted(root: Path) -> None:
    """On many machines several cores of a package have one core_id."""
    machine = read(write_files(root, {f"{CPU}/cpu{n}/topology/core_id": "0\n" for n in range(8)}))
    assert machine.cores_known == 4


def test_cores_of_one_and_of_two_threads(root: Path) -> None:
    """Performance cores have two threads, efficiency cores one."""
    files = {f"{CPU}/cpu{n}/topology/thread_siblings_list": f"{n}\n" for n in (2, 3, 6, 7)}
    machine = read(write_files(root, files))
    assert [str(c.cpus) for c in machine.cores or ()] == ["0,4", "1,5", "2", "3", "6", "7"]
    assert machine.threads_per_core is None


def test_new_names_serve_where_the_old_ones_are_gone(root: Path) -> None:
    remove(root, f"{CPU}/cpu*/topology/thread_siblings*")
    remove(root, f"{CPU}/cpu*/topology/core_siblings*")
    assert without_notes(read(root)) == small_machine()._replace(origins={})


def test_a_sandbox_shows_masks_and_no_node(tmp_path: Path) -> None:
    files = {f"{CPU}/online": "0-3\n", f"{CPU}/present": "0-3\n"}
    for n in range(4):
        mask = kernel_mask(CpuSet([n]), 32)
        files[f"{CPU}/cpu{n}/topology/core_cpus"] = mask
        files[f"{CPU}/cpu{n}/topology/thread_siblings"] = mask
    machine = read(write_files(tmp_path, files))
    assert machine.nodes == ()
    assert machine.cores_known == 4
    assert codes(machine) == ["no-numa-information", "packages-unknown"]
    assert {"nodes", "memory", "distances", "packages"} <= set(machine.gaps)


@pytest.mark.parametrize(
    ("siblings", "why"), [("1\n", "contradict"), ("0-7\n", "contradict"), (None, "no file names")]
)
def test_contradicting_or_missing_siblings(root: Path, siblings: str | None, why: str) -> None:
    remove(root, f"{CPU}/cpu3/topology/*siblings*")
    remove(root, f"{CPU}/cpu3/topology/core_cpus*")
    if siblings is not None:
        write_files(root, {f"{CPU}/cpu3/topology/thread_siblings_list": siblings})
    machine = read(root)
    assert machine.cores is None
    assert codes(machine) == ["cores-unknown"]
    assert why in machine.warnings[0].message
    assert "lscpu -e" in machine.warnings[0].message


def test_a_container_that_replaces_cpu_online(root: Path) -> None:
    """lxcfs shows a container's share as cpu/online, renumbered, and nothing else."""
    write_files(root, {f"{CPU}/online": "0-1\n", f"{CPU}/offline": "\n"})
    write_files(root, {"proc/self/status": "Cpus_allowed_list:\t2,6\nMems_allowed_list:\t0-1\n"})
    machine = read(root)
    assert str(machine.online_cpus) == "0-7"
    assert machine.cores_known == 4
    assert str(machine.limits.affinity) == "2,6"
    assert codes(machine) == ["container-view"]
