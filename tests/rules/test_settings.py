"""Kernel settings and the command line."""

import pytest

from numatune.machine import Machine
from tests.rules.cases import ONE, TWO, built, is_good, judged, numactl, skip_of, the


def with_settings(description: str = TWO, **values: object) -> Machine:
    return built(description, settings=values)


def test_numa_balancing() -> None:
    one = the(judged(with_settings(numa_balancing=1)), "numa-balancing-enabled")
    assert dict(one.numbers) == {"value": 1}
    assert one.severity == "warning"
    assert one.fix == "sysctl -w kernel.numa_balancing=0"
    assert [(e.path, e.text) for e in one.evidence] == [("/proc/sys/kernel/numa_balancing", "1")]
    assert (one.expected, one.actual) == ("0", "1")
    assert is_good(judged(with_settings(numa_balancing=0)), "numa-balancing-enabled")


def test_numa_balancing_has_nothing_to_do_on_one_node() -> None:
    assert is_good(judged(with_settings(ONE, numa_balancing=1)), "numa-balancing-enabled")


def test_tiering_alone_is_information() -> None:
    one = the(judged(with_settings(numa_balancing=2)), "numa-balancing-enabled")
    assert one.severity == "info"
    assert (
        the(judged(with_settings(numa_balancing=3)), "numa-balancing-enabled").severity == "warning"
    )


@pytest.mark.parametrize("value", [1, 2, 4, 7])
def test_zone_reclaim(value: int) -> None:
    one = the(judged(with_settings(zone_reclaim_mode=value)), "zone-reclaim-enabled")
    assert dict(one.numbers) == {"value": value}
    assert one.severity == "critical"
    assert is_good(judged(with_settings(ONE, zone_reclaim_mode=value)), "zone-reclaim-enabled")


def test_zone_reclaim_off_is_good() -> None:
    assert is_good(judged(with_settings(zone_reclaim_mode=0)), "zone-reclaim-enabled")


@pytest.mark.parametrize(
    ("cmdline", "off", "fake"),
    [
        ("ro numa=off quiet", True, False),
        ("numa=fake=4", False, True),
        ("ro numa_balancing=disable", False, False),
        ("ro xnuma=off numa=offline", False, False),
        ("", False, False),
    ],
)
def test_the_command_line(cmdline: str, off: bool, fake: bool) -> None:
    diagnosis = judged(built(TWO, cmdline=cmdline))
    assert is_good(diagnosis, "numa-off-on-command-line") is not off
    assert is_good(diagnosis, "numa-fake-on-command-line") is not fake
    for one in diagnosis.findings:
        if one.rule in ("NT303", "NT304"):
            assert [(e.path, e.text) for e in one.evidence] == [("/proc/cmdline", cmdline)]


@pytest.mark.parametrize(
    ("name", "supply"),
    [
        ("numa-balancing-enabled", "sysctl kernel.numa_balancing"),
        ("zone-reclaim-enabled", "sysctl vm.zone_reclaim_mode"),
        ("numa-off-on-command-line", "cat /proc/cmdline"),
        ("numa-fake-on-command-line", "cat /proc/cmdline"),
    ],
)
def test_what_is_not_known_is_skipped_and_says_what_would_tell(name: str, supply: str) -> None:
    machine = numactl((0, "0-7", 9000), (1, "8-15", 9000))
    assert supply in skip_of(judged(machine), name).reason
