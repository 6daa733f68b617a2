"""The values on the lines of `numactl --hardware`: CPU lists, sizes, and the list of nodes.

Formats: `hardware` and `print_node_cpus` in numactl.c of v0.6.4 to v2.0.19 and 93c1fe5,
https://github.com/numactl/numactl. A value that is not whole is None with the problem in a word:

elided    something was left out and the text shows it ("...")
damaged   what is there is nothing that numactl prints
absent    numactl says that it has no value ("<not available>")
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numatune.machine.cpuset import ID_LIMIT, CpuSet

#: CONFIG_NODES_SHIFT is at most 10 (arch/*/Kconfig of Linux).
NODE_LIMIT = 1 << 10
#: 2**52 bytes, the most that x86-64 and arm64 can address, in MiB.
SIZE_LIMIT = 1 << 32

NUMBERS = re.compile(r"\s*[0-9]+(?:-[0-9]+)?(?:[, ]+[0-9]+(?:-[0-9]+)?)*", re.ASCII)
TOTAL = re.compile(r"\s*\(\s*([0-9]{1,6})\s*\)")
SIZE = re.compile(r"\s*([0-9]{1,12})\s*(?:MB|MiB)\b(.*)", re.ASCII | re.IGNORECASE | re.DOTALL)

# What follows are sources of patterns that a plain text never needs: `re` compiles them on demand.

FREE_NUMBER = r"(?a)(?:^|[ ,])[0-9]+(?:-[0-9]+)?(?=[ ,]|$)"
SPACED_RANGES = r"\s*[0-9]+ - [0-9]+(?:, ?[0-9]+ - [0-9]+)*\s*"
#: What stands for something that was left out: dots, or a word.
DOTS = r"[(\[<{]?\s*(?:\.\s*\.|…)"
LEFT_OUT = (
    r"(?i)\b(?:snip|etc|more|omit|skip|trunc|elide|cut|abridged|and so|through|until|usw)"
    r"|省略|等等|等$"
)
#: What people and tools put between a value and a note on it. After a dash or an arrow to the
#: right, a number or "to" would be the end of a range.
NOTE = (
    r"(?:--+|[=-]+>|→|⇒)(?!\s*[0-9])|- +(?!(?:to|bis|thru)\b|[至到])(?=[^\W\d_])"
    r"|<[=<-]|==|#|//|/\*|;|[(\[{←⇐⟵★☆✓✔✗✘✖●•!]"
)
#: What closes a cell, a string or bold type after a value.
CLOSING = r"(?a)[\"'`]+[,;]?\]?\}?|\*+|_+|\|"
#: What makes a note look like the rest of the list: two numbers in a row, one after a bracket.
NUMBERS_AGAIN = r"(?a)[0-9] +[0-9]|[)\]}] *,? *[0-9]"
#: A note where a CPU-less node has nothing.
EMPTY_NOTED = rf" *(?:{NOTE})[^0-9]+$"
#: What stands around the dots on a line for lines that were left out.
AROUND = " |>#*-_~/\\[](){}<>'\"`:,;"

JOINED = "wrapped lines"
NOTED = "notes after values"


#: What may follow the last number of a line that goes on: nothing, a comma, a continuation mark.
GOES_ON = ("", ",", "\\")


class Value(NamedTuple):
    """A set of CPUs or a size, and what was wrong with the text or was undone to read it."""

    cpus: CpuSet | None = None
    size: int | None = None
    problem: str = ""
    undone: tuple[str, ...] = ()


def read_cpus(text: str, is_last: bool = False) -> Value:
    """Read what stands between `node N cpus:` and the next label.

    Numbers go on over line ends as long as whole lines are numbers; over blank lines only where
    the next label shows how far. numactl prints them in ascending order, so any other order is
    damage. `is_last` says that no label of the same run follows.
    """
    lines = text.split("\n")
    if not text.strip():
        return Value(cpus=CpuSet()) if len(lines) > 1 else Value(problem="damaged")
    numbers, total, tail, used = gathered(lines, is_last)
    rest = next((line.strip() for line in lines[used:] if line.strip()), "")
    if goes_on(rest, is_last) or is_elision(rest):
        return Value(problem="elided" if is_elision(rest) else "damaged")
    problem = tail_problem(tail)
    if problem or (not numbers and total != 0 and not re.match(EMPTY_NOTED, tail)):
        return Value(problem=problem or "damaged")
    cpus = parsed(numbers)
    if cpus is None or total not in (None, len(cpus)):
        return Value(problem="damaged")
    undone = ((JOINED,) if used > 1 else ()) + ((NOTED,) if tail.strip() else ())
    return Value(cpus=cpus, undone=undone)


def goes_on(line: str, is_last: bool) -> bool:
    """Tell whether a line that is no plain list may be the rest of one all the same.

    Between two labels of one run nothing else has numbers; after the last, whatever has words is
    another program's.
    """
    if any(char.isdigit() for char in line) and not any(char.isalpha() for char in line):
        return True
    return not is_last and bool(re.search(FREE_NUMBER, line))


def gathered(lines: list[str], is_last: bool) -> tuple[str, int | None, str, int]:
    """Collect the numbers of a list from its lines.

    Returns the numbers, the total that `--cpu-compress` prints behind them, what follows on the
    last line, and how many lines were used.
    """
    numbers: list[str] = []
    total: int | None = None
    tail = ""
    used = 0
    for i, line in enumerate(lines):
        if not line.strip():
            if i and is_last:
                break
            continue
        if re.fullmatch(SPACED_RANGES, line):
            line = line.replace(" - ", "-")
        found = NUMBERS.match(line)
        if i and not found and not TOTAL.match(line):
            break
        end = found.end() if found else 0
        if found:
            numbers.append(found.group())
        counted = TOTAL.match(line, end)
        if counted:
            total, end = int(counted.group(1)), counted.end()
        tail, used = line[end:].rstrip(), i + 1
        if tail.strip() not in GOES_ON:
            break
    return " ".join(numbers), total, tail, max(used, 1)


def tail_problem(tail: str) -> str:
    """Say what is wrong with the text behind a list, "" where it is none or a note."""
    closing = re.match(CLOSING, tail.strip())
    tail = tail.strip()[closing.end() :] if closing else tail
    if not tail.strip():
        return ""
    glued, tail = tail[0] != " ", tail.strip()
    if re.match(DOTS, tail) or re.search(LEFT_OUT, tail):
        return "elided"
    if re.match(NOTE, tail):
        return "damaged" if len(tail) < 2 or re.search(NUMBERS_AGAIN, tail) else ""
    if ".." in tail or "…" in tail:
        return "elided"
    words = re.match(r"[^\W\d_]{2}", tail) and not re.search(r"[0-9]", tail)
    return "" if words and not glued and not tail.startswith("MB") else "damaged"


def is_elision(line: str) -> bool:
    """Tell whether a line stands for lines that were left out: dots, or a word in brackets."""
    word = line.strip(AROUND).replace(" ", "")
    if ".." in word or "…" in word:
        return not word.strip(".…")
    return line[:1] in tuple("[(<{-") and len(line) < 60 and bool(re.search(LEFT_OUT, line))


def parsed(text: str) -> CpuSet | None:
    """Return the set for ascending numbers and ranges, None where they are not."""
    mask = 0
    last = -1
    for part in text.replace(",", " ").split():
        first, dash, end = part.partition("-")
        if len(first) > 6 or len(end) > 6 or is_padded(first) or is_padded(end):
            return None
        low = int(first)
        high = int(end) if dash else low
        if low <= last or high < low or high >= ID_LIMIT:
            return None
        mask |= (1 << (high + 1)) - (1 << low)
        last = high
    return CpuSet.of_mask(mask)


def is_padded(digits: str) -> bool:
    """Tell whether a number starts with a zero that numactl would not print."""
    return len(digits) > 1 and digits[0] == "0"


def read_size(text: str) -> Value:
    """Read what stands after `node N size:` or `free:`; MB there means MiB (fmt_mem)."""
    found = SIZE.match(text)
    if found:
        count, note = found.groups()
        if is_padded(count) or int(count) > SIZE_LIMIT:
            return Value(problem="damaged")
        noted = bool(note.split("\n")[0].strip(" |*_\"'`,;]"))
        return Value(size=int(count) << 20, undone=(NOTED,) if noted else ())
    return Value(problem="absent" if "<not available>" in text.lower() else "damaged")


def read_nodes(text: str) -> CpuSet | None:
    """Read the list of nodes in the parentheses after `available: N nodes`.

    None where it is cut, or left open as numactl does beyond the allowed mask ("0-").
    """
    text = "".join(text.split())
    if not text.endswith(")"):
        return None
    try:
        nodes = CpuSet.parse(text.strip("()"))
    except ValueError:
        return None
    return None if nodes.mask >> NODE_LIMIT else nodes
