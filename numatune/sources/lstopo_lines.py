"""The lines of lstopo's console output as a tree of objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from numatune.machine import Warning
from numatune.machine.cpuset import ID_LIMIT
from numatune.sources.parts import ELISION

#: Objects with a place among the CPUs, as 1.x, 2.x and 3.x call them.
TYPES = (
    r"Machine|System|Group[0-9]{0,2}|Package|Socket|Die|Tile|Module|Cluster|Book|Drawer|NUMANode|"
    r"MemCache|MemSideCache|MemorySideCache|L[1-5][id]?(?:Cache)?|Core|PU"
)
OBJECT = re.compile(
    rf"(?P<type>{TYPES})(?:\((?P<subtype>[\w-]{{1,30}})\))?"
    r"(?: (?P<index>[LP])#(?P<number>[0-9]{1,9})(?![0-9]))?(?=[ (]|$)(?P<rest>.*)",
)
JOIN = re.compile(rf" \+ (?=(?:{TYPES})\b)")
INSIDE = re.compile(r"\([^()]*(?:\([^()]*\)[^()]*)*\)|\"[^\"]*\"")
#: What a line of the output starts with; PCI, OS and Misc devices are the rest.
FIRST = re.compile(rf"(?:{TYPES})(?:\([\w-]{{1,30}}\))?(?: [LP]#[0-9]| \(| \+|$)")
DEVICE = re.compile(
    r"(?:Host)?Bridge|PCI\b|PCIBridge|Block|Net|OpenFabrics|GPU|CoProc|Misc|DMA|Memory\(|OSDev"
)
PHYSICAL = re.compile(r"\(P#([0-9]{1,9})[ )]")
MARK = re.compile(r"\((disallowed|forbidden|offline|binding)\)\s*$")
#: What -v adds below the objects: counts, memory attributes, distances.
BELOW = re.compile(
    r"depth [0-9]|Special depth|Memory attribute|CPU kind|.{0,40}matrix .{0,60}between"
)
#: What a log's or a line number's prefix ends with.
ENDS_PREFIX = (":", "|", "]", ">", ")")
CONTINUES = re.compile(r"[+()]|[LP]#[0-9]")
#: What goes on inside "(P#12)" or "(32KB)": the rest of a number or its end, not a size.
INSIDE_NUMBER = re.compile(r"#?[0-9]*\)|#[0-9]|[KMGT]?i?B\)")
TOTAL = re.compile(r"\(([0-9]{1,9})([KMGT]i?B) total\)")
OWN = re.compile(r"[( ]([0-9]{1,9})([KMGT]i?B)\)")
LINE_LIMIT = 300_000

SUPPLY = "give the whole output of `lstopo`, or the XML that `lstopo x.xml` writes"


class Object:
    """One object; `inner` are the CPUs in it, `place` is the object that it is in."""

    __slots__ = (
        "attributes", "inner", "kind", "logical", "mark", "physical", "place", "subtype",
    )  # fmt: skip

    def __init__(self, found: re.Match[str]) -> None:
        kind = found["type"]
        self.kind = "Package" if kind == "Socket" else kind
        self.subtype = found["subtype"]
        self.attributes = found["rest"]
        number = int(found["number"]) if found["number"] else None
        self.logical = number if found["index"] == "L" else None
        self.physical = number if found["index"] == "P" else None
        stated = PHYSICAL.search(self.attributes)
        if self.physical is None and stated:
            self.physical = int(stated[1])
        if self.physical is not None and self.physical >= ID_LIMIT and self.kind != "Package":
            self.physical = None
        mark = MARK.search(self.attributes)
        self.mark = mark[1] if mark else ""
        self.place: Object | None = None
        self.inner: list[Object] = []


class Tree:
    """The objects of a text. `is_flat`: the indentation is lost; `is_cut`: something is missing."""

    def __init__(self) -> None:
        self.objects: dict[str, list[Object]] = {}
        self.warnings: list[Warning] = []
        self.is_flat = False
        self.is_cut = False
        self.last = ""

    def of(self, *kinds: str) -> list[Object]:
        """Return the objects of some kinds."""
        return [each for kind in kinds for each in self.objects.get(kind, ())]

    def lacks(self, code: str, message: str) -> None:
        """Note that the text is not whole."""
        self.is_cut = True
        self.warnings.append(Warning(code, f"{message}; {SUPPLY}"))


def tree_of(text: str) -> Tree:
    """Read the lines of a text into a tree."""
    from numatune.sources.paste import clean

    cleaned = clean(text)
    tree = Tree()
    found = list(joined(cleaned.text))
    lines = [(each.indent, each.text) for each in found]
    spoiled = sum(not each.is_whole for each in found)
    if cleaned.undone:
        message = f"undone in the text: {', '.join(cleaned.undone)}"
        tree.warnings.append(Warning("repaired", message))
    if spoiled:
        tree.lacks("damaged", f"{spoiled} lines of lstopo are broken, so that a number is not sure")
    if len(lines) > LINE_LIMIT:
        tree.lacks("too-long", f"only the first {LINE_LIMIT} lines of lstopo were read")
        lines = lines[:LINE_LIMIT]
    build(tree, lines)
    check(tree, goes_on(cleaned.text))
    return tree


class Held(NamedTuple):
    """A line of the output: the blanks before it, its text, and whether a number in it is broken.

    `joins` counts the lines that were joined to it.
    """

    indent: int
    text: str
    is_broken: bool = False
    joins: int = 0

    @property
    def is_open(self) -> bool:
        """True where a parenthesis is not closed."""
        return self.text.count("(") > self.text.count(")")

    @property
    def is_whole(self) -> bool:
        """True where nothing of it is missing."""
        is_closed = self.text.count("(") == self.text.count(")")
        return is_closed and not self.is_broken and not self.text.endswith("+")


def joined(text: str) -> Iterator[Held]:
    """Yield the lines of the output.

    A line that was broken is joined again where the break shows: behind or before a "+", or
    inside parentheses.
    """
    held: Held | None = None
    is_below = is_next = False
    for raw in text.split("\n"):
        stripped = raw.strip(" ")
        is_below = (is_below or BELOW.match(stripped) is not None) and "Machine" not in raw
        start = None if is_below else start_of(raw)
        if held is not None and is_next and stripped:
            more = stripped.lstrip("> |") if start is None else raw[start:].strip(" ")
            longer = continued(held, more, start is not None)
            if longer is not None:
                held = longer
                continue
        is_next = start is not None
        if start is not None:
            if held is not None:
                yield held
            before = raw[:start]
            held = Held(len(before) - len(before.rstrip(" ")), raw[start:].rstrip(" "))
        elif held is not None and ELISION.fullmatch(stripped):
            held = held._replace(is_broken=True)
    if held is not None:
        yield held


def continued(held: Held, more: str, is_object: bool) -> Held | None:
    """Return a line with what was broken off it, None where nothing shows that it was."""
    ends_in_digit = held.text[-1:].isdigit()
    if DEVICE.match(more) or held.joins == 8 or len(held.text) > 4000:
        return None
    if not (held.text.endswith("+") or (held.is_open and not is_object) or CONTINUES.match(more)):
        broken = ends_in_digit and more[:1].isdigit()
        return held._replace(is_broken=True) if broken else None
    glue = "" if held.is_open and INSIDE_NUMBER.match(more) else " "
    return held._replace(text=f"{held.text}{glue}{more}", joins=held.joins + 1)


def start_of(line: str) -> int | None:
    """Return where the first object of a line starts, None where it has none."""
    found = FIRST.search(line)
    while found is not None:
        before = line[: found.start()].rstrip(" ")
        if is_prefix(before):
            return found.start()
        if len(before) > 200:
            return None
        found = FIRST.search(line, found.end())
    return None


def is_prefix(before: str) -> bool:
    """Tell whether what stands before an object is marks, a line number or a log's prefix."""
    if len(before) > 200 or before.endswith("+"):
        return False
    is_marks = not any(char.isalnum() or char == "(" for char in before)
    return is_marks or before.endswith(ENDS_PREFIX) or before.strip(" ").isdigit()


