"""Reading `lscpu -e` and `lscpu -p` with any columns, and hostile tables."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from numatune import read_machine
from numatune.errors import MachineError
from numatune.machine import CpuSet, Machine
from numatune.sources.lscpu_table import read, recognises

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"


def fixture(name: str) -> Machine:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    assert recognises(text)
    return read(text, "text")


def cores(machine: Machine) -> list[str] | None:
    return None if machine.cores is None else [str(core.cpus) for core in machine.cores]


def packages(machine: Machine) -> dict[int, str] | None:
    if machine.packages is None:
        return None
    return {package.id: str(package.cpus) for package in machine.packages}


def nodes(machine: Machine) -> dict[int, str]:
    return {node.id: str(node.cpus) for node in machine.nodes}


def codes(machine: Machine) -> list[str]:
    return [warning.code for warning in machine.warnings]


def test_performance_and_efficiency_cores_of_one_machine() -> None:
    machine = fixture("lscpu/hybrid-e.txt")
    assert cores(machine) == ["0-1", "2-3", "4", "5"]
    assert packages(machine) == {0: "0-5"}
    assert machine.threads_per_core is None
    assert machine.warnings == ()


def test_cores_that_are_numbered_anew_for_each_type_are_unknown() -> None:
    machine = fixture("lscpu/arm-types-e.txt")
    assert cores(machine) is None
    assert packages(machine) is None
    assert codes(machine) == ["no-numa-information", "cores-unknown", "packages-unknown"]


def test_no_column_of_sockets() -> None:
    machine = fixture("lscpu/no-socket-e.txt")
    assert nodes(machine) == {0: "0-1", 1: "2-3"}
    assert cores(machine) == ["0-1", "2-3"]
    assert packages(machine) is None
    assert "packages" in machine.gaps


def test_offline_cpus() -> None:
    machine = fixture("lscpu/offline-ae.txt")
    assert machine.online_cpus == CpuSet.parse("0-2")
    assert machine.offline_cpus == CpuSet.parse("3")
    assert nodes(machine) == {0: "0-1", 1: "2"}
    assert cores(machine) == ["0", "1", "2"]


def test_parsable_with_its_default_columns() -> None:
    machine = fixture("lscpu/comma-p.txt")
    assert cores(machine) == ["0,2", "1,3"]
    assert packages(machine) == {0: "0-3"}
    assert nodes(machine) == {0: "0-3"}
    assert machine.offline_cpus is None
    assert machine.warnings == ()


def test_parsable_with_chosen_columns_in_another_order() -> None:
    machine = fixture("lscpu/columns-p.txt")
    assert nodes(machine) == {0: "0,2", 1: "4,6"}
    assert machine.online_cpus == CpuSet.parse("0,2,4,6")
    # Two CPUs with one number may be two cores where lscpu starts anew; nothing here denies it.
    assert codes(machine) == ["cores-unknown", "incomplete"]


def test_parsable_without_its_header_is_read_with_the_command() -> None:
    rows = "\n".join(f"{cpu},{cpu % 2},0,{cpu % 2}" for cpu in range(4))
    machine = read(f"$ lscpu -p=cpu,core,socket,node | grep -v '#'\n{rows}\n", "text")
    assert nodes(machine) == {0: "0,2", 1: "1,3"}
    assert cores(machine) == ["0,2", "1,3"]


def test_parsable_without_any_header_shows_nothing() -> None:
    assert not recognises("0,0,0,0\n1,1,0,0\n2,2,0,0\n")


@pytest.mark.parametrize("name", ["lscpu-e.txt", "lscpu-p.txt"])
def test_a_recorded_machine_with_offline_cpus(name: str) -> None:
    machine = fixture(f"machines/cpus-offline/{name}")
    assert nodes(machine) == {0: "0-3", 1: "4,6-7", 2: "8-11"}
    assert packages(machine) == {0: "0-3", 1: "4,6-7", 2: "8-11"}
    assert cores(machine) == [str(cpu) for cpu in (0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11)]
    offline = CpuSet.parse("5,12-15") if name == "lscpu-e.txt" else None
    assert machine.offline_cpus == offline


# Damage -------------------------------------------------------------------------------------------

TABLE = (FIXTURES / "lscpu/no-socket-e.txt").read_text()
PARSABLE = (FIXTURES / "lscpu/comma-p.txt").read_text()


@pytest.mark.parametrize(
    "text",
    [
        TABLE.replace(" ", "\u00a0"),
        TABLE.replace("CPU", "\u200bCPU"),
        "".join(f"node7: {line}\n" for line in TABLE.split("\n")),
        "".join(f"{i:6}\t{line}\n" for i, line in enumerate(TABLE.split("\n"), 1)),
        f"{TABLE}[root@n1 ~]# nproc\n40\n",
    ],
    ids=["no-break blanks", "zero-width", "names of hosts", "line numbers", "what follows"],
)
def test_what_surrounds_a_table_changes_nothing(text: str) -> None:
    assert recognises(text)
    machine = read(text, "text")
    assert nodes(machine) == {0: "0-1", 1: "2-3"}
    assert cores(machine) == ["0-1", "2-3"]
    assert set(codes(machine)) <= {"repaired"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("\n".join(line[:11] for line in TABLE.split("\n")), "damaged"),
        (TABLE.rstrip("\n")[:-1], "damaged"),
        (PARSABLE.rstrip("\n")[:-1], "cut"),
        (f"{TABLE}  4    2", "damaged"),
        ("CPU CORE ONLINE\n  0    -     no\n", "incomplete"),
    ],
    ids=["columns", "last word", "last cache", "half a row", "none online"],
)
def test_a_table_that_is_cut_is_told(text: str, code: str) -> None:
    assert code in codes(read(text, "text"))


# Hostile tables -----------------------------------------------------------------------------------

HUGE = 1 << 63
HOSTILE = {
    "huge ids": f"CPU NODE SOCKET CORE ONLINE\n{HUGE} 0 0 0 yes\n0 {HUGE} 0 0 yes\n"
    f"1 0 {HUGE} {HUGE} yes\n999999 0 0 0 yes\n",
    "huge ids with commas": f"# CPU,Core,Socket,Node\n{HUGE},0,0,0\n0,{HUGE},0,0\n1,0,0,{HUGE}\n",
    "too many rows": "CPU NODE CORE ONLINE\n" + "".join(f"{i} 0 {i} yes\n" for i in range(60_000)),
    "one line": "CPU NODE SOCKET CORE ONLINE\n" + "0 0 0 0 yes " * 100_000,
    "headers": "CPU NODE SOCKET CORE ONLINE\n" * 50_000,
    "a header without end": "CPU " + "NODE " * 500_000,
    "a model without end": "CPU NODE CORE MODELNAME\n0 0 0 " + "a " * 1_500_000,
    "many prefixes": ("x: " * 200 + "CPU NODE CORE\n") * 5_000,
}


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_tables_are_refused_or_warned_of(name: str) -> None:
    start = time.process_time()
    try:
        machine = read_machine(text=HOSTILE[name])
    except MachineError:
        pass
    else:
        assert machine.warnings
    assert time.process_time() - start < 12  # a guard against what grows faster than the text
