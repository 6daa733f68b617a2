"""Reading the text of `lscpu`, of every version and language, and as damaged as people paste it.

A value is read only where the text states it beyond doubt; what is missing or doubtful is None,
and a warning names it. Formats: sys-utils/lscpu.c of util-linux 2.16 to 2.43-devel,
https://github.com/util-linux/util-linux. Since 2.37 its output on a terminal is indented under
headings, and it wraps long values itself, at the last column and inside words.
"""

from __future__ import annotations

import re
from itertools import pairwise

from numatune.machine import Machine
from numatune.sources.lscpu_losses import SUPPLY
from numatune.sources.lscpu_spellings import Label, Labels, translations
from numatune.sources.lscpu_summary import read_summary
from numatune.sources.lscpu_values import REMARK, Statement
from numatune.sources.numactl_values import is_elision
from numatune.sources.paste import clean
from numatune.sources.paste_lines import Line, unprefixed

NAME = "lscpu"

#: The longest output known has 40 kB; of a longer text the part around the first label is read.
TEXT_LIMIT = 1 << 20
BEFORE = 4000

#: Labels that only lscpu has, or nearly so.
SIGN = re.compile(
    r"(?:Thread\(s\) per core|Core\(s\) per (?:socket|cluster)|CPU socket\(s\)|Socket\(s\)"
    r"|O(?:n|ff)-line CPU\(s\) (?:list|mask)|NUMA node\(s\)|NUMA node ?[0-9]{1,4} CPU\(s\))[ \t]*:"
    r"|^[^\w\n]*(?:Model name|CPU\(s\)|Vendor ID):[ \t]+\S",
    re.MULTILINE,
)
#: One of these is in all of them, and found much faster.
HINTS = ("(s)", "Model name:", "Vendor ID:")
#: `virsh nodeinfo` shares labels with lscpu.
VIRSH = "NUMA cell(s):"
NOT_VIRSH = re.compile(r"(?:NUMA node ?(?:\(s\)|[0-9]{1,4} CPU\(s\))|On-line CPU\(s\) list)\s*:")
#: Fields of which one translated label shows that a text is lscpu's.
TELLING = ("threads", "cores", "cluster_cores", "online", "nodes", "node_cpus", "model")

LISTS = frozenset(("online", "online_mask", "offline", "offline_mask", "node_cpus"))
COUNTS = frozenset(("cpus", "threads", "cores", "cluster_cores", "sockets", "clusters",
                    "book_sockets", "physical_sockets", "nodes"))  # fmt: skip
NAMES = frozenset(("model", "vendor", "architecture", "hypervisor"))

MORE_LIST = re.compile(r"[0-9, \-]*[0-9,\-]", re.ASCII)
MORE_MASK = re.compile(r"[0-9a-f,]+", re.ASCII)
MORE_FLAGS = re.compile(r"[a-z0-9_]+(?: +[a-z0-9_]+)*", re.ASCII)
PROMPT = re.compile(r"[\[$#>~%(]|[\w.-]+@")
#: Behind a blank line, the rest of a value is indented more than any label.
DEEP = 8
#: Text wrapped for reading is narrower.
WIDE = 200
#: No terminal is wider, so a longer line was not wrapped.
WIDEST = 500
#: No value is longer: lists of CPUs and of flags have a few kB.
LONGEST = 50_000
#: How the labels of a mitigation start, of which newer kernels have more than are known here.
VULNERABILITY = "Vulnerability "

JOINED = "wrapped lines"
TOGETHER = "lines that were run together"
REFLOWED = (
    "lines were run together and were told apart by their labels; to be sure, paste the output "
    "with its line ends"
)
ELIDED = f"the text leaves out some lines; {SUPPLY}"
TOO_LONG = (
    "only {} of {} characters were read, those around the first line of lscpu; paste it alone"
)


def recognises(text: str) -> bool:
    """Tell whether there is a text output of lscpu in a text, damaged or not."""
    if first_sign(text) >= 0:
        return VIRSH not in text or bool(NOT_VIRSH.search(text))
    first = text[:TEXT_LIMIT]
    if any(label in first for label in translations(TELLING)) and shows_label(first):
        return True
    cleaned = clean(first)
    if not cleaned.undone and cleaned.text.isascii():
        return False
    return first_sign(cleaned.text) >= 0 or shows_label(cleaned.text)


