"""The record in PostgreSQL; implements `ports.RecordStore`.

Rules
1. One flush is one transaction, its row of `batches` first. Whether a COMMIT whose answer was lost took place
   is asked, not guessed: the next attempt waits on the same key until the first one is decided.
2. The server's own limits of time end a transaction whose connection hangs, and free the key.
3. A finished segment stays for ten minutes. A standby that took over without the last commits is sent them
   again: how far each segment is stored is asked at every round.
"""

import asyncio
import logging
import struct
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from datetime import date, timedelta
from pathlib import Path

from callgate.model.error_codes import SETUP_STORE_SCHEMA
from callgate.model.errors import SetupError
from callgate.ports.record_store import StoreTraits
from callgate.postgres_connection import FAILURES, Connection, pg, transaction
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.retention import Retention
from callgate.recorder.stores.database_store import DatabaseStore
from callgate.recorder.stores.postgres import leases, partitions, upkeep
from callgate.recorder.stores.postgres.connection import StoreAddress, connect, trouble_of
from callgate.recorder.stores.postgres.loop_thread import CallersLoop, LoopThread
from callgate.recorder.stores.postgres.migrations import bring_up_to_date
from callgate.recorder.stores.postgres.schema import STORE
from callgate.recorder.stores.postgres.sweep import SILENT_S, end_silent, sweep
from callgate.recorder.stores.postgres.write_batch import SIGN_OF_LIFE, BatchRows, rows_of, store_rows

_log = logging.getLogger(__name__)

TRAITS = StoreTraits(
    dialect="postgres",
    is_shared=True,
    tells_live=True,
    exact_total=100_000,
    exact_percentiles=100_000,
    percentile_error=0.04,
    text_reach_s=86_400.0,
    replaces_nul=True,
    flush_every_s=1.0,
    retry_s=(0.2, 10.0),
    keeps_segments_s=600.0,
    flush_watched_s=0.25,
)
# Of one statement and one wait for a lock, by the server; of all of it, by us.
_STATEMENT_S, _LOCK_S, _FLUSH_S = 10.0, 5.0, 30.0
_TEND_EVERY_S = 60.0
_NOTE_EVERY_S = 20.0  # that our writers live (see sweep)
_TEND_LIMIT_S = 30.0
_CHECK_S = 5.0  # nobody is served meanwhile
_LEASE_S = 30.0  # as long as an upkeep may take
_MARKS = f"""
SELECT segment, max(to_offset) FROM {STORE}.batches WHERE segment = ANY($1::text[]) GROUP BY segment
UNION ALL ({leases.IS_WATCHED.replace("SELECT 1", "SELECT NULL, 1")})
"""  # noqa: S608


