"""The documentation as data: its pages, headings, links, fenced blocks and command lines."""

from __future__ import annotations

import io
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from numatune.main import main

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")
PAGES = (
    *READMES,
    "CHANGELOG.md",
    *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
)

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")

#: Shell words that end a command.
ENDS = frozenset(("&&", "||", "|", ";", ";;", ">", ">>", "<", "2>", "&"))


class Fence(NamedTuple):
    """One fenced block: the page, the language after the fence, the text."""

    page: str
    language: str
    text: str


class Shown(NamedTuple):
    """One command line of a page, and the lines of output shown for it."""

    page: str
    words: tuple[str, ...]
    output: tuple[str, ...]

    @property
    def is_harmless(self) -> bool:
        """Whether it reads nothing but this repository and writes nothing."""
        reads_here = any(word.startswith("fixtures/") for word in self.words)
        asks_nothing = self.words[0] == "explain" or "--synthetic" in self.words
        return (reads_here or asks_nothing) and not {"-o", "--output"} & set(self.words)


@lru_cache(None)
def text_of(page: str) -> str:
    """Return the text of a page."""
    return (ROOT / page).read_text(encoding="utf-8")


@lru_cache(None)
def prose_of(page: str) -> str:
    """Return the text of a page without its fenced blocks."""
    return FENCE.sub("", text_of(page))


def fences(page: str) -> list[Fence]:
    """Return the fenced blocks of a page."""
    return [Fence(page, *found.groups()) for found in FENCE.finditer(text_of(page))]


def anchors(page: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    found: set[str] = set()
    for heading in HEADING.findall(prose_of(page)):
        plain = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        anchor = base = plain.replace(" ", "-")
        count = 0
        while anchor in found:
            count += 1
            anchor = f"{base}-{count}"
        found.add(anchor)
    return found


def links(page: str) -> list[str]:
    """Return the targets of all links of a page."""
    return LINK.findall(prose_of(page))


def section(page: str, heading: str) -> str:
    """Return what stands under a heading of the second level."""
    found = re.search(
        rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", prose_of(page), re.MULTILINE | re.DOTALL
    )
    assert found, f"{page} has no heading {heading!r}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """Return the cells of all table rows in a text, without headings and rules."""
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for table in tables
        for line in table.splitlines()[2:]
    ]


def commands_in(line: str) -> list[tuple[str, ...]]:
    """Return the arguments of each call of numatune in a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[tuple[str, ...]] = []
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in ENDS:
            words.append(word)
            continue
        if words and words[0].rpartition("/")[2] == "numatune":
            found.append(tuple(words[1:]))
        words = []
    return found


def shown_commands(page: str) -> list[Shown]:
    """Return every numatune command of the shell blocks of a page.

    A `console` block has commands after "$ " and their output below. A `text` block right behind a
    `sh` block is the output of the last command in that.
    """
    found: list[Shown] = []
    blocks = fences(page)
    for number, block in enumerate(blocks):
        if block.language == "sh":
            calls = [call for line in block.text.splitlines() for call in commands_in(line)]
            found += [Shown(page, call, ()) for call in calls]
        elif block.language == "console":
            for part in block.text.removeprefix("$ ").split("\n$ "):
                line, *output = part.splitlines()
                found += [Shown(page, call, tuple(output)) for call in commands_in(line)]
        elif block.language == "text" and number and blocks[number - 1].language == "sh" and found:
            found[-1] = found[-1]._replace(output=tuple(block.text.splitlines()))
    return found


class Outcome(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    output: str
    messages: str


@lru_cache(None)
def run(words: tuple[str, ...]) -> Outcome:
    """Run a command line of numatune in this process; the caller stands in the root folder."""
    raw = io.BytesIO()
    output, messages = io.TextIOWrapper(raw, encoding="utf-8", newline=""), io.StringIO()
    with redirect_stdout(output), redirect_stderr(messages):
        status = main(list(words))
        output.flush()
    return Outcome(status, raw.getvalue().decode(), messages.getvalue())
