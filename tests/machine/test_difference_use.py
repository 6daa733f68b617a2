"""Differences beside the topology: CPU, limits, settings, memory modules, GPUs."""

from __future__ import annotations

from typing import Any

import pytest

from numatune.machine import CpuSet, Dimm, Gpu, Limits, Machine, Settings
from numatune.machine.difference import Difference, compare, differences
from tests.machine.test_difference import GIB, found, meaning, one_sided, with_settings
from tests.sources.trees import small_machine

# CPU, limits, settings ----------------------------------------------------------------------------


def test_the_cpu() -> None:
    before = small_machine()
    flags = before.cpu.features or frozenset()
    after = before._replace(
        cpu=before.cpu._replace(
            model="Another", vendor="AuthenticAMD", features=flags - {"avx512f"} | {"amx_int8"}
        )
    )
    assert found(before, after) == [
        ("cpu-vendor", "the machine", "GenuineIntel", "AuthenticAMD"),
        ("cpu-model", "the machine", "Made-up Xeon", "Another"),
        ("instruction-set", "AMX", False, True),
        ("instruction-set", "AVX-512", True, False),
    ]


def test_flags_that_do_not_matter_and_blanks_are_no_difference() -> None:
    before = small_machine()
    flags = (before.cpu.features or frozenset()) | {"smap"}
    after = before._replace(cpu=before.cpu._replace(model=" Made-up  Xeon", features=flags))
    assert found(before, after) == []


def test_readers_that_name_an_arm_cpu_in_words_of_their_own_are_not_compared() -> None:
    cpu = small_machine().cpu._replace(architecture="aarch64", model="TSV110 (Kunpeng 920)")
    before = small_machine()._replace(cpu=cpu, origins={"cpu": "this host"})
    after = before._replace(cpu=cpu._replace(model="Kunpeng-920"), origins={"cpu": "lscpu"})
    assert found(before, after) == []
    same = after._replace(origins={"cpu": "live host"})
    assert [d[0] for d in found(before, same)] == ["cpu-model"]


def test_a_virtual_machine() -> None:
    after = small_machine()._replace(is_guest=True)
    assert found(small_machine(), after) == [("guest", "the machine", False, True)]
    assert meaning(small_machine(), after, "guest") == (
        "nodes and packages are the hypervisor's choice"
    )
    unknown = small_machine()._replace(is_guest=None)
    assert one_sided(compare(small_machine(), unknown)) == {("guest", "the machine")}


def limited(origin: str, **limits: Any) -> Machine:
    return small_machine()._replace(limits=Limits(**limits), origins={"limits": origin})


def test_limits_on_the_host_itself() -> None:
    before = limited("this host", cpuset_mems=CpuSet([0, 1]))
    after = limited(
        "live host",
        cpuset_cpus=CpuSet.parse("0-1,4-5"),
        cpuset_mems=CpuSet([0]),
        affinity=CpuSet([0]),
        cpu_quota=2.5,
    )
    assert found(before, after) == [
        ("limit", "cpuset_cpus", "all", "0-1,4-5"),
        ("limit", "cpuset_mems", "all", "0"),
        ("limit", "affinity", "all", "0"),
        ("limit", "cpu_quota", "absent", 2.5),
    ]
    assert differences(before, after)[-1].meaning == (
        "threads that together need more than 2.5 CPUs are stopped in every period"
    )


def test_a_cpuset_that_holds_everything_is_none() -> None:
    before = limited("this host", cpuset_cpus=CpuSet.parse("0-7"))
    assert found(before, limited("this host", affinity=CpuSet.parse("0-9"))) == []


def test_limits_that_a_text_does_not_state() -> None:
    before = limited("tree /somewhere", cpuset_mems=CpuSet([0, 1]))
    after = limited("live host", cpu_quota=2.0)
    result = compare(before, after)
    assert result.differences == ()
    assert one_sided(result) == {
        ("limit", "cpuset_cpus"),
        ("limit", "affinity"),
        ("limit", "cpu_quota"),
    }


@pytest.mark.parametrize(
    ("name", "before", "after", "words"),
    [
        ("numa_balancing", 0, 1, "the kernel unmaps and moves pages as it runs"),
        ("numa_balancing", 1, 0, "the kernel no longer moves pages to the node that uses them"),
        ("numa_balancing", 1, 2, ""),
        ("zone_reclaim_mode", 0, 1, "a full node drops page cache, mapped weights among it,"
         " before another node is used"),
        ("zone_reclaim_mode", 3, 0, "a full node takes memory from another node first"),
        ("transparent_hugepage", "always", "never", ""),
        ("smt_control", "on", "off", ""),
    ],
)  # fmt: skip
def test_settings(name: str, before: Any, after: Any, words: str) -> None:
    one, other = (with_settings(small_machine(), **{name: value}) for value in (before, after))
    (difference,) = differences(one, other)
    assert difference == Difference("setting", name, before, after, words)


