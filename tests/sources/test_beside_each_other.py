"""Outputs of several programs in one paste: each reader takes what is its own."""

from __future__ import annotations

import os
from types import ModuleType

import pytest

from numatune.machine import Machine
from numatune.sources import dmidecode, hwloc_xml, lstopo_text, numastat, nvidia_topo, virsh

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures")
FILES: dict[ModuleType, str] = {
    nvidia_topo: "nvidia/nics.txt",
    numastat: "numastat/memoryless.txt",
    hwloc_xml: "hwloc/memoryless.xml",
    lstopo_text: "hwloc/smt.txt",
    dmidecode: "dmidecode/old.txt",
    virsh: "virsh/two-cells.xml",
}
OTHER = """$ numactl --hardware
available: 2 nodes (0-1)
node 0 cpus: 0 1
node 0 size: 1000 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
$ lscpu
Thread(s) per core:  2
Core(s) per socket:  24
Socket(s):           2
NUMA node0 CPU(s):   0-23
"""


def text_of(module: ModuleType) -> str:
    with open(os.path.join(FOLDER, FILES[module]), encoding="utf-8") as file:
        return file.read()


@pytest.mark.parametrize("module", FILES, ids=lambda m: m.__name__.rpartition(".")[2])
@pytest.mark.parametrize("turned", [False, True])
def test_a_reading_is_the_same_among_others(module: ModuleType, turned: bool) -> None:
    texts = [OTHER, *map(text_of, FILES)]
    paste = "\n$ next\n".join(texts[::-1] if turned else texts)
    assert module.recognises(paste)
    machine: Machine = module.read(paste, "x")
    assert machine == module.read(text_of(module), "x")


@pytest.mark.parametrize("module", FILES, ids=lambda m: m.__name__.rpartition(".")[2])
def test_others_are_not_recognised(module: ModuleType) -> None:
    for other in FILES:
        assert module.recognises(text_of(other)) == (module is other)
    assert not module.recognises(OTHER)