def first_sign(text: str) -> int:
    """Return where the first label of lscpu is that is no string of `lscpu -J`, -1 without one."""
    first = min((place for hint in HINTS if (place := text.find(hint)) >= 0), default=-1)
    if first < 0:
        return -1
    for found in SIGN.finditer(text, text.rfind("\n", 0, first) + 1):
        if "field" not in text[max(0, found.start() - 12) : found.start()]:
            return found.start()
    return -1


def shows_label(text: str) -> bool:
    """Tell whether a line has a translated label of lscpu that hardly anything else has."""
    labels = Labels(text)
    return labels.is_translated and any(
        each.field in TELLING
        for line in text.split("\n")
        if '"field"' not in line
        for each in labels.on(line.strip(" >|*#`-\r\t"))
    )


def read(text: str, label: str) -> Machine:
    """Read a machine from a text; `label` becomes its source.

    Raises MachineError where the text states nothing that lscpu prints.
    """
    part = excerpt(text)
    cleaned = clean(part)
    plain = cleaned.text
    if '"field"' in plain:
        # What lscpu -J prints in the same text is another reader's.
        plain = "\n".join(line for line in plain.split("\n") if '"field"' not in line)
    labels = Labels(plain)
    lines = unprefixed(plain, labels.start)
    ends_open = len(part) == len(text) and cleaned.text[-1:] not in (" ", "\n", "")
    runs, undone, is_elided = [], set(cleaned.undone), False
    for source in lines.sources:
        collector = Collector(labels, source)
        runs.append(collector.statements(ends_open))
        undone |= collector.undone
        is_elided |= collector.is_elided
    if lines.marked:
        undone.add("prefixes of lines")
    machine = read_summary(runs, label, NAME, undone)
    if is_elided and not any(warning.code == "elided" for warning in machine.warnings):
        machine = machine.warned("elided", ELIDED)
    if TOGETHER in undone:
        machine = machine.warned("reflowed", REFLOWED)
    if len(part) < len(text):
        machine = machine.warned("too-long", TOO_LONG.format(len(part), len(text)))
    return machine


def excerpt(text: str) -> str:
    """Return the part of a long text that starts shortly before the first words of lscpu."""
    if len(text) <= TEXT_LIMIT:
        return text
    start = max(0, first_sign(text) - BEFORE)
    return text[start : start + TEXT_LIMIT]


def single_spaced(lines: list[Line]) -> list[Line]:
    """Return the lines without the blank ones, where at most a few have none behind them."""
    full = [line for line in lines if line.text]
    dense = sum(bool(one.text and other.text) for one, other in pairwise(lines))
    return full if dense <= len(full) // 10 else lines


