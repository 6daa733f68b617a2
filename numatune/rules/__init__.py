"""Rules: one module a family, and the registry of them all."""

from __future__ import annotations

from numatune.errors import UsageError
from numatune.rules import (
    beside,
    binding,
    build,
    defaults,
    division,
    first_touch,
    frames,
    ggml_limits,
    hardware,
    headroom,
    inherited,
    limits,
    memory,
    options,
    placement,
    pools,
    ranks,
    reach,
    settings,
    topology,
)
from numatune.rules.rule import Rule

#: The families. Ids say what a rule is about: NT1 workers, NT2 memory, NT3 kernel settings, NT4
#: topology and hardware, NT5 build and process limits. An id is never reused.
FAMILIES = (
    placement,
    binding,
    headroom,
    pools,
    memory,
    settings,
    topology,
    hardware,
    build,
    limits,
    division,
    defaults,
    first_touch,
    ggml_limits,
    options,
    frames,
    inherited,
    beside,
    reach,
    ranks,
)


def every_rule() -> tuple[Rule, ...]:
    """Return all rules, by id."""
    return tuple(sorted((r for family in FAMILIES for r in family.RULES), key=lambda r: r.id))


def rule_named(text: str) -> Rule:
    """Return the rule of an id ("NT101", in any case) or a name. Raises UsageError."""
    wanted = text.strip().lower()
    for rule in every_rule():
        if wanted in (rule.id.lower(), rule.name):
            return rule
    close = " or ".join(suggestions(wanted))
    close = f"; did you mean {close}?" if close else ""
    raise UsageError(f"there is no rule {text[:40]!r}{close} (numatune explain --list names them)")


def suggestions(wanted: str) -> list[str]:
    """Return up to three ids that begin alike, or names that are spelled alike."""
    if wanted[:3] in ("nt1", "nt2", "nt3", "nt4", "nt5"):
        ids = [rule.id for rule in every_rule() if rule.id.lower().startswith(wanted[:3])]
        return sorted(ids, key=lambda one: (not one.lower().startswith(wanted[:4]), one))[:3]
    import difflib

    return difflib.get_close_matches(wanted[:80], [rule.name for rule in every_rule()], 3, 0.5)
