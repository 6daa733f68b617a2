"""Reading `dmidecode -t memory`: the memory slots, what sits in them, and how fast it runs.

Format: `dmi_memory_device_*` in dmidecode.c at https://git.savannah.nongnu.org/cgit/dmidecode.git
(2.x and 3.x); the fields are those of SMBIOS types 16 and 17 (DSP0134). Which slots share a
channel it does not say, so that the number of channels stays unknown.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numatune.errors import MachineError
from numatune.machine import Dimm, Machine, Settings, Warning
from numatune.words import clean

NAME = "dmidecode -t memory"
SUPPLY = "give the whole output of `sudo dmidecode -t memory`"

SIGN = re.compile(
    r"DMI[ \xa0]type[ \xa0]17,|Memory[ \xa0]Device(?<![\w-]Memory.Device)(?<!\w.Memory.Device)"
    r"[ \t\xa0\r]{0,99}$",
    re.MULTILINE,
)
FIELDS = (
    "Array Handle|Size|Form Factor|Locator|Bank Locator|Type|Speed|Manufacturer|"
    "Configured (?:Memory|Clock) Speed|Memory Technology|Use|Number Of Devices"
)
#: What a line starts with; a prefix stands before it.
START = re.compile(rf"Handle 0x|(?:Memory Device|Physical Memory Array) *$|(?:{FIELDS}):")
HANDLE = re.compile(r"Handle (0x[0-9A-Fa-f]{1,8}), DMI type ([0-9]{1,3})\b")
FIELD = re.compile(rf"({FIELDS}): *(.*)")
SIZE = re.compile(r"([0-9]{1,9}) ?(bytes|kB|MB|GB|TB)")
UNITS = {"bytes": 0, "kB": 10, "MB": 20, "GB": 30, "TB": 40}
SPEED = re.compile(r"([0-9]{1,6}) ?(?:MT/s|MHz)")
EMPTY = ("No Module Installed", "Not Installed", "None", "No Module")
UNSTATED = ("Unknown", "Not Specified", "<OUT OF SPEC>", "Other", "<BAD INDEX>", "")
#: Modules in memory slots that the machine does not use as its memory.
NOT_MEMORY = ("Logical non-volatile device", "Flash", "ROM", "EEPROM", "FEPROM", "EPROM")
#: The words at which the window around the structures starts and ends.
WORDS = re.compile(rf"{SIGN.pattern}|DMI[ \xa0]type[ \xa0]16,", re.MULTILINE)
TEXT_LIMIT = 1 << 22
SLOT_LIMIT = 4096


class Block(NamedTuple):
    """One structure of the table: its handle, its SMBIOS type and its fields."""

    handle: str
    kind: int
    fields: dict[str, str]


def recognises(text: str) -> bool:
    """Tell whether there is output of dmidecode about memory devices in a text."""
    return SIGN.search(text) is not None


def read(text: str, label: str) -> Machine:
    """Read the memory slots; `label` becomes the source.

    Raises MachineError where there is none, or two outputs contradict each other.
    """
    from numatune.sources.parts import ELISION, Window, described, excerpt
    from numatune.sources.paste import clean
    from numatune.sources.paste_lines import unprefixed

    part = excerpt(text, WORDS, Window(2, 60, TEXT_LIMIT), SUPPLY)
    cleaned = clean(part)
    lines = unprefixed(cleaned.text, START)
    if len(lines.sources) > 1:
        raise MachineError(f"the text holds dmidecode of several machines; {SUPPLY} of one")
    blocks = blocks_of([line.text for line in lines.sources[0]])
    uses = {b.handle: b.fields.get("Use", "") for b in blocks if b.kind == 16}
    slots = [b for b in blocks if b.kind == 17 and is_memory(b, uses)]
    if not slots:
        raise MachineError(f"there is no memory slot in this text; {SUPPLY} (as root)")
    if len(slots) > SLOT_LIMIT:
        raise MachineError(f"there are more than {SLOT_LIMIT} memory slots in this text; {SUPPLY}")
    warnings = []
    if cleaned.undone or lines.marked:
        undone = [*cleaned.undone, *(["prefixes of lines"] if lines.marked else [])]
        warnings.append(Warning("repaired", f"undone in the text: {', '.join(undone)}"))
    if any(ELISION.fullmatch(line.text) for line in lines.sources[0]):
        warnings.append(Warning("elided", f"lines were left out of the text; {SUPPLY}"))
    dimms = dimms_of(slots)
    problems = problems_of(blocks, slots, dimms, len(part) == TEXT_LIMIT)
    warnings += [Warning("incomplete", f"{problem}; {SUPPLY}") for problem in problems]
    populated = None if problems else sum(map(is_populated, slots, dimms))
    makers = [block.fields.get("Manufacturer", "") for block in slots]
    machine = Machine(
        source=label,
        dimms=dimms,
        is_guest=True if any(m.startswith(("QEMU", "VMware")) for m in makers) else None,
        settings=Settings(dimms_populated=populated),
        warnings=tuple(warnings),
    )
    return described(machine, NAME)


def blocks_of(lines: list[str]) -> list[Block]:
    """Return the structures of type 16 and 17, each once. Raises MachineError."""
    blocks: list[Block] = []
    current: Block | None = None
    handle = ("", 0)
    for line in lines:
        found = HANDLE.match(line)
        if found:
            handle, current = (found[1].lower(), int(found[2])), None
        elif line in ("Memory Device", "Physical Memory Array"):
            kind = 17 if line == "Memory Device" else 16
            current = Block(handle[0] if handle[1] == kind else "", kind, {})
            blocks.append(current)
            handle = ("", 0)
        elif current is not None:
            field = FIELD.match(line)
            if field:
                current.fields.setdefault(field[1], clean(field[2]).strip())
    return once(blocks)


def once(blocks: list[Block]) -> list[Block]:
    """Return blocks without those that are there again. Raises MachineError where they differ."""
    seen: dict[str, Block] = {}
    kept = []
    for block in blocks:
        known = seen.get(block.handle) if block.handle else None
        if known is None:
            kept.append(block)
            seen[block.handle] = block
        elif known.fields != block.fields:
            raise MachineError(f"the structure {block.handle} is in the text twice and differs; "
                               f"{SUPPLY} of one machine")  # fmt: skip
    return kept


def is_memory(block: Block, uses: dict[str, str]) -> bool:
    """Tell whether a slot is for the machine's memory, not for flash, cache or video."""
    use = uses.get(block.fields.get("Array Handle", "").lower(), "System Memory")
    return use in ("System Memory", "") and block.fields.get("Type") not in NOT_MEMORY[1:]


