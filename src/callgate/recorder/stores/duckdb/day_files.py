"""The store's files: one a day, `2026-11-15.duckdb`; `2026-11-15.1.duckdb` when that grew too large."""

from __future__ import annotations

import errno
import os
import re
import shutil
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from callgate.recorder.flush.batch import ROW_GROUP_ROWS
from callgate.recorder.folder import files_in
from callgate.recorder.stores.duckdb.library import duckdb

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "memory_limit": "256MB",
    "threads": "1",
    "async_threads": "1",  # for files of a network; the default of 8 are as many stacks and caches
    "python_enable_replacements": "false",  # a table that is not there is not some variable of ours
    "temp_directory": "",  # what does not fit in memory fails, instead of filling the disk
    "write_buffer_row_group_count": "1",  # of large bodies the default of 5 is the whole memory
    # What a large batch took goes back: the defaults (128 and 512 MB) are never reached here.
    "allocator_flush_threshold": "16MB",
    "allocator_bulk_deallocation_flush_threshold": "16MB",
    # At a checkpoint DuckDB would unpack row groups that are not full and write them again as one. Of large
    # bodies that takes more than the memory, and with it the store; ours are full but for a few.
    "max_vacuum_tasks": "0",
}
# Measured: half the CPU of the default size, and a commit of 8,000 rows writes whole row groups, not a log.
# DuckDB does not remember the size, and takes the version of the format only for a new file.
ATTACH = f"ATTACH '{{path}}' AS {{name}} (ROW_GROUP_SIZE {ROW_GROUP_ROWS})"
ATTACH_SEALED = "ATTACH '{path}' AS {name} (READ_ONLY)"
_CREATE = f"ATTACH '{{path}}' AS made (ROW_GROUP_SIZE {ROW_GROUP_ROWS}, STORAGE_VERSION 'v1.5.0')"
_PASSING = ".part"
_FILE_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:\.(\d{1,4}))?\.duckdb")


def today() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class Day:
    folder: Path
    day: date
    part: int = 0

    @property
    def path(self) -> Path:
        part = f".{self.part}" if self.part else ""
        return self.folder / f"{self.day.isoformat()}{part}.duckdb"

    @property
    def name(self) -> str:
        """As the attached database is called, quoted."""
        return f'"{self.path.stem}"'

    @property
    def size_bytes(self) -> int:
        size = 0
        for path in self._files():
            with suppress(FileNotFoundError):
                size += path.stat().st_size
        return size

    @property
    def log_path(self) -> Path:
        """DuckDB's log (WAL), which is there while something in it is not in the file itself."""
        return _wal(self.path)

    def keep_private(self) -> None:
        """DuckDB makes its files for everyone to read, and its log (WAL) again and again. (The folder keeps
        others out in between; the umask is no help, it belongs to the whole process.)"""
        for path in self._files():
            with suppress(FileNotFoundError):
                path.chmod(0o600)

    def unlink(self) -> None:
        for path in self._files():
            path.unlink(missing_ok=True)

    def _files(self) -> tuple[Path, Path]:
        return self.path, self.log_path


def days_in(folder: Path) -> list[Day]:
    """Newest first."""
    days: list[Day] = []
    for path in files_in(folder, ".duckdb"):
        if found := _FILE_NAME.fullmatch(path.name):
            with suppress(ValueError):
                days.append(Day(folder, date.fromisoformat(found[1]), int(found[2] or 0)))
    return sorted(days, key=lambda day: (day.day, day.part), reverse=True)


def passing_file(folder: Path, what: str) -> Path:
    """A name for a file beside the days that is gone when it was read."""
    return folder / f"{what}-{uuid.uuid4().hex}{_PASSING}"


def remove_passing(folder: Path, name: str | None = None) -> None:
    """With DuckDB's log of it. All of them only before anybody reads: they are what a dead process left.

    Needs no descriptor for a named one, and raises nothing then: the store's thread must not end by it.
    """
    named = None if name is None else [folder / name, folder / f"{name}.wal"]
    for path in named if named is not None else folder.glob(f"*{_PASSING}*"):
        with suppress(OSError):
            path.unlink()


def make_file(day: Day) -> None:
    """Made aside and moved in whole: a full disk or a crash must not leave half a file that none can open."""
    path = day.path
    aside = path.with_name(f"{path.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(mode=0o700)
    try:
        made = aside / path.name
        with duckdb.connect(":memory:", config=SETTINGS) as connection:
            connection.execute(_CREATE.format(path=sql_text(made)))
            connection.execute("DETACH made")
        made.chmod(0o600)
        # The log of a file that was moved away alone: it fits no other, and DuckDB would refuse both.
        with suppress(FileNotFoundError):
            _wal(path).rename(f"{_wal(path)}.left")
        made.rename(path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def sql_text(path: Path) -> str:
    return str(path).replace("'", "''")


# Copies are made in the kernel, and on file systems that can share blocks without copying at all.
_PIECE_BYTES = 64 * 1024 * 1024
_READ_BYTES = 1024 * 1024
# What a file system or a kernel says that has no such call. (EXDEV cannot be: both are in one folder.)
_CANNOT = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EXDEV})


def copy_open_file(source_fd: int, target: Path) -> None:
    """Private, and new: it follows no link that waits there. Whole, or not there."""
    target_fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _copy(source_fd, target_fd, os.fstat(source_fd).st_size)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    finally:
        os.close(target_fd)


def copy_small_file(source: Path, target: Path) -> None:
    """Not for a file on which this process holds a lock that matters: closing it gives the lock away."""
    source_fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        copy_open_file(source_fd, target)
    finally:
        os.close(source_fd)


def _copy(source_fd: int, target_fd: int, size_bytes: int) -> None:
    at = 0
    while at < size_bytes:
        at += _copy_piece(source_fd, target_fd, at, min(_PIECE_BYTES, size_bytes - at)) or size_bytes


def _copy_piece(source_fd: int, target_fd: int, at: int, length: int) -> int:
    """How many bytes; none: the file became shorter."""
    try:
        return os.copy_file_range(source_fd, target_fd, length, at, at)
    except (OSError, AttributeError) as problem:  # macOS has no such call
        if isinstance(problem, OSError) and problem.errno not in _CANNOT:
            raise
    data = os.pread(source_fd, min(length, _READ_BYTES), at)
    os.pwrite(target_fd, data, at)  # whole, or an error: it is a plain file
    return len(data)
