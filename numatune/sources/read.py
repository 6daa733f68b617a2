"""The one entrance to all readers."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from numatune.errors import UsageError
from numatune.machine import Machine


def read_machine(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    root: str | os.PathLike[str] | None = None,
    text: str | None = None,
    synthetic: str | None = None,
    assume: Mapping[str, object] | None = None,
) -> Machine:
    """Read a machine from at most one of four places; without any, this host.

    `source` is a file in any known format, a folder with a /sys tree or an archive of one, or "-"
    for standard input; of several, each fact is taken from the one that states it.
    `root` is a folder whose `sys` and `proc` are read in place of those of `/`. `text` is what a
    file would hold. `synthetic` is a description in hwloc's grammar ("pack:2 [numa(memory=512GB)]
    core:24 pu:2"). `assume` adds what the source does not say: packages, cores, threads_per_core,
    allowed_cpus, allowed_mems, affinity, start_cpu, cpu_quota, cmdline, settings.

    Raises MachineError where nothing can be judged or sources contradict each other, UsageError
    where the call is wrong.
    """
    given = [name for name, value in (("source", source), ("root", root), ("text", text),
                                      ("synthetic", synthetic)) if value is not None]  # fmt: skip
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} are two machines; give one of them")
    if text is not None:
        from numatune.sources.formats import read_any

        machine = read_any(text, "text")
    elif synthetic is not None:
        from numatune.sources.synthetic import build

        machine = build(synthetic)
    elif source is not None:
        machine = read_sources([source] if isinstance(source, str | os.PathLike) else source)
    elif root is None and not sys.platform.startswith("linux"):
        from numatune.sources.host import read_host

        machine = read_host()
    else:
        from numatune.sources.sysfs import read_tree

        folder = "/" if root is None else os.fspath(root)
        machine = read_tree(folder, "this host" if folder == "/" else shown_root(folder))
    if machine.cpu.model is not None and any(n.is_cpuless for n in machine.nodes):
        from numatune.machine.memory_kinds import with_memory_kinds

        machine = with_memory_kinds(machine)
    if assume:
        from numatune.machine.assume import assumed

        machine = assumed(machine, assume)
    return machine


def read_sources(paths: Sequence[str | os.PathLike[str]]) -> Machine:
    """Read one or several sources of the same machine. Raises MachineError, UsageError."""
    if not paths:
        raise UsageError("no source is given")
    readings = [read_source(os.fspath(path)) for path in paths]
    if len(readings) == 1:
        return readings[0]
    from numatune.sources.merge import merged

    return merged(readings)


def read_source(path: str) -> Machine:
    """Read a file, a folder or standard input. Raises MachineError."""
    from numatune.sources.files import is_binary, read_text, shown
    from numatune.sources.formats import read_any

    if path != "-" and os.path.isdir(path):
        from numatune.sources.sysfs import read_tree

        return read_tree(path, shown_root(path))
    if path != "-" and is_binary(path):
        from numatune.sources.archive import is_archive, read_archive

        if is_archive(path):
            return read_archive(path, shown(os.path.basename(path)))
    text = read_text(path)
    return read_any(text, "standard input" if path == "-" else shown(os.path.basename(path)))


def shown_root(folder: str) -> str:
    """Return how a tree is named to the user."""
    from numatune.sources.files import shown

    return f"tree {shown(folder.rstrip('/') or '/')}"
