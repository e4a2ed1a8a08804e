"""The record's embedded store: one DuckDB file a day, all of them attached, and views that make them one.

A row lies in the file of the day on which it was stored, so that a batch is always one transaction of one
file (DuckDB's limit), and how far each journal segment was read is part of it: a crash in between neither
loses nor doubles a row. After an error the store is to be closed and opened anew: DuckDB may have given a
file up, and only the watermark knows what was written.
"""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import duckdb

from callgate.recorder.day_files import ATTACH, SETTINGS, Day, days_in, make_file, sql_text
from callgate.recorder.schema import bring_up_to_date, view_statements
from callgate.recorder.sweep import move_open, sweep
from callgate.recorder.write_batch import Batch, write_rows

_log = logging.getLogger(__name__)


class Store:
    """Used from the store's thread; `cursor` hands out separate ones for reading elsewhere."""

    def __init__(self, folder: Path, day: date) -> None:
        """`day`: the one that is written to. Raises duckdb.Error and OSError."""
        self._folder = folder
        folder.mkdir(exist_ok=True, mode=0o700)
        self._days: list[Day] = []  # newest first: that is the one written to
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
            self._connection.close()
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

    def cursor(self) -> duckdb.DuckDBPyConnection:
        return self._connection.cursor()

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
        for day in self._days:
            self._connection.execute(f"DELETE FROM {day.name}.watermarks WHERE segment = ?", [segment])  # noqa: S608

    def write(self, batch: Batch) -> None:
        """All of it or, with an error, nothing."""
        try:
            self._in_transaction(lambda: self._write(batch))
        except (duckdb.InvalidInputException, duckdb.ConversionException):
            batch.drop_unreadable()
            self._in_transaction(lambda: self._write(batch))
        self._days[0].keep_private()

    def sweep(self, living: Iterable[str]) -> None:
        """Ends what writers that are no longer living left open."""
        writers = list(living)
        for day in self._days:
            self._in_transaction(lambda day=day: sweep(self._connection, day.name, writers))

    def drop(self, day: Day) -> None:
        """Everything of that day, at once: DELETE never shrinks a DuckDB file."""
        self._days.remove(day)
        self._make_views()
        self._connection.execute(f"DETACH {day.name}")
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
            move_open(self._connection, older.name, day.name)
        self._make_views()

    def _attach(self, day: Day) -> None:
        self._connection.execute(ATTACH.format(path=sql_text(day.path.resolve()), name=day.name))
        bring_up_to_date(self._connection, day.name)
        day.keep_private()

    def _attach_old(self, day: Day) -> None:
        """One damaged day takes no other with it."""
        try:
            self._attach(day)
        except duckdb.Error as problem:
            _log.error("the record of %s cannot be read: %s", day.path, str(problem).partition("\n")[0])
            return
        self._days.insert(0, day)

    def _make_views(self) -> None:
        for statement in view_statements([day.name for day in self._days]):
            self._connection.execute(statement)
