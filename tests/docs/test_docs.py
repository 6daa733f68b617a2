"""The documentation against the program: what it shows, lists and links is what there is."""

from __future__ import annotations

import doctest
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import numatune
from numatune import errors
from numatune import main as entry
from numatune.commands.app import COMMANDS, Commands
from numatune.machine.assume import ALIASES, SETTINGS, STEPS
from numatune.rules import every_rule
from numatune.runtimes import NAMES, named
from numatune.sources.formats import text_formats
from tests.docs.pages import (
    CODE,
    PAGES,
    READMES,
    ROOT,
    Shown,
    anchors,
    commands_in,
    fences,
    links,
    prose_of,
    rows,
    run,
    section,
    shown_commands,
    text_of,
)
from tests.test_layers import ALLOWED, PACKAGE

NUMACTL = "fixtures/machines/pr685-2x24/numactl.txt"
TREE = "fixtures/machines/pr685-2x24/tree"
TWO = "pack:2 [numa(memory=512GB)] core:24 pu:1"

SHOWN = [shown for page in PAGES for shown in shown_commands(page)]


@pytest.fixture(autouse=True)
def _in_the_root_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def name_of(shown: Shown) -> str:
    return f"{shown.page}: numatune {' '.join(shown.words)}"


# Links and words ----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    for target in links(page):
        if target.startswith("https://"):
            continue
        assert "://" not in target, f"{page} links {target}"
        path, _, anchor = target.partition("#")
        file = os.path.normpath(Path(page).parent / path) if path else page
        assert (ROOT / file).is_file(), f"{page} links {target}, which does not exist"
        if anchor:
            assert anchor in anchors(file), f"{page} links {target}, which has no such heading"


@pytest.mark.parametrize("page", READMES)
def test_every_page_is_linked_from_the_readme(page: str) -> None:
    targets = {target.partition("#")[0] for target in links(page)}
    assert {p for p in PAGES if p.startswith("docs/")} | {"CHANGELOG.md"} <= targets


PRIVATE = re.compile(
    r"/work\b|\bsessions?\b|\bhelpers?\b|\bagents?\b|shared/|\btmp/", re.IGNORECASE
)


@pytest.mark.parametrize("page", PAGES)
def test_pages_speak_of_the_project_alone(page: str) -> None:
    assert not PRIVATE.findall(text_of(page))


PATH = re.compile(r"(?:numatune|tests|fixtures|docs|\.ci)/[\w./-]*")


@pytest.mark.parametrize("page", PAGES)
def test_paths_that_are_named_exist(page: str) -> None:
    for code in CODE.findall(prose_of(page)):
        if PATH.fullmatch(code) and not re.search(r"NAME|FAMILY|NNN", code):
            assert (ROOT / code).exists(), f"{page} names {code}"


# Commands -----------------------------------------------------------------------------------------


def test_the_reader_of_shell_lines_finds_calls() -> None:
    line = 'cd x && .venv/bin/numatune plan --synthetic "a [b(c=d)]" | head; numatune check > out'
    assert commands_in(line) == [("plan", "--synthetic", "a [b(c=d)]"), ("check",)]


def test_pages_show_every_command_and_enough_of_each_kind() -> None:
    assert {shown.words[0] for shown in SHOWN} >= {*COMMANDS, "--version"}
    assert sum(shown.is_harmless for shown in SHOWN) > 10
    assert sum(bool(shown.output) for shown in SHOWN) > 6


@pytest.mark.parametrize("shown", SHOWN, ids=name_of)
def test_a_command_line_parses(shown: Shown) -> None:
    name, *words = shown.words
    if name in COMMANDS:
        command = Commands(name="numatune").get_command(None, name)
        command.make_context(name, list(words))
    else:
        assert run(shown.words).status == 0


@pytest.mark.parametrize("shown", [s for s in SHOWN if s.is_harmless], ids=name_of)
def test_a_command_line_does_what_the_page_shows(shown: Shown) -> None:
    outcome = run(shown.words)
    assert outcome.status in ((0, 1) if shown.words[0] in ("check", "diff") else (0,)), (
        outcome.messages
    )
    assert outcome.messages == ""
    assert_shown(shown.output, outcome.output.splitlines())


def assert_shown(output: tuple[str, ...], real: list[str]) -> None:
    """Check that shown lines are the real ones: "..." stands for lines, or for a line's end."""
    place, gap = 0, False
    for line in output:
        if line.strip() == "...":
            gap = True
            continue
        begin = line.removesuffix(" ...")
        fits = [begin == one or (begin != line and one.startswith(begin)) for one in real]
        here = next((i for i in range(place, len(real)) if fits[i]), None)
        assert here is not None, f"the output has no line {line!r} here"
        assert gap or here == place, f"lines are left out before {line!r} without a word"
        place, gap = here + 1, False
    assert gap or not output or place == len(real), "lines are left out at the end without a word"


