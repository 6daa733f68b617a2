import pytest

from numatune.machine import Machine
from numatune.machine.origins import reader_of


@pytest.mark.parametrize(
    ("source", "origin", "reader"),
    [
        ("this host", "this host", "live host"),
        ("s.json", "live host", "live host"),
        ("tree /a (b)", "tree /a (b)", "tree"),
        ("dump.tar.xz", "dump.tar.xz", "tree"),
        ("s.json", "tree", "tree"),
        ("a.txt", "numactl --hardware", "numactl --hardware"),
        ("a.txt + this host", "numactl --hardware (a.txt)", "numactl --hardware"),
        ("a.txt + this host", "this host (this host)", "live host"),
        ("a.txt + dump.tar.xz", "dump.tar.xz (dump.tar.xz)", "tree"),
        ("synthetic pu:4", "synthetic", "synthetic"),
        ("a.txt", "assumed", "assumed"),
    ],
)
def test_a_reader_is_told_from_an_origin(source: str, origin: str, reader: str) -> None:
    assert reader_of(Machine(source, origins={"nodes": origin}), "nodes") == reader


def test_a_part_that_no_source_states_has_no_reader() -> None:
    assert reader_of(Machine("a.txt"), "nodes") is None
