"""The record's embedded store: DuckDB files, all of them attached, and views that make them one.

A day has one file, or several when it is long; the newest is written to. The others are sealed: opened for
reading only, so that another process may read them at the same time (`copies`).

A row lies in the file of the day on which it was stored, so that a batch is always one transaction of one
file (DuckDB's limit), and how far each journal segment was read is part of it: a crash in between neither
loses nor doubles a row. After an error the store is to be closed and opened again: DuckDB may have given a
file up, and only the watermark knows what was written.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Any

from callgate.recorder.flush.batch import Batch
from callgate.recorder.stores.duckdb.day_files import (
    ATTACH,
    ATTACH_SEALED,
    SETTINGS,
    Day,
    copy_open_file,
    copy_small_file,
    days_in,
    make_file,
    passing_file,
    sql_text,
)
from callgate.recorder.stores.duckdb.kept_memory import KeptMemory, kept_bytes
from callgate.recorder.stores.duckdb.library import duckdb, give_back_memory
from callgate.recorder.stores.duckdb.schema import (
    bring_up_to_date,
    check_columns,
    is_up_to_date,
    view_statements,
)
from callgate.recorder.stores.duckdb.sweep import carry_sessions, has_open, move_open, sweep
from callgate.recorder.stores.duckdb.write_batch import write_rows

_log = logging.getLogger(__name__)


class Store:
    """Used from the store's thread; `reading` hands out cursors for reading elsewhere."""

    def __init__(self, folder: Path, day: date) -> None:
        """`day`: the one that is written to. Raises duckdb.Error and OSError."""
        self._folder = folder
        folder.mkdir(exist_ok=True, mode=0o700)
        self._days: list[Day] = []  # newest first: that is the one written to
        # Of each file that is not sealed a descriptor to copy it by. It stays open as long as DuckDB has the
        # file: to close any descriptor of a file takes away all locks (fcntl) that the process has on it.
        self._copied_by: dict[Day, int] = {}
        self._readers = 0
        self._gate = threading.Lock()  # over the number of readers
        self.changes = 0  # grows with everything that a reader could see
        self._kept = KeptMemory()
        self._connection = duckdb.connect(":memory:", config=SETTINGS)
        try:
            self._shut_in()
            found = days_in(folder)
            newest = found[0] if found and found[0].day >= day else Day(folder, day)
            for older in reversed(found):
                if older != newest:
                    self._attach_old(older)
            self._begin(newest)
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """The file that is written to."""
        return self._days[0].path

    @property
    def days(self) -> list[Day]:
        """Newest first."""
        return list(self._days)

    def close(self) -> None:
        self._connection.close()
        while self._copied_by:
            os.close(self._copied_by.popitem()[1])

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """For a moment: nobody counts it (see `reading`)."""
        return self._connection.cursor()

    @contextmanager
    def reading(self) -> Generator[duckdb.DuckDBPyConnection]:
        """A cursor of one's own, in any thread."""
        with self._gate:
            self._readers += 1
            cursor = self.cursor()
        try:
            yield cursor
        finally:
            cursor.close()
            with self._gate:
                self._readers -= 1
                self._kept.was_read(time.monotonic())

    @property
    def has_readers(self) -> bool:
        return bool(self._readers)

    def seal(self) -> None:
        """Opens for reading only what gets no more rows. Not while anybody reads, because DuckDB lets go of a
        file with its last reader; it is tried again in the next round."""
        with self._gate:
            if self._readers:
                return
            for day in [day for day in self._days[1:] if day in self._copied_by]:
                self._connection.execute(f"CHECKPOINT {day.name}")  # no log stays behind
                self._connection.execute(f"DETACH {day.name}")
                os.close(self._copied_by.pop(day))
                self._attach_sealed(day)
                self.changes += 1

    def let_go(self, *, is_all_stored: bool = False) -> None:
        """Of what DuckDB keeps in memory, when that is much: files are closed and opened again. Not while
        anybody reads, as `seal`; it is tried again with the next rows. Raises duckdb.Error and OSError."""
        if not self._kept.is_newest_due(self.kept_bytes(), time.monotonic(), is_all_stored=is_all_stored):
            return
        with self._gate:
            if self._readers:
                return
            self._connection.execute("DROP TABLE IF EXISTS temp.stage")
            self._reopen(self._days[0])
            if self._kept.are_older_due(self.kept_bytes(), time.monotonic()):
                for day in self._days[1:]:
                    self._reopen(day)
            self._kept.opened_newest(self.kept_bytes())

    def give_back(self) -> None:
        """After a round: what was taken for its batches, if those were large."""
        self._connection.execute("DROP TABLE IF EXISTS temp.stage")  # as large as the last batch
        if self._kept.is_duckdb_due(time.monotonic()):
            self._begin_anew()
        self.let_go(is_all_stored=True)
        if self._kept.take_loose():
            give_back_memory()

    def kept_bytes(self) -> int:
        return kept_bytes(self._connection)

    def _begin_anew(self) -> None:
        """Another DuckDB with the same files. Not while anybody reads, as `seal`. Raises as `let_go`."""
        with self._gate:
            if self._readers:
                return
            unsealed = set(self._copied_by)
            for day in unsealed:
                self._connection.execute(f"CHECKPOINT {day.name}")
            self.close()
            self._connection = duckdb.connect(":memory:", config=SETTINGS)
            self._shut_in()
            for day in self._days:
                (self._open if day in unsealed else self._attach_sealed)(day)
            self._make_views()
            self._kept.began_duckdb()

    def _reopen(self, day: Day) -> None:
        is_sealed = day not in self._copied_by
        if not is_sealed:
            self._connection.execute(f"CHECKPOINT {day.name}")
        self._connection.execute(f"DETACH {day.name}")
        if is_sealed:
            self._attach_sealed(day)
            return
        os.close(self._copied_by.pop(day))
        self._open(day)

    def files_for_others(self) -> dict[str, Path]:
        """Each database's quoted name, the newest first, and a file that another process may read: the sealed
        file itself, or a copy, which whoever asked removes. Nothing is written meanwhile: it is the store's
        thread that asks."""
        files: dict[str, Path] = {}
        for day in self._days:
            files[day.name] = self._copy(day) if day in self._copied_by else day.path
        return files

    def _copy(self, day: Day) -> Path:
        copy = passing_file(self._folder, "snapshot")
        copy_open_file(self._copied_by[day], copy)
        try:
            with suppress(FileNotFoundError):
                copy_small_file(day.log_path, copy.with_name(f"{copy.name}.wal"))
        except OSError:  # without its log the copy is of no use
            copy.unlink()
            raise
        return copy

    def turn_to(self, day: date) -> None:
        """The next day that is written to; nothing if it is that already."""
        if self._days[0].day < day:
            self._begin(Day(self._folder, day))

    def begin_part(self) -> None:
        """A second file for the same day: what is too large can only go in pieces."""
        self._begin(Day(self._folder, self._days[0].day, self._days[0].part + 1))

    def watermarks(self) -> dict[str, int]:
        """A segment may have been read on into the next file: the farthest counts."""
        marks: dict[str, int] = {}
        for day in self._days:
            rows: list[Any] = self._connection.execute(f"FROM {day.name}.watermarks").fetchall()
            for segment, offset in rows:
                marks[segment] = max(offset, marks.get(segment, 0))
        return marks

    def forget_watermark(self, segment: str) -> None:
        """In the file that is written to. What a sealed one knows of a segment that is gone does no harm: its
        name never comes again."""
        newest = self._days[0].name
        self._connection.execute(f"DELETE FROM {newest}.watermarks WHERE segment = ?", [segment])  # noqa: S608

    def write(self, batch: Batch) -> None:
        """All of it or, with an error, nothing."""
        self.let_go()  # before, so that its errors are not taken for the batch's
        try:
            self._in_transaction(lambda: self._write(batch))
        except (duckdb.InvalidInputException, duckdb.ConversionException):
            batch.drop_unreadable()
            self._in_transaction(lambda: self._write(batch))
        self._kept.wrote(batch.events, batch.is_whole if batch.events else None)
        self._days[0].keep_private()

    def sweep(self, living: Iterable[str]) -> None:
        """Ends what writers that are no longer living left open."""
        writers, newest = list(living), self._days[0].name
        self._in_transaction(lambda: sweep(self._connection, newest, writers))

    def drop(self, day: Day) -> None:
        """Everything of that day, at once: DELETE never shrinks a DuckDB file."""
        self._days.remove(day)
        self._make_views()
        self._connection.execute(f"DETACH {day.name}")
        if day in self._copied_by:
            os.close(self._copied_by.pop(day))
        day.unlink()

    def _write(self, batch: Batch) -> None:
        day = self._days[0].name
        write_rows(self._connection, day, batch)
        for segment, offset in batch.reached.items():
            self._connection.execute(f"DELETE FROM {day}.watermarks WHERE segment = ?", [segment])  # noqa: S608
            self._connection.execute(f"INSERT INTO {day}.watermarks VALUES (?, ?)", [segment, offset])  # noqa: S608

    def _in_transaction(self, step: Callable[[], None]) -> None:
        self._connection.begin()
        try:
            step()
            self._connection.commit()
            self.changes += 1
        except BaseException:
            with suppress(duckdb.Error):  # it may have rolled back already; the first error is to be told
                self._connection.rollback()
            raise

    def _shut_in(self) -> None:
        """Nothing in a record may reach out of it (no files but the days, no network, no extensions), and
        nobody switches that back."""
        self._connection.execute(f"SET allowed_directories = ['{sql_text(self._folder.resolve())}/']")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def _begin(self, day: Day) -> None:
        if not day.path.exists():
            make_file(day)
        self._attach(day)
        self._days.insert(0, day)
        for older in self._days[1:]:
            if older in self._copied_by:
                move_open(self._connection, older.name, day.name)
        if len(self._days) > 1:
            carry_sessions(self._connection, [one.name for one in self._days])
        self._make_views()
        self.seal()

    def _attach(self, day: Day) -> None:
        self._open(day)
        bring_up_to_date(self._connection, day.name)
        day.keep_private()

    def _open(self, day: Day) -> None:
        self._connection.execute(ATTACH.format(path=sql_text(day.path.resolve()), name=day.name))
        self._copied_by[day] = os.open(day.path, os.O_RDONLY | os.O_CLOEXEC)

    def _attach_sealed(self, day: Day) -> None:
        self._connection.execute(ATTACH_SEALED.format(path=sql_text(day.path.resolve()), name=day.name))

    def _attach_old(self, day: Day) -> None:
        """One damaged day takes no other with it."""
        try:
            if day.log_path.exists() or not self._attach_as_it_is(day):
                self._attach(day)
            check_columns(self._connection, day.name)
        except duckdb.Error as problem:
            _log.error("the record of %s cannot be read: %s", day.path, str(problem).partition("\n")[0])
            return
        self._days.insert(0, day)

    def _attach_as_it_is(self, day: Day) -> bool:
        """False: something must still be written to it, and it is not attached."""
        self._attach_sealed(day)
        if is_up_to_date(self._connection, day.name) and not has_open(self._connection, day.name):
            return True
        self._connection.execute(f"DETACH {day.name}")
        return False

    def _make_views(self) -> None:
        for statement in self.view_statements():
            self._connection.execute(statement)
        self.changes += 1

    def view_statements(self) -> list[str]:
        return view_statements([day.name for day in self._days])
