"""Writers of one folder take turns, and nobody who may not write there is in their way."""

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from callgate.app.state_folder import state_key
from callgate.config.whole_file import TURN, alone_in, whole_file
from callgate.model.errors import SetupError


@pytest.mark.parametrize(("folder", "turn"), [(0o755, 0o600), (0o775, 0o660)], ids=["own", "a group's"])
def test_who_may_write_to_the_folder_may_lock_and_nobody_else(tmp_path: Path, folder: int, turn: int) -> None:
    tmp_path.chmod(folder)
    with alone_in(tmp_path):
        found = (tmp_path / TURN).stat()
        assert found.st_mode & 0o777 == turn
        assert (found.st_uid, found.st_gid) == (tmp_path.stat().st_uid, tmp_path.stat().st_gid)
    assert list(tmp_path.iterdir()) == []


def test_turns_never_overlap_although_each_removes_the_file_of_its_turn(tmp_path: Path) -> None:
    inside: list[int] = []
    most = 0

    def write() -> None:
        nonlocal most
        for _ in range(100):
            with alone_in(tmp_path):
                inside.append(1)
                most = max(most, len(inside))
                inside.pop()

    threads = [threading.Thread(target=write) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert most == 1
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_a_process_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / TURN).touch()
    with alone_in(tmp_path):
        assert (tmp_path / TURN).exists()
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / TURN).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), alone_in(tmp_path):
        pytest.fail("it followed the link")
    assert (tmp_path / TURN).readlink() == tmp_path / "elsewhere"


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """In each file that is written. As on a full disk, the beginning of a longer text still fits."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_does_not_fit_leaves_the_old_file_and_names_it(tmp_path: Path) -> None:
    file = tmp_path / "callgate.toml"
    file.write_text("version = 1")
    with pytest.raises(OSError, match=r"callgate\.toml"), room_for(4), whole_file(file) as draft:
        draft.write(b"version = 2")
    assert file.read_text() == "version = 1"
    assert list(tmp_path.iterdir()) == [file]


def test_a_key_that_does_not_fit_is_none_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be read or made"), room_for(10):
        state_key(None, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(state_key(None, tmp_path)) == 32