class Collector:
    """Collects the statements of the lines of one source, and joins values that were wrapped."""

    def __init__(self, labels: Labels, lines: tuple[Line, ...]) -> None:
        self.lines = single_spaced(list(lines))
        self.found = [labels.on(line.text) for line in self.lines]
        self.undone: set[str] = set()
        self.is_elided = False
        #: Whether the line before is blank.
        self.is_gap = False
        pairs = zip(self.lines, self.found, strict=True)
        #: The width at which lines may have been wrapped.
        self.width = max((line.width for line, found in pairs if found), default=0)
        #: Whether some line is shorter; in a box all have one width.
        self.is_ragged = any(
            found and line.width < self.width
            for line, found in zip(self.lines, self.found, strict=True)
        )
        self.cut_width = self.find_cut()
        #: Whether more labels follow.
        self.is_followed = False

    def statements(self, ends_open: bool) -> list[Statement]:
        """Return what the lines state. `ends_open` says that the text ends without a line end."""
        stated: list[Statement] = []
        last_line: Line | None = None
        end = max((i for i, found in enumerate(self.found) if found), default=0)
        for i, (line, found) in enumerate(zip(self.lines, self.found, strict=True)):
            self.is_followed = i < end
            if found:
                if last_line is not None and stated:
                    stated[-1] = self.ended(stated[-1], last_line)
                stated += self.on_line(line, found)
                last_line = line
            elif last_line is not None and stated and line.text:
                changed = self.continued(stated[-1], last_line, line)
                last_line = line if changed is not None else None
                stated[-1] = changed or stated[-1]
            elif line.text or not (stated and stated[-1].field in LISTS | {"flags"}):
                last_line = None
            self.is_gap = not line.text
        self.note_elision()
        if ends_open and stated and last_line is not None and last_line is self.lines[-1]:
            stated[-1] = stated[-1]._replace(is_last=True)
        return stated

    def note_elision(self) -> None:
        """Note whether something was left out between the lines of lscpu, or behind them."""
        places = [i for i, found in enumerate(self.found) if found]
        if places:
            near = self.lines[places[0] : places[-1] + 2]
            self.is_elided = any(is_elision(line.text) for line in near)

    def find_cut(self) -> int:
        """Return the column at which lines were cut, as `less -S` and `cut -c` do; 0 without one.

        Several texts of free words end there, which have one length by chance only, while others
        are shorter.
        """
        cut: dict[str, str] = {}
        if not self.lines:
            return 0
        after = [*self.found[1:], []]
        lines = [*self.lines[1:], None]
        for line, found, then, following in zip(self.lines, self.found, after, lines, strict=True):
            is_known = bool(found) or line.text.startswith(VULNERABILITY)
            goes_on = following is not None and bool(following.text) and not then
            if goes_on and following is not None and following.text.startswith(VULNERABILITY):
                goes_on = False
            if is_known and line.width > self.width:
                return 0
            # A blank may have stood at the cut.
            if is_known and line.width >= self.width - 1 and not goes_on:
                field = found[-1].field if found else ""
                if field in NAMES or field in ("", "flags"):
                    cut[line.text.partition(":")[2].strip()] = field
        return self.width if self.is_ragged and len(cut) > 2 - ("flags" in cut.values()) else 0

    def ended(self, last: Statement, line: Line) -> Statement:
        """Return a statement that no line goes on with; a wrapped one ends in a shorter line."""
        is_wrapped = last.field == "flags" and "\n" in last.value
        is_full = self.is_ragged and line.width >= self.width
        return last._replace(problem="cut") if is_wrapped and is_full else last

    def on_line(self, line: Line, found: list[Label]) -> list[Statement]:
        """Return the statements of one line; it has several where lines were run together."""
        if len(found) > 1:
            self.undone.add(TOGETHER)
        ends = [each.start for each in found[1:]] + [len(line.text)]
        stated = [
            Statement(each.field, line.text[each.end : end].strip(), each.node)
            for each, end in zip(found, ends, strict=True)
        ]
        if self.cut_width and line.width >= self.cut_width - 1:
            stated[-1] = stated[-1]._replace(problem="cut")
        return stated

    def continued(self, last: Statement, before: Line, line: Line) -> Statement | None:
        """Return a statement with the rest of its value from the next line, None without any."""
        text = line.text
        if len(last.value) > LONGEST:
            return last._replace(problem="damaged")
        if last.field in LISTS | COUNTS | {"flags"} and is_elision(text):
            return last._replace(problem="elided")
        if last.field == "flags":
            return self.continued_flags(last, before, line)
        if last.field in LISTS:
            return self.continued_list(last, before, line)
        if last.field in COUNTS and not last.value and text.isascii() and text.isdigit():
            return self.joined(last, text)
        if last.field in NAMES and ":" not in text and not PROMPT.match(text):
            width = 0 if self.is_followed else max(self.width, 60)
            if before.width + 1 + len(text.split()[0]) > width:
                return last._replace(problem="damaged")
        return None

    def continued_flags(self, last: Statement, before: Line, line: Line) -> Statement | None:
        """Return a list of flags with its rest; it is unknown where the line may be of another."""
        text = REMARK.split(line.text)[0]
        if before.width > WIDEST or (self.is_gap and line.start <= DEEP):
            return None
        if not MORE_FLAGS.fullmatch(text):
            return last._replace(problem="damaged") if line.start > DEEP else None
        if before.width + 1 + len(text.split()[0]) <= self.width:
            return last._replace(problem="damaged") if self.width < WIDE else None
        return self.joined(last, f"{last.value}\n{text}")

    def continued_list(self, last: Statement, before: Line, line: Line) -> Statement | None:
        """Return a list with its rest; lscpu prints no blank in it, so none is put back."""
        is_mask = last.field.endswith("mask")
        if not (MORE_MASK if is_mask else MORE_LIST).fullmatch(line.text):
            return None
        seam = last.value[-1:] + line.text[0]
        if self.is_gap and not set(seam) & set(",-"):
            return None
        if last.value and "," not in seam and "-" not in seam and before.width < self.width:
            return last._replace(problem="damaged")
        return self.joined(last, last.value + line.text)

    def joined(self, last: Statement, value: str) -> Statement:
        """Return a statement with a longer value, and note that it was joined."""
        self.undone.add(JOINED)
        return last._replace(value=value)
