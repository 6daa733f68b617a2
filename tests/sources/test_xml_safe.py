"""The entrance for XML: what it refuses, and what it bears."""

from __future__ import annotations

import re
import time
import tracemalloc

import pytest

from numatune.errors import MachineError
from numatune.sources import hwloc_xml, virsh
from numatune.sources.xml_safe import DEPTH_LIMIT, Document, read

START = re.compile(r"<a(?=[\s>])[^<>]*>")


def parse(text: str, keep: str = "b c", texts: str = "c") -> Document:
    return read(text, START, keep.split(), texts.split())


def test_elements_attributes_and_text() -> None:
    document = parse('<a x="1 "><b y="2"/><c>three</c><d><b/></d></a>')
    root = document.root
    assert root.get("x") == "1"
    assert [child.tag for child in root.children] == ["b", "c"]
    assert root.all("c")[0].text == "three"
    assert root.all("b")[0].get("z") is None
    assert document[1:] == (None, None, ())


def test_what_stands_around_it_is_left_out() -> None:
    document = parse(
        "$ cat x.xml\n<?xml version='1.0'?><!DOCTYPE a SYSTEM 'a.dtd'>\n<a>\n</a> $ ls"
    )
    assert (document.cut, document.stray) == (None, None)


def test_text_where_none_belongs_is_told() -> None:
    assert parse("<a><b/> ... and so on ...<b/></a>").stray == "... and so on ..."


def test_a_cut_text_says_where() -> None:
    document = parse("<a>\n<b/>\n<b")
    assert len(document.root.children) == 1
    assert document.cut is not None
    assert "line 3" in document.cut


@pytest.mark.parametrize(
    ("text", "undone"),
    [
        ("&lt;a&gt;&lt;b y=&quot;2&quot;/&gt;&lt;/a&gt;", ("HTML",)),
        ('<a><b y=3D"2"/></a>', ("quoted-printable",)),
        ('\x1b[1m<a>\x1b[0m<b y="2"/></a>', ("terminal colours",)),
        ("<a>\u00a0<b\u00a0y='2'/></a>", ()),
    ],
)
def test_pasting_is_undone(text: str, undone: tuple[str, ...]) -> None:
    document = parse(text)
    assert document.root.all("b")[0].get("y") == "2"
    assert (document.undone, document.cut) == (undone, None)


LAUGHS = "".join(
    f'<!ENTITY lol{i} "{"&lol" + str(i - 1) + ";" if i else "lol"}">' * 1 for i in range(10)
)


@pytest.mark.parametrize(
    "text",
    [
        f"<!DOCTYPE a [{LAUGHS}]><a>&lol9;</a>",
        f"<!DOCTYPE a [<!ENTITY b '{'&c;' * 10}'><!ENTITY c '{'x' * 1000}'>]><a y='&b;'/>",
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;]><a/>',
        "<a>" * (DEPTH_LIMIT + 2),
        "<a>" + "<b>" * (DEPTH_LIMIT + 2),
        "<a>" + "<b/>" * 250_001,
        "<a " + " ".join(f'a{i}=""' for i in range(200_000)) + "/>",
        "<a><c>" + "x" * (1 << 21) + "</c></a>",
        "<a",
        "<a></a><a></a>",
        "no XML at all",
        "</a>",
        "",
    ],
    ids=range(14),
)
def test_hostile_or_empty_texts_are_refused(text: str) -> None:
    with pytest.raises(MachineError):
        parse(text)


def test_an_entity_that_nobody_declared_is_no_text() -> None:
    document = parse("<!DOCTYPE a SYSTEM 'a.dtd'><a><c>1&x;2</c><b/></a>")
    assert document.cut is not None
    assert document.root.all("b") == []


def test_a_lone_surrogate_is_no_crash() -> None:
    assert parse("<a><c>\ud800</c></a>").root.all("c")[0].text == "?"


@pytest.mark.usefixtures("untraced")
def test_thirty_megabytes_in_bounded_time_and_memory() -> None:
    core = '<object type="Core" os_index="{0}">{1}<object type="PU" os_index="{0}"/></object>'
    info = '<info name="Made" value="' + "x" * 1800 + '"/>'
    text = (
        '<topology version="2.0"><object type="Machine">'
        + "".join(core.format(i, info) for i in range(16_000))
        + "</object></topology>"
    )
    assert len(text) > 30_000_000
    start = time.process_time()
    machine = hwloc_xml.read(text, "text")
    assert time.process_time() - start < 10
    assert machine.cores is not None
    assert len(machine.cores) == 16_000


@pytest.mark.parametrize("module", [hwloc_xml, virsh])
def test_deep_nesting_takes_no_memory(module: object) -> None:
    text = "<topology><object type='Machine'>" + "<object>" * 300_000
    text += "<capabilities>" + "<host>" * 300_000
    tracemalloc.start()
    try:
        with pytest.raises(MachineError):
            module.read(text, "text")  # type: ignore[attr-defined]
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
