"""Writers of one folder take turns, and nobody who may not write there is in their way."""

import threading
from pathlib import Path

import pytest

from callgate.config.whole_file import TURN, alone_in


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