def test_isolated_cpus() -> None:
    after = with_settings(small_machine(), isolated_cpus=CpuSet([1, 5]))
    assert found(small_machine(), after) == [("setting", "isolated_cpus", "", "1,5")]


def test_settings_that_are_not_known() -> None:
    after = small_machine()._replace(settings=Settings(numa_balancing=1))
    result = compare(small_machine(), after)
    assert result.differences == ()
    assert one_sided(result) == {
        ("setting", "zone_reclaim_mode"),
        ("setting", "transparent_hugepage"),
        ("setting", "smt_control"),
        ("setting", "isolated_cpus"),
        ("kernel-parameters", "the machine"),
    }


def test_parameters_of_the_kernel() -> None:
    before = with_settings(small_machine(), cmdline="BOOT_IMAGE=/vmlinuz-6.5 ro nosmt numa=off")
    after = with_settings(small_machine(), cmdline="BOOT_IMAGE=/vmlinuz-6.8 ro numa=fake=4 quiet")
    assert found(before, after) == [
        ("kernel-parameter", "BOOT_IMAGE", "BOOT_IMAGE=/vmlinuz-6.5", "BOOT_IMAGE=/vmlinuz-6.8"),
        ("kernel-parameter", "nosmt", "nosmt", "absent"),
        ("kernel-parameter", "numa", "numa=off", "numa=fake=4"),
        ("kernel-parameter", "quiet", "absent", "quiet"),
    ]
    there, back = (
        {d.subject: d.meaning for d in differences(*pair)}
        for pair in ((before, after), (after, before))
    )
    assert there["numa"] == "it makes emulated nodes, whose distances say nothing"
    assert back["numa"] == "it hides the NUMA nodes: nothing can be bound"


def test_of_a_cut_command_line_only_what_is_never_left_out_is_compared() -> None:
    whole = with_settings(small_machine(), cmdline="ro quiet nosmt")
    cut = with_settings(small_machine(), cmdline="numa=off ...")
    result = compare(whole, cut)
    assert [d.subject for d in result.differences] == ["nosmt", "numa"]
    assert result.not_comparable == (
        Difference("kernel-parameters", "those left out of a snapshot", "ro quiet", None),
    )
    assert compare(cut, with_settings(cut, cmdline="...")).not_comparable == ()


# Modules and GPUs ---------------------------------------------------------------------------------


def test_memory_modules() -> None:
    before = with_settings(small_machine(), dimms_populated=8, memory_channels=8)
    after = with_settings(small_machine(), dimms_populated=7, memory_channels=8)
    assert found(before, after) == [("memory-modules", "the machine", 8, 7)]
    assert meaning(before, after, "memory-modules") == (
        "7 modules for 8 memory channels: at most 87 % of the peak bandwidth"
    )
    assert meaning(after, before, "memory-modules") == ""
    assert one_sided(compare(before, small_machine())) == {
        ("memory-modules", "the machine"),
        ("memory-channels", "the machine"),
    }


def test_memory_slots() -> None:
    good = Dimm("A1", 64 * GIB, "DDR5", 4800)
    before = small_machine()._replace(
        dimms=(good, Dimm("A2", 64 * GIB, "DDR5", 4800), Dimm("A2", 0), Dimm("B1", 0))
    )
    after = small_machine()._replace(
        dimms=(good._replace(speed_mts=4400), Dimm("A2", 0), Dimm("A2", 0), Dimm("C1"))
    )
    assert found(before, after) == [
        ("memory-slot", "A1", "64.0 GiB DDR5 4800 MT/s", "64.0 GiB DDR5 4400 MT/s"),
        ("memory-slot", "A2", "64.0 GiB DDR5 4800 MT/s", "empty"),
        ("memory-slot", "B1", "empty", "absent"),
    ]
    assert one_sided(compare(before, after)) == {("memory-slot", "C1")}
    assert one_sided(compare(before, small_machine())) == {("memory-slots", "the machine")}


def test_gpus() -> None:
    before = small_machine()._replace(
        gpus=(Gpu("GPU0", 0), Gpu("GPU1", None, CpuSet([2])), Gpu("GPU2", 1))
    )
    after = small_machine()._replace(
        gpus=(Gpu("GPU0", 1), Gpu("GPU1", None, CpuSet([0])), Gpu("GPU2"), Gpu("GPU3", 0))
    )
    assert found(before, after) == [
        ("gpu", "GPU0", "node 0", "node 1"),
        ("gpu", "GPU1", "CPUs 2", "CPUs 0"),
        ("gpu", "GPU3", "absent", "node 0"),
    ]
    assert one_sided(compare(before, after)) == {("gpu", "GPU2")}
    assert one_sided(compare(before, small_machine())) == {("gpus", "the machine")}
