"""The table of rules, which scripts and policies rely on: ids and names never change."""

import subprocess
import sys
from pathlib import Path

import pytest

import numatune.rules
from numatune.errors import UsageError
from numatune.rules import FAMILIES, every_rule, rule_named
from numatune.rules.rule import Rule
from tests.rules.cases import NUMBERS

TABLE = """\
NT101 node-oversubscribed critical
NT102 workers-share-core warning
NT103 uneven-worker-split warning
NT104 threads-not-multiple-of-nodes info
NT105 uneven-nodes warning
NT106 node-left-idle warning
NT107 workers-unbound warning
NT108 smt-siblings-in-mask info
NT109 no-core-left-for-main-thread warning
NT110 instances-share-cores critical
NT111 no-workers critical
NT112 ranks-exceed-nodes critical
NT113 pool-without-node critical
NT114 pool-map-out-of-range critical
NT115 idle-workers-spin info
NT116 default-threads-unsuitable warning
NT117 no-headroom warning
NT118 other-pools-oversubscribe warning
NT201 memory-bound-to-other-node critical
NT202 weight-copies-exceed-memory critical
NT203 page-placement-first-touch warning
NT204 interleave-with-gpu-buffers warning
NT205 bound-memory-too-small critical
NT301 numa-balancing-enabled warning
NT302 zone-reclaim-enabled critical
NT303 numa-off-on-command-line critical
NT304 numa-fake-on-command-line warning
NT401 memoryless-node warning
NT402 cpuless-node-given-workers warning
NT403 sparse-node-ids warning
NT404 node-limit-exceeded warning
NT405 cpu-limit-exceeded warning
NT406 start-node-beyond-limit critical
NT407 no-numa-information critical
NT408 bios-node-interleaving-on info
NT409 sub-numa-clustering-on info
NT410 dimms-unbalanced warning
NT411 channels-unpopulated warning
NT412 guest-topology info
NT413 memory-only-nodes info
NT414 platform-limit warning
NT501 numa-build-inactive warning
NT502 numa-build-unintended warning
NT503 affinity-overridden warning
NT504 cpuset-excludes-node critical
NT505 cpuset-cpus-mems-mismatch critical
NT506 quota-below-workers critical
NT507 launcher-refused critical
NT508 memory-policy-forbidden warning
NT509 binding-inherited critical
NT510 option-without-effect warning
"""

PAGES = Path(numatune.rules.__file__).parent / "pages"
RULES = every_rule()


def test_ids_names_and_severities_stay() -> None:
    assert "".join(f"{r.id} {r.name} {r.severity}\n" for r in RULES) == TABLE


def test_every_family_is_in_the_registry() -> None:
    folder = Path(numatune.rules.__file__).parent
    with_rules = {p.stem for p in folder.glob("*.py") if "\nRULES = (" in p.read_text()}
    assert {family.__name__.rpartition(".")[2] for family in FAMILIES} == with_rules


def test_every_rule_has_its_numbers_in_the_table_of_the_tests() -> None:
    assert {r.name for r in RULES} == set(NUMBERS)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.id)
def test_every_rule_has_a_page_worth_reading(rule: Rule) -> None:
    headline, *rest = rule.summary.split("\n")
    assert headline.endswith(".")
    assert len(rest) >= 1
    for text in (rule.summary, rule.why, rule.look, rule.fix, rule.harmless):
        assert max(map(len, text.split("\n"))) <= 78
        assert text.strip()
    assert len(rule.why.split()) > 50, "the mechanism, with the numbers of a case"
    assert rule.sources
    assert all(source.startswith("https://") for source in rule.sources)


def test_no_page_is_left_without_a_rule() -> None:
    pages = {p.stem.upper() for p in PAGES.glob("nt*.py")}
    assert pages == {r.id for r in RULES}


@pytest.mark.parametrize("text", ["NT101", "nt101", " Nt101 ", "node-oversubscribed"])
def test_a_rule_is_found_by_id_and_by_name(text: str) -> None:
    assert rule_named(text).id == "NT101"


def test_an_unknown_rule_is_answered_with_close_ones() -> None:
    with pytest.raises(UsageError, match="node-oversubscribed"):
        rule_named("node-oversubscibed")
    with pytest.raises(UsageError, match="NT101 or NT102 or NT103"):
        rule_named("NT1O1")
    with pytest.raises(UsageError, match="--list"):
        rule_named("?" * 10_000)


def test_the_pages_are_not_imported_by_judging() -> None:
    code = (
        "import sys; from numatune.rules.judge import judge; from numatune.rules.rule import Case\n"
        "from numatune.machine import Machine; judge(Case(Machine('nothing')))\n"
        "print([m for m in sys.modules if 'pages' in m or m in ('rich', 'yaml', 'json', 'typer')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
