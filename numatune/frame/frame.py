"""What a frame is: the values that a command line of launchers comes to."""

from __future__ import annotations

from typing import NamedTuple

from numatune.machine import CpuSet, Machine

#: The kinds of a memory policy that only nodes from outside make sense for.
DEFAULT, BIND, PREFERRED, LOCAL = "default", "bind", "preferred", "local"
INTERLEAVE, WEIGHTED = "interleave", "weighted-interleave"


class MemoryPolicy(NamedTuple):
    """The memory policy that a process starts with; it may set another.

    `kind` is default, bind, preferred, interleave, weighted-interleave or local; `nodes` are those
    that the kernel keeps of it, None where the policy has none or they are not known.
    """

    kind: str = DEFAULT
    nodes: CpuSet | None = None


class Refusal(NamedTuple):
    """Why a launcher ends before it starts the program, and the ids that it stumbles over."""

    launcher: str
    reason: str
    nodes: tuple[int, ...] = ()
    cpus: tuple[int, ...] = ()

    @property
    def numbers(self) -> dict[str, list[int]]:
        """The ids as the numbers of a finding: lists under "nodes" and "cpus", where there are."""
        named = {"nodes": self.nodes, "cpus": self.cpus}
        return {name: list(ids) for name, ids in named.items() if ids}


class Layer(NamedTuple):
    """One launcher as it was understood: its name, its own words, and what it does."""

    name: str
    text: str
    effect: str


class Framed(NamedTuple):
    """A machine as a process inside the frame has it.

    `machine` is the same machine with other limits. `notes` say what the frame leaves open.
    `refusal` is set where a launcher would not start the program; the limits are then those that
    it had until then. `may_set_policy` tells whether the process may call set_mempolicy and mbind:
    False under a seccomp profile that forbids them, None where nothing says so.
    """

    machine: Machine
    memory: MemoryPolicy = MemoryPolicy()
    notes: tuple[str, ...] = ()
    refusal: Refusal | None = None
    layers: tuple[Layer, ...] = ()
    may_set_policy: bool | None = None

    def noted(self, note: str) -> Framed:
        """Return the same with one more note, once."""
        return self if note in self.notes else self._replace(notes=(*self.notes, note))


class Entered(NamedTuple):
    """What a launcher makes of the frame around it: what is inside, and the words it left.

    `takes_image` is set where the next word names an image and not the program.
    """

    frame: Framed
    rest: list[str]
    effect: str
    takes_image: bool = False
