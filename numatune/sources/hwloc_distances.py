"""The distances between NUMA nodes in hwloc's XML."""

from __future__ import annotations

import re
from collections.abc import Sequence

from numatune.machine import Distances, Warning
from numatune.sources.hwloc_nodes import NODE_LIMIT
from numatune.sources.hwloc_sets import id_of
from numatune.sources.xml_safe import Element

#: HWLOC_DISTANCES_KIND_MEANS_LATENCY in include/hwloc/distances.h.
MEANS_LATENCY = 4
#: The least that a SLIT can hold (ACPI 6.5, section 5.2.17); a matrix with less was made by hand.
LEAST = 10
NUMBER = re.compile(r"[0-9]{1,9}")
FRACTION = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,9})?")

Read = tuple[Distances | None, list[Warning]]


def read_distances(root: Element, topology: Element, nodes: Sequence[Element]) -> Read:
    """Return the SLIT, None where the XML has none; `nodes` are the NUMA nodes in their order.

    From format 2 on it is the matrix named NUMALatency, by os_index; before, latencies below a
    base, by the order of the nodes.
    """
    matrices = [m for m in topology.all("distances2") if m.get("type") == "NUMANode"]
    for matrix in matrices:
        if matrix.get("name") == "NUMALatency":
            return read_matrix(matrix, nodes)
    doubts: list[Warning] = []
    for matrix in matrices:
        if matrix.get("name") is None and means_latency(matrix):
            found, doubts = read_matrix(matrix, nodes)
            if found is not None and is_slit(found):
                return found, []
    for matrix in root.all("distances"):
        if matrix.get("nbobjs") == str(len(nodes)) and is_at(root, matrix):
            found, doubts = read_latencies(matrix, nodes)
            if found is not None:
                return found, []
    return None, doubts


def is_slit(table: Distances) -> bool:
    """Tell whether all distances are such as a SLIT can hold."""
    return all(value is not None and value >= LEAST for row in table.values for value in row)


def means_latency(matrix: Element) -> bool:
    """Tell whether a matrix without a name holds latencies."""
    kind = matrix.get("kind") or ""
    return bool(NUMBER.fullmatch(kind)) and int(kind) & MEANS_LATENCY != 0


def read_matrix(matrix: Element, nodes: Sequence[Element]) -> Read:
    """Read a matrix of format 2 or 3."""
    count = numbers([matrix.get("nbobjs") or ""])
    indexes = numbers(pieces(matrix, "indexes"))
    values = numbers(pieces(matrix, "u64values"))
    if not count or not indexes or not values or count[0] != len(indexes):
        return None, [damaged()]
    if len(values) != len(indexes) ** 2 or len(set(indexes)) < len(indexes):
        return None, [damaged()]
    if matrix.get("indexing") == "gp":
        ids = {e.get("gp_index"): id_of(e) for e in nodes}
        indexes = [n for n in (ids.get(str(i)) for i in indexes) if n is not None]
        if len(indexes) < count[0]:
            return None, [damaged()]
    return table(indexes, values), []


def pieces(matrix: Element, tag: str) -> list[str]:
    """Return the words of all elements of a tag; [""] where one has lost characters.

    `length` counts the characters, a blank after each number included.
    """
    words: list[str] = []
    for element in matrix.all(tag):
        text = element.text.split()
        length = element.get("length")
        if length is not None and length != str(sum(len(word) + 1 for word in text)):
            return [""]
        words += text
    return words


def numbers(words: Sequence[str]) -> list[int] | None:
    """Return words as whole numbers, None where one is not."""
    if len(words) > NODE_LIMIT**2 or not all(map(NUMBER.fullmatch, words)):
        return None
    return [int(word) for word in words]


def is_at(root: Element, matrix: Element) -> bool:
    """Tell whether a matrix of format 1 is one of NUMA nodes: they are at its depth."""
    depth = matrix.get("relative_depth") or ""
    if not NUMBER.fullmatch(depth):
        return False
    here = [root]
    for _ in range(min(int(depth), 200)):
        here = [child for element in here for child in element.all("object")]
    return any(element.get("type") == "NUMANode" for element in here)


def read_latencies(matrix: Element, nodes: Sequence[Element]) -> Read:
    """Read a matrix of format 1: each value times `latency_base` is the kernel's distance.

    The base is the least value of the matrix.
    """
    base = matrix.get("latency_base") or ""
    texts = [e.get("value") or "" for e in matrix.all("latency")]
    if not all(map(FRACTION.fullmatch, (base, *texts))) or len(texts) != len(nodes) ** 2:
        return None, [damaged()]
    exact = [float(base) * float(text) for text in texts]
    values = [round(value) for value in exact]
    if float(base) < LEAST or any(
        abs(value - near) > 0.01 * near for value, near in zip(exact, values, strict=True)
    ):
        text = (
            f"the latencies in the XML (base {base}) are not the kernel's distances, and are left "
            "out. `numactl --hardware` tells"
        )
        return None, [Warning("distances-relative", text)]
    ids = [n for n in map(id_of, nodes) if n is not None]
    return table(ids, values), []


def table(ids: list[int], values: list[int]) -> Distances:
    """Return the table, by id."""
    size = len(ids)
    order = sorted(range(size), key=lambda i: ids[i])
    return Distances(
        tuple(ids[i] for i in order),
        tuple(tuple(values[i * size + j] for j in order) for i in order),
    )


def damaged() -> Warning:
    """Say that the matrix cannot be used."""
    text = (
        "the distances in the XML are not whole, and are left out. `numactl --hardware` tells, or "
        "the XML as `lstopo x.xml` writes it"
    )
    return Warning("damaged-table", text)
