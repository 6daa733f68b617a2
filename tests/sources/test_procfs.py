"""What /proc tells of the CPU and of kernel settings, on each architecture."""

from __future__ import annotations

from pathlib import Path

import pytest

from numatune.machine import Cpu, CpuSet, Settings
from numatune.sources.procfs import listed_cpus, memory_bytes, read_cpu, read_settings
from numatune.sources.tree import Tree
from tests.sources.trees import write_files

X86 = """\
processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 17
model name\t: AMD EPYC   9654 96-Core Processor
flags\t\t: fpu vme lm avx2 avx512f avx512_vnni
bugs\t\t: sysret_ss_attrs

processor\t: 1
vendor_id\t: AuthenticAMD
flags\t\t: other
"""
ARM64 = """\
processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd evtstrm aes sve i8mm bf16
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
CPU revision\t: 1
"""
ARM32 = """\
Processor\t: ARMv7 Processor rev 1 (v7l)
processor\t: 0
BogoMIPS\t: 1000.00

processor\t: 1
BogoMIPS\t: 1000.00

Features\t: swp half thumb fastmult vfp edsp neon
CPU implementer\t: 0x41
CPU architecture: 7
CPU part\t: 0xc09
"""
S390 = """\
vendor_id       : IBM/S390
# processors    : 2
features\t: esan3 zarch vx
processor 0: version = FF,  identification = 000000,  machine = 8561
processor 1: version = FF,  identification = 000000,  machine = 8561
"""
POWER = "processor\t: 0\ncpu\t\t: POWER{}, altivec supported\nclock\t\t: 3800.000000MHz\n"
RISCV = "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc_zba_zbb\nuarch\t\t: sifive,u74-mc\n"
LOONG = """\
system type\t\t: generic-loongson-machine

processor\t\t: 0
package\t\t\t: 0
CPU Family\t\t: Loongson-64bit
Model Name\t\t: Loongson-3C6000
ISA\t\t\t: loongarch32 loongarch64
Features\t\t: cpucfg lam lsx lasx
"""
IA64 = "processor  : 0\nvendor     : GenuineIntel\narch       : IA-64\nfamily     : 32\n"
SPARC = "cpu\t\t: UltraSparc T2\nfpu\t\t: integrated\ntype\t\t: sun4v\n"


def tree_with(root: Path, **files: str) -> Tree:
    named = {"cpuinfo": "proc/cpuinfo", "uname": "proc/hwloc-nofile-info"}
    (root / "sys").mkdir()
    return Tree(str(write_files(root, {named[name]: text for name, text in files.items()})))


@pytest.mark.parametrize(
    ("text", "architecture", "vendor", "model", "features"),
    [
        (X86, "x86_64", "AuthenticAMD", "AMD EPYC 9654 96-Core Processor",
         "fpu vme lm avx2 avx512f avx512_vnni"),
        (X86.replace(" lm", ""), "i686", "AuthenticAMD", "AMD EPYC 9654 96-Core Processor",
         "fpu vme avx2 avx512f avx512_vnni"),
        (ARM64, "aarch64", "ARM", "Neoverse-N1", "fp asimd evtstrm aes sve i8mm bf16"),
        (ARM64.replace("0xd0c", "0xfff"), "aarch64", "ARM", None,
         "fp asimd evtstrm aes sve i8mm bf16"),
        (ARM32, "arm", "ARM", None, "swp half thumb fastmult vfp edsp neon"),
        (S390, "s390x", "IBM/S390", None, "esan3 zarch vx"),
        (POWER.format(7), "ppc64", None, "POWER7, altivec supported", None),
        (POWER.format(9), None, None, "POWER9, altivec supported", None),
        (RISCV, "riscv64", None, "sifive,u74-mc", "rv64imafdc zba zbb"),
        (LOONG, "loongarch64", None, "Loongson-3C6000", "cpucfg lam lsx lasx"),
        (IA64, "ia64", "GenuineIntel", None, None),
        (SPARC, "sparc64", None, "UltraSparc T2", None),
        ("", None, None, None, None),
        ("no colon\n: no key\n\x1b:\x1b\n", None, None, None, None),
    ],
)  # fmt: skip
def test_the_cpu_of_each_architecture(
    tmp_path: Path,
    text: str,
    architecture: str | None,
    vendor: str | None,
    model: str | None,
    features: str | None,
) -> None:
    words = None if features is None else frozenset(features.split())
    expected = Cpu(architecture, vendor, model, words)
    assert read_cpu(tree_with(tmp_path, cpuinfo=text)) == expected


