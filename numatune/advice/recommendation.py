"""What a recommendation says."""

from __future__ import annotations

from typing import NamedTuple


class Recommendation(NamedTuple):
    """One piece of advice.

    `why` is the reason with the numbers of this case; `commands` are the exact lines to run or the
    firmware setting to choose; `effect` what to expect, with its origin; `cost` what it takes
    (reboot, memory, rebuild); `confidence` says where the effect comes from. `is_option` marks
    advice that fits some runtimes or models only, after what concerns the launch in question.
    """

    title: str
    why: str
    commands: tuple[str, ...]
    effect: str
    cost: str
    confidence: str
    is_option: bool = False
