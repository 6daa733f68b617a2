"""What a module of this folder offers: one runtime each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from numatune.machine import Machine
from numatune.placement.placement import Placement, Release, Tally
from numatune.placement.request import Request


class DefaultCount(NamedTuple):
    """How many threads a runtime takes where no number is given.

    `threads` is None where the machine does not show it. `counted` says in words what is counted,
    `ignores` which limits of the process are not looked at: of "affinity", "cpuset" and "quota".
    `source` is the upstream file. `is_derived` is True where it follows from other settings and
    can't be stated: 0 is then a count like any other.
    """

    threads: int | None
    counted: str
    ignores: tuple[str, ...]
    source: str
    is_derived: bool = False


class Runtime(Protocol):
    """A runtime that numatune can simulate. Modules satisfy this protocol as they are."""

    #: The name that its users type.
    NAME: str
    #: The option that gives the number of threads, as a command line writes it.
    THREADS_OPTION: str
    #: Its other options: Python's spelling of the name -> the spellings of the command line.
    OPTIONS: Mapping[str, tuple[str, ...]]

    def releases(self, numa_build: bool | None) -> tuple[Release, ...]:
        """Return one release for each behaviour, oldest first: the eras side by side."""

    def release(self, version: str | None, commit: str | None, numa_build: bool | None) -> Release:
        """Return how one version behaves (None: the newest). Raises UsageError if unknown."""

    def default_threads(
        self, machine: Machine, request: Request, release: Release
    ) -> DefaultCount | None:
        """Return what it takes where no number is given; None where it has no default."""

    def phases(self, request: Request) -> tuple[tuple[str, Request], ...]:
        """Return the phases of a launch that place threads differently: ("generation", request)."""

    def simulate(self, machine: Machine, request: Request, release: Release) -> Placement:
        """Place every worker as the upstream code does. Raises LaunchRefused."""

    def tally(self, machine: Machine, request: Request, release: Release) -> Tally:
        """Count the workers of each node as `simulate` would, in time independent of threads."""
