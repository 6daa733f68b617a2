import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.machine.cpuset import ID_LIMIT, CpuSet

ids = st.sets(st.integers(0, 600))


@given(ids)
def test_a_list_reads_back_as_written(numbers: set[int]) -> None:
    cpus = CpuSet(numbers)
    assert CpuSet.parse(str(cpus)) == cpus
    assert list(cpus) == sorted(numbers)
    assert len(cpus) == len(numbers)
    assert bool(cpus) == bool(numbers)


@given(ids, ids)
def test_set_operations_are_those_of_sets(one: set[int], other: set[int]) -> None:
    a, b = CpuSet(one), CpuSet(other)
    assert set(a & b) == one & other
    assert set(a | b) == one | other
    assert set(a - b) == one - other
    assert (a <= b) == (one <= other)
    assert (a == b) == (one == other)
    assert all((n in a) == (n in one) for n in one | other)


@given(ids)
def test_a_mask_reads_as_the_kernel_prints_it(numbers: set[int]) -> None:
    value = sum(1 << n for n in numbers)
    digits = f"{value:0{-(-max(1, value.bit_length()) // 32) * 8}x}"
    groups = ",".join(digits[i : i + 8] for i in range(0, len(digits), 8))
    assert CpuSet.parse_mask(groups + "\0\n") == CpuSet(numbers)


@pytest.mark.parametrize(
    ("text", "written"),
    [("", ""), ("0", "0"), ("3,1,2", "1-3"), ("0-3,8", "0-3,8"), (" 0-1 , 4 \n\0", "0-1,4")],
)
def test_kernel_lists(text: str, written: str) -> None:
    assert str(CpuSet.parse(text)) == written


@pytest.mark.parametrize(
    "text",
    ["x", "1-", "-1", "3-1", "0-4294967295", str(ID_LIMIT), "1,,2", "1..3", "٣", "9" * 40, "0x3"],
)
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        CpuSet.parse(text)


@pytest.mark.parametrize("text", ["", "g", "123456789", "1,,2", "-1", "f" * 9, "1,"])
def test_what_is_no_mask_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        CpuSet.parse_mask(text)


def test_a_huge_mask_is_refused_before_it_costs_memory() -> None:
    with pytest.raises(ValueError, match="below"):
        CpuSet.parse_mask(",".join(["ffffffff"] * 100_000))


def test_a_cpuset_does_not_change() -> None:
    cpus = CpuSet([1])
    with pytest.raises(AttributeError):
        cpus.mask = 3
    assert {cpus: 1}[CpuSet.parse("1")] == 1
    with pytest.raises(ValueError, match="empty"):
        CpuSet().first()


def test_sets_of_one_cpu_do_not_collide() -> None:
    assert len({hash(CpuSet([i])) for i in range(4096)}) > 4000
