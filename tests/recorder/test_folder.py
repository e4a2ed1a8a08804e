"""The record is for its owner's eyes only."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from recorder.happenings import Open, a_session, day_file, settled
from recorder.no_descriptors import no_descriptors

from callgate.recorder.folder import files_in, make_record_folder


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_nobody_else_can_look_into_the_record_or_any_of_its_files(
    open_recorder: Open, tmp_path: Path
) -> None:
    recorder = open_recorder(True)
    for _ in range(2):
        recorder.emit(settled(a_session()))
        await recorder.source_requests(None)
        modes = {path.name: mode(path) for path in tmp_path.rglob("*") if path.is_file()}
        assert {day_file(tmp_path).name, f"{day_file(tmp_path).name}.wal", "store.lock"} <= modes.keys()
        assert set(modes.values()) == {0o600}
    await recorder.close()
    assert mode(day_file(tmp_path)) == 0o600


def test_a_folder_made_by_us_is_closed_from_the_start(tmp_path: Path) -> None:
    journal = make_record_folder(tmp_path / "state" / "record")
    assert (mode(journal), mode(journal.parent)) == (0o700, 0o700)


@pytest.mark.parametrize("made_by_us", [True, False])
def test_a_folder_that_is_ours_or_empty_is_closed(tmp_path: Path, made_by_us: bool) -> None:
    folder = tmp_path / "record"
    folder.mkdir(mode=0o755)
    if made_by_us:
        (folder / "journal").mkdir()
    make_record_folder(folder)
    assert mode(folder) == 0o700


def test_a_folder_that_others_use_stays_open_and_is_complained_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "somebody's file").touch()
    make_record_folder(shared)
    assert (mode(shared), mode(shared / "journal")) == (0o755, 0o700)
    assert str(shared) in caplog.text


async def test_files_of_an_earlier_version_are_closed_too(open_recorder: Open, tmp_path: Path) -> None:
    first = open_recorder(True)
    await first.source_requests(None)
    await first.close()
    day_file(tmp_path).chmod(0o644)
    second = open_recorder(True)
    await second.source_requests(None)
    await second.close()
    assert mode(day_file(tmp_path)) == 0o600


def test_a_folder_that_cannot_be_read_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    for name in ("b.journal", "a.journal", "c.journal.new"):
        (tmp_path / name).touch()
    assert [path.name for path in files_in(tmp_path, ".journal")] == ["a.journal", "b.journal"]
    assert files_in(tmp_path / "none", ".journal") == []
    with no_descriptors(), pytest.raises(OSError, match="Too many open files"):
        files_in(tmp_path, ".journal")
