"""The recommendations of a plan, in the order in which they are worth reading."""

from __future__ import annotations

from collections.abc import Iterator

from numatune.advice.counts import best_counts
from numatune.advice.firmware import firmware
from numatune.advice.memory import interleave, one_socket
from numatune.advice.plan import Plan
from numatune.advice.recommendation import Recommendation


def recommend(plan: Plan) -> tuple[Recommendation, ...]:
    """Return what to do: thread counts and versions, settings, memory, firmware."""
    return tuple(all_of(plan))


def all_of(plan: Plan) -> Iterator[Recommendation]:
    """Yield every recommendation."""
    yield from best_counts(plan)
    yield from settings(plan)
    yield from interleave(plan)
    yield from one_socket(plan)
    yield from firmware(plan)


def settings(plan: Plan) -> Iterator[Recommendation]:
    """Yield the system settings that are wrong, each with the command that mends it now."""
    for finding in plan.findings:
        if finding.rule.startswith("NT3") and finding.severity != "info":
            yield Recommendation(
                title=f"Mend a setting of the system: {finding.name}",
                why=finding.message,
                commands=(finding.fix,),
                effect=f"see `numatune explain {finding.rule}`",
                cost="root; no reboot",
                confidence="published",
            )
