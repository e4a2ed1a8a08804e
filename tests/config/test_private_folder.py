"""A folder that others own or may write to keeps no state of ours."""

import os
from pathlib import Path

import pytest

from callgate.app.running import find_running
from callgate.config.private_folder import check_private_folder
from callgate.model.errors import SetupError
from callgate.recorder.folder import make_record_folder


def check(folder: Path) -> None:
    check_private_folder(folder, "The state folder", "CALLGATE_STATE_DIR")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "state"
    made.mkdir(mode=0o700)
    return made


def test_a_folder_of_ours_that_others_may_at_most_read_is_taken(folder: Path) -> None:
    check(folder)
    folder.chmod(0o755)
    check(folder)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_may_write_to_is_refused_with_what_to_do(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    with pytest.raises(SetupError, match="may be written to by other users") as refused:
        check(folder)
    assert f"chmod go-w {folder}" in refused.value.hint


def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    if os.geteuid() == 0:
        os.chown(folder, 12345, -1)
    else:  # only root gives folders away
        folder = Path("/usr")
    with pytest.raises(SetupError, match="belongs to another user"):
        check(folder)


def test_a_folder_that_others_could_replace_is_refused_also_behind_a_link(
    folder: Path, tmp_path: Path
) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    (open_to_all / "link").symlink_to(folder)
    open_to_all.chmod(0o777)
    with pytest.raises(SetupError, match="everybody may write to"):
        check(open_to_all / "link")
    open_to_all.chmod(0o1777)  # sticky, like /tmp
    check(open_to_all / "link")


def test_no_gateway_is_believed_from_a_folder_that_others_may_write_to(folder: Path) -> None:
    folder.chmod(0o777)
    with pytest.raises(SetupError, match="may be written to"):
        find_running(folder)
    assert find_running(folder / "not there") is None


def test_a_record_is_kept_in_no_folder_that_others_may_write_to(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "somebody's file").touch()
    shared.chmod(0o1777)
    with pytest.raises(SetupError, match="may be written to") as refused:
        make_record_folder(shared)
    assert "[record] path" in refused.value.hint
    assert not (shared / "journal").exists()
