"""What the reader of /sys makes of whole machines, and of every oddity that real ones show."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numatune.errors import MachineError, NumatuneError
from numatune.machine import (
    CpuSet,
    Distances,
    Limits,
    Machine,
    Node,
    Package,
)
from numatune.sources.sysfs import is_tree, read_tree
from tests.sources.drawn import machines
from tests.sources.trees import (
    CPU,
    MACHINES,
    NODE,
    codes,
    large_machine,
    read,
    remove,
    small_machine,
    without_notes,
    write_files,
    write_tree,
)

RECORDED = ("pr685-2x24", "two-node-smt", "one-node-two-packages")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the tree of the small machine, to be damaged."""
    return write_tree(small_machine(), tmp_path / "tree")


# Whole machines


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_machine_reads_as_its_own_tools_printed_it(name: str) -> None:
    expected = json.loads((MACHINES / name / "expected.json").read_text())
    machine = read(MACHINES / name / "tree")
    assert machine.warnings == ()
    assert machine.gaps == ()
    assert [(n.id, str(n.cpus), n.memory_total_bytes) for n in machine.nodes] == [
        (n["id"], n["cpus"], n["memory_total_bytes"]) for n in expected["nodes"]
    ]
    assert machine.distances is not None
    assert [list(row) for row in machine.distances.values] == expected["distances"]
    assert [str(core.cpus) for core in machine.cores or ()] == expected["cores"]
    assert {str(p.id): str(p.cpus) for p in machine.packages or ()} == expected["packages"]
    assert machine.cores_known == expected["core_count"]
    assert machine.packages_known == expected["package_count"]
    assert machine.threads_per_core == expected["threads_per_core"]
    assert str(machine.online_cpus) == expected["online_cpus"]
    assert machine.cpu.architecture == expected["architecture"]
    assert machine.cpu.model == expected["cpu_model"]
    assert machine.is_guest is True


@pytest.mark.parametrize("name", RECORDED)
def test_sizes_agree_with_numactl(name: str) -> None:
    text = (MACHINES / name / "numactl.txt").read_text()
    for node in read(MACHINES / name / "tree").nodes:
        assert node.memory_total_bytes is not None
        assert f"node {node.id} size: {node.memory_total_bytes >> 20} MB\n" in text


def test_a_written_machine_reads_back_whole(root: Path) -> None:
    machine = read(root)
    assert without_notes(machine) == small_machine()._replace(origins={})
    assert machine.warnings == ()
    assert machine.gaps == ()
    assert set(machine.origins.values()) == {"tree"}
    assert set(machine.origins) == {
        "nodes", "memory", "distances", "cores", "packages", "cpu", "limits", "settings",
    }  # fmt: skip


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /sys")
def test_this_host() -> None:
    machine = read_tree("/", "this host")
    online = Path("/sys/devices/system/cpu/online").read_text()
    assert machine.online_cpus == CpuSet.parse(online)
    assert machine.cpu.architecture == os.uname().machine
    reachable = machine.inherited_cpus
    assert reachable is not None
    assert set(os.sched_getaffinity(0)) <= set(reachable)


@settings(max_examples=30, deadline=None)
@given(machines())
def test_any_machine_reads_back_equal(machine: Machine) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = read(write_tree(machine, Path(folder)))
    assert without_notes(found) == machine._replace(origins={})
    assert ("cores" in found.gaps) == (machine.cores is None)
    assert ("no-numa-information" in codes(found)) == (not machine.nodes)


