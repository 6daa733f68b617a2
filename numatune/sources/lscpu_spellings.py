"""Finding the labels of lscpu on a line, in whichever language they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from numatune.sources.lscpu_labels import ENGLISH, TRANSLATED

#: A node's line in a language that has no translation here.
NODE_LINE = r"NUMA[^\n:|,;0-9]{0,24}[0-9]{1,4}[^\n:|,;0-9]{0,16}CPU[^\n:|,;0-9]{0,8}"
#: What stands behind a label; Chinese has a wide colon, and one translation that of vertical text.
#: In the header of a table, the names of the caches have colons between them.
COLON = r" *[:\uff1a\ufe30](?!L[0-9])"
NUMBER = re.compile(r" ?[0-9]+")


class Label(NamedTuple):
    """A label on a line: its field, the node's number or -1, and where it starts and ends."""

    field: str
    node: int
    start: int
    end: int


class Labels:
    """The labels of English and of every language that a text shows."""

    def __init__(self, text: str) -> None:
        self.fields = dict(spelled(ENGLISH))
        self.is_translated = False
        for labels in TRANSLATED.values():
            those = dict(spelled(labels))
            if any(is_distinctive(label) and stem(label) in text for label in those):
                self.fields = {**those, **self.fields}
                self.is_translated = True
        patterns = [pattern(label) for label in sorted(self.fields, key=len, reverse=True)]
        every = "|".join([*patterns, NODE_LINE])
        telling = [pattern(label) for label in self.fields if is_distinctive(label)]
        telling.append("Architecture")
        self.label = re.compile(rf"(?<![^\W_])({every}){COLON}", re.ASCII)
        #: Where the words of lscpu start on a line that has a prefix.
        self.start = re.compile(
            rf"(?<![^\W_])(?:{'|'.join([*telling, NODE_LINE])}){COLON}", re.ASCII
        )
        self.bare = re.compile(rf"({'|'.join(telling)})(?:  +|$)", re.ASCII)

    def on(self, line: str) -> list[Label]:
        """Return the labels on a line, if it starts with one or has several."""
        found = [self.label_of(each) for each in self.label.finditer(line)]
        if found and (found[0].start == 0 or len(found) > 1):
            return found
        bare = self.bare.match(line)
        return [self.label_of(bare)] if bare else []

    def label_of(self, found: re.Match[str]) -> Label:
        """Return which label was found."""
        words = " ".join(found[1].split())
        number = NUMBER.search(words)
        field = self.fields.get(words)
        if field is None and number is not None:
            field = self.fields.get(NUMBER.sub("#", words), "node_cpus")
            return Label(field, int(number.group()), found.start(), found.end())
        return Label(field or "", -1, found.start(), found.end())


def spelled(labels: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield every spelling and its field; a node's number is "#" without a blank before it."""
    for field, spellings in labels.items():
        for spelling in spellings.split("|"):
            yield spelling.replace(" #", "#"), field


def is_distinctive(label: str) -> bool:
    """Tell whether a label can hardly be anything else: more than one plain word."""
    return len(label) > 5 and not (label.isascii() and label.isalpha())


def stem(label: str) -> str:
    """Return the part of a label that is the same for every node."""
    return max(label.split("#"), key=len).strip()


def pattern(label: str) -> str:
    """Return the pattern of a label; blanks may be more than one."""
    parts = (re.escape(part).replace(r"\ ", " +") for part in label.split("#"))
    return " ?[0-9]{1,6}".join(parts)


def translations(fields: Iterable[str]) -> Iterator[str]:
    """Yield the distinctive part of the labels of some fields in every language but English."""
    for labels in TRANSLATED.values():
        for field in fields:
            for label in labels.get(field, "").split("|"):
                if is_distinctive(label):
                    yield stem(label)
