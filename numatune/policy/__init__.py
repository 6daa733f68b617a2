"""The policy of `check`: from which severity it fails, and which rules a site has chosen to ignore.

A policy is a YAML file:

    fail_on: warning
    ignore:
      NT301: the batch jobs beside the model need automatic balancing
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from numatune.errors import UsageError
from numatune.rules import rule_named
from numatune.rules.rule import SEVERITIES, Finding, Skipped
from numatune.words import shown

#: A policy names a few rules; more than this is no policy.
SIZE_LIMIT = 1 << 16
#: Brackets and braces that may be opened in all: reading nested ones takes the square of their
#: number, and a policy needs none.
FLOW_LIMIT = 100
#: Levels of indented maps and lists; a policy has two.
DEPTH_LIMIT = 8

KEYS = ("fail_on", "ignore")


class Policy(NamedTuple):
    """`ignore` maps the id of a rule to the reason for ignoring it."""

    file: str | None = None
    fail_on: str = "critical"
    ignore: tuple[tuple[str, str], ...] = ()

    def split(self, findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[Skipped, ...]]:
        """Return the findings that count, and those that are ignored with the reason for it."""
        reasons = dict(self.ignore)
        kept, ignored = [], {}
        for finding in findings:
            if finding.rule in reasons:
                why = f"ignored by the policy: {reasons[finding.rule]}"
                ignored[finding.rule] = Skipped(finding.rule, finding.name, why)
            else:
                kept.append(finding)
        return tuple(kept), tuple(ignored.values())

    def fails(self, findings: Iterable[Finding]) -> bool:
        """Tell whether any finding is at least as grave as `fail_on`."""
        bad = SEVERITIES[: SEVERITIES.index(self.fail_on) + 1]
        return any(finding.severity in bad for finding in findings)


def severity(value: object, where: str) -> str:
    """Return a severity. Raises UsageError."""
    if value not in SEVERITIES:
        known = ", ".join(SEVERITIES)
        raise UsageError(f"{where} {shown(value)!r} is not a severity; known: {known}")
    return str(value)


def plain_yaml(data: bytes, name: str) -> object:
    """Return what YAML holds that is neither deep nor has aliases. Raises UsageError, YAMLError."""
    import yaml

    if sum(map(data.count, (b"{", b"["))) > FLOW_LIMIT:
        raise UsageError(f"{name} has more than {FLOW_LIMIT} brackets, as no policy has")
    depth = 0
    for event in yaml.parse(data, yaml.SafeLoader):
        # Aliases could make a small file stand for a huge document, and no policy needs them.
        if isinstance(event, yaml.AliasEvent):
            raise UsageError(f"{name} has YAML aliases, which are not read")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH_LIMIT:
            raise UsageError(f"{name} is nested more than {DEPTH_LIMIT} levels deep")
    return yaml.safe_load(data)


def load(path: str) -> Policy:
    """Read a policy file. Raises UsageError where it is missing or wrong in any way."""
    import yaml

    name = f"the policy file {shown(path)}"
    try:
        with open(path, "rb") as file:
            data = file.read(SIZE_LIMIT + 1)
        if len(data) > SIZE_LIMIT:
            raise UsageError(f"{name} is larger than {SIZE_LIMIT >> 10} KiB")
        content = plain_yaml(data, name)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a NUL byte in its name"
        raise UsageError(f"{name} could not be read: {reason}") from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f" in line {mark.line + 1}"
        raise UsageError(f"{name} is not YAML{place}") from None
    if content is None:
        return Policy(path)
    if not isinstance(content, dict) or not content.keys() <= set(KEYS):
        raise UsageError(f"{name} may have the keys {' and '.join(KEYS)} only")
    ignore = content.get("ignore") or {}
    if not isinstance(ignore, dict):
        raise UsageError(f"{name}: ignore must map rules to reasons")
    pairs = []
    for rule, reason in ignore.items():
        if not isinstance(reason, str) or not reason.strip():
            raise UsageError(f"{name}: give the reason for ignoring {shown(rule)}")
        pairs.append((rule_named(str(rule)).id, " ".join(reason.split())))
    chosen = severity(content.get("fail_on", "critical"), f"{name}: fail_on")
    return Policy(path, chosen, tuple(sorted(pairs)))
