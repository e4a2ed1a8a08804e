"""The DuckDB files of a record as either side of a copy, or of an archive; implements `RecordDays`.

Files that get no more rows are read beside a gateway that runs. The one it writes to is left out as long as
it runs: only its own process may open it. To write, nobody else may have the record.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Self, TypeVar

import duckdb

from callgate.ports.record_store import AlreadyStoredError
from callgate.recorder.days.duckdb_rows import counts_in, events_in, marks_in, piece_in, rest_in
from callgate.recorder.days.record_days import (
    DayCounts,
    Piece,
    Rest,
    Section,
)
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.drain import StoreLock
from callgate.recorder.flush.retention import Retention
from callgate.recorder.folder import folder_id, make_record_folder
from callgate.recorder.rows import EventRow, GapRow
from callgate.recorder.stores.duckdb import day_files
from callgate.recorder.stores.duckdb.day_files import Day, days_in
from callgate.recorder.stores.duckdb.schema import (
    bring_up_to_date,
    check_columns,
)
from callgate.recorder.stores.duckdb.write_batch import write_rows
from callgate.recorder.trouble import journal_unwritable, record_elsewhere, store_unopenable, store_unusable

_T = TypeVar("_T")


class DuckdbDays:
    def __init__(self, record_folder: Path, *, is_target: bool = False, locks: bool = True) -> None:
        """`locks`: take the record's lock if nobody has it, and with it the newest file. Not in a gateway,
        which is to get the lock itself."""
        self._record_folder = record_folder
        self._folder = record_folder / "days"
        self._is_target = is_target
        self._locks = locks
        self._lock = StoreLock(record_folder / "store.lock")
        self._holds_lock = False
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._reading: tuple[Day, duckdb.DuckDBPyConnection] | None = None
        self._writing: Day | None = None  # attached as "part", to be written to
        self.shown = f"duckdb:{record_folder}"

    @property
    def source_id(self) -> str:
        return folder_id(self._record_folder)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._open)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._close)

    # ---- days.DaySource

    async def sections(self) -> list[Section]:
        found = days_in(self._folder)
        readable = found if self._holds_lock else [day for day in found[1:] if not day.log_path.exists()]
        return [
            Section(day.day, day.path.stem, is_open=day == found[0])
            for day in sorted(readable, key=lambda day: (day.day, day.part))
        ]

    @property
    def is_in_use(self) -> bool:
        return not self._holds_lock

    async def pieces(self, section: Section, after: int) -> AsyncGenerator[Piece]:
        day = self._day_of(section)
        while True:
            piece = await self._ask(day, lambda connection, begin=after: piece_in(connection, begin))
            if not piece.events:
                return
            yield piece
            after = piece.end

    async def rest(self, section: Section) -> Rest:
        return await self._ask(self._day_of(section), rest_in)

    # ---- archive.ArchiveSource

    async def closed_days(self) -> list[date]:
        found = days_in(self._folder)
        last = day_files.today() - timedelta(days=1)
        if found and not self._holds_lock:
            last = min(last, found[0].day - timedelta(days=1))
        unsealed = {day.day for day in found if day.log_path.exists() and not self._holds_lock}
        return sorted({day.day for day in found if day.day <= last} - unsealed)

    async def counts(self, day: date) -> DayCounts:
        sums = [0, 0, 0]
        for one in self._parts(day):
            sums = [before + more for before, more in zip(sums, await self._ask(one, counts_in), strict=True)]
        return DayCounts(*sums)

    @asynccontextmanager
    async def day_files(self, day: date, passing: Path) -> AsyncGenerator[list[Path]]:
        """The files themselves."""
        self._close_reading()
        yield [one.path for one in self._parts(day)]

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[bool]:
        lock = StoreLock(self._record_folder / "archive.lock")
        try:
            yield lock.try_acquire()
        finally:
            lock.release()

    def _parts(self, day: date) -> list[Day]:
        return [one for one in days_in(self._folder) if one.day == day]

    # ---- days.DayTarget

    async def reached(self, segments: Sequence[str]) -> dict[str, int]:
        marks: dict[str, int] = {}
        for day in days_in(self._folder):
            for segment, offset in await self._ask(day, marks_in):
                marks[segment] = max(offset, marks.get(segment, 0))
        return {segment: marks[segment] for segment in segments if segment in marks}

    async def write(self, day: date, batch: Batch) -> None:
        await asyncio.to_thread(self._write, day, batch)

    async def find(self, day: date, ids: Sequence[str]) -> list[EventRow]:
        found: list[EventRow] = []
        for one in self._parts(day):
            found += await self._ask(one, lambda connection: events_in(connection, ids))
        return found

    async def gaps(self, day: date) -> list[GapRow]:
        found: list[GapRow] = []
        for one in self._parts(day):
            found += (await self._ask(one, rest_in)).gaps
        return found

    # ---- files

    def _open(self) -> None:
        try:
            make_record_folder(self._record_folder)
            self._folder.mkdir(exist_ok=True, mode=0o700)
            self._holds_lock = self._locks and self._lock.try_acquire()
        except OSError as problem:
            raise journal_unwritable(self._record_folder, problem) from problem
        if self._is_target and not self._holds_lock:
            raise record_elsewhere()
        self._connection = duckdb.connect(":memory:", config=day_files.SETTINGS)

    def _close(self) -> None:
        self._close_reading()
        if self._connection is not None:
            with suppress(duckdb.Error):
                self._put_away()
            self._connection.close()
        self._lock.release()

    def _day_of(self, section: Section) -> Day:
        part = section.name.partition(".")[2]
        return Day(self._folder, section.day, int(part or 0))

    async def _ask(self, day: Day, read: Callable[[duckdb.DuckDBPyConnection], _T]) -> _T:
        try:
            return await asyncio.to_thread(lambda: read(self._attached(day)))
        except duckdb.Error as problem:
            self._close_reading()
            raise store_unopenable(day.path, problem) from problem

    def _attached(self, day: Day) -> duckdb.DuckDBPyConnection:
        """As `part`. The last one stays: a section is read in many pieces."""
        assert self._connection is not None
        if self._writing == day:
            return self._connection
        if self._reading is None or self._reading[0] != day:
            self._close_reading()
            connection = duckdb.connect(":memory:", config=day_files.SETTINGS)
            self._reading = day, connection
            how = day_files.ATTACH if self._holds_lock and day.log_path.exists() else day_files.ATTACH_SEALED
            connection.execute(how.format(path=day_files.sql_text(day.path.resolve()), name="part"))
            check_columns(connection, "part")
        return self._reading[1]

    def _close_reading(self) -> None:
        if self._reading is not None:
            self._reading[1].close()
            self._reading = None

    def _write(self, day: date, batch: Batch) -> None:
        connection = self._connection
        assert connection is not None
        try:
            self._turn_to(day)
            connection.begin()
            try:
                _check_new(connection, batch)
                write_rows(connection, "part", batch)
                for segment, offset in batch.reached.items():
                    connection.execute("DELETE FROM part.watermarks WHERE segment = ?", [segment])
                    connection.execute("INSERT INTO part.watermarks VALUES (?, ?)", [segment, offset])
                connection.commit()
            except BaseException:
                with suppress(duckdb.Error):
                    connection.rollback()
                raise
        except (duckdb.Error, OSError) as problem:
            raise store_unusable(self._folder, problem) from problem

    def _turn_to(self, day: date) -> None:
        connection = self._connection
        assert connection is not None
        parts = self._parts(day)
        newest = parts[0] if parts else Day(self._folder, day)
        if parts and Retention().is_too_large(newest):
            newest = Day(self._folder, day, newest.part + 1)
        if newest == self._writing:
            return
        self._put_away()
        self._close_reading()  # it may be this file
        if not newest.path.exists():
            day_files.make_file(newest)
        connection.execute(
            day_files.ATTACH.format(path=day_files.sql_text(newest.path.resolve()), name="part")
        )
        bring_up_to_date(connection, "part")
        newest.keep_private()
        self._writing = newest

    def _put_away(self) -> None:
        if self._writing is not None and self._connection is not None:
            self._connection.execute("CHECKPOINT part")
            self._connection.execute("DETACH part")
            self._writing = None


def _check_new(connection: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    marks = dict(marks_in(connection))
    if any(marks.get(segment, 0) > begin for segment, begin in batch.began.items()):
        raise AlreadyStoredError
