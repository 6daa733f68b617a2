"""The page about frames: what it shows is true."""

import doctest
from pathlib import Path

from numatune.frame.kubernetes import KEYS, SWITCHES
from numatune.frame.registry import LAUNCHERS

PAGE = (Path(__file__).parent.parent.parent / "docs/frames.md").read_text(encoding="utf-8")


def test_the_python_of_the_page_runs() -> None:
    shown = PAGE.split("```python\n")[1].split("```")[0]
    test = doctest.DocTestParser().get_doctest(shown, {}, "frames", "frames.md", 0)
    assert len(test.examples) > 4
    report: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=report.append).failed == 0, report


def test_every_launcher_and_word_is_on_the_page() -> None:
    assert [name for name in LAUNCHERS if name not in PAGE] == []
    assert [word for word in (*KEYS, *SWITCHES) if f"`{word}`" not in PAGE] == []
    assert [
        value for values in KEYS.values() for value in values if value not in PAGE.lower()
    ] == []