# Cost


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which every path is added that somebody tries to open."""
    paths: list[str] = []
    real: Callable[..., int] = os.open

    def counting(path: str, *arguments: int, **options: int) -> int:
        paths.append(path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", counting)
    return paths


def test_few_files_are_opened_and_none_twice(tmp_path: Path, opened: list[str]) -> None:
    root = write_tree(large_machine(nodes=8, cores=8, threads=2), tmp_path)
    opened.clear()
    assert read(root).cores_known == 64
    assert len(opened) == len(set(opened))
    # A file for each of 64 cores, 3 for each of 8 nodes, 3 for each of 8 packages, and the rest.
    assert len(opened) < 64 + 24 + 24 + 30
    assert not any("freq" in path for path in opened)


def test_a_name_that_served_once_is_tried_first(root: Path, opened: list[str]) -> None:
    remove(root, f"{CPU}/cpu*/topology/*_list")
    remove(root, f"{CPU}/cpu*/topology/thread_siblings")
    opened.clear()
    assert read(root).cores_known == 4
    tried = [path for path in opened if "siblings" in path or "core_cpus" in path]
    of_cpu_3 = [path.rpartition("/")[2] for path in tried if "/cpu3/" in path]
    assert of_cpu_3 == ["core_cpus"]


# The oddities of real machines


def test_masks_alone_without_padding(root: Path) -> None:
    """Kernels before 2.6.20 pad no group of a mask, and many dumps have no list at all."""
    remove(root, f"{NODE}/node*/cpulist")
    remove(root, f"{CPU}/cpu*/topology/*_list")
    write_files(root, {f"{NODE}/node0/cpumap": "0,33\n", f"{NODE}/node1/cpumap": "0,cc\n"})
    assert without_notes(read(root)) == small_machine()._replace(origins={})


def test_nul_bytes_end_old_files(root: Path) -> None:
    for path in ("cpu/online", "cpu/present", "node/online", "node/node0/cpumap"):
        file = root / "sys/devices/system" / path
        file.write_bytes(file.read_bytes().strip() + b"\0")
    machine = read(root)
    assert machine.warnings == ()
    assert without_notes(machine) == small_machine()._replace(origins={})


def test_a_node_over_packages_and_packages_over_nodes(tmp_path: Path) -> None:
    """The firmware interleaves, or splits a package: a node is not a package."""
    machine = small_machine()
    everyone = machine.online_cpus
    assert everyone is not None
    interleaved = machine._replace(
        nodes=(Node(0, everyone, 128 << 30, 1 << 30, "dram"),),
        cores=tuple(core._replace(node_id=0) for core in machine.cores or ()),
        distances=Distances((0,), ((10,),)),
        limits=Limits(cpuset_mems=CpuSet([0])),
    )
    split = machine._replace(
        packages=(Package(0, everyone),),
        cores=tuple(core._replace(package_id=0) for core in machine.cores or ()),
    )
    for name, made in (("interleaved", interleaved), ("split", split)):
        found = read(write_tree(made, tmp_path / name))
        assert without_notes(found) == made._replace(origins={})
        assert found.warnings == ()


def test_a_core_in_two_nodes_belongs_to_neither(root: Path) -> None:
    files = {f"{NODE}/node0/cpulist": "0-3\n", f"{NODE}/node1/cpulist": "4-7\n"}
    remove(root, f"{NODE}/node*/cpumap")
    machine = read(write_files(root, files))
    assert {core.node_id for core in machine.cores or ()} == {None}
    assert {core.package_id for core in machine.cores or ()} == {0, 1}


def test_limits_of_another_machine_are_not_believed(root: Path) -> None:
    write_files(root, {"proc/self/status": "Cpus_allowed_list:\t24\nMems_allowed_list:\t5\n"})
    machine = read(root)
    assert machine.limits == Limits()
    assert codes(machine) == ["limits-contradict", "limits-contradict"]


# Where a tree is, and where none is


def test_a_tree_is_found_in_each_form_of_recording(root: Path, tmp_path: Path) -> None:
    odd = tmp_path / "3:node+name"
    odd.mkdir()
    root.rename(odd / "dump")
    for folder in (odd / "dump", odd, odd / "dump/sys"):
        assert is_tree(str(folder))
        assert read(folder).cores == small_machine().cores
    assert read(odd).settings.cmdline == "ro quiet"
    assert read(odd / "dump/sys").settings.cmdline is None


def test_a_tree_is_found_two_levels_down(root: Path, tmp_path: Path) -> None:
    deep = tmp_path / "captures" / "host 7"
    deep.mkdir(parents=True)
    root.rename(deep / "dump")
    assert read(deep.parent).cores == small_machine().cores
    assert not is_tree(str(tmp_path))


def test_of_two_trees_in_a_folder_none_is_taken(root: Path) -> None:
    write_tree(small_machine(), root.parent / "other")
    assert not is_tree(str(root.parent))
    with pytest.raises(MachineError, match=f"holds 2 trees .*other, {root.name}.*give one"):
        read(root.parent)


def test_the_settings_in_proc_do_not_make_it_a_tree(tmp_path: Path) -> None:
    write_files(tmp_path, {"proc/sys/kernel/numa_balancing": "1\n", "proc/cmdline": "ro\n"})
    assert not is_tree(str(tmp_path))
    with pytest.raises(MachineError, match="shows no CPU and no NUMA node"):
        read(tmp_path)


def test_the_small_cores_of_a_hybrid_cpu_are_told(root: Path) -> None:
    assert read(root).cpu.efficiency_cpus is None
    write_files(root, {"sys/devices/cpu_core/cpus": "0-5\n", "sys/devices/cpu_atom/cpus": "6-7\n"})
    assert read(root).cpu.efficiency_cpus == CpuSet([6, 7])


@pytest.mark.parametrize("name", ["missing", "file", "nul\0byte", "empty", "x" * 5000])
def test_no_tree_at_all(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "empty").mkdir()
    path = f"{tmp_path}/{name}"
    assert not is_tree(path)
    with pytest.raises(MachineError, match=r"numactl --hardware") as caught:
        read_tree(path, "tree")
    assert "\n" not in str(caught.value)
    assert "\0" not in str(caught.value)


def test_a_tree_without_cpus_and_nodes(tmp_path: Path) -> None:
    write_files(tmp_path, {"sys/kernel/mm/uevent": "", "proc/cmdline": "ro\n"})
    assert is_tree(str(tmp_path))
    with pytest.raises(MachineError, match="tree shows no CPU and no NUMA node"):
        read(tmp_path)


def test_nodes_alone_are_a_machine(tmp_path: Path) -> None:
    machine = read(write_files(tmp_path, {f"{NODE}/node0/cpumap": "f\n"}))
    assert str(machine.cpus) == "0-3"
    assert machine.online_cpus is None
    assert codes(machine) == ["memory-unknown", "cores-unknown"]


def test_cpuinfo_alone_is_a_machine(tmp_path: Path) -> None:
    machine = read(write_files(tmp_path, {"proc/cpuinfo": "processor\t: 0\n\nprocessor\t: 1\n"}))
    assert str(machine.online_cpus) == "0-1"
    assert machine.cores is None
    assert codes(machine) == ["no-numa-information", "cores-unknown"]


# Hostile trees


def test_a_file_that_cannot_be_read_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., int] = os.open

    def failing(path: str, *arguments: int, **options: int) -> int:
        if path.endswith("node1/meminfo"):
            raise OSError(5, "Input/output error", path)
        if path.endswith("numa_balancing"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", failing)
    machine = read(root)
    assert machine.nodes[1].memory_total_bytes is None
    assert machine.settings.numa_balancing is None
    assert codes(machine) == ["memory-unknown", "unreadable"]
    assert f"{NODE}/node1/meminfo could not be read: input/output" in machine.warnings[1].message


HOSTILE = [
    b"",
    b"\0" * 5000,
    b"\xff\xfe\x00",
    b"0-4294967295\n",
    b"0-65535\n",
    b"65536\n",
    b"-1\n",
    b"7-0\n",
    b"0-7,0-7,,\n",
    b"ffffffff," * 8_000,
    b"9" * 5000,
    "٣\n".encode(),
    b"Node 0 MemTotal: 99999999999999999999999 kB\n",
    b"0::/../../../../etc\n1:cpu:/" + b"a/" * 3000,
    b"max max\n",
    b"1 0\n",
]


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """Return the tree of a machine with every kind of file, and its files."""
    limits = Limits(CpuSet.parse("0-3"), CpuSet([0]), CpuSet.parse("0-1"), 1.5)
    machine = small_machine()._replace(limits=limits)
    root = write_tree(machine, tmp_path_factory.mktemp("limited"))
    return root, sorted(path for path in root.rglob("*") if path.is_file())


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_no_content_is_too_hostile(limited: tuple[Path, list[Path]], data: st.DataObject) -> None:
    root, files = limited
    chosen = data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=6, unique=True))
    whole = {path: path.read_bytes() for path in chosen}
    try:
        for path in chosen:
            path.write_bytes(data.draw(st.one_of(st.sampled_from(HOSTILE), st.binary(max_size=40))))
        found = read(root)
        assert all("\n" not in w.message and w.message.isprintable() for w in found.warnings)
    except NumatuneError as error:
        assert "\n" not in str(error)  # noqa: PT017
    finally:
        for path, content in whole.items():
            path.write_bytes(content)
