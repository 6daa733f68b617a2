"""Reading the text of `lscpu`: languages, releases, pastes of several outputs, hostile texts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from numatune import read_machine
from numatune.errors import MachineError
from numatune.machine import CpuSet, Machine
from numatune.sources.lscpu_text import read, recognises

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"


def fixture(name: str) -> Machine:
    text = (FIXTURES / "lscpu" / name).read_text(encoding="utf-8")
    assert recognises(text)
    return read(text, "text")


def node_cpus(machine: Machine) -> dict[int, str]:
    return {node.id: str(node.cpus) for node in machine.nodes}


def figures(machine: Machine) -> tuple[int | None, int | None, int | None]:
    return machine.cores_known, machine.packages_known, machine.threads_per_core


def codes(machine: Machine) -> list[str]:
    return [warning.code for warning in machine.warnings]


@pytest.mark.parametrize(
    ("name", "nodes", "counts", "model"),
    [
        ("german.txt", {0: "0-5,12-17", 1: "6-11,18-23"}, (12, 2, 2),
         "Intel(R) Xeon(R) CPU E5-2620 v3 @ 2.40GHz"),
        ("chinese.txt", {0: "0-23,48-71", 1: "24-47,72-95"}, (48, 2, 2),
         "Intel(R) Xeon(R) Platinum 8260 CPU @ 2.40GHz"),
        ("french.txt", {0: "0-15"}, (8, 1, 2), "AMD Ryzen 7 5800X 8-Core Processor"),
        ("japanese.txt", {0: "0-15", 1: "16-31", 2: "32-47", 3: "48-63"}, (64, 2, 1),
         "Kunpeng-920"),
    ],
)  # fmt: skip
def test_translated_labels_are_read(
    name: str, nodes: dict[int, str], counts: tuple[int, int, int], model: str
) -> None:
    machine = fixture(name)
    assert node_cpus(machine) == nodes
    assert figures(machine) == counts
    assert machine.cpu.model == model
    assert machine.offline_cpus == CpuSet()
    assert not machine.warnings


def test_figures_with_decimal_commas_hurt_nothing() -> None:
    machine = fixture("german.txt")
    assert machine.online_cpus == CpuSet.parse("0-23")
    assert machine.cpu.features == frozenset(("fpu", "tsc", "msr", "lm", "avx2"))


def test_what_a_text_without_its_head_lacks_is_said() -> None:
    machine = fixture("german-head-cut.txt")
    assert node_cpus(machine) == {0: "0-15,32-47", 1: "16-31,48-63"}
    assert machine.online_cpus is None
    assert figures(machine) == (None, None, None)
    assert codes(machine) == ["incomplete"]
    assert "the threads of a core, the cores of a package" in machine.warnings[0].message


def test_a_release_without_the_list_of_cpus_and_without_nodes() -> None:
    machine = fixture("old-2.17.txt")
    assert figures(machine) == (4, 1, 2)
    assert machine.nodes == ()
    assert machine.online_cpus is None
    assert codes(machine) == ["no-numa-information"]


def test_offline_cpus_leave_the_number_of_cores_open() -> None:
    text = (FIXTURES / "machines/cpus-offline/lscpu.txt").read_text()
    machine = read(text, "text")
    assert machine.online_cpus == CpuSet.parse("0-4,6-11")
    assert machine.offline_cpus == CpuSet.parse("5,12-15")
    assert node_cpus(machine) == {0: "0-3", 1: "4,6-7", 2: "8-11", 3: ""}
    # Threads of the largest core: 1, so the eleven online CPUs are eleven cores.
    assert figures(machine) == (11, 3, 1)


def test_threads_alone_are_those_of_the_largest_core() -> None:
    text = "Architecture: x86_64\nCPU(s): 20\nOn-line CPU(s) list: 0-19\nThread(s) per core: 2\n"
    machine = read(text, "text")
    assert figures(machine) == (None, None, None)
    assert "cores-unknown" in codes(machine)
    assert figures(read(text.replace("core: 2", "core: 1"), "text")) == (20, None, 1)


def test_a_hybrid_machine_has_no_number_of_cores() -> None:
    machine = read(
        "Architecture: x86_64\nCPU(s): 20\nOn-line CPU(s) list: 0-19\nThread(s) per core: 2\n"
        "Core(s) per socket: 14\nSocket(s): 1\nNUMA node(s): 1\nNUMA node0 CPU(s): 0-19\n",
        "text",
    )
    assert figures(machine) == (None, 1, None)
    assert codes(machine) == ["cores-unknown"]


def test_online_cpus_that_are_left_out_are_missed() -> None:
    machine = read(
        "Architecture: x86_64\nCPU(s): 8\nOff-line CPU(s) list: 4-7\nThread(s) per core: 1\n"
        "Core(s) per socket: 4\nSocket(s): 1\n",
        "text",
    )
    assert machine.online_cpus is None
    assert any("the online CPUs" in w.message for w in machine.warnings)


# Several outputs ----------------------------------------------------------------------------------

PASTES = [
    ("numactl.txt", "lscpu-e.txt", "lscpu.txt"),
    ("numactl.txt", "lscpu.txt", "lscpu-e.txt"),
    ("lscpu-p.txt", "lscpu.txt"),
    ("lscpu.json", "lscpu-e.txt", "lscpu.txt"),
    ("lscpu.txt", "lscpu-e-a.json"),
]


@pytest.mark.parametrize("names", PASTES, ids="+".join)
@pytest.mark.parametrize("machine", ["two-node-smt", "cpus-offline", "numa-off", "pr685-2x24"])
@pytest.mark.parametrize("between", ["", "\n", "\n$ lscpu\n"])
def test_several_outputs_of_one_machine_say_no_more_than_each(
    machine: str, names: tuple[str, ...], between: str
) -> None:
    paths = [FIXTURES / "machines" / machine / name for name in names]
    together = read_machine(text=between.join(path.read_text() for path in paths))
    alone = {warning for path in paths for warning in read_machine(path).warnings}
    assert set(together.warnings) <= alone


def test_the_same_output_at_another_clock_is_no_other_machine() -> None:
    one = (FIXTURES / "lscpu/german.txt").read_text()
    other = one.replace("4794,37", "4800,01")
    assert one != other
    assert read(one + other, "text").warnings == ()


def test_two_machines_are_told_apart() -> None:
    names = ("lscpu/german.txt", "lscpu/french.txt")
    text = "".join((FIXTURES / name).read_text() for name in names)
    assert "two-outputs" in codes(read(text, "text"))


# Damage -------------------------------------------------------------------------------------------

LONG = (
    "Architecture:          x86_64\n"
    "CPU(s):                4\n"
    "Vendor ID:             AuthenticExample\n"
    "Model name:            Example 7 9700 Sixteen-Core Processor With Graphics\n"
    "Flags:                 fpu tsc msr lm avx avx2 avx512f avx512_bf16 amx_tile amx_int8\n"
    "NUMA node0 CPU(s):     0-3\n"
    "Vulnerability Retbleed:  Mitigation; untrained return thunk; SMT vulnerable\n"
)


def test_lines_cut_at_a_column_are_noticed() -> None:
    machine = read("".join(f"{line[:57]}\n" for line in LONG.split("\n")), "text")
    assert machine.cpu.features is None
    assert machine.cpu.model is None
    assert "cut" in codes(machine)
    assert read(LONG, "text").cpu.features == frozenset(
        ("fpu", "tsc", "msr", "lm", "avx", "avx2", "avx512f", "avx512_bf16", "amx_tile", "amx_int8")
    )


def test_a_wrapped_model_is_not_taken_for_a_shorter_one() -> None:
    machine = read(LONG.replace(" Processor With", "\nProcessor With"), "text")
    assert machine.cpu.model is None
    assert any("the CPU model" in w.message for w in machine.warnings)


def test_wrapped_flags_that_end_at_the_last_column_are_cut() -> None:
    text = (
        "CPU(s):       4\n"
        "Flags:        fpu tsc msr lm avx avx2 am\n"
        "              x_tile amx_bf16 ssse3 sse4_1\n"
    )
    width = len(text.split("\n")[1])
    cut = "".join(f"{line[:width]}\n" for line in text.split("\n"))
    machine = read(f"{cut}NUMA node0 CPU(s): 0-3\n", "text")
    assert machine.cpu.features is None
    assert "cut" in codes(machine)


# Hostile texts ------------------------------------------------------------------------------------

HUGE = 1 << 63
HOSTILE = {
    "huge numbers": f"Architecture: x86_64\nCPU(s): {HUGE}\nOn-line CPU(s) list: 0-{HUGE}\n"
    f"Thread(s) per core: {HUGE}\nCore(s) per socket: {HUGE}\nSocket(s): {HUGE}\n"
    f"NUMA node(s): {HUGE}\nNUMA node{HUGE} CPU(s): 0-3\nNUMA node0 CPU(s): {HUGE}\n",
    "a huge mask": f"CPU(s): 4\nOn-line CPU(s) mask: 0x{'f' * 900_000}\n",
    "a long label": f"NUMA node{'1' * 5000} CPU(s): 0\nThread(s) per core: {'9' * 5000}\n",
    "many labels": "NUMA node0 CPU(s): 0 " * 100_000,
    "many nodes": "\n".join(f"NUMA node{i} CPU(s): {i}" for i in range(50_000)),
    "a list without end": "On-line CPU(s) list: " + "0,\n" * 100_000,
    "a label over blanks": "Thread(s)" + " " * 1_000_000 + "per core: 2\n",
    "30 MB without a label": "CPU(s " * 5_000_000,
}


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused_or_warned_of(name: str) -> None:
    start = time.process_time()
    try:
        machine = read_machine(text=HOSTILE[name])
    except MachineError:
        pass
    else:
        assert machine.warnings
        assert machine.online_cpus is None
    assert time.process_time() - start < 12  # a guard against what grows faster than the text
