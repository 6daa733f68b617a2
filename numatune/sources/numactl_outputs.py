"""Telling apart what the lines of `numactl --hardware` state, and one output from the next."""

from __future__ import annotations

import re
from typing import NamedTuple

from numatune.sources.numactl_values import is_elision

#: Where the words of numactl start on a line; a prefix stands before them.
START = re.compile(
    r"available:\s*[0-9]{1,9}\s+node|node\s*[0-9]{1,9}\s*(?:cpus|size|free)\s*:"
    r"|node\s+distances\s*:|node(?:\s+[0-9]{1,9})+\s*$|No distance information available",
    re.ASCII | re.IGNORECASE,
)

#: Every label, however the lines were broken or run together.
LABEL = re.compile(
    r"(?P<header>available:\s*(?P<count>[0-9]{1,9})\s+nodes?\s*(?P<list>\(\s*(?:\)|[0-9][0-9,\-\s]*\)?)))"
    r"|node\s*(?P<node>[0-9]{1,9})\s*(?P<field>cpus|size|free)\s*:"
    r"|(?P<distances>node\s+distances\s*:)"
    r"|(?P<table>node(?=(?:\s+[0-9]{1,9}){2,}\s*:))"
    r"|(?P<no_distances>No distance information available\.?)"
    r"|(?P<no_numa>No NUMA (?:support )?available on this system\.?)"
    r"|(?P<libnuma>libnuma: Warning:[^\n]*)"
    r"|NUMA node(?P<lscpu>[0-9]{1,9}) CPU\(s\):"
    r"|(?P<show>(?:policy|preferred(?: node)?|physcpubind|cpubind|nodebind|membind"
    r"|interleavemask|interleavenode):)"
    r"|(?P<command>numactl +(?:[^\n]{0,200} )?(?:(?-i:-H)|--?hard\w*)\b)",
    re.ASCII | re.IGNORECASE,
)

#: Labels that may stand anywhere on a line; the others are prose there.
ANYWHERE = frozenset(("header", "no_distances", "no_numa", "libnuma", "command"))
#: What stands before a command: a prompt, a path, `sudo`, `LANG=C`.
PROMPT = r"(?a)(?:^|[#$%>~\])\"'`/]|sudo(?: -\w+)*|=\S*)$"

#: Characters before a label that are looked at: a line may hold all of a text.
BEFORE_LIMIT = 500

#: More runs than anybody pastes; of so many the first are read.
RUN_LIMIT = 100

Key = tuple[int, str]


class Statement(NamedTuple):
    """One label and the text up to the next; `field` is what it states of `node`."""

    kind: str
    node: int
    field: str
    label: str
    value: str
    is_merged: bool


class Output:
    """What one run of the command states; a field that is stated with two values keeps both."""

    def __init__(self) -> None:
        self.header: tuple[int, str] | None = None
        self.fields: dict[Key, list[Statement]] = {}
        self.table: Statement | None = None
        self.announces_table = False
        self.says_no_distances = False
        self.says_no_numa = False
        self.libnuma: list[str] = []
        self.is_merged = False
        self.is_broken = False
        self.is_elided = False
        self.last: Key | None = None

    @property
    def is_empty(self) -> bool:
        """True before the first statement."""
        return self.header is None and not self.fields and not self.has_ended

    @property
    def has_ended(self) -> bool:
        """True after what numactl prints last."""
        return (self.announces_table or self.table is not None
                or self.says_no_distances or self.says_no_numa)  # fmt: skip

    def starts_anew(self, statement: Statement) -> bool:
        """Tell whether a statement can't belong to the same run."""
        if statement.kind == "header":
            return not self.is_empty
        if statement.kind == "field":
            key = (statement.node, statement.field)
            went_back = self.last is not None and statement.node < self.last[0]
            return self.has_ended or went_back or (key in self.fields and key != self.last)
        if statement.kind == "table":
            return self.table is not None or self.says_no_distances or self.says_no_numa
        if statement.kind in ("distances", "no_distances"):
            return self.has_ended
        return statement.kind == "no_numa" and not self.is_empty

    def add(self, statement: Statement) -> None:
        """Take a statement in."""
        kind = statement.kind
        if kind == "header":
            found = LABEL.match(statement.label)
            if found:
                self.header = (int(found["count"]), found["list"])
        elif kind == "field":
            self.last = (statement.node, statement.field)
            stated = self.fields.setdefault(self.last, [])
            if len(stated) < 2 and all(each.value != statement.value for each in stated):
                stated.append(statement)
        elif kind == "table":
            self.table = statement
        elif kind == "distances":
            self.announces_table = True
        elif kind == "no_distances":
            self.says_no_distances = True
        elif kind == "no_numa":
            self.says_no_numa = True
        self.is_merged |= statement.is_merged
        self.is_broken |= "\n" in statement.label.strip()
        self.is_elided |= any(map(is_elision, statement.value.split("\n")[1:]))


class Outputs(NamedTuple):
    """All runs of the command in a text, and the node CPUs that lscpu states beside them."""

    runs: list[Output]
    lscpu: dict[int, Statement]
    shows: bool


def statements(text: str) -> list[Statement]:
    """Return the labels of a text in order, each with the text up to the next."""
    taken: list[tuple[re.Match[str], str, bool]] = []
    end_of_last = -1
    start = place = 0
    for found in LABEL.finditer(text):
        start = text.rfind("\n", place, found.start()) + 1 or start
        place = found.start()
        before = text[max(start, place - BEFORE_LIMIT) : place].strip()
        kind = kind_of(found)
        if kind == "command" and not re.search(PROMPT, before):
            continue
        if before and end_of_last <= start and kind not in ANYWHERE:
            continue
        taken.append((found, kind, end_of_last > start and kind not in ("libnuma", "command")))
        end_of_last = found.end()
    ends = [found.start() for found, _, _ in taken[1:]] + [len(text)] * bool(taken)
    return [
        Statement(kind, int(found["node"] or found["lscpu"] or 0), (found["field"] or "").lower(),
                  found.group(), text[found.end() : end], is_merged)
        for (found, kind, is_merged), end in zip(taken, ends, strict=True)
    ]  # fmt: skip


KINDS = ("header", "field", "distances", "table", "no_distances", "no_numa", "libnuma",
         "lscpu", "show")  # fmt: skip


def kind_of(found: re.Match[str]) -> str:
    """Return which label was found."""
    return next((kind for kind in KINDS if found[kind] is not None), "command")


def outputs(text: str) -> Outputs:
    """Tell one run of the command from the next, and their statements from what is around."""
    runs = [Output()]
    lscpu: dict[int, Statement] = {}
    shows = was_command = False
    for each in statements(text):
        if each.kind == "command":
            was_command = True
        elif each.kind == "lscpu":
            lscpu[each.node] = each
        elif each.kind == "show":
            shows = True
        elif each.kind == "libnuma":
            current(runs, was_command or runs[-1].has_ended).libnuma.append(each.label)
            was_command = False
        elif len(runs) > RUN_LIMIT:
            break
        else:
            run = current(runs, was_command or runs[-1].starts_anew(each))
            was_command = False
            run.add(each)
    return Outputs([run for run in runs if not run.is_empty], lscpu, shows)


def current(runs: list[Output], is_new: bool) -> Output:
    """Return the run that goes on, or a new one unless nothing was stated yet."""
    if is_new and not (runs[-1].is_empty and not runs[-1].libnuma):
        runs.append(Output())
    return runs[-1]
