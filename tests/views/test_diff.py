"""How differences are told to a person."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings

from numatune.machine import Dimm, Gpu, Machine, Node, Settings
from numatune.machine.difference import compare
from numatune.render import plain
from numatune.views.diff import diff_view
from tests.sources.drawn import machines
from tests.sources.trees import small_machine

GIB = 1 << 30


def told(before: Machine, after: Machine, verbosity: int = 0, **more: Any) -> list[str]:
    found = compare(before, after, **more)
    return plain.render(diff_view(before, after, found, verbosity=verbosity)).splitlines()


def sized(size: int) -> Machine:
    return Machine("text", nodes=(Node(0, None, size),))


def changed() -> Machine:
    machine = small_machine()._replace(source="after.json", is_guest=None, distances=None)
    return machine._replace(
        nodes=(machine.nodes[0], machine.nodes[1]._replace(memory_total_bytes=0)),
        settings=machine.settings._replace(numa_balancing=0, cmdline=None),
    )


def test_the_answer_comes_first_then_one_line_a_difference() -> None:
    assert told(small_machine(), changed()) == [
        "tree → after.json: 2 differences",
        "  memory of node 1: 65.0 GiB → none; its workers read everything from other nodes",
        "  numa_balancing: 1 → 0; the kernel no longer moves pages to the node that uses them",
        "  Not comparable  distances, virtual machine and kernel parameters"
        " (stated by one side only; -v lists them)",
    ]


def test_quiet_is_the_differences_alone() -> None:
    assert told(small_machine(), changed(), -1) == told(small_machine(), changed())[1:3]


def test_verbose_says_who_states_what() -> None:
    assert told(small_machine(), changed(), 1)[3:] == [
        "  not comparable, distances: of 2 nodes in tree, not known in after.json",
        "  not comparable, virtual machine: no in tree, not known in after.json",
        "  not comparable, kernel command line: ro quiet in tree, not known in after.json",
    ]
    assert told(changed(), small_machine(), 1)[3:] == told(small_machine(), changed(), 1)[3:]


def test_no_difference() -> None:
    (line,) = told(small_machine(), small_machine())
    assert line.startswith("tree → tree: no difference in ")
    assert told(small_machine(), small_machine(), -1) == []


def test_sizes_are_as_fine_as_it_takes() -> None:
    for other, words in (
        (3 * GIB, "2.0 GiB → 3.0 GiB"),
        (2 * GIB + (9 << 20), "2048 MiB → 2057 MiB"),
        (2 * GIB + 1, "2147483648 bytes → 2147483649 bytes"),
        (0, "2.0 GiB → none"),
    ):
        assert told(sized(2 * GIB), sized(other), -1, tolerance=0.0) == [
            f"  memory of node 0: {words}"
        ]


def test_values_are_words() -> None:
    before = small_machine()
    after = before._replace(
        is_guest=True,
        offline_cpus=None,
        settings=before.settings._replace(cmdline="ro quiet nosmt"),
    )
    assert told(before, after, -1) == [
        "  virtual machine: no → yes; nodes and packages are the hypervisor's choice",
        "  kernel parameter nosmt: absent → nosmt",
    ]


def test_warnings_of_both_readings_are_told_with_their_source() -> None:
    before = small_machine().warned("odd", "one thing")
    after = small_machine()._replace(source="b").warned("odd", "another")
    assert told(before, after)[1:] == ["  note  tree: one thing", "  note  b: another"]


def test_nothing_from_outside_steers_the_terminal() -> None:
    evil = "x\x1b]0;t\x07\n[bold]"
    before = small_machine()._replace(
        source=evil, gpus=(Gpu(evil, 0),), dimms=(Dimm(evil, 1 << 30, evil),)
    )
    before = before.warned(evil, evil)
    before = before._replace(
        cpu=before.cpu._replace(model=evil, vendor=evil, architecture=evil),
        settings=Settings(evil, 1, 1, evil, evil),
    )
    after = small_machine()._replace(source=evil, gpus=(), dimms=())
    for verbosity in (-1, 0, 1):
        lines = told(before, after, verbosity) + told(after, before, verbosity)
        assert all(line.isprintable() for line in lines)


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(machines(), machines())
def test_every_difference_has_words(one: Machine, other: Machine) -> None:
    # What is drawn as a command line may be any words, such as "None" itself.
    one, other = (m._replace(settings=m.settings._replace(cmdline="quiet")) for m in (one, other))
    for verbosity in (0, 1):
        lines = told(one, other, verbosity)
        found = compare(one, other)
        assert len(lines) >= 1 + len(found.differences)
        assert not any("None" in line or "{}" in line for line in lines)
