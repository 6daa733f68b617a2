"""The one entrance for XML: no DTD is read, no entity expanded, size and depth are bounded.

The element that a format starts with is cut out of the text, with what is pasted around it left
aside, and the DOCTYPE line before it. The parser so meets neither a DTD nor an entity beside the
five of XML itself; a text that declares one is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

from numatune.errors import MachineError

#: The XML of a machine with 8192 CPUs has some 30 MB and 100000 elements, 30 deep.
SIZE_LIMIT = 1 << 26
ELEMENT_LIMIT = 250_000
DEPTH_LIMIT = 200
#: One tag, with its attributes, or one piece of text.
PIECE_LIMIT = 1 << 20
CHUNK = 1 << 16

ATTRIBUTES: dict[str, str] = {}


class Element:
    """One XML element: its tag, its attributes, its own text and the elements in it."""

    __slots__ = ("attributes", "children", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes or ATTRIBUTES
        self.children: list[Element] = []
        self.text = ""

    def get(self, name: str) -> str | None:
        """Return an attribute without blanks around it, None where it is not there."""
        value = self.attributes.get(name)
        return None if value is None else value.strip()

    def all(self, tag: str) -> list[Element]:
        """Return the elements of that tag right in this one."""
        return [child for child in self.children if child.tag == tag]


class Document(NamedTuple):
    """The outermost element, and what is wrong with its text; None where nothing is.

    `cut` says where it ends before its end. `stray` is text between elements, where none belongs.
    `undone` names what was undone to read it.
    """

    root: Element
    cut: str | None = None
    stray: str | None = None
    undone: tuple[str, ...] = ()


def read(
    text: str, start: re.Pattern[str], keep: Collection[str], texts: Collection[str]
) -> Document:
    """Read the element whose first tag `start` finds; it is the only one of its kind in the text.

    Elements whose tag is not in `keep` are left out with all that is in them; of the others,
    those in `texts` keep their text. Raises MachineError where there is no such element, where
    there are two, or where the text is larger or deeper than any machine's.
    """
    if "<!ENTITY" in text or "&lt;!ENTITY" in text:
        raise MachineError("the XML declares entities, which no output of these programs does; "
                           "it is not read")  # fmt: skip
    undone: list[str] = []
    if "&lt;" in text and not start.search(text):
        import html

        text = html.unescape(text)
        undone.append("HTML")
    found = start.search(text)
    if found is None:
        raise MachineError("the beginning of the XML is missing; save it to a file and give that")
    tag = found.group().strip("<").split()[0].rstrip(">")
    if start.search(text, found.end()):
        raise MachineError(f"the text holds more than one <{tag}>; give one machine at a time")
    end = text.find(f"</{tag}>", found.end())
    stop = len(text) if end < 0 else end + len(tag) + 3
    if stop - found.start() > SIZE_LIMIT:
        raise MachineError(f"the XML is larger than {SIZE_LIMIT >> 20} MB, as no machine's is")
    builder = Builder(frozenset(keep), frozenset(texts))
    cut = builder.feed(unpasted(text[found.start() : stop], undone))
    if builder.root is None:
        raise MachineError(f"the XML can't be read: {cut or 'it is empty'}")
    return Document(builder.root, cut, builder.stray or None, tuple(undone))


def unpasted(text: str, undone: list[str]) -> str:
    """Undo what pasting does to XML, where the text shows that it was done; `undone` takes what.

    No tag is stripped here, and no entity decoded.
    """
    from numatune.sources import paste

    text = text.replace("\0", "")
    if '=3D"' in text:
        text = paste.without_quoted_printable(text)
        undone.append("quoted-printable")
    if "\x1b" in text:
        text = paste.without_terminal_codes(text)
        undone.append("terminal colours")
    return text if text.isascii() else paste.plain_characters(text)


class Builder:
    """Takes the events of the parser and builds the elements that are kept."""

    def __init__(self, keep: frozenset[str], texts: frozenset[str]) -> None:
        self.keep, self.texts = keep, texts
        self.root: Element | None = None
        self.open: list[Element] = []
        self.pieces: list[str] = []
        self.stray = ""
        self.depth = self.skipped = self.count = self.length = 0

    def feed(self, text: str) -> str | None:
        """Parse a text; return what stopped the parser before its end, None if nothing did.

        Raises MachineError where a bound is passed.
        """
        from xml.parsers import expat

        parser: Any = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = refuse
        parser.EntityDeclHandler = refuse
        parser.ExternalEntityRefHandler = refuse
        fed = 0
        try:
            for place in range(0, len(text), CHUNK):
                data = text[place : place + CHUNK].encode("utf-8", "replace")
                parser.Parse(data, False)
                fed += len(data)
                if fed - parser.CurrentByteIndex > PIECE_LIMIT:
                    raise MachineError("the XML has a tag of more than 1 MB; it is not read")
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            return f"{expat.ErrorString(error.code)}, in line {error.lineno} of it"
        return None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        self.depth += 1
        self.count += 1
        if self.depth > DEPTH_LIMIT:
            raise MachineError(f"the XML is deeper than {DEPTH_LIMIT} elements; it is not read")
        if self.count > ELEMENT_LIMIT:
            raise MachineError(f"the XML has more than {ELEMENT_LIMIT} elements; it is not read")
        if self.skipped or (self.open and tag not in self.keep):
            self.skipped += 1
            return
        element = Element(tag, attributes)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.pieces.clear()
        self.length = 0

    def end(self, tag: str) -> None:
        """Close an element."""
        self.depth -= 1
        if self.skipped:
            self.skipped -= 1
            return
        element = self.open.pop()
        if element.tag in self.texts:
            element.text = "".join(self.pieces)
        self.pieces.clear()

    def characters(self, data: str) -> None:
        """Take text: what the innermost element is for, or something that does not belong here."""
        if self.skipped or not self.open:
            return
        self.length += len(data)
        if self.open[-1].tag in self.texts:
            if self.length > PIECE_LIMIT:
                raise MachineError("the XML has more than 1 MB of text in one element")
            self.pieces.append(data)
        elif not self.stray:
            self.stray = data.strip()[:40]


def refuse(*_: object) -> None:
    """Refuse a document type and entities."""
    raise MachineError("the XML declares a document type within itself; it is not read")
