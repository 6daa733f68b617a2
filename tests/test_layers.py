"""Which part may import which, and what no start of a command may import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "numatune"

#: Part -> the parts of numatune that it may import, besides itself, errors and words.
ALLOWED = {
    "machine": set(),
    "frame": {"machine"},
    "knowledge": {"machine", "placement"},
    "placement": {"machine", "runtimes", "knowledge"},
    "runtimes": {"machine", "placement", "knowledge"},
    "rules": {"machine", "frame", "placement", "runtimes", "knowledge"},
    "advice": {"frame", "machine", "placement", "runtimes", "rules", "knowledge"},
    "sources": {"machine", "knowledge"},
    "policy": {"rules"},
    "views": {"machine", "placement", "runtimes", "rules", "advice"},
    "render": {"frame", "machine", "placement", "rules", "advice", "views"},
}

#: The parts that may open files.
READERS = {"sources", "policy"}


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_data_flows_one_way(part: str) -> None:
    for path in (PACKAGE / part).rglob("*.py"):
        for name in imports_of(path):
            top, _, rest = name.partition(".")
            if top != "numatune" or not rest or rest.split(".")[0] in ("errors", "words", part):
                continue
            assert rest.split(".")[0] in ALLOWED[part], f"{path.name} imports {name}"


def test_no_renderer_imports_another() -> None:
    for path in (PACKAGE / "render").glob("*.py"):
        assert not {n for n in imports_of(path) if n.startswith("numatune.render")}, path.name


def test_every_part_is_in_the_table() -> None:
    parts = {p.name for p in PACKAGE.iterdir() if p.is_dir() and not p.name.startswith("_")}
    assert parts - {"commands"} == set(ALLOWED)


def test_only_readers_open_files() -> None:
    for part in sorted(set(ALLOWED) - READERS):
        for path in (PACKAGE / part).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    name = ast.unparse(node.func)
                    assert name not in ("open", "os.open", "io.open"), f"{path}: {name}"


FIXTURE = str(Path(__file__).parent.parent / "fixtures/machines/pr685-2x24/numactl.txt")


@pytest.mark.parametrize(
    ("command", "banned"),
    [
        (("check", "--from", FIXTURE, "--json"), ("rich", "psutil", "cpuinfo", "yaml", "pydantic")),
        (("plan", "--from", FIXTURE, "--cpu-infer", "42"), ("rich", "psutil", "cpuinfo", "yaml")),
        (("inspect", "--from", FIXTURE), ("rich", "psutil", "cpuinfo", "yaml", "pydantic")),
        (("check",), ("rich", "psutil", "cpuinfo", "yaml", "pydantic")),
        (("--help",), ("rich", "psutil", "cpuinfo", "yaml", "pydantic")),
    ],
)
def test_a_start_imports_nothing_heavy(command: tuple[str, ...], banned: tuple[str, ...]) -> None:
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "numatune", *command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode in (0, 1), result.stderr[-500:]
    tops = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in result.stderr.splitlines()}
    assert "typer" in tops, "importtime said nothing: this test would not fail"
    assert not tops & set(banned)


def test_importing_the_package_imports_next_to_nothing() -> None:
    code = "import sys; before = set(sys.modules); import numatune; print(len(set(sys.modules) - before))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert int(result.stdout) < 8
