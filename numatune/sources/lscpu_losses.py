"""What a reading of lscpu lacks or had to undo, and how that is said."""

from __future__ import annotations

from numatune.machine import CpuSet, Machine, Warning
from numatune.sources.parts import described
from numatune.words import listed

SUPPLY = "paste the whole output of `lscpu`"

#: Warning code -> what is said of the parts it lists, and what would supply them.
SAID = {
    "incomplete": ("the text does not state {}", SUPPLY),
    "nodes-incomplete": ("the text does not state {}", SUPPLY),
    "elided": ("the text leaves out {}", SUPPLY),
    "cut": ("the text seems to be cut in {}, unknown here", SUPPLY),
    "damaged": ("what the text gives as {} is nothing that lscpu prints; unknown here", SUPPLY),
    "not-available": ("lscpu could not tell {}", "run it on the host, outside of any container"),
}


class Losses:
    """The parts that a reading lacks, by warning code, in the order in which they were found.

    `undone` names in words what was undone to read the text.
    """

    def __init__(self) -> None:
        self.parts: dict[str, dict[str, None]] = {}
        self.others: list[Warning] = []
        self.undone: set[str] = set()

    def add(self, code: str, part: str) -> None:
        """Note that a part is missing or unusable."""
        self.parts.setdefault(code, {})[part] = None

    def warn(self, code: str, message: str) -> None:
        """Note anything else."""
        self.others.append(Warning(code, message))

    def warnings(self) -> tuple[Warning, ...]:
        """Return one warning a code, then the others."""
        lost = [
            Warning(code, f"{SAID[code][0].format(listed(list(parts)))}; {SAID[code][1]}")
            for code, parts in self.parts.items()
        ]
        if self.undone:
            undone = f"undone in the text: {', '.join(sorted(self.undone))}"
            return (*lost, *self.others, Warning("repaired", undone))
        return (*lost, *self.others)


def of_nodes(ids: list[int]) -> str:
    """Return "of node 0" or "of nodes 0-3"."""
    return f"of node{'s' if len(ids) > 1 else ''} {CpuSet(ids)}"


def described_counts(machine: Machine, name: str) -> Machine:
    """Return the machine with its gaps and origins; counts that are known have an origin, too.

    Cores or packages of which only the number is known are both: stated, and a gap.
    """
    machine = described(machine, name)
    origins = dict(machine.origins)
    gaps = machine.gaps
    if machine.cores_known is not None or machine.threads_per_core is not None:
        origins["cores"] = name
    if machine.packages_known is not None:
        origins["packages"] = name
    if machine.online_cpus is not None:
        origins["cpus"] = name
        gaps = tuple(gap for gap in gaps if gap != "cpus")
    if machine.cpu.features is not None or machine.cpu.architecture is not None:
        origins["cpu"] = name
    return machine._replace(origins=origins, gaps=gaps)