def dimms_of(blocks: list[Block]) -> tuple[Dimm, ...]:
    """Return the slots, each with a name of its own: with the bank's where slots share one."""
    names = [stated(b.fields.get("Locator")) for b in blocks]
    dimms = []
    for block, name in zip(blocks, names, strict=True):
        bank = stated(block.fields.get("Bank Locator"))
        if bank and names.count(name) > 1:
            name = f"{bank} / {name}" if name else bank
        dimms.append(dimm_of(block, name or "unnamed slot"))
    return tuple(dimms)


def dimm_of(block: Block, name: str) -> Dimm:
    """Return one slot; its speed is the one that it runs at, not the one that it could."""
    fields = block.fields
    kind = fields.get("Type", "")
    running = fields.get("Configured Memory Speed") or fields.get("Configured Clock Speed") or ""
    speed = SPEED.fullmatch(running)
    return Dimm(
        name,
        size_of(fields.get("Size")),
        None if kind in UNSTATED else kind[:40],
        int(speed[1]) if speed else None,
    )


def stated(text: str | None) -> str | None:
    """Return a name of at most 60 characters, None where the firmware gives none."""
    return None if text is None or text in UNSTATED else text[:60]


def size_of(text: str | None) -> int | None:
    """Return a size in bytes, 0 for an empty slot, None where it is not known."""
    if text is None:
        return None
    if text in EMPTY:
        return 0
    found = SIZE.fullmatch(text)
    return int(found[1]) << UNITS[found[2]] if found else None


def is_populated(block: Block, dimm: Dimm) -> bool:
    """Tell whether a slot holds a module that is the machine's memory."""
    technology = block.fields.get("Memory Technology", "")
    return bool(dimm.size_bytes) and dimm.type not in NOT_MEMORY and "Optane" not in technology


def problems_of(
    blocks: list[Block], slots: list[Block], dimms: tuple[Dimm, ...], is_long: bool
) -> list[str]:
    """Say why the slots can't be counted."""
    problems = []
    lost = sum(dimm.size_bytes is None for dimm in dimms)
    if lost:
        problems.append(f"the size of {lost} of {len(dimms)} slots is not stated")
    for array in (b for b in blocks if b.kind == 16):
        announced = array.fields.get("Number Of Devices", "")
        there = sum(s.fields.get("Array Handle", "").lower() == array.handle for s in slots)
        if array.handle and re.fullmatch(r"[0-9]{1,5}", announced):
            missing = int(announced) - there
            if missing > 0 and array.fields.get("Use") == "System Memory":
                problems.append(f"{missing} of the {announced} slots that the board announces are "
                                "missing")  # fmt: skip
    if is_long:
        problems.append("only 4 MB of the text were read")
    return problems