def build(tree: Tree, lines: list[tuple[int, str]]) -> None:
    """Put the objects into each other: by indentation, or by their kind where that is lost."""
    tree.is_flat = not is_regular([indent for indent, _ in lines], lines)
    stack: list[tuple[int, Object]] = []
    latest: dict[str, Object] = {}
    unread = []
    for indent, line in lines:
        parts = [OBJECT.match(part) for part in JOIN.split(line)]
        if any(part is None or "#" in INSIDE.sub("", part["rest"]) for part in parts):
            unread.append(line[:60])
        while stack and stack[-1][0] >= indent:
            stack.pop()
        place = stack[-1][1] if stack else None
        for each in (Object(part) for part in parts if part):
            tree.objects.setdefault(each.kind, []).append(each)
            latest[each.kind] = each
            tree.last = each.kind
            each.place = place
            while each.place is not None and each.place.kind.startswith("Mem"):
                each.place = each.place.place
            place = each
            if each.kind == "PU":
                by_kind = [latest[kind] for kind in ("Core", "Package") if kind in latest]
                for outer in by_kind if tree.is_flat else ancestors(each):
                    outer.inner.append(each)
        if place is not None:
            stack.append((indent, place))
    if unread:
        others = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
        tree.lacks("damaged", f"a line of lstopo{others} can't be read ({unread[0]!r})")


