"""What proc tells: the CPU's model and instruction sets, and kernel settings.

/proc/cpuinfo has a form of its own on each architecture; one processor's part is read of it, as
all of it takes the kernel long on a large machine.
"""

from __future__ import annotations

from numatune.machine import Cpu, CpuSet, Settings
from numatune.machine.cpuset import ID_LIMIT
from numatune.sources.tree import Tree, is_number, printable

CPUINFO = "proc/cpuinfo"
#: One processor's part has 3 KiB on x86, and less elsewhere.
CPUINFO_HEAD = 8 << 10
#: All of it, where nothing else lists the CPUs: 8192 CPUs of x86 have 14 MiB.
CPUINFO_LIMIT = 16 << 20
#: Words of uname by what a cpuinfo says: a key, what stands in its value between blanks, the word.
#: ppc64le and ppc64 look the same from POWER8 on.
ARCHITECTURES = (
    ("flags", " lm ", "x86_64"),
    ("flags", " fpu ", "i686"),
    ("features", " asimd ", "aarch64"),
    ("features", " thumb ", "arm"),
    ("vendor_id", " IBM/S390 ", "s390x"),
    ("isa", " rv64", "riscv64"),
    ("isa", " rv32", "riscv32"),
    ("isa", " loongarch64 ", "loongarch64"),
    ("cpu", " POWER6 ", "ppc64"),
    ("cpu", " POWER7 ", "ppc64"),
    ("cpu", " Cell ", "ppc64"),
    ("arch", " IA-64 ", "ia64"),
    ("type", " sun4", "sparc64"),
)
#: "CPU implementer" of Arm, as in arch/arm64/include/asm/cputype.h of Linux.
ARM_VENDORS = {
    "0x41": "ARM",
    "0x43": "Cavium",
    "0x46": "FUJITSU",
    "0x48": "HiSilicon",
    "0x4e": "NVIDIA",
    "0x51": "Qualcomm",
    "0x61": "Apple",
    "0x6d": "Microsoft",
    "0x70": "Phytium",
    "0xc0": "Ampere",
}
#: "CPU part" of those cores that servers have, from the same file.
ARM_MODELS = {
    ("0x41", "0xd0c"): "Neoverse-N1",
    ("0x41", "0xd40"): "Neoverse-V1",
    ("0x41", "0xd49"): "Neoverse-N2",
    ("0x41", "0xd4f"): "Neoverse-V2",
    ("0x46", "0x001"): "A64FX",
    ("0x48", "0xd01"): "TSV110 (Kunpeng 920)",
    ("0x4e", "0x004"): "Carmel",
    ("0xc0", "0xac3"): "Ampere-1",
    ("0xc0", "0xac4"): "Ampere-1a",
}


def read_cpu(tree: Tree) -> Cpu:
    """Read what the CPU is; the architecture of the host only where the tree is the host's."""
    facts = cpuinfo_facts(tree.head(CPUINFO, CPUINFO_HEAD) or "")
    words = facts.get("flags") or facts.get("features")
    if words is None and "isa" in facts:
        words = facts["isa"].replace("_", " ")
    vendor, model = cpu_names(facts)
    features = None if words is None else frozenset(printable(words, 16 << 10).split())
    # The PMU of the small cores of hybrid x86 CPUs; others have no such file.
    small = tree.ids("sys/devices/cpu_atom/cpus") if "flags" in facts else None
    return Cpu(read_architecture(tree, facts), vendor, model, features, small or None)


def cpuinfo_facts(text: str) -> dict[str, str]:
    """Return the first value of each key of a cpuinfo, keys in lower case."""
    facts: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            facts.setdefault(key.strip().lower(), value.strip())
    return facts


def cpu_names(facts: dict[str, str]) -> tuple[str | None, str | None]:
    """Return the vendor and the model, in the words of the kernel or of the tables above."""
    implementer = facts.get("cpu implementer", "")
    vendor = facts.get("vendor_id") or facts.get("vendor") or ARM_VENDORS.get(implementer)
    model = facts.get("model name") or ARM_MODELS.get((implementer, facts.get("cpu part", "")))
    if model is None:
        # POWER and SPARC; RISC-V; 32-bit Arm, whose "Processor" is hidden by "processor".
        model = facts.get("cpu") or facts.get("uarch")
    vendor, model = (None if v is None else printable(" ".join(v.split())) for v in (vendor, model))
    return vendor or None, model or None


def read_architecture(tree: Tree, facts: dict[str, str]) -> str | None:
    """Return the architecture in uname's word, None where nothing in a tree tells it."""
    if tree.is_live:
        import os

        return os.uname().machine
    for key, sign, word in ARCHITECTURES:
        if sign in f" {facts.get(key, '')} ".replace(",", " "):
            return word
    # hwloc-gather-topology records uname in a file of its own.
    recorded = cpuinfo_facts(tree.head("proc/hwloc-nofile-info", 4096) or "")
    word = recorded.get("architecture", "")
    return word if word.isascii() and word.isidentifier() and len(word) <= 20 else None


def listed_cpus(tree: Tree) -> CpuSet | None:
    """Return the CPUs that cpuinfo lists, for trees that have no other list of them.

    Lines read "processor : 3", on s390 "processor 3: version = ...".
    """
    found = []
    for line in (tree.text(CPUINFO, CPUINFO_LIMIT) or "").splitlines():
        words = line.replace(":", " ").split(None, 2)
        if len(words) > 1 and words[0] == "processor" and is_number(words[1]):
            found.append(int(words[1]))
    return CpuSet(number for number in found if number < ID_LIMIT) or None


def memory_bytes(text: str, name: str) -> int | None:
    """Return the bytes of one entry of a meminfo, of a node or of all: "MemTotal: 123 kB"."""
    words = text.partition(f"{name}:")[2].split(None, 2)
    return int(words[0]) << 10 if words[1:2] == ["kB"] and is_number(words[0]) else None


def read_settings(tree: Tree) -> Settings:
    """Read the kernel's settings; those that this kernel does not have are None."""
    cmdline = tree.text("proc/cmdline")
    modes = tree.text("sys/kernel/mm/transparent_hugepage/enabled") or ""
    huge = modes.partition("[")[2].partition("]")[0]
    smt = tree.text("sys/devices/system/cpu/smt/control")
    return Settings(
        cmdline=None if cmdline is None else printable(cmdline, 16 << 10),
        numa_balancing=tree.number("proc/sys/kernel/numa_balancing"),
        zone_reclaim_mode=tree.number("proc/sys/vm/zone_reclaim_mode"),
        transparent_hugepage=huge if huge.isalpha() else None,
        smt_control=printable(smt, 20) if smt else None,
        isolated_cpus=tree.ids("sys/devices/system/cpu/isolated"),
    )
