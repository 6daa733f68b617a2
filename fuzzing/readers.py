"""The readers that are fuzzed, each as a function of bytes, and what each is fed at first."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from fuzzing import tar
from numatune.errors import MachineError
from numatune.machine import CpuSet, Machine

FIXTURES = Path(__file__).parents[1] / "fixtures"
#: A seed larger than this is left out: changes of it are slow, and seldom at a place that matters.
SEED_LIMIT = 64 << 10

#: Name -> the format of numatune/sources that it is.
FORMATS = {
    "numactl": "numactl",
    "lscpu-text": "lscpu_text",
    "lscpu-json": "lscpu_json",
    "lscpu-table": "lscpu_table",
    "hwloc-xml": "hwloc_xml",
    "lstopo-text": "lstopo_text",
    "numastat": "numastat",
    "nvidia-topo": "nvidia_topo",
    "dmidecode": "dmidecode",
    "virsh": "virsh",
    "snapshot": "snapshot",
}

DESCRIPTIONS = (
    "pack:2 [numa(memory=512GB)] core:24 pu:2",
    "numa:4(memory=64GiB) l3:2 core:6 pu:2(indexes=core:numa)",
    "pack:2 die:2 [numa] core:2 pu:2(indexes=0,2,4,6,1,3,5,7,8,9,10,11,12,13,14,15)",
    "core:4",
)
LISTS = (
    "0-23,48-71", "", "0", "1,3-5,7\n", "0-3,8-11,16383", "00000000,00ffffff", "f,00000001",
)  # fmt: skip
POLICIES = (
    "fail_on: warning\nignore:\n  NT301: the batch jobs beside the model need it\n",
    "ignore: {NT101: 'one', smt-sharing: two}\n",
    "# nothing\n",
    "fail_on: !!python/object:os.system critical\n",
    "a: &a [1, 2]\nb: *a\n",
)


class Reader(NamedTuple):
    """`read` is what is judged; `seeds` makes first inputs from the files below some folders."""

    read: Callable[[bytes], Machine | None]
    seeds: Callable[[list[Path]], Iterator[bytes]]


def decoded(data: bytes) -> str:
    """Return bytes as the text that a file with them would be. Raises MachineError."""
    from numatune.sources.files import decoded

    return decoded(data, "file")


def format_reader(module_name: str) -> Reader:
    """Return the reader of one text format; its seeds are the texts that it recognises."""
    from importlib import import_module

    module = import_module(f"numatune.sources.{module_name}")

    def read(data: bytes) -> Machine | None:
        text = decoded(data)
        return module.read(text, "file") if module.recognises(text) else None

    def seeds(folders: list[Path]) -> Iterator[bytes]:
        for data in texts(folders):
            if module.recognises(decoded(data)):
                yield data

    return Reader(read, seeds)


def texts(folders: list[Path]) -> Iterator[bytes]:
    """Yield the texts below some folders, those that are short enough."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and 0 < path.stat().st_size <= SEED_LIMIT:
                data = path.read_bytes()
                if b"\0" not in data and data.strip():
                    yield data


def read_paste(data: bytes) -> Machine:
    """Read a text in whichever formats it is."""
    from numatune.sources.formats import read_any

    return read_any(decoded(data), "file")


def paste_seeds(folders: list[Path]) -> Iterator[bytes]:
    """Yield every text in any format, and each joined with the one before it."""
    from numatune.sources.formats import recognised

    before = b""
    for data in texts(folders):
        if recognised(decoded(data)):
            yield data
            if len(before) + len(data) < SEED_LIMIT:
                yield before + data
            before = data


def read_synthetic(data: bytes) -> Machine:
    """Build a machine from a description."""
    from numatune.sources.synthetic import build

    return build(data.decode("utf-8", "replace"))


