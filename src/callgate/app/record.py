"""The record in the store that the operator chose, and its readers."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import msgspec

from callgate.app.redaction.redactors import Redactors, redactors_of
from callgate.background import Background
from callgate.config.paths import record_folder
from callgate.config.specs.config import Config
from callgate.ports.record_queries import RecordExcerpts, RecordQueries, RecordSnapshots
from callgate.ports.record_reader import RecordReader
from callgate.ports.record_store import RecordStore, SqlDialect
from callgate.ports.row_feed import RowFeed
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.keeping import KeptJournals, StoreKeeper
from callgate.recorder.flush.retention import Retention
from callgate.recorder.recorder import Recorder, RecorderSettings
from callgate.recorder.redact_rows import RowRedactor
from callgate.recorder.shared_feed import SharedFeed
from callgate.recorder.stores.duckdb.excerpts import Excerpts
from callgate.recorder.stores.duckdb.reader import Reader
from callgate.recorder.stores.duckdb.record_store import DuckdbStore
from callgate.recorder.stores.duckdb.snapshots import Snapshots
from callgate.sql.record.queries import Queries

if TYPE_CHECKING:
    from callgate.recorder.archive.archive_keeper import ArchiveKeeper
    from callgate.recorder.stores.clickhouse.connection import ClickhouseAddress
    from callgate.recorder.stores.postgres.connection import StoreAddress

# What waits while a shared store is away; of DuckDB files nothing waits for long.
_JOURNAL_MAX_BYTES = 4 * 1024**3


@dataclass(frozen=True, slots=True)
class _Upkeep:
    """What becomes of old days."""

    retention: Retention
    archive: "ArchiveKeeper | None"

    async def end(self) -> None:
        if self.archive is not None:
            await asyncio.to_thread(self.archive.close)


@dataclass(frozen=True, slots=True)
class Record:
    """The recorder, and the readers of what it keeps."""

    recorder: Recorder
    reader: RecordReader
    queries: RecordQueries
    excerpts: RecordExcerpts
    feed: RowFeed
    dialect: SqlDialect
    upkeep: "_Upkeep"
    check: Callable[[], Awaitable[None]]  # raises SetupError for a store that this version cannot use
    close: Callable[[], Awaitable[None]]
    snapshots: RecordSnapshots | None = None  # None: it is not in files

    def use(self, config: Config, redactors: Redactors) -> None:
        """What can change while it is kept."""
        record = config.record
        retention = self.upkeep.retention
        retention.keep_s, retention.max_size_bytes = record.keep_s, record.max_size_bytes
        retention.keep_bodies_s = record.keep_bodies_s
        self.recorder.use(_recorder_settings(config, keeps_store=True))
        self.use_redactors(config, redactors)

    def use_redactors(self, config: Config, redactors: Redactors) -> None:
        self.recorder.redactor.use(redactors.general, config.record.max_body_bytes, redactors.of_server)


def make_record(
    config: Config,
    keeps_store: bool,
    background: Background | None = None,
    redactors: Redactors | None = None,
    *,
    stores_apart: bool = False,
) -> Record:
    """Nothing of a database is imported unless the record is there. `background`: a gateway's, which also
    archives and deletes. A command that reads the record (None) deletes nothing of it. `stores_apart`: a
    shared store is kept by a process of its own."""
    record = config.record
    archive: ArchiveKeeper | None = None
    archived_days: Callable[[], Collection[date]] | None = None
    if background is None or record.archive is not None:
        archived_days = frozenset[date]
        if keeps_store and background is not None and record.archive is not None:
            archive = _open_archive_keeper(config, record.archive, background)
            archived_days = archive.archived_days
    retention = Retention(record.keep_s, record.max_size_bytes, record.keep_bodies_s, archived_days)
    upkeep = _Upkeep(retention, archive)

    keep_apart = None
    if stores_apart and config.store.is_database and background is not None:
        keep_apart = _keeping_apart(config, retention, background)

    def recorder_on(store: RecordStore[Batch]) -> Recorder:
        settings = _recorder_settings(config, keeps_store)
        found = redactors or redactors_of(config)
        redactor = RowRedactor(found.general, record.max_body_bytes, found.of_server)
        return Recorder(settings, redactor, store, background, keep_apart)

    if config.store.is_database:
        keep_in = _in_postgres if config.store.is_postgres else _in_clickhouse
        return keep_in(config, upkeep, recorder_on)
    return _in_duckdb(DuckdbStore(record_folder(config), retention), upkeep, recorder_on)


def _recorder_settings(config: Config, keeps_store: bool) -> RecorderSettings:
    record = config.record
    return RecorderSettings(
        record_folder(config),
        keeps_store,
        waits_for_journal=record.sync != "interval",
        refuses_unrecorded=record.on_failure == "refuse",
        waits_for_store=record.sync == "store",
        journal_max_bytes=(record.journal_max_bytes or _JOURNAL_MAX_BYTES)
        if config.store.is_database
        else None,
    )


_MakeRecorder = Callable[[RecordStore[Batch]], Recorder]


def _keeping_apart(
    config: Config, retention: Retention, background: Background
) -> Callable[[KeptJournals], StoreKeeper]:
    from callgate.recorder.storing.keeper_process import KeeperProcess
    from callgate.recorder.storing.messages import StorePlace

    address = store_address(config) if config.store.is_postgres else clickhouse_address(config)
    dialect = "postgres" if config.store.is_postgres else "clickhouse"
    place = StorePlace(dialect, msgspec.Raw(msgspec.msgpack.encode(address)), config.record.migrate)
    return lambda kept: KeeperProcess(kept, place, retention, background)


def _open_archive_keeper(config: Config, address: str, background: Background) -> "ArchiveKeeper":
    from callgate.recorder.archive.archive import Archive
    from callgate.recorder.archive.archive_keeper import ArchiveKeeper
    from callgate.recorder.archive.object_folder import ObjectFolder
    from callgate.recorder.days.duckdb_days import DuckdbDays
    from callgate.recorder.days.record_days import ArchiveSource

    folder = record_folder(config)

    def source() -> AbstractAsyncContextManager[ArchiveSource]:
        if config.store.is_postgres:
            from callgate.recorder.days.postgres_days import PostgresDays

            return PostgresDays(store_address(config))
        return DuckdbDays(folder, locks=False)

    return ArchiveKeeper(lambda: Archive(ObjectFolder(address), folder / "passing"), source, background)


def _in_duckdb(store: DuckdbStore, upkeep: _Upkeep, make_recorder: _MakeRecorder) -> Record:
    recorder = make_recorder(store)
    store.has_listeners = lambda: recorder.feed.has_listeners
    reader, snapshots = Reader(recorder, store), Snapshots(recorder, store)
    queries = Queries(snapshots)

    async def check() -> None:
        """Files are looked at when they are needed."""

    async def close() -> None:
        await upkeep.end()
        await queries.close()
        snapshots.close()
        reader.close()
        await recorder.close()

    excerpts = Excerpts(reader, store.folder)
    return Record(
        recorder,
        reader,
        queries,
        excerpts,
        recorder.feed,
        store.traits.dialect,
        upkeep,
        check,
        close,
        snapshots,
    )


def store_address(config: Config) -> "StoreAddress":
    """Of a record in PostgreSQL."""
    from callgate.recorder.stores.postgres.connection import StoreAddress

    return StoreAddress(config.store.dsn, config.store.shown, config.store.reader_dsn)


def _in_postgres(config: Config, upkeep: _Upkeep, make_recorder: _MakeRecorder) -> Record:
    from callgate.recorder.stores.postgres.excerpts import postgres_excerpts
    from callgate.recorder.stores.postgres.queries import PostgresQueries
    from callgate.recorder.stores.postgres.reader import PostgresReader
    from callgate.recorder.stores.postgres.record_store import PostgresStore
    from callgate.sql.record.record_guard import RecordGuard

    folder = record_folder(config)
    store = PostgresStore(folder, store_address(config), upkeep.retention, config.record.migrate)
    recorder = make_recorder(store)
    guard = RecordGuard(store.traits.dialect)
    reader = PostgresReader(recorder, store, folder / "passing")
    feed = SharedFeed(recorder.feed, reader.numbered)

    async def close() -> None:
        await upkeep.end()
        guard.close()
        await feed.close()
        await recorder.close()
        await reader.close()
        store.end()

    queries, excerpts = PostgresQueries(reader, guard), postgres_excerpts(reader, folder / "passing")
    return Record(recorder, reader, queries, excerpts, feed, store.traits.dialect, upkeep, store.check, close)


def clickhouse_address(config: Config) -> "ClickhouseAddress":
    """Of a record in ClickHouse."""
    from callgate.recorder.stores.clickhouse.connection import ClickhouseAddress, StoreUser

    written = config.record.store.clickhouse
    assert written is not None
    server = written.server
    return ClickhouseAddress(
        host=server.host or "",
        port=written.port,
        database=server.database or "",
        login=StoreUser(*written.login),
        reader=None if written.reader is None else StoreUser(*written.reader),
        is_secure=written.is_secure,
        ca_file=server.params.get("sslrootcert"),
    )


def _in_clickhouse(config: Config, upkeep: _Upkeep, make_recorder: _MakeRecorder) -> Record:
    from callgate.recorder.stores.clickhouse.excerpts import clickhouse_excerpts
    from callgate.recorder.stores.clickhouse.queries import ClickhouseQueries
    from callgate.recorder.stores.clickhouse.reader import ClickhouseReader
    from callgate.recorder.stores.clickhouse.record_store import ClickhouseStore
    from callgate.sql.record.clickhouse_guard import ClickhouseGuard

    address = clickhouse_address(config)
    folder = record_folder(config)
    store = ClickhouseStore(folder, address, upkeep.retention)
    recorder = make_recorder(store)
    guard = ClickhouseGuard()
    reader = ClickhouseReader(recorder, store, folder / "passing")

    async def check() -> None:
        await asyncio.to_thread(store.check)

    async def close() -> None:
        await upkeep.end()
        guard.close()
        await recorder.close()
        reader.close()

    queries, excerpts = (
        ClickhouseQueries(reader, guard, address.reader),
        clickhouse_excerpts(reader, folder / "passing"),
    )
    return Record(
        recorder, reader, queries, excerpts, recorder.feed, store.traits.dialect, upkeep, check, close
    )
