"""Every recorded machine, read from each output that its own tools printed on it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import numatune
from numatune.machine import Access, CpuSet, Machine, MemoryTier
from numatune.sources.merge import merged

MACHINES = sorted((Path(__file__).parent.parent.parent / "fixtures/machines").iterdir())
MIB = 1 << 20

each_machine = pytest.mark.parametrize("folder", MACHINES, ids=lambda folder: folder.name)


def right(folder: Path) -> Any:
    return json.loads((folder / "expected.json").read_text())


def tree(folder: Path) -> Machine:
    packed = folder / "tree.tar.xz"
    return numatune.read_machine(packed if packed.exists() else folder / "tree")


def sets(value: object) -> list[str]:
    values = value.values() if isinstance(value, dict) else value
    assert isinstance(values, list | type({}.values()))
    return sorted(map(str, values), key=lambda text: CpuSet.parse(text).mask)


def cpu_sets(parts: Any) -> list[str]:
    return sorted((str(p.cpus) for p in parts), key=lambda text: CpuSet.parse(text).mask)


def assert_right(machine: Machine, want: Any, *, sizes: str | None) -> None:
    """Compare all that a reading states with what the machine's own tools printed."""
    nodes = {n.id: n for n in machine.nodes}
    for node in want["nodes"]:
        got = nodes.get(node["id"])
        if got is None or got.cpus is None:
            continue
        assert str(got.cpus) == node["cpus"], node["id"]
        if sizes == "bytes" and node["memory_total_bytes"] is not None:
            assert got.memory_total_bytes == node["memory_total_bytes"]
        elif sizes == "MB":
            assert got.memory_total_bytes is not None
            assert got.memory_total_bytes // MIB == node["numactl_size_mb"]
    assert nodes.keys() <= {n["id"] for n in want["nodes"]}
    if machine.distances is not None:
        ids = machine.distances.node_ids
        position = {n["id"]: i for i, n in enumerate(want["nodes"])}
        rows = [[want["distances"][position[a]][position[b]] for b in ids] for a in ids]
        assert [list(row) for row in machine.distances.values] == rows
    if machine.cores is not None:
        assert cpu_sets(machine.cores) == sets(want["cores"])
    if machine.packages is not None:
        assert cpu_sets(machine.packages) == sets(want["packages"])
    if machine.online_cpus is not None:
        assert str(machine.online_cpus) == want["online_cpus"]
    if machine.offline_cpus is not None and "offline_cpus" in want:
        assert str(machine.offline_cpus) == want["offline_cpus"]
    for known, key in (
        (machine.cores_known, "core_count"),
        (machine.packages_known, "package_count"),
        (machine.threads_per_core, "threads_per_core"),
    ):
        assert known in (None, want[key]), key


@each_machine
def test_the_tree_reads_whole_and_right(folder: Path) -> None:
    machine, want = tree(folder), right(folder)
    assert not machine.warnings
    assert machine.cores is not None
    assert machine.packages is not None
    assert {n.id for n in machine.nodes} == {n["id"] for n in want["nodes"]}
    assert machine.distances is not None or want["distances"] is None
    assert_right(machine, want, sizes="bytes")


def test_the_ratings_of_the_firmware_and_the_tiers_are_read() -> None:
    memory = tree(next(folder for folder in MACHINES if folder.name == "cxl-hmat")).memory
    assert memory is not None
    near, far = (204800, 204800, 80, 80), (30720, 30720, 250, 250)
    assert memory.accesses == (
        Access(0, CpuSet([0]), *near),
        Access(1, CpuSet([1]), *near),
        Access(2, CpuSet([0]), *far),
    )
    assert memory.tiers == (MemoryTier(4, CpuSet([0, 1])), MemoryTier(93, CpuSet([2])))
    xml = numatune.read_machine(MACHINES[0].parent / "cxl-hmat/lstopo.xml").memory
    assert xml is not None
    assert xml.accesses == memory.accesses
    assert not memory.caches
    assert not memory.generic_initiators


@each_machine
def test_numactl_with_lscpu_reads_whole_and_right(folder: Path) -> None:
    want = right(folder)
    for table in ("lscpu-e-a.json", "lscpu-p.txt", "lscpu-e.txt"):
        machine = numatune.read_machine(
            [folder / "numactl.txt", folder / "lscpu.txt", folder / table]
        )
        assert {n.id for n in machine.nodes} == {n["id"] for n in want["nodes"]}
        assert machine.cores is not None
        assert_right(machine, want, sizes="MB")


@each_machine
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("numactl.txt", "MB"),
        ("lscpu.txt", None),
        ("lscpu.json", None),
        ("lscpu-e.txt", None),
        ("lscpu-e-a.json", None),
        ("lscpu-p.txt", None),
        ("lstopo.xml", "bytes"),
        ("lstopo.txt", None),
        ("numastat-m.txt", None),
    ],
)
def test_each_output_alone_is_right_in_what_it_states(
    folder: Path, name: str, sizes: str | None
) -> None:
    machine = numatune.read_machine(folder / name)
    assert_right(machine, right(folder), sizes=sizes)
    assert not [w for w in machine.warnings if w.code not in ("repaired",)] or name != "numactl.txt"


@each_machine
def test_all_readings_agree(folder: Path) -> None:
    texts = [numatune.read_machine(p) for p in sorted(folder.glob("*.txt"))]
    documents = [
        numatune.read_machine(folder / n) for n in ("lscpu.json", "lscpu-e-a.json", "lstopo.xml")
    ]
    assert_right(merged([tree(folder), *texts, *documents]), right(folder), sizes="bytes")


@each_machine
def test_one_paste_of_everything_reads_like_its_parts(folder: Path) -> None:
    parts = [folder / name for name in ("numactl.txt", "lscpu-e.txt", "numastat-m.txt")]
    text = "\n".join(f"$ {p.stem}\n{p.read_text()}" for p in parts)
    machine = numatune.read_machine(text=text + "\nWhy is my server so slow?\n")
    assert_right(machine, right(folder), sizes="MB")
    assert machine.cores is not None


Pairing = Callable[[Path, Path], list[Path]]


@pytest.mark.parametrize(
    "pairing",
    [
        lambda a, b: [a / "numactl.txt", b / "lscpu-e.txt"],
        lambda a, b: [a / "lscpu.txt", b / "lstopo.xml"],
        lambda a, b: [a / "lstopo.xml", b / "numastat-m.txt"],
    ],
)
def test_two_machines_are_never_blended(pairing: Pairing) -> None:
    one, other = (next(m for m in MACHINES if m.name == n) for n in ("two-node-smt", "pr685-2x24"))
    with pytest.raises(numatune.MachineError, match="one machine only"):
        numatune.read_machine(pairing(one, other))
