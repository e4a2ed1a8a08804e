"""Files that a command writes for a person."""

import os
from pathlib import Path

import pytest

from callgate.cli.private_file import private_file
from callgate.model.errors import CallerError


def test_a_file_is_private_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    before = os.umask(0)
    try:
        with private_file(path) as file:
            file.write(b"rows")
            assert not path.exists()
            assert [one.stat().st_mode & 0o777 for one in tmp_path.iterdir()] == [0o600]
    finally:
        os.umask(before)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"rows", 0o600)
    with pytest.raises(RuntimeError), private_file(path) as file:
        raise RuntimeError
    assert [one.name for one in tmp_path.iterdir()] == ["out.csv"]
    assert path.read_bytes() == b"rows"


def test_no_link_is_followed_neither_at_the_name_nor_where_a_draft_might_be(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / "out.csv").symlink_to(target)
    (tmp_path / "other.csv.part").symlink_to(target)
    with pytest.raises(CallerError, match="is a link"), private_file(tmp_path / "out.csv"):
        pass
    with private_file(tmp_path / "other.csv") as file:
        file.write(b"rows")
    assert target.read_text() == "precious"


def test_what_is_no_plain_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "nowhere" / "x"):
        with pytest.raises(CallerError), private_file(path):
            pass
