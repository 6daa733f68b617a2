import os
from pathlib import Path

import pytest

from numatune.errors import MachineError
from numatune.sources.files import SIZE_LIMIT, read_text, shown

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"node 0", "node 0"),
        (b"\xef\xbb\xbfnode 0", "node 0"),
        ("node 0".encode("utf-16"), "node 0"),
        ("node 0".encode("utf-16-be").join([b"\xfe\xff", b""]), "node 0"),
        (b"caf\xe9 node", "caf\xe9 node"),
        ("节点".encode(), "节点"),
    ],
)
def test_whatever_the_encoding(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "f").write_bytes(data)
    assert read_text(str(tmp_path / "f")) == text


@pytest.mark.parametrize(
    ("data", "words"), [(b"", "is empty"), (b" \n\t", "is empty"), (PNG, "not text")]
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(MachineError, match=words):
        read_text(str(tmp_path / "f"))


def test_missing_folder_and_device(tmp_path: Path) -> None:
    for path, words in (
        (str(tmp_path / "missing"), "does not exist"),
        (str(tmp_path), "could not be read|neither"),
        ("/dev/zero", "neither a file nor a pipe"),
        ("a\0b", "could not be read"),
    ):
        with pytest.raises(MachineError, match=words):
            read_text(path)


def test_a_file_without_end_is_refused_at_the_limit(tmp_path: Path) -> None:
    with open(tmp_path / "f", "wb") as file:
        file.truncate(SIZE_LIMIT + 1)
    with pytest.raises(MachineError, match="larger than"):
        read_text(str(tmp_path / "f"))


def test_a_pipe_without_a_writer_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MachineError, match="empty"):
        read_text(str(tmp_path / "pipe"))


def test_a_path_is_shown_without_control_characters() -> None:
    assert shown("a\x1b[31m\nb") == "a?[31m?b"
    assert len(shown("x" * 1000)) == 200
