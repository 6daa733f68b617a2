"""Reading `lscpu -J`, and `lscpu -J -e` with its rows as objects.

The JSON is read as a stream of tokens, not as a tree: lscpu 2.37 and 2.38 print `"node": -` for
what is unknown, people cut and wrap it, and depth must not cost anything. Formats: libsmartcols in
https://github.com/util-linux/util-linux; `children`, where lscpu nests them, follow their parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from numatune.errors import MachineError
from numatune.machine import Machine
from numatune.sources.lscpu_losses import Losses
from numatune.sources.lscpu_rows import TELLING, Table, read_tables
from numatune.sources.lscpu_spellings import Labels
from numatune.sources.lscpu_summary import read_summary
from numatune.sources.lscpu_table import is_cell
from numatune.sources.lscpu_values import Statement
from numatune.sources.paste import (
    plain_characters,
    plain_line_ends,
    without_escapes,
    without_html,
    without_quoted_printable,
    without_terminal_codes,
)
from numatune.sources.paste_lines import unprefixed

NAME = "lscpu -J"

#: 8192 CPUs with all columns have 5 MB.
TEXT_LIMIT = 8 << 20

SUPPLY = "paste the whole output of `lscpu -J`"
START = re.compile(r'"(?:lscpu|cpus)"\s*:\s*\[')
#: The same with the quotes of a string that holds the JSON.
ESCAPED = re.compile(r'\\"(?:lscpu|cpus)\\"\s*:\s*\[')
BLANK_LINES = re.compile(r"\n\s+(?=\n)")
#: What a field or a row of a CPU has.
STATED = re.compile(r'\\?"(?:field\\?"\s*:\s*\\?"|cpu\\?"\s*:\s*(?:\\?")?[0-9])')
#: Where a line of JSON starts behind a prefix.
LINE = re.compile(r'"[a-z][a-z0-9:%_-]*"\s*:|\{ *(?:"|$)|[\]}][\]},{ ]*$')
TOKEN = re.compile(r'"|[\[\]{}:,]|[A-Za-z0-9.+-]+|[^\s]')
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
#: What JSON and lscpu have for values without quotes.
WORD = re.compile(r"null|true|false|-|-?[0-9]{1,20}(?:\.[0-9]{1,20})?", re.ASCII)
PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}
LITERALS = {"null": "", "true": "yes", "false": "no"}
#: Beyond these it is no JSON of lscpu, and reading stops.
DEEPEST = 100
MOST_JUNK = 1000
#: 8192 CPUs with twelve columns have as many pairs.
MOST_PAIRS = 100_000
MOST_BLOCKS = 20
#: The longest value, the list of flags, has 3 kB.
LONGEST = 50_000
TOO_MUCH = "the text has more JSON than lscpu prints"


def recognises(text: str) -> bool:
    """Tell whether there is JSON of lscpu in a text, damaged or not."""
    found = START.search(text) or ESCAPED.search(text)
    if found is None and "&" in text and ("lscpu" in text or "cpus" in text):
        text = cleaned(text)[0]
        found = START.search(text)
    return found is not None and bool(STATED.search(text, found.end()))


def read(text: str, label: str) -> Machine:
    """Read a machine from the JSON in a text; `label` becomes its source.

    Raises MachineError where it states nothing that lscpu prints, and where the summary and the
    rows of one text contradict each other.
    """
    plain, undone = cleaned(text)
    summaries, tables, problems = blocks_of(plain)
    if problems and TOO_MUCH not in problems:
        lines = unprefixed(BLANK_LINES.sub("\n", plain), LINE)
        if lines.marked:
            plain = "\n".join(line.text for source in lines.sources for line in source)
            summaries, tables, problems = blocks_of(plain)
            undone.append("prefixes of lines")
    if any("\n" in each.value for statements in summaries for each in statements):
        undone.append("wrapped lines")
    machine = joined(summaries, [table for table in tables if table.rows], label, undone)
    for problem in problems:
        machine = machine.warned("incomplete", f"{problem}; {SUPPLY}")
    if len(text) > TEXT_LIMIT:
        machine = machine.warned("too-long", f"only {TEXT_LIMIT} of {len(text)} characters were "
                                 f"read; {SUPPLY} alone")  # fmt: skip
    return machine


def blocks_of(
    text: str,
) -> tuple[list[list[Statement]], list[Table], dict[str, None]]:
    """Return the summaries and the tables in a text, and what is wrong with them."""
    summaries: list[list[Statement]] = []
    tables: list[Table] = []
    problems: dict[str, None] = {}
    left = MOST_PAIRS
    found = START.search(text)
    while found:
        if len(summaries) + len(tables) == MOST_BLOCKS or left <= 0:
            problems[TOO_MUCH] = None
            break
        block = Block(text, found.end(), left)
        if "lscpu" in found.group():
            summaries.append(list(statements_of(block)))
        else:
            tables.append(table_of(block))
        if block.problem:
            problems[block.problem] = None
        left = block.left
        found = START.search(text, block.end)
    return summaries, tables, problems


def joined(
    summaries: list[list[Statement]], tables: list[Table], label: str, undone: list[str]
) -> Machine:
    """Return the machine of summaries and tables. Raises MachineError."""
    readings = []
    if any(summaries):
        readings.append(read_summary(summaries, label, NAME, undone))
    if tables:
        readings.append(read_tables(tables, label, NAME, undone))
    if not readings:
        raise MachineError(f"{label} has JSON of lscpu that states nothing; {SUPPLY}")
    if len(readings) == 1:
        return readings[0]
    from numatune.sources.merge import merged

    return merged(readings)._replace(source=label)


def cleaned(text: str) -> tuple[str, list[str]]:
    """Return a text whose JSON can be read, and what was undone to get it."""
    found = START.search(text) or ESCAPED.search(text)
    start = found.start() if found and len(text) > TEXT_LIMIT else 0
    text = text[start : start + TEXT_LIMIT].replace("\0", "")
    undone = []
    steps = [
        ("quoted-printable", without_quoted_printable),
        ("terminal colours", without_terminal_codes),
        ("HTML", without_html),
    ]
    if not START.search(text):
        steps.insert(0, ("backslash escapes", unescaped))
    text = plain_line_ends(text if text.isascii() else plain_characters(text))
    for what, undo in steps:
        changed = undo(text)
        if changed != text:
            undone.append(what)
            text = changed if changed.isascii() else plain_characters(changed)
    return text, undone


def unescaped(text: str) -> str:
    """Return a text with the escapes of a string that holds JSON undone."""
    return without_escapes(text.replace('\\"', '"'))


class Block:
    """One array of lscpu's JSON, what is wrong with it, and where reading it ended.

    `left` is how many pairs may still be read.
    """

    def __init__(self, text: str, start: int, left: int) -> None:
        self.text = text
        self.end = start
        self.left = left
        self.problem = ""

    def tokens(self) -> Iterator[tuple[str, str]]:
        """Yield the kind and the text of each token: string, mark, word or junk."""
        while found := TOKEN.search(self.text, self.end):
            self.end = found.end()
            word = found.group()
            if word == '"':
                end = string_end(self.text, self.end)
                yield "string", decoded(self.text[self.end : end])
                self.end = end + 1
            elif word in "[]{}:,":
                yield "mark", word
            else:
                yield ("word" if WORD.fullmatch(word) else "junk"), word

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the names and values in order of appearance, whatever is nested in what.

        A pair ("", "") marks the end of an object.
        """
        nested, junk = ["["], 0
        name, expects_value = "", False
        for kind, word in self.tokens():
            if kind == "mark":
                if word in "[{":
                    nested.append(word)
                elif word in "]}" and nested.pop() + word not in ("[]", "{}"):
                    self.problem = f"the JSON is damaged at {word!r}"
                expects_value = word == ":"
                if word == "}":
                    yield "", ""
                if not nested:
                    return
            elif expects_value and name and kind != "junk":
                yield name, LITERALS.get(word, word) if kind == "word" else word
                name, expects_value = "", False
                self.left -= 1
            elif kind == "string":
                name = word
            else:
                junk += 1
                self.problem = f"the JSON is damaged at {word[:20]!r}"
                if not word.strip(".\u2026"):
                    self.problem = "the JSON leaves something out"
            if self.left <= 0:
                self.problem = TOO_MUCH
                return
            if len(nested) > DEEPEST or junk > MOST_JUNK:
                self.problem = "the JSON is nothing that lscpu prints"
                return
        self.problem = "the JSON is cut at its end"