def read_cpuset(data: bytes) -> None:
    """Read a list and a mask of ids, which raise ValueError, and assume them of a machine."""
    from numatune.machine.assume import assumed
    from numatune.sources.synthetic import build

    text = data.decode("utf-8", "replace")
    for parse in (CpuSet.parse, CpuSet.parse_mask):
        try:
            found = parse(text)
        except ValueError:
            continue
        assert CpuSet.parse(str(found)) == found == CpuSet(found)
    assumed(build(DESCRIPTIONS[0]), {"allowed_cpus": text, "affinity": text})


def in_file(data: bytes, read: Callable[[str], object]) -> None:
    """Give a function a file with some bytes, in a folder in which it may leave nothing."""
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    before = os.environ.get("TMPDIR"), tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="numatune-fuzzing-", dir=memory) as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        path = f"{folder}/input"
        try:
            with open(path, "wb") as file:
                file.write(data)
            read(path)
        finally:
            tempfile.tempdir = before[1]
            os.environ.pop("TMPDIR")
            if before[0] is not None:
                os.environ["TMPDIR"] = before[0]
            assert os.listdir(folder) == ["input"], "it left something behind"


def read_policy(data: bytes) -> None:
    """Read a policy file."""
    from numatune.policy import load

    in_file(data, load)


def read_packed(data: bytes) -> Machine | None:
    """Read an archive that is these bytes."""
    from numatune.sources.archive import is_archive, read_archive

    found: list[Machine] = []

    def read(path: str) -> None:
        if is_archive(path):
            found.append(read_archive(path, "file"))

    in_file(data, read)
    return found[0] if found else None


def read_tar(data: bytes) -> Machine | None:
    """Read a tar archive with check sums that are right."""
    return read_packed(tar.put_right(data))


def read_gz(data: bytes) -> Machine | None:
    """Read a tar archive that is compressed after it was changed, or, after a "!", before."""
    if data.startswith(b"!"):
        return read_packed(data[1:])
    return read_packed(gzip.compress(tar.put_right(data), 1, mtime=0))


def tar_seeds(folders: list[Path]) -> Iterator[bytes]:
    """Yield small archives of the recorded trees below some folders."""
    for folder in folders:
        paths = [*folder.rglob("*.tar.*"), *folder.rglob("tree")]
        yield from filter(None, map(tar.small, sorted(paths)))


def gz_seeds(folders: list[Path]) -> Iterator[bytes]:
    """Yield the same, as they are and compressed."""
    import bz2
    import lzma

    for i, data in enumerate(tar_seeds(folders)):
        yield data
        yield b"!" + gzip.compress(data, 6 if i % 2 else 0, mtime=0)
        if i % 4 == 0:
            yield b"!" + (lzma.compress(data) if i % 8 else bz2.compress(data))


def given(*parts: str) -> Callable[[list[Path]], Iterator[bytes]]:
    """Return the seeds of a reader whose inputs are in no file."""
    return lambda _: (part.encode() for part in parts)


READERS = {
    **{name: format_reader(module) for name, module in FORMATS.items()},
    "paste": Reader(read_paste, paste_seeds),
    "synthetic": Reader(read_synthetic, given(*DESCRIPTIONS)),
    "cpuset": Reader(read_cpuset, given(*LISTS)),
    "policy": Reader(read_policy, given(*POLICIES)),
    "archive": Reader(read_tar, tar_seeds),
    "archive-gz": Reader(read_gz, gz_seeds),
}


def any_seeds(folders: list[Path]) -> Iterator[bytes]:
    """Yield a few seeds of each reader, with a first byte that says for which it is."""
    for number, reader in enumerate(READERS.values()):
        for data in islice(reader.seeds(folders), 0, 40, 10):
            yield bytes((number,)) + data


def read_one_of_all(data: bytes) -> Machine | None:
    """Read with the reader that the first byte names."""
    if not data:
        raise MachineError("empty")
    return [*READERS.values()][data[0] % len(READERS)].read(data[1:])


#: All readers in one process.
ALL = Reader(read_one_of_all, any_seeds)