class PostgresStore(DatabaseStore):
    traits = TRAITS
    failures = FAILURES

    def __init__(
        self,
        record_folder: Path,
        address: StoreAddress,
        retention: Retention | None = None,
        may_migrate: bool = True,
    ) -> None:
        super().__init__(record_folder, retention)
        self.address = address
        self._may_migrate = may_migrate
        self._holder = uuid.uuid4().hex
        self.thread = LoopThread("record database")
        self.round_loop = CallersLoop()
        self._connection: Connection = None
        self._partitions_until: date | None = None
        self._opened_mono = float("inf")
        self._looked_mono = self._tended_mono = self._noted_mono = float("-inf")
        self._upkeep: Future[None] | None = None
        self.is_watched = False

    def load(self) -> None:
        self.round_loop.begin()

    def open(self) -> None:
        if self._connection is not None:
            return
        try:
            self._connection = self.round_loop.run(self._opened())
            self._opened_mono = time.monotonic()
        except FAILURES as problem:
            raise trouble_of(self.address, problem) from problem

    async def check(self) -> None:
        """Raises SetupError for tables that this version cannot use. Of a server that is away it says
        nothing: the record is late then, and that is no reason not to serve."""
        try:
            await self.thread.ask(_checked(self.address, self._may_migrate))
        except FAILURES as problem:
            _log.warning("%s", trouble_of(self.address, problem).message)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        self._looked_mono = self._noted_mono = float("-inf")
        if connection is not None:
            self.round_loop.run(_ended(connection))

    def end(self) -> None:
        """For good, when nobody reads any more."""
        self.round_loop.close()
        self.thread.close()

    def trouble(self, problem: Exception) -> SetupError:
        return trouble_of(self.address, problem)

    def watermarks(self, segments: Sequence[str]) -> Mapping[str, int]:
        return self.round_loop.run(self._watermarks(segments))

    def write(self, batch: Batch) -> None:
        try:
            self.round_loop.run(self._write(rows_of(batch)))
        except (pg.CharacterNotInRepertoireError, pg.DataError, ValueError, struct.error):
            batch.spell_out_calls()
            rows = rows_of(batch)
            rows.clean()
            self.round_loop.run(self._write(rows))

    def forget(self, segment: str) -> None:
        """Its rows in `batches` go with their day."""

    def sweep(self, living: Collection[str]) -> None:
        self.round_loop.run(self._swept(living))

    def begin_round(self) -> None:
        self.round_loop.run(self._made_ahead())

    def note_living(self, writers: Collection[str]) -> None:
        if time.monotonic() - self._noted_mono >= _NOTE_EVERY_S:
            self.round_loop.run(self._note_living(writers))
            self._noted_mono = time.monotonic()

    def tend(self) -> None:
        """In the background, with a connection of its own: what waits for a reader keeps no flush waiting."""
        if time.monotonic() - self._tended_mono < _TEND_EVERY_S:
            return
        if self._upkeep is None or self._upkeep.done():
            self._tended_mono = time.monotonic()
            try:
                self._upkeep = self.thread.submit(self._tended())
            except (OSError, RuntimeError) as problem:  # no descriptor or no thread for it
                _log.warning("the record's upkeep was put off: %s", problem)

    def tended(self) -> None:
        """Waits until the upkeep that began last is over."""
        if self._upkeep is not None:
            self._upkeep.result()

    async def _opened(self) -> Connection:
        connection = await connect(self.address)
        try:
            await bring_up_to_date(connection, self.address.shown, self._may_migrate)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _watermarks(self, segments: Sequence[str]) -> dict[str, int]:
        async with asyncio.timeout(_FLUSH_S), self._transaction(read_only=True):
            marks = dict(await self._connection.fetch(_MARKS, list(segments)))
        self.is_watched = marks.pop(None, None) is not None
        return marks

    async def _write(self, rows: BatchRows) -> None:
        async with asyncio.timeout(_FLUSH_S), self._transaction():
            await store_rows(self._connection, rows, self._folder_id)

    async def _swept(self, living: Collection[str]) -> None:
        async with asyncio.timeout(_FLUSH_S), self._transaction():
            await sweep(self._connection, self._folder_id, list(living))

    async def _note_living(self, writers: Collection[str]) -> None:
        async with asyncio.timeout(_FLUSH_S), self._transaction():
            await self._connection.execute(SIGN_OF_LIFE, list(writers))

    async def _made_ahead(self) -> None:
        """A day ahead, so that it need not be looked at each time."""
        if time.monotonic() - self._looked_mono < _TEND_EVERY_S:
            return
        async with asyncio.timeout(_FLUSH_S):
            today = await partitions.today_of(self._connection)
            if self._partitions_until is None or today >= self._partitions_until:
                await self._make_ahead(today)
                self._partitions_until = today + timedelta(days=1)
        self._looked_mono = time.monotonic()

    async def _make_ahead(self, today: date) -> None:
        if self._may_migrate:
            await partitions.make_ahead(self._connection, today)
            return
        async with self._transaction(read_only=True):
            if await partitions.is_there(self._connection, today):
                return
        raise SetupError(
            SETUP_STORE_SCHEMA,
            f"The record's store at {self.address.shown} has no partitions for {today}",
            hint="[record] migrate is false: run callgate record migrate now, and once a day from then on",
        )

    def _transaction(self, read_only: bool = False) -> AbstractAsyncContextManager[None]:
        return transaction(self._connection, limit_s=_STATEMENT_S, lock_s=_LOCK_S, read_only=read_only)

    async def _tended(self) -> None:
        connection: Connection = None
        try:
            async with asyncio.timeout(_TEND_LIMIT_S):
                connection = await connect(self.address)
                await self._tend(connection)
        except FAILURES as problem:
            _log.warning("the record's upkeep was put off: %s", trouble_of(self.address, problem).message)
        finally:
            if connection is not None:
                connection.terminate()

    async def _tend(self, connection: Connection) -> None:
        async with transaction(connection, limit_s=_STATEMENT_S, lock_s=_LOCK_S):
            if not await leases.take(connection, leases.UPKEEP, self._holder, _LEASE_S):
                return
        today = await partitions.today_of(connection)
        if self._may_migrate:
            await partitions.make_ahead(connection, today)
            if dropped := await upkeep.drop_overdue(connection, self._retention, today):
                _log.info("the record up to %s was deleted, as [record] keep or max_size says", dropped[-1])
        if time.monotonic() - self._opened_mono >= SILENT_S:
            await end_silent(connection)
        await upkeep.fold(connection)


async def _checked(address: StoreAddress, may_migrate: bool) -> None:
    connection = await connect(address)
    try:
        # A pooler lets us in although no server behind it answers. A change of tables may take its time.
        async with asyncio.timeout(_CHECK_S):
            await connection.fetchval("SELECT 1")
        await bring_up_to_date(connection, address.shown, may_migrate)
    finally:
        connection.terminate()


async def _ended(connection: Connection) -> None:
    """Not politely: it may hang."""
    connection.terminate()
