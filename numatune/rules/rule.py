"""What a rule is, what it is given, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from numatune.errors import LaunchRefused
from numatune.machine import Machine
from numatune.placement.request import EMPTY, Request

if TYPE_CHECKING:
    from numatune.frame.frame import Framed
    from numatune.placement.placement import Placement, Release
    from numatune.runtimes.runtime import DefaultCount

#: Severities, gravest first.
SEVERITIES = ("critical", "warning", "info")


class Evidence(NamedTuple):
    """Where a fact of a finding was read: the source, the path in it, and its words."""

    source: str
    path: str
    text: str


class Case(NamedTuple):
    """What a rule judges: a machine, and the launch if there is one.

    Without a request `request`, `release` and `placement` are None. `refusal` is set where the
    runtime would not start; `placement` is then None. `frame` is what the launchers around the
    process make of it, with `machine` as they leave it. `default` is set where the request names no
    thread count and the runtime takes one of its own, which is then that of `request`. `unplaced`
    says why nothing is placed, where it is not for want of a count.
    """

    machine: Machine
    request: Request | None = None
    release: Release | None = None
    placement: Placement | None = None
    refusal: LaunchRefused | None = None
    frame: Framed | None = None
    default: DefaultCount | None = None
    unplaced: str | None = None


class Hit(NamedTuple):
    """What a rule found: the facts of one finding, without what is the same for all of its hits.

    `message` is one line with the numbers of the case, `fix` the shortest thing to do about it
    (it is printed behind the message, so it starts in lower case). `severity` overrides the rule's.
    """

    subject: str
    message: str
    fix: str
    numbers: Mapping[str, object] = EMPTY
    expected: str | None = None
    actual: str | None = None
    evidence: tuple[Evidence, ...] = ()
    severity: str | None = None


class Skip(NamedTuple):
    """Why a rule could not judge: what is unknown, and what would tell."""

    reason: str


class Page(NamedTuple):
    """The long text of a rule, for `numatune explain`.

    Each text is made of lines of at most 78 columns, with a blank line between its paragraphs,
    tables and commands.
    """

    why: str
    look: str
    fix: str
    harmless: str


class Rule(NamedTuple):
    """One rule.

    `id` is stable and never reused, `name` its slug. `summary` is a headline of one line and a
    sentence on the lines after it; `sources` are URLs, the most telling one first. `check` yields
    hits, and a Skip where facts are missing; neither means that all is well.
    """

    id: str
    name: str
    severity: str
    summary: str
    sources: tuple[str, ...]
    check: Callable[[Case], Iterable[Hit | Skip]]

    @property
    def page(self) -> Page:
        """The page of this rule, imported when it is asked for."""
        import importlib

        page: Page = importlib.import_module(f"numatune.rules.pages.{self.id.lower()}").PAGE
        return page

    @property
    def why(self) -> str:
        """The mechanism, with the numbers of a real case."""
        return self.page.why

    @property
    def look(self) -> str:
        """How to see it oneself."""
        return self.page.look

    @property
    def fix(self) -> str:
        """What to do, for each runtime, with the exact commands."""
        return self.page.fix

    @property
    def harmless(self) -> str:
        """When it is none of one's business."""
        return self.page.harmless


class Finding(NamedTuple):
    """One finding, complete: what `--json` prints."""

    rule: str
    name: str
    severity: str
    subject: str
    message: str
    numbers: Mapping[str, object]
    expected: str | None
    actual: str | None
    evidence: tuple[Evidence, ...]
    fix: str
    source_url: str


class Skipped(NamedTuple):
    """A rule that could not judge, and why."""

    rule: str
    name: str
    reason: str
