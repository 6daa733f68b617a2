"""JSON that may be printed on a terminal, whatever the machine is called."""

import json

import pytest

from numatune.render.json import render


@pytest.mark.parametrize(
    "text",
    ["\x1b[31m", "a\x7fb", "\x80\x9b31m", "line\u2028end", "\u202egnp", "\U000e0041", "纯文本 é"],
)
def test_no_text_of_a_machine_reaches_a_terminal_raw(text: str) -> None:
    printed = render({"cpu_model": text, text: [text]})
    assert json.loads(printed) == {"cpu_model": text, text: [text]}
    assert printed.replace("\n", "").isprintable()


def test_what_can_be_read_stays_readable() -> None:
    assert "纯文本 é" in render({"cpu_model": "纯文本 é"})