def string_end(text: str, start: int) -> int:
    """Return where the closing quote of a string is, or where that is too far to be one."""
    limit = min(len(text), start + LONGEST)
    while (end := text.find('"', start, limit)) >= 0:
        escapes = end - 1
        while escapes >= start and text[escapes] == "\\":
            escapes -= 1
        if (end - escapes) % 2:
            return end
        start = end + 1
    return limit


def decoded(string: str) -> str:
    """Return a JSON string with its escapes undone; half a surrogate pair becomes U+FFFD."""
    if "\\" not in string:
        return string
    plain = ESCAPE.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else PLAIN.get(found[2], found[2]), string
    )
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def statements_of(block: Block) -> Iterator[Statement]:
    """Yield what the fields of `lscpu -J` state."""
    pairs = [pair for pair in block.pairs() if pair[0] in ("field", "data")]
    labels = Labels("\n".join(value for name, value in pairs if name == "field"))
    fields = [i for i, (name, _) in enumerate(pairs) if name == "field"]
    for i in fields:
        after, data = pairs[i + 1] if i + 1 < len(pairs) else ("", "")
        if after != "data":
            block.problem = block.problem or "the JSON has a field without data"
            continue
        known = labels.on(" ".join(f"{pairs[i][1]}:".replace("::", ":").split()))
        if known and known[0].start == 0:
            problem = "damaged" if "\n" in data and known[0].field != "flags" else ""
            yield Statement(known[0].field, data.strip(), known[0].node, problem)
    if len(fields) != sum(name == "data" for name, _ in pairs):
        block.problem = block.problem or "the JSON has data without a field"


def table_of(block: Block) -> Table:
    """Return the rows of `lscpu -J -e`."""
    losses = Losses()
    columns: tuple[str, ...] = ()
    rows: dict[int, tuple[str, ...]] = {}
    row: dict[str, str] = {}
    for name, value in block.pairs():
        if name:
            row[name.upper()] = value
            continue
        if not columns and "CPU" in row and TELLING.intersection(row):
            columns = tuple(row)
        cells = tuple(row.get(column, "") for column in columns)
        whole = set(row) == set(columns) and all(map(is_cell, columns, cells))
        number = row.get("CPU", "")
        if columns and whole and rows.get(int(number), cells) == cells:
            rows[int(number)] = cells
        elif row:
            losses.add("damaged", f"the row of CPU {number[:9] or '?'}")
        row = {}
    if row:
        losses.add("cut", f"the row of CPU {row.get('CPU', '?')[:9]}")
    return Table(columns, rows, losses)
