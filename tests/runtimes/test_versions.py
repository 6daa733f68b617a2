from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.runtimes.versions import SPELLED, STAGES, canonical, commit_of, parse, same_commit


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("0.2.1", "0.2.1"),
        ("v0.2.1", "0.2.1"),
        (" V0.2.1 ", "0.2.1"),
        ("0.2.2rc1", "0.2.2rc1"),
        ("0.2.2-rc.1", "0.2.2rc1"),
        ("0.2.3.post1", "0.2.3.post1"),
        ("v0.2.3post1", "0.2.3.post1"),
        ("0.2.1+cu121torch23avx2", "0.2.1"),
        ("0.3", "0.3"),
        ("0.3.0", "0.3.0"),
        ("0.25.3", "0.25.3"),
        ("1", "1"),
        ("0.7.0.post4", "0.7.0.post4"),
    ],
)
def test_versions_as_users_write_them(written: str, read: str) -> None:
    assert canonical(written) == read
    assert parse(written) == parse(read)


@pytest.mark.parametrize("text", ["", "v", "newest", "0.2.x", "0..2", "-1", "0.2.1 beta please",
                                  "99f6e421", "1" * 200, "0." * 40 + "1", "٣.٢"])  # fmt: skip
def test_what_is_no_version(text: str) -> None:
    assert parse(text) is None
    assert canonical(text) is None


def test_releases_in_the_order_in_which_they_came_out() -> None:
    tags = ["0.1.4", "0.2.0", "0.2.1", "0.2.1.post1", "0.2.2rc1", "0.2.2rc2", "0.2.2", "0.2.3",
            "0.2.3post1", "0.2.3post2", "0.2.4", "0.2.4post1", "0.3", "0.3.1", "0.4.1", "0.10"]  # fmt: skip
    read = [parse(tag) for tag in tags]
    assert all(version is not None for version in read)
    assert sorted(version for version in read if version) == read


@given(
    st.lists(st.integers(0, 9999), min_size=1, max_size=5),
    st.sampled_from(sorted(STAGES)),
    st.integers(0, 99),
    st.sampled_from(["", ".", "-", "_"]),
)
def test_spellings_of_one_version_are_one(
    release: list[int], stage: str, number: int, separator: str
) -> None:
    numbers = ".".join(map(str, release))
    text = f"{numbers}{separator}{stage}{number}" if stage else numbers
    spelled = canonical(f"V{text}")
    assert spelled == numbers + SPELLED[STAGES[stage]] + (str(number) if stage else "")
    assert parse(spelled) == parse(text)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    parse(text)
    commit_of(text)


def test_commits() -> None:
    assert commit_of("99F6E42") == "99f6e42"
    assert commit_of("99f6e4") is None
    assert commit_of("0.2.1") is None
    assert commit_of("g" * 7) is None
    assert same_commit("99f6e42", ("b2bff1777502", "99f6e42113a3"))
    assert same_commit("99f6e42113a374ff8b9b2fe535113f4f5bd12283", ("99f6e42113a3",))
    assert not same_commit("99f6e43", ("99f6e42113a3",))