def is_regular(indents: list[int], lines: list[tuple[int, str]]) -> bool:
    """Tell whether every line is as far in as the other lines of the same place."""
    if len(set(indents)) == 1 and len({line.split(" ")[0] for _, line in lines}) > 1:
        return False
    open_places: list[int] = []
    for indent in indents:
        while open_places and open_places[-1] > indent:
            open_places.pop()
        if not open_places or open_places[-1] < indent:
            open_places.append(indent)
            if len(open_places) > 1 or indent == indents[0]:
                continue
            return False
    return True


def ancestors(each: Object) -> list[Object]:
    """Return the objects that an object is in."""
    found: list[Object] = []
    while each.place is not None and len(found) < 100:
        each = each.place
        found.append(each)
    return found


def goes_on(text: str) -> bool:
    """Tell whether there are devices after the last CPU, as hwloc lists them last."""
    for line in reversed(text.split("\n")):
        if DEVICE.match(line.lstrip("> |")):
            return True
        if start_of(line) is not None and not BELOW.match(line):
            return False
    return False


def check(tree: Tree, goes_on: bool) -> None:
    """Note what is missing: numbers that hwloc counts up, and memory that no node has."""
    if tree.is_flat:
        message = (
            "the indentation is lost, so that it is not known which CPUs belong to which node; "
            f"{SUPPLY}"
        )
        tree.warnings.append(Warning("indentation-lost", message))
    for kind in ("PU", "Core", "Package", "NUMANode"):
        logical = [each.logical for each in tree.of(kind)]
        physical = [each.physical for each in tree.of(kind)]
        is_id = kind in ("PU", "NUMANode")
        numbers = logical if any(n is not None for n in logical) or not is_id else physical
        if None in numbers and (is_id or len(set(numbers)) > 1):
            tree.lacks("damaged", f"a {kind} has lost its number")
        elif is_id and None in physical and len(set(physical)) > 1:
            tree.lacks("damaged", f"a {kind} has lost the kernel's number (P#)")
        elif (
            numbers is logical and None not in logical and set(logical) != set(range(len(logical)))
        ):
            tree.lacks("incomplete", f"some {kind}s are missing: their numbers have gaps")
    if tree.of("PU") and not all(each.inner for each in tree.of("Core")):
        tree.lacks("incomplete", "there are cores without a CPU")
    alone = [n for n in tree.of("NUMANode") if n.place is None and not n.inner]
    if alone and not tree.is_flat:
        tree.lacks("incomplete", "the line above a node is missing, that says where it is")
    if tree.of("Package", "NUMANode") and not tree.of("PU"):
        message = f"the text shows no CPU (PU), as with --no-smt or --only; {SUPPLY}"
        tree.warnings.append(Warning("incomplete", message))
    if lacks_memory(tree):
        tree.lacks("incomplete", "the memory of the nodes does not add up to that of the machine")
    if tree.of("PU") and tree.last not in ("PU", "NUMANode"):
        tree.lacks("incomplete", f"the text ends with a {tree.last} that nothing is in")
    elif not goes_on and tree.last == "PU" and ends_early(tree):
        message = f"the text may end in the middle of the last package; {SUPPLY}"
        tree.warnings.append(Warning("incomplete", message))


def lacks_memory(tree: Tree) -> bool:
    """Tell whether nodes are missing: each size is rounded to the unit that it is given in."""
    total = TOTAL.search(tree.of("Machine")[0].attributes) if tree.of("Machine") else None
    nodes = tree.of("NUMANode")
    sizes = [found for found in (OWN.search(each.attributes) for each in nodes) if found]
    if total is None or len(sizes) < len(nodes) or any(each[2] != total[2] for each in sizes):
        return False
    return abs(int(total[1]) - sum(int(each[1]) for each in sizes)) > len(sizes) + 1


def ends_early(tree: Tree) -> bool:
    """Tell whether the last package or core is smaller than all others before it."""
    for kind in ("Package", "Core"):
        sizes = [len(each.inner) for each in tree.of(kind)]
        if len(sizes) > 1 and sizes[-1] < min(sizes[:-1]) and max(sizes[:-1]) == min(sizes[:-1]):
            return True
    return False
