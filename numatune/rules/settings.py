"""Rules about kernel settings and the kernel command line."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.machine import Machine
from numatune.rules.facts import evidence
from numatune.rules.rule import Case, Hit, Rule, Skip

NO_COMMAND_LINE = "the kernel command line is not known; `cat /proc/cmdline` shows it"

#: The bit of kernel.numa_balancing that moves pages between tiers of memory, and nothing else.
TIERING = 2


def balancing(case: Case) -> Iterator[Hit | Skip]:
    """NT301: automatic NUMA balancing is on, on a machine with nodes to balance.

    Source: https://docs.kernel.org/admin-guide/sysctl/kernel.html#numa-balancing
    """
    value = case.machine.settings.numa_balancing
    if value is None:
        yield Skip("kernel.numa_balancing is not known; `sysctl kernel.numa_balancing` shows it")
    elif value and has_choice_of_nodes(case.machine):
        tiers = value == TIERING
        yield Hit(
            subject="kernel.numa_balancing",
            message=f"kernel.numa_balancing = {value}"
            + (", which moves pages between tiers of memory" if tiers else ""),
            fix="keep it where CXL or persistent memory is meant to be a tier; else"
            " sysctl -w kernel.numa_balancing=0"
            if tiers
            else "sysctl -w kernel.numa_balancing=0",
            numbers={"value": value},
            expected="0",
            actual=str(value),
            evidence=evidence(case.machine, "settings", "/proc/sys/kernel/numa_balancing", value),
            severity="info" if tiers else None,
        )


def zone_reclaim(case: Case) -> Iterator[Hit | Skip]:
    """NT302: a full node throws out page cache before another node is used.

    Source: https://git.zx2c4.com/linux-dev/commit/?id=4f9b16a64753d0bb607454347036dc997fd03b82
    """
    value = case.machine.settings.zone_reclaim_mode
    if value is None:
        yield Skip("vm.zone_reclaim_mode is not known; `sysctl vm.zone_reclaim_mode` shows it")
    elif value and has_choice_of_nodes(case.machine):
        yield Hit(
            subject="vm.zone_reclaim_mode",
            message=f"vm.zone_reclaim_mode = {value}: a full node drops page cache, mapped weights"
            " among it, instead of using another node",
            fix="sysctl -w vm.zone_reclaim_mode=0",
            numbers={"value": value},
            expected="0",
            actual=str(value),
            evidence=evidence(case.machine, "settings", "/proc/sys/vm/zone_reclaim_mode", value),
        )


def numa_off(case: Case) -> Iterator[Hit | Skip]:
    """NT303: numa=off on the kernel command line.

    Source: https://github.com/ovh/infrastructure-roadmap/issues/468
    """
    cmdline = case.machine.settings.cmdline
    if cmdline is None:
        yield Skip(NO_COMMAND_LINE)
        return
    word = numa_option(case.machine, "off")
    if word is not None:
        yield Hit(
            subject="numa=off",
            message="numa=off hides the NUMA nodes: memory still lies socket by socket, but nothing"
            " can be bound",
            fix="take numa=off off the kernel command line (GRUB_CMDLINE_LINUX) and reboot",
            expected="no numa=off",
            actual=word,
            evidence=evidence(case.machine, "settings", "/proc/cmdline", cmdline),
        )


def numa_fake(case: Case) -> Iterator[Hit | Skip]:
    """NT304: numa=fake on the kernel command line.

    Source: https://docs.kernel.org/admin-guide/kernel-parameters.html
    """
    cmdline = case.machine.settings.cmdline
    if cmdline is None:
        yield Skip(NO_COMMAND_LINE)
        return
    word = numa_option(case.machine, "fake")
    if word is not None:
        yield Hit(
            subject="numa=fake",
            message=f"{word} makes emulated nodes: their distances say nothing, and neither does a"
            " placement by node",
            fix=f"take {word} off the kernel command line (GRUB_CMDLINE_LINUX) and reboot",
            expected="no numa=fake",
            actual=word,
            evidence=evidence(case.machine, "settings", "/proc/cmdline", cmdline),
        )


def numa_option(machine: Machine, value: str) -> str | None:
    """Return the word of the kernel command line that sets numa to a value, as it stands there."""
    words = (machine.settings.cmdline or "").split()
    return next((w for w in words if w == f"numa={value}" or w.startswith(f"numa={value}=")), None)


def has_choice_of_nodes(machine: Machine) -> bool:
    """Tell whether there are several nodes to move memory between."""
    return sum(1 for node in machine.nodes if node.memory_total_bytes != 0) > 1


RULES = (
    Rule(
        "NT301",
        "numa-balancing-enabled",
        "warning",
        "Automatic NUMA balancing is on: the kernel unmaps and moves pages as it runs.\n"
        "With weights that were placed on purpose that costs time and gains nothing.",
        (
            "https://mail-archive.com/linux-kernel@vger.kernel.org/msg462809.html",
            "https://docs.kernel.org/admin-guide/sysctl/kernel.html#numa-balancing",
            "https://github.com/redhat-performance/tuned",
        ),
        balancing,
    ),
    Rule(
        "NT302",
        "zone-reclaim-enabled",
        "critical",
        "A full node drops page cache before the kernel takes memory from another.\n"
        "Mapped weights are page cache, so they are read from disk again and again.",
        (
            "https://git.zx2c4.com/linux-dev/commit/?id=4f9b16a64753d0bb607454347036dc997fd03b82",
            "https://docs.kernel.org/admin-guide/sysctl/vm.html#zone-reclaim-mode",
        ),
        zone_reclaim,
    ),
    Rule(
        "NT303",
        "numa-off-on-command-line",
        "critical",
        "numa=off on the kernel command line hides the NUMA nodes of the machine.\n"
        "The memory is still attached socket by socket; only nobody can see or use that\n"
        "any more.",
        (
            "https://github.com/ovh/infrastructure-roadmap/issues/468",
            "https://docs.kernel.org/admin-guide/kernel-parameters.html",
        ),
        numa_off,
    ),
    Rule(
        "NT304",
        "numa-fake-on-command-line",
        "warning",
        "numa=fake on the kernel command line makes emulated nodes.\n"
        "They say nothing about the hardware, but runtimes place workers and weights by\n"
        "them.",
        (
            "https://docs.kernel.org/admin-guide/kernel-parameters.html",
            "https://github.com/deepspeedai/DeepSpeed/pull/3918",
        ),
        numa_fake,
    ),
)
