"""Copies that are gone when they were read: taken away also where no descriptor is left."""

import resource
from pathlib import Path

from recorder.happenings import Open

from callgate.recorder.stores.duckdb.day_files import passing_file, remove_passing
from callgate.recorder.stores.duckdb.excerpts import Excerpts


def test_a_copy_and_its_log_are_removed_without_a_descriptor(tmp_path: Path) -> None:
    copy = passing_file(tmp_path, "snapshot")
    log = copy.with_name(f"{copy.name}.wal")
    other = passing_file(tmp_path, "snapshot")
    for path in (copy, log, other):
        path.touch()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        remove_passing(tmp_path, copy.name)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert list(tmp_path.iterdir()) == [other]


async def test_what_a_dead_process_left_behind_is_removed(tmp_path: Path, open_recorder: Open) -> None:
    days = tmp_path / "days"
    days.mkdir()
    for left in ("excerpt-0.part", "excerpt-0.part.wal", "export-0.part"):
        (days / left).write_bytes(b"")
    record = open_recorder(True)
    await record.source_requests()
    taken = Excerpts(record.reader, days)
    excerpt = await taken.take("local", ["SELECT 1"])
    assert list(days.glob("*.part*")) == [excerpt.path]