def test_a_foreign_tree_never_gets_the_architecture_of_this_host(tmp_path: Path) -> None:
    assert read_cpu(tree_with(tmp_path)) == Cpu()


def test_uname_is_taken_where_it_was_recorded(tmp_path: Path) -> None:
    uname = "OSName: Linux\nHostName: n\nArchitecture: ppc64le\n"
    assert read_cpu(tree_with(tmp_path, cpuinfo=POWER.format(9), uname=uname)) == Cpu(
        "ppc64le", None, "POWER9, altivec supported", None
    )


def test_a_model_is_safe_to_print(tmp_path: Path) -> None:
    cpu = read_cpu(tree_with(tmp_path, cpuinfo="model name\t: Evil\x1b[2J \x07CPU\nflags\t: fpu\n"))
    assert cpu.model == "Evil?[2J ?CPU"


@pytest.mark.parametrize("text", [X86, ARM32, S390])
def test_the_cpus_that_cpuinfo_lists(tmp_path: Path, text: str) -> None:
    assert listed_cpus(tree_with(tmp_path, cpuinfo=text)) == CpuSet([0, 1])


def test_cpuinfo_without_a_cpu_lists_none(tmp_path: Path) -> None:
    assert listed_cpus(tree_with(tmp_path, cpuinfo="processor : 70000\n")) is None


def settings_with(root: Path, files: dict[str, str]) -> Settings:
    (root / "sys").mkdir()
    return read_settings(Tree(str(write_files(root, files))))


def test_settings(tmp_path: Path) -> None:
    found = settings_with(
        tmp_path,
        {
            "proc/cmdline": "BOOT_IMAGE=/vmlinuz ro numa_balancing=enable isolcpus=2-3\n",
            "proc/sys/kernel/numa_balancing": "1\n",
            "proc/sys/vm/zone_reclaim_mode": "0\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "sys/devices/system/cpu/smt/control": "notsupported\n",
            "sys/devices/system/cpu/isolated": "2-3\n",
        },
    )
    assert found == Settings(
        cmdline="BOOT_IMAGE=/vmlinuz ro numa_balancing=enable isolcpus=2-3",
        numa_balancing=1,
        zone_reclaim_mode=0,
        transparent_hugepage="madvise",
        smt_control="notsupported",
        isolated_cpus=CpuSet([2, 3]),
    )


def test_settings_that_a_kernel_does_not_have_are_unknown(tmp_path: Path) -> None:
    assert settings_with(tmp_path, {}) == Settings()


def test_no_isolated_cpu_is_known_to_be_none(tmp_path: Path) -> None:
    found = settings_with(tmp_path, {"sys/devices/system/cpu/isolated": "\n"})
    assert found.isolated_cpus == CpuSet()


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("MemTotal:       32768 kB\nMemFree: 1 kB", 32 << 20),
        ("Node 3 MemTotal:  32768 kB\nNode 3 MemFree:  1 kB", 32 << 20),
        ("Node 3 MemTotal:  0 kB", 0),
        ("Node 3 MemFree:  1 kB", None),
        ("MemTotal: 1 MB", None),
        ("MemTotal: -1 kB", None),
        ("MemTotal: 99999999999999999999 kB", None),
        ("MemTotal:", None),
        ("", None),
    ],
)
def test_memory(text: str, total: int | None) -> None:
    assert memory_bytes(text, "MemTotal") == total
