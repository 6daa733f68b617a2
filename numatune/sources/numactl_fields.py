"""The lines of one run of `numactl --hardware` as values, and those that can't be trusted."""

from __future__ import annotations

import re

from numatune.machine import CpuSet
from numatune.sources.numactl_outputs import Key, Output, Statement
from numatune.sources.numactl_values import Value, read_cpus, read_size

#: What people write behind the size of a CPU-less node.
NO_CPUS = r"(?i)[^\n(]*\(no cpus?\)"

Values = dict[Key, Value]


def read_values(run: Output) -> Values:
    """Read every field; one that is stated twice with two values is unknown."""
    values: Values = {}
    for key, stated in run.fields.items():
        read = [read_field(each, key == run.last) for each in stated]
        same = all(value[:2] == read[0][:2] for value in read)
        values[key] = read[0] if same else Value(problem="twice")
    for (node, field), stated in run.fields.items():
        if field == "size" and (node, "cpus") not in values and re.match(NO_CPUS, stated[0].value):
            values[node, "cpus"] = Value(cpus=CpuSet())
    if run.last and run.last[1] == "cpus" and not is_filtered(run):
        values[run.last] = Value(problem="cut")
    for node in cut_at_a_column(run, values):
        values[node, "cpus"] = Value(problem="cut")
    distrust(run, values)
    return values


def is_filtered(run: Output) -> bool:
    """Tell whether the lines of the other fields were filtered out, as by `grep cpus`.

    Where they were not, a CPU list at the end is one that was cut.
    """
    fields = {field for _, field in run.fields}
    return fields == {"cpus"} and (len(run.fields) > 1 or run.header is None)


def read_field(stated: Statement, is_last: bool) -> Value:
    """Read the value of one line."""
    if stated.field == "cpus":
        return read_cpus(stated.value, is_last)
    return read_size(stated.value)


def cut_at_a_column(run: Output, values: Values) -> list[int]:
    """Return the nodes whose CPU lists all end in the last column of a narrow window.

    Lists that are equally long but differ by two CPUs or more are so by cutting: the first node
    has ids of one digit. Uncut, they would be so only by chance on a lopsided machine.
    """
    lengths: dict[int, list[int]] = {}
    longest = 0
    for (node, field), stated in run.fields.items():
        line, *more = (stated[0].label + stated[0].value).rstrip().split("\n")
        longest = max(longest, len(line))
        if field == "cpus" and not more and line[-1:].isdigit():
            lengths.setdefault(len(line), []).append(node)
    nodes = lengths.get(longest, [])
    if not nodes:
        return []
    counts = [len(values[node, "cpus"].cpus or ()) for node in nodes]
    return nodes if longest >= 40 and max(counts) - min(counts) > 1 else []


def distrusts_nodes(run: Output) -> bool:
    """Tell whether libnuma warned that it goes on as if there were one node."""
    return any("Assuming one node" in warning for warning in run.libnuma)


def distrust(run: Output, values: Values) -> None:
    """Drop what libnuma invented, and sizes below what is free of them.

    numa_node_to_cpus leaves a node without CPUs, or gives it all of them, where it can't read
    cpumap; numa_node_size64 leaves 0 free where it can't read meminfo (libnuma.c).
    """
    assumes = distrusts_nodes(run)
    guesses = any("Cannot parse cpumap" in warning for warning in run.libnuma)
    no_meminfo = any("Cannot parse sysfs meminfo" in warning for warning in run.libnuma)
    for (node, field), value in list(values.items()):
        if field == "cpus" and value.cpus is not None and (guesses or (assumes and not value.cpus)):
            values[node, field] = Value(problem="absent")
        elif field == "free":
            size = values.get((node, "size"), Value())
            if size.problem == "absent" or (no_meminfo and not value.size):
                values[node, field] = Value(problem="absent")
            elif size.size is not None and value.size is not None and value.size > size.size:
                values[node, "size"] = values[node, "free"] = Value(problem="damaged")
