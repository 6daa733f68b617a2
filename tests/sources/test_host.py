import sys
import types

import psutil  # before a test renames the platform: it looks at it when it is imported
import pytest

import numatune
from numatune.machine import Cpu, Machine
from numatune.sources.host import with_cpu_model


@pytest.mark.parametrize(("platform", "name"), [("darwin", "macOS"), ("win32", "Windows")])
def test_off_linux_only_counts_are_known_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch, platform: str, name: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    machine = numatune.read_machine()
    assert machine.core_count == psutil.cpu_count(logical=False)
    assert name in machine.warnings[0].message
    assert "--from" in machine.warnings[0].message
    assert machine.shows_nodes is None
    assert machine.cpus
    with pytest.raises(numatune.MachineError, match="numactl --hardware"):
        numatune.simulate(machine, "kt-kernel", cpu_infer=2)
    text = "available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 100 MB\nnode 0 free: 9 MB\n"
    assert numatune.read_machine(text=text + "node distances:\nnode   0\n  0:  10\n").nodes


def test_the_cpu_model_is_asked_for_only_where_it_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def get_cpu_info() -> dict[str, object]:
        asked.append(1)
        return {"brand_raw": "Neoverse-N1", "vendor_id_raw": "ARM", "flags": ["asimd", "sve"]}

    monkeypatch.setitem(sys.modules, "cpuinfo", types.SimpleNamespace(get_cpu_info=get_cpu_info))
    known = Machine("this host", cpu=Cpu(model="Xeon"))
    assert with_cpu_model(known) is known
    assert not asked
    found = with_cpu_model(Machine("this host", gaps=("cpu", "limits")))
    assert found.cpu == Cpu(None, "ARM", "Neoverse-N1", frozenset(("asimd", "sve")))
    assert found.gaps == ("limits",)


@pytest.mark.parametrize("answer", [{}, {"brand_raw": ""}, {"brand_raw": 3, "flags": None}])
def test_a_useless_answer_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, answer: dict[str, object]
) -> None:
    module = types.SimpleNamespace(get_cpu_info=lambda: answer)
    monkeypatch.setitem(sys.modules, "cpuinfo", module)
    assert with_cpu_model(Machine("this host", gaps=("cpu",))).gaps == ("cpu",)


def test_an_error_in_it_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise RuntimeError("no such key in the registry")

    monkeypatch.setitem(sys.modules, "cpuinfo", types.SimpleNamespace(get_cpu_info=fails))
    assert with_cpu_model(Machine("this host")) == Machine("this host")
