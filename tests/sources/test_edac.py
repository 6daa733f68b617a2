"""Memory modules as the EDAC drivers show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from numatune.sources.edac import read_dimms
from numatune.sources.tree import Tree
from tests.sources.trees import write_files

EDAC = "sys/devices/system/edac/mc"


def controller(number: int, channels: int, *sizes: int) -> dict[str, str]:
    folder = f"{EDAC}/mc{number}"
    files = {f"{folder}/dimm{n}/size": f"{size}\n" for n, size in enumerate(sizes)}
    return {**files, f"{folder}/max_location": f"channel {channels - 1} slot 1 \n"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({**controller(0, 2, 32768, 32768), **controller(1, 2, 32768, 0)}, (3, 4)),
        (controller(0, 8), (None, None)),
        ({}, (None, None)),
        ({**controller(0, 2, 32768), f"{EDAC}/mc0/rank0/size": "16384\n"}, (None, None)),
        ({f"{EDAC}/mc0/dimm0/size": "1\n", f"{EDAC}/mc0/max_location": "csrow 3 channel 1 \n"},
         (None, None)),
        ({f"{EDAC}/mc0/dimm0/size": "1\n"}, (None, None)),
    ],
)  # fmt: skip
def test_modules_and_channels(
    tmp_path: Path, files: dict[str, str], expected: tuple[int | None, int | None]
) -> None:
    (tmp_path / "sys").mkdir()
    assert read_dimms(Tree(str(write_files(tmp_path, files)))) == expected
