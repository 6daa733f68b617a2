"""Reading `lscpu -J` and `lscpu -J -e`, and hostile JSON."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from numatune import read_machine
from numatune.errors import MachineError
from numatune.machine import CpuSet, Machine
from numatune.sources.lscpu_json import read, recognises

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"


def fixture(name: str) -> Machine:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    assert recognises(text)
    return read(text, "text")


def nodes(machine: Machine) -> dict[int, str]:
    return {node.id: str(node.cpus) for node in machine.nodes}


def codes(machine: Machine) -> list[str]:
    return [warning.code for warning in machine.warnings]


def test_nested_fields() -> None:
    machine = fixture("lscpu/nested.json")
    assert nodes(machine) == {0: "0-3,5-7", 1: ""}
    assert machine.online_cpus == CpuSet.parse("0-3,5-7")
    assert machine.offline_cpus == CpuSet.parse("4")
    assert (machine.cores_known, machine.packages_known, machine.threads_per_core) == (7, 1, 1)
    assert machine.cpu.model == "Intel(R) Xeon(R) E-2224G CPU @ 3.50GHz"
    assert machine.is_guest is True
    assert machine.warnings == ()


def test_rows_with_bare_dashes() -> None:
    machine = fixture("lscpu/rows-2.38.json")
    assert nodes(machine) == {0: "0,2"}
    assert machine.offline_cpus == CpuSet.parse("1")
    assert machine.cores is not None
    assert [str(core.cpus) for core in machine.cores] == ["0,2"]


def test_the_recorded_machine_with_offline_cpus() -> None:
    summary = fixture("machines/cpus-offline/lscpu.json")
    assert nodes(summary) == {0: "0-3", 1: "4,6-7", 2: "8-11", 3: ""}
    rows = fixture("machines/cpus-offline/lscpu-e-a.json")
    assert nodes(rows) == {0: "0-3", 1: "4,6-7", 2: "8-11"}
    for machine in (summary, rows):
        assert machine.offline_cpus == CpuSet.parse("5,12-15")
        assert machine.cores_known == 11


def test_translated_fields() -> None:
    text = (FIXTURES / "lscpu/chinese.txt").read_text(encoding="utf-8")
    pairs = (line.split("：" if "：" in line else ":", 1) for line in text.strip().split("\n"))
    rows = [{"field": f"{name}：", "data": value.strip()} for name, value in pairs]
    for is_ascii in (True, False):
        machine = read(json.dumps({"lscpu": rows}, ensure_ascii=is_ascii), "text")
        assert nodes(machine) == {0: "0-23,48-71", 1: "24-47,72-95"}
        assert machine.cores_known == 48


def test_wrapped_flags_are_said() -> None:
    text = (FIXTURES / "lscpu/nested.json").read_text()
    machine = read(text.replace("tsc msr lm hyper", "tsc msr\nlm hyper"), "text")
    assert codes(machine) == ["repaired"]
    assert machine.cpu.features is not None
    assert machine.cpu.features >= {"fpu", "tsc", "msr", "lm", "hypervisor"}


# Hostile JSON -------------------------------------------------------------------------------------


def field(name: str, data: str) -> str:
    return f'{{"field":"{name}","data":{data}}}'


def summary(*fields: str) -> str:
    return f'{{"lscpu":[{",".join(fields)}]}}'


HUGE = 1 << 63
HOSTILE = {
    "brackets": '{"lscpu": ' + "[" * 200_000,
    "depth": '{"lscpu": [' + '{"field":"CPU(s):","data":"4","children":[' * 50_000,
    "30 MB": '{"lscpu": [' + (field("CPU(s):", '"4"') + ",") * 1_000_000 + "]}",
    "too many rows": '{"cpus": ['
    + ",".join(f'{{"cpu":{i},"node":0,"core":{i}}}' for i in range(100_000))
    + "]}",
    "a value without end": summary(field("CPU(s):", '"' + "4" * 5_000_000 + '"')),
    "quotes": summary(field("CPU(s):", '"' + '\\"' * 1_000_000 + '"')),
    "backslashes": '{"lscpu": [{"field":"CPU(s):","data":"' + "\\" * 2_000_000,
    "starts": '{"lscpu": [' * 200_000 + field("CPU(s):", '"4"'),
    "1e400": '{"cpus":[{"cpu":1e400,"node":0,"core":1e400},{"cpu":0,"node":1e400,"core":0}]}',
    "1e400 as data": summary(field("CPU(s):", "1e400"), field("Socket(s):", "-1e400")),
    "2^63": f'{{"cpus":[{{"cpu":{HUGE},"node":0,"core":0}},{{"cpu":0,"node":{HUGE},"core":0}}]}}',
    "a key twice": '{"lscpu":[{"field":"CPU(s):","data":"4","data":"8"}]}',
    "a row twice": '{"cpus":[{"cpu":0,"node":0,"core":0},{"cpu":0,"node":1,"core":0}]}',
    "an array twice": '{"cpus":[{"cpu":0,"node":0,"core":0}],"cpus":[{"cpu":1,"node":0,"core":0}]}',
    "objects as data": summary(field("CPU(s):", '{"a":{"b":1}}'), field("Socket(s):", "[1,2]")),
    "numbers as fields": '{"lscpu":[{"field":1,"data":{}},7,"x",null,{"field":["CPU(s):"]}]}',
    "an object of rows": '{"cpus":{"cpu":0,"node":0}}',
    "words as rows": '{"cpus":[[0,0],{"cpu":"x","node":[]},{"cpu":0,"node":true,"core":{}}]}',
    "nothing": '{"lscpu":null}',
    "no field": '{"lscpu":[]}',
    "no row": '{"cpus":[{},{}]}',
}


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_json_is_refused_or_warned_of(name: str) -> None:
    start = time.process_time()
    try:
        machine = read_machine(text=HOSTILE[name])
    except MachineError:
        pass
    else:
        assert machine.warnings
    assert time.process_time() - start < 12  # a guard against what grows faster than the text
