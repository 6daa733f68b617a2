"""Every rule on one case."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from numatune.errors import LaunchRefused
from numatune.rules import every_rule
from numatune.rules.facts import launch
from numatune.rules.rule import SEVERITIES, Case, Finding, Hit, Rule, Skip, Skipped


class Verdict(NamedTuple):
    """What the rules say: findings, gravest first; rules that could not judge; ids of the rest."""

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    good: tuple[str, ...]


def judge(case: Case) -> Verdict:
    """Run every rule. The same case gives the same verdict, in the same order."""
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    good: list[str] = []
    rules = every_rule()
    ends = speaker(rules, case.refusal)
    for rule in rules:
        said = list(rule.check(case))
        hits = [finding(rule, one) for one in said if isinstance(one, Hit)]
        if case.refusal is not None and rule.name == ends:
            ended = [one._replace(severity=SEVERITIES[0]) for one in hits]
            hits, said = ended or [refused(rule, case, case.refusal)], []
        findings += hits
        skips = [Skipped(rule.id, rule.name, one.reason) for one in said if isinstance(one, Skip)]
        skipped += skips
        if not hits and not skips:
            good.append(rule.id)
    return Verdict(tuple(sorted(findings, key=rank)), tuple(skipped), tuple(good))


def merged(verdicts: Sequence[Verdict]) -> Verdict:
    """Join the verdicts on the phases of one launch: what is wrong with several is said once.

    A node that has too few CPUs in one phase is not said to share cores in another. Rules that
    could not judge are those of the first.
    """
    found: dict[tuple[str, str], Finding] = {}
    for verdict in verdicts:
        for one in verdict.findings:
            found.setdefault((one.name, one.subject), one)
    for name, subject in list(found):
        if name == "node-oversubscribed":
            found.pop(("workers-share-core", subject), None)
    good = [rule for rule in verdicts[0].good if all(rule in v.good for v in verdicts)]
    return Verdict(tuple(sorted(found.values(), key=rank)), verdicts[0].skipped, tuple(good))


def speaker(rules: tuple[Rule, ...], refusal: LaunchRefused | None) -> str | None:
    """Return the name of the rule that speaks of a refusal."""
    if refusal is None or any(rule.name == refusal.rule for rule in rules):
        return None if refusal is None else refusal.rule
    return "no-workers"


def finding(rule: Rule, hit: Hit) -> Finding:
    """Complete a hit with what all hits of its rule share."""
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=hit.severity or rule.severity,
        subject=hit.subject,
        message=hit.message,
        numbers=dict(hit.numbers),
        expected=hit.expected,
        actual=hit.actual,
        evidence=hit.evidence,
        fix=hit.fix,
        source_url=rule.sources[0],
    )


def refused(rule: Rule, case: Case, refusal: LaunchRefused) -> Finding:
    """Return the finding of a launch that the runtime itself would refuse, or crash at."""
    hit = Hit(
        subject="launch",
        message=f"{refusal.reason} ({launch(case)})",
        fix=f"see numatune explain {rule.id}",
        numbers=refusal.numbers,
        expected="a launch that starts",
        actual="refused",
        severity=SEVERITIES[0],
    )
    return finding(rule, hit)


def rank(one: Finding) -> tuple[int, str, list[tuple[str, int]]]:
    """Order findings by severity, rule and subject, numbers in a subject by their value."""
    parts = re.findall(r"(\D*)(\d*)", one.subject)
    subject = [(text, int(number or 0)) for text, number in parts]
    return SEVERITIES.index(one.severity), one.rule, subject
