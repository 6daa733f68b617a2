from numatune.render.plain import render
from numatune.views.blocks import Span, Table, cells, heading, line


def test_a_table_pads_by_what_characters_take_on_a_screen() -> None:
    table = Table(("node", "CPUs"), (cells("节点", "0-3"), cells("n1", "4")), frozenset((1,)))
    assert render([table]) == "  node  CPUs\n  节点   0-3\n  n1       4\n"


def test_a_long_list_is_never_cut_or_folded() -> None:
    cpus = ",".join(str(2 * i) for i in range(2000))
    assert render([line("CPUs ", cpus)]) == f"CPUs {cpus}\n"


def test_ascii_where_the_output_can_not_carry_more() -> None:
    text = render([line("██·· ✔ 节")], unicode=False)
    assert text == "##.. ok ?\n"


def test_colour_only_where_it_is_wanted() -> None:
    blocks = [heading("Do this"), line(Span("25", "bad"), " workers")]
    assert "\x1b" not in render(blocks)
    assert "\x1b[1;31m25\x1b[0m workers" in render(blocks, colour=True)
