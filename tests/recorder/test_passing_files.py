"""Copies that are gone when they were read: taken away also where no descriptor is left."""

import resource
from pathlib import Path

from callgate.recorder.store.day_files import passing_file, remove_passing


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