def test_shown_lines_must_be_real_whole_and_in_order() -> None:
    real = ["a b c", "d", "e"]
    assert_shown(("a b ...", "...", "e"), real)
    assert_shown((), real)
    for wrong in (("x", "..."), ("a b", "..."), ("a b c", "e"), ("e", "...", "d"), ("a b c",)):
        with pytest.raises(AssertionError):
            assert_shown(wrong, real)


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_named_in_a_sentence_exist(page: str) -> None:
    for code in CODE.findall(prose_of(page)):
        program, _, rest = code.partition(" ")
        if program == "numatune" and rest:
            assert rest.split()[0] in COMMANDS or rest.startswith(("COMMAND", "--version")), code


def test_no_output_stands_below_a_command_that_is_not_run() -> None:
    assert not [name_of(shown) for shown in SHOWN if shown.output and not shown.is_harmless]


@pytest.mark.parametrize("page", [*READMES, "docs/python-api.md"])
def test_the_python_that_is_shown_runs(page: str) -> None:
    source = "\n".join(block.text for block in fences(page) if block.language == "python")
    test = doctest.DocTestParser().get_doctest(source, {}, page, page, 0)
    assert test.examples
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def test_both_readmes_show_the_same_blocks() -> None:
    english, chinese = ([(b.language, b.text) for b in fences(page)] for page in READMES)
    assert english == chinese


def test_the_two_commands_of_the_readme_are_those_that_work() -> None:
    first, second = [b.text.strip() for b in fences("README.md") if b.language == "sh"][:2]
    assert first == (
        "python3 -m venv .venv && .venv/bin/pip install --quiet . && "
        f".venv/bin/numatune plan --cpu-infer 42 --from {NUMACTL}"
    )
    assert second == "bash .ci/run"
    assert (ROOT / ".ci/run").is_file()
    assert 'requires-python = ">=3.10"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "Python 3.10" in text_of("README.md")
    assert "Python 3.10" in text_of("README.zh-CN.md")


def test_the_changelog_speaks_of_this_version() -> None:
    assert "## [Unreleased]" in text_of("CHANGELOG.md")
    assert numatune.__version__ in text_of("CHANGELOG.md")


# Options and statuses -----------------------------------------------------------------------------

GROUPS = {
    "which machine": "Which machine",
    "which launch": "Which launch",
    "output": "Output",
    "amount": "Amount",
}


def bullets(text: str) -> dict[str, str]:
    """Return each option that a list names at the start of an entry, and the entry's text."""
    found: dict[str, str] = {}
    for entry_text in re.findall(r"^- (`-.*?)(?=^- |\n\n|\Z)", text, re.MULTILINE | re.DOTALL):
        names, _, _ = entry_text.partition(":")
        for code in CODE.findall(names):
            assert code.split()[0] not in found, f"{code} is listed twice"
            found[code.split()[0]] = " ".join(entry_text.split())
    return found


def documented(command: str) -> dict[str, str]:
    """Return the options that the page gives a command, by its own list and its groups."""
    own = section("docs/commands.md", f"numatune {command}")
    options = bullets(own)
    for link, heading in GROUPS.items():
        if f"[{link}](#" in own:
            options |= bullets(section("docs/commands.md", heading))
    return options


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_commands_lists_exactly_the_options(name: str) -> None:
    command = Commands(name="numatune").get_command(None, name)
    page = documented(name)
    real = {
        spelling: parameter
        for parameter in command.params
        if parameter.param_type_name == "option"
        for spelling in (*parameter.opts, *parameter.secondary_opts)
    }
    assert set(page) == set(real)
    for spelling, parameter in real.items():
        if isinstance(parameter.default, str):
            assert f"Default: `{parameter.default}`" in page[spelling], spelling
        if parameter.metavar:
            assert f"`{spelling} {parameter.metavar}`" in page[spelling]


def test_the_page_of_commands_lists_every_command() -> None:
    headings = set(re.findall(r"^## numatune (\w+)$", text_of("docs/commands.md"), re.MULTILINE))
    assert headings == set(COMMANDS)
    assert {row[0].split("`")[1] for row in rows(text_of("docs/commands.md").split("## ")[0])} == (
        set(COMMANDS)
    )
    assert set(bullets(section("docs/commands.md", "numatune"))) == {"--version", "-h", "--help"}


def test_the_page_of_commands_lists_what_can_be_assumed() -> None:
    table = rows(section("docs/commands.md", "Which machine"))
    keys = {key for row in table for key in CODE.findall(row[0])}
    assert keys == STEPS.keys() | SETTINGS | ALIASES.keys()


def subclasses(kind: type[errors.NumatuneError]) -> Iterator[type[errors.NumatuneError]]:
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


def test_the_page_of_exit_statuses_lists_every_status() -> None:
    table = {int(row[0]): row for row in rows(text_of("docs/exit-statuses.md"))}
    kinds = [k for k in subclasses(errors.NumatuneError) if k.__module__.startswith("numatune")]
    assert set(table) == {
        0, 1, entry.BUG, entry.INTERRUPTED, entry.CLOSED_PIPE,
        errors.NumatuneError.exit_status, *(kind.exit_status for kind in kinds),
    }  # fmt: skip
    for kind in kinds:
        assert f"`{kind.__name__}`" in table[kind.exit_status][2]


