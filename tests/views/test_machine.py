import pytest

from numatune.machine import CpuSet
from numatune.machine.assume import assumed
from numatune.sources.synthetic import build as built
from numatune.views.blocks import Line
from numatune.views.machine import cpu_words, package_words, summary


def text_of(line: Line) -> str:
    return "".join(span.text for span in line.spans)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ((), ""),
        ((0,), "package 0"),
        ((0, 1), "packages 0-1"),
        ((0, 196867), "packages 0, 196867"),  # firmware numbers some packages as it likes
        ((0, (1 << 31) - 1), "packages 0, 2147483647"),
    ],
)
def test_packages_are_named_whatever_their_ids(ids: tuple[int, ...], words: str) -> None:
    assert package_words(ids) == words


def test_what_the_user_stated_is_named_as_such() -> None:
    machine = built("pack:2 [numa(memory=64GB)] core:4 pu:2")
    assert "as stated" not in text_of(summary(machine))
    blind = machine._replace(cores=None, packages=None, smt=None, gaps=("cores", "packages"))
    words = text_of(summary(assumed(blind, {"smt": 2, "packages": 2})))
    assert words.endswith("cores and packages as stated by --assume")


def test_small_cores_are_counted() -> None:
    machine = built("core:6 pu:2")
    cpu = machine.cpu._replace(efficiency_cpus=CpuSet.parse("8-11"))
    assert cpu_words(machine._replace(cpu=cpu)) == "6 cores, 2 of them efficiency cores, 12 CPUs"
