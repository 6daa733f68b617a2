import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.errors import UsageError
from numatune.sources.synthetic import build


def test_two_packages_with_a_node_each() -> None:
    machine = build("pack:2 [numa(memory=512GB)] core:24 pu:1")
    assert [str(n.cpus) for n in machine.nodes] == ["0-23", "24-47"]
    assert machine.nodes[0].memory_total_bytes == 512 * 10**9
    assert (machine.packages_known, machine.cores_known, machine.threads_per_core) == (2, 48, 1)
    assert "distances" in machine.gaps


@pytest.mark.parametrize(
    ("text", "nodes", "first_core", "last_core"),
    [
        ("pack:2 [numa] core:4 pu:2", ["0-7", "8-15"], "0-1", "14-15"),
        ("pack:2 [numa] core:4 pu:2(indexes=core:pack)", ["0-3,8-11", "4-7,12-15"], "0,8", "7,15"),
        ("pack:2 group:2 [numa] core:2 pu:1", ["0-1", "2-3", "4-5", "6-7"], "0", "7"),
        ("pack:2 group:2 [numa] core:1 pu:2(indexes=core:pack)", ["0,4", "1,5", "2,6", "3,7"], "0,4", "3,7"),
        ("[numa(memory=1GiB)] pack:2 core:2 pu:2", ["0-7"], "0-1", "6-7"),
        ("pack:2 [numa] core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", ["0-1,4-5", "2-3,6-7"], "0,4", "3,7"),
        ("Package:2 L3:2 NUMANode:1(memory=1GB) Core:2 PU:1", ["0-1", "2-3", "4-5", "6-7"], "0", "7"),
        ("numa:2 core:2 pu:1", ["0-1", "2-3"], "0", "3"),
        ("core:4 pu:2", ["0-7"], "0-1", "6-7"),
    ],
)  # fmt: skip
def test_shapes_and_numbering(text: str, nodes: list[str], first_core: str, last_core: str) -> None:
    machine = build(text)
    assert [str(n.cpus) for n in machine.nodes] == nodes
    assert machine.cores is not None
    assert (str(machine.cores[0].cpus), str(machine.cores[-1].cpus)) == (first_core, last_core)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "pack", "pack:0", "pack:x", "pack:2 core:24 pu:2 pu:2", "rack:2 pu:1", "[core:2] pu:1",
        "pack:2 [numa(memory=lots)] core:2 pu:1", "[numa] pack:2 [numa] core:2 pu:1", "pack:2 [numa core:2",
        "pack:99999 core:9999 pu:8", "pu:2 core:2", "core:2 pack:2 pu:1", "pack:2 core:2 pu:2(indexes=moon)",
        "pack:2 core:2 pu:2(indexes=0,1,2)", "pack:-2 pu:1", "pack:2 [numa:3] pu:1", "x" * 5000,
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        build(text)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="pack:numcore[]()memory=GB0123456789 ,", max_size=60))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    try:
        machine = build(text)
    except UsageError:
        return
    assert machine.cpus


@given(
    st.integers(1, 4), st.integers(1, 3), st.integers(1, 6), st.integers(1, 4), st.booleans()
)  # fmt: skip
def test_every_cpu_is_in_one_core_one_node_and_one_package(
    packs: int, groups: int, cores: int, threads: int, spread: bool
) -> None:
    order = "(indexes=core:pack)" if spread else ""
    machine = build(f"pack:{packs} group:{groups} [numa] core:{cores} pu:{threads}{order}")
    total = packs * groups * cores * threads
    for sets in (
        [c.cpus for c in machine.cores or ()],
        [n.cpus or () for n in machine.nodes],
        [p.cpus for p in machine.packages or ()],
    ):
        assert sorted(cpu for cpus in sets for cpu in cpus) == list(range(total))
    for core in machine.cores or ():
        assert core.node_id is not None
        assert core.cpus <= (machine.nodes[core.node_id].cpus or core.cpus & core.cpus)
