import pytest

from numatune.views.machine import package_words


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ((), ""),
        ((0,), "package 0"),
        ((0, 1), "packages 0-1"),
        ((0, 196867), "packages 0, 196867"),  # firmware numbers some packages as it likes
    ],
)
def test_packages_are_named_whatever_their_ids(ids: tuple[int, ...], words: str) -> None:
    assert package_words(ids) == words