# Rules, runtimes, formats -------------------------------------------------------------------------


def test_the_page_of_rules_lists_exactly_the_rules() -> None:
    expected = [
        [rule.id, f"`{rule.name}`", rule.severity, rule.summary.split("\n")[0]]
        for rule in every_rule()
    ]
    assert rows(text_of("docs/rules.md")) == expected


@pytest.mark.parametrize("page", PAGES)
def test_rules_that_are_named_exist(page: str) -> None:
    known = {rule.id for rule in every_rule()}
    assert set(re.findall(r"\bNT\d{3}\b", text_of(page))) <= known


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_runtimes_has_every_behaviour_with_its_source(name: str) -> None:
    runtime = named(name)
    text = section("docs/runtimes.md", name)
    assert f"`{runtime.THREADS_OPTION}`" in text
    for release in (*runtime.releases(None), *runtime.releases(False)):
        assert release.versions in text
        assert release.source in text
    api = text_of("docs/python-api.md")
    assert all(f"`{option}`" in api for option in runtime.OPTIONS)


def test_the_page_of_formats_has_exactly_the_formats() -> None:
    headings = re.findall(r"^## (.+)$", text_of("docs/formats.md"), re.MULTILINE)
    names = [module.NAME for module in text_formats()]
    others = ["Several sources", "/sys trees", "Synthetic descriptions"]
    assert sorted(headings) == sorted([*names, *others])
    assert len(rows(text_of("docs/formats.md").split("## ")[0])) == len(headings) - 1


# Architecture, API, JSON --------------------------------------------------------------------------


def test_the_page_of_architecture_has_the_parts_and_their_imports() -> None:
    table = rows(section("docs/architecture.md", "The parts"))
    parts = {p.name for p in PACKAGE.iterdir() if p.is_dir() and not p.name.startswith("_")}
    assert {row[0].strip("`") for row in table} == parts
    imports = {row[0].strip("`"): set(CODE.findall(row[2])) for row in table}
    assert imports.pop("commands") == set()
    assert imports == ALLOWED


def test_every_module_beside_the_parts_is_in_the_architecture() -> None:
    text = text_of("docs/architecture.md")
    for path in PACKAGE.glob("*.py"):
        assert path.name.startswith("_") or f"`numatune/{path.name}`" in text, path.name


def test_every_public_name_is_on_the_page_of_the_api() -> None:
    text = text_of("docs/python-api.md")
    assert not [name for name in numatune.PUBLIC if f"`{name}`" not in text]


#: Objects whose keys are names of the case and not of the contract.
OPEN = {"numbers", "origins", "options", "env", "policy"}

DOCUMENTS: dict[str, list[tuple[str, ...]]] = {
    "inspect": [("--root", TREE), ("--from", NUMACTL)],
    "plan": [
        ("--cpu-infer", "42", "--synthetic", TWO, "--model", "DeepSeek-R1"),
        ("--cpu-infer", "1", "--root", TREE),
        ("--runtime", "kt-kernel", "--cpu-infer", "40", "--root", TREE),
        ("--runtime", "llama.cpp", "-tb", "24", "--frame", "numactl -N 0 -m 0", "--root", TREE),
    ],
    "check": [("--runtime", "ktransformers==0.2.1", "--cpu-infer", "42", "--from", NUMACTL)],
    "explain": [("NT101",)],
    "diff": [(NUMACTL, "fixtures/snapshots/interleaved.json")],
}


def keys_of(value: Any, path: str = "") -> Iterator[str]:
    """Yield the path of every key of a document, as the page of JSON writes it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            here = f"{path}.{key}" if path else key
            yield here
            if key not in OPEN:
                yield from keys_of(inner, here)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner, f"{path}[]")


def json_rows(heading: str) -> dict[str, str]:
    return {row[0].strip("`"): row[1] for row in rows(section("docs/json.md", heading))}


@pytest.mark.parametrize("command", DOCUMENTS)
def test_the_page_of_json_lists_exactly_the_keys(command: str, tmp_path: Path) -> None:
    calls = list(DOCUMENTS[command])
    if command != "explain":
        (tmp_path / "none.txt").write_text("No NUMA available on this system\n")
        none = f"{tmp_path}/none.txt"
        calls.append(("--from", none) if command != "diff" else (none, calls[0][1]))
    real: set[str] = set()
    for words in calls:
        real |= set(keys_of(json.loads(run((command, *words, "--json")).output)))
    page = {*json_rows("Every document"), *json_rows(command)}
    for place in [path for path in page if path.rpartition(".")[2] == "findings"]:
        page |= {f"{place}[].{key}" for key in json_rows("A finding")}
    if command == "explain":  # it reads nothing that it could warn of
        page -= {"warnings[].code", "warnings[].message"}
    assert real - page == set(), "not on the page"
    assert page - real == set(), "on the page, and not in any document"
