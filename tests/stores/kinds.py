"""The stores that every test of this folder runs on, and how a test looks into one.

What engines do differently is in their `StoreTraits`: a test asks those, and leaves nothing out.
"""

import asyncio
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
from databases.clickhouse import ClickhouseDatabase
from databases.database import Database
from databases.postgres import new_database
from recorder.happenings import ROW_REDACTOR

from callgate.background import Background
from callgate.ports.record_queries import RecordExcerpts, RecordQueries
from callgate.ports.record_reader import RecordReader, SourceRequest
from callgate.ports.record_store import RecordStore, SqlDialect, StoreTraits
from callgate.recorder.feed import Feed
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.retention import Retention
from callgate.recorder.recorder import Recorder, RecorderSettings
from callgate.recorder.shared_feed import SharedFeed
from callgate.recorder.stores.clickhouse import connection as clickhouse_connection
from callgate.recorder.stores.clickhouse.excerpts import clickhouse_excerpts
from callgate.recorder.stores.clickhouse.queries import ClickhouseQueries
from callgate.recorder.stores.clickhouse.reader import ClickhouseReader
from callgate.recorder.stores.clickhouse.record_store import ClickhouseStore
from callgate.recorder.stores.duckdb.excerpts import Excerpts
from callgate.recorder.stores.duckdb.reader import Reader
from callgate.recorder.stores.duckdb.record_store import DuckdbStore
from callgate.recorder.stores.duckdb.snapshots import Snapshots
from callgate.recorder.stores.postgres.connection import StoreAddress
from callgate.recorder.stores.postgres.excerpts import postgres_excerpts
from callgate.recorder.stores.postgres.queries import PostgresQueries
from callgate.recorder.stores.postgres.reader import PostgresReader
from callgate.recorder.stores.postgres.record_store import PostgresStore
from callgate.recorder.stores.postgres.schema import CREATE_ROLE, READER_ROLE
from callgate.recorder.storing.keeper_process import KeeperProcess
from callgate.recorder.storing.messages import StorePlace
from callgate.sql.record.clickhouse_guard import ClickhouseGuard
from callgate.sql.record.queries import Queries
from callgate.sql.record.record_guard import RecordGuard


def _place(dialect: SqlDialect, address: object, may_migrate: bool = True) -> StorePlace:
    return StorePlace(dialect, msgspec.Raw(msgspec.msgpack.encode(address)), may_migrate)


class KeptRecord(ABC):
    """A recorder and who reads from it, as a gateway has them."""

    reader: RecordReader
    queries: RecordQueries
    excerpts: RecordExcerpts
    feed: Feed | SharedFeed

    def __init__(
        self, folder: Path, store: RecordStore[Batch], keeps_store: bool, settings: dict[str, Any]
    ) -> None:
        """`apart` among the settings: where its storing process finds the store."""
        self.folder = folder
        self.traits: StoreTraits = store.traits
        place: StorePlace | None = settings.pop("apart", None)
        keep_apart, background = None, Background()
        if place is not None:
            settings.setdefault("journal_max_bytes", 4 * 1024**3)
            keep_apart = partial(KeeperProcess, place=place, retention=Retention(), background=background)
        self.recorder = Recorder(
            RecorderSettings(folder, keeps_store, **settings), ROW_REDACTOR, store, background, keep_apart
        )
        self.emit = self.recorder.emit

    @abstractmethod
    async def close(self) -> None: ...

    def passing_files(self) -> list[Path]:
        """Exports and excerpts that somebody forgot."""
        return [path for path in self.folder.rglob("*.part*") if path.is_file()]

    async def source_requests(self, source_id: str | None = None) -> list[SourceRequest]:
        return await self.reader.source_requests(source_id)


def stats_module(record: KeptRecord) -> str:
    """Which module makes the store's sums."""
    dialect = record.traits.dialect
    return f"callgate.recorder.stores.{dialect}.{'events' if dialect == 'clickhouse' else 'stats'}"


class StoreKind(ABC):
    """One engine, with one empty store; a second folder shares it if the engine can."""

    is_apart = False  # who keeps the store has a process of its own for it, as a gateway that serves has

    @abstractmethod
    def store(self, folder: Path) -> RecordStore[Batch]:
        """Not open yet."""

    @abstractmethod
    def ask(self, store: RecordStore[Batch], sql: str) -> list[tuple[Any, ...]]:
        """Of a store that is open, in SQL that all engines know, over the record's four tables."""

    @abstractmethod
    def record(self, folder: Path, keeps_store: bool = True, **settings: Any) -> KeptRecord: ...

    @abstractmethod
    def break_legs(self, store: RecordStore[Batch]) -> None:
        """From now on a batch fails at its last table."""

    def close(self) -> None:  # noqa: B027 - most have nothing
        """What only this kind has goes."""


class _DuckdbRecord(KeptRecord):
    def __init__(self, folder: Path, store: DuckdbStore, keeps_store: bool, settings: dict[str, Any]) -> None:
        super().__init__(folder, store, keeps_store, settings)
        self._reader = self.reader = Reader(self.recorder, store)
        self.feed = self.recorder.feed
        self._snapshots = Snapshots(self.recorder, store)
        self._queries = self.queries = Queries(self._snapshots)
        self.excerpts = Excerpts(self._reader, store.folder)

    async def close(self) -> None:
        await self._queries.close()
        self._snapshots.close()
        self._reader.close()
        await self.recorder.close()


class DuckdbKind(StoreKind):
    def store(self, folder: Path) -> DuckdbStore:
        return DuckdbStore(folder)

    def ask(self, store: RecordStore[Batch], sql: str) -> list[tuple[Any, ...]]:
        assert isinstance(store, DuckdbStore)
        assert store.opened is not None
        return store.opened.cursor().execute(sql).fetchall()

    def record(self, folder: Path, keeps_store: bool = True, **settings: Any) -> KeptRecord:
        return _DuckdbRecord(folder, self.store(folder), keeps_store, settings)

    def break_legs(self, store: RecordStore[Batch]) -> None:
        assert isinstance(store, DuckdbStore)
        assert store.opened is not None
        day = store.opened.days[0].name
        store.opened.cursor().execute(f"ALTER TABLE {day}.rpc_event_upstreams RENAME TO elsewhere")


def values(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Of rows with one column."""
    return [row[0] for row in rows]


class _PostgresRecord(KeptRecord):
    def __init__(
        self, folder: Path, store: PostgresStore, keeps_store: bool, settings: dict[str, Any]
    ) -> None:
        super().__init__(folder, store, keeps_store, settings)
        self._store = store
        self._reader = self.reader = PostgresReader(self.recorder, store, folder / "passing")
        self.feed = self._feed = SharedFeed(self.recorder.feed, self._reader.numbered)
        self._guard = RecordGuard("postgres")
        self.queries = PostgresQueries(self._reader, self._guard)
        self.excerpts = postgres_excerpts(self._reader, folder / "passing")

    async def close(self) -> None:
        self._guard.close()
        await self._feed.close()
        await self.recorder.close()
        await self._reader.close()
        self._store.end()


class PostgresKind(StoreKind):
    def __init__(self, server: Database, pooler: Database | None = None) -> None:
        """A database of its own. `pooler`: what the store is reached through."""
        self.database = new_database(server, "record")
        name = self.database.database
        reached = self.database if pooler is None else replace(pooler, database=name)
        self.address = StoreAddress(reached.dsn, f"127.0.0.1:{reached.port}/{name}")
        self._reached = reached
        self._reader: str | None = None
        self.may_migrate = True
        self.stores: list[PostgresStore] = []

    def give_reader_login(self) -> None:
        """From now on SQL of users runs in sessions of a user of its own."""
        self._reader = f"reader_{uuid.uuid4().hex[:12]}"
        password = uuid.uuid4().hex
        self.database.run(CREATE_ROLE)
        self.database.run(f"CREATE ROLE {self._reader} LOGIN PASSWORD '{password}' IN ROLE {READER_ROLE}")
        login = replace(self._reached, user=self._reader, password=password)
        self.address = replace(self.address, reader_dsn=login.dsn)

    def store(self, folder: Path) -> PostgresStore:
        self.stores.append(PostgresStore(folder, self.address, may_migrate=self.may_migrate))
        return self.stores[-1]

    def ask(self, store: RecordStore[Batch], sql: str) -> list[tuple[Any, ...]]:
        async def asked() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(self.database.dsn, server_settings={"search_path": "callgate"})
            try:
                return [tuple(row) for row in await connection.fetch(sql)]
            finally:
                await connection.close()

        assert isinstance(store, PostgresStore)
        return store.thread.run(asked())

    def record(self, folder: Path, keeps_store: bool = True, **settings: Any) -> KeptRecord:
        if self.is_apart and keeps_store:
            settings["apart"] = self.place()
        return _PostgresRecord(folder, self.store(folder), keeps_store, settings)

    def place(self) -> StorePlace:
        return _place("postgres", self.address, self.may_migrate)

    def break_legs(self, store: RecordStore[Batch]) -> None:
        self.database.run("ALTER TABLE callgate_store.rpc_event_upstreams RENAME TO elsewhere")

    @contextmanager
    def reading(self, sql: str) -> Iterator[None]:
        """Somebody whose transaction stays open."""
        loop = asyncio.new_event_loop()
        connection = loop.run_until_complete(asyncpg.connect(self.database.dsn))
        try:
            loop.run_until_complete(connection.execute(f"BEGIN; {sql}"))
            yield
        finally:
            loop.run_until_complete(connection.close())
            loop.close()

    def close(self) -> None:
        for store in self.stores:
            store.end()
        self.database.run(f"DROP DATABASE {self.database.database} WITH (FORCE)", database="postgres")
        if self._reader is not None:
            self.database.run(f"DROP ROLE {self._reader}", database="postgres")


def make_tables(store: PostgresStore, with_days: bool = True) -> None:
    """In a thread that runs no event loop: the store runs its own."""
    store.open()
    if with_days:
        store.begin_round()
    store.close()


class _ClickhouseRecord(KeptRecord):
    def __init__(
        self, folder: Path, store: ClickhouseStore, keeps_store: bool, settings: dict[str, Any]
    ) -> None:
        super().__init__(folder, store, keeps_store, settings)
        self._reader = self.reader = ClickhouseReader(self.recorder, store, folder / "passing")
        self._guard = ClickhouseGuard()
        self.queries = ClickhouseQueries(self._reader, self._guard, store.address.reader)
        self.excerpts = clickhouse_excerpts(self._reader, folder / "passing")
        self.feed = self.recorder.feed

    async def close(self) -> None:
        self._guard.close()
        await self.recorder.close()
        self._reader.close()


class ClickhouseKind(StoreKind):
    def __init__(self, server: ClickhouseDatabase) -> None:
        """A database of its own."""
        name = f"record_{uuid.uuid4().hex[:12]}"
        server.run(f"CREATE DATABASE {name}")
        self.database = replace(server, database=name)
        login = clickhouse_connection.StoreUser(server.user, server.password)
        self.address = clickhouse_connection.ClickhouseAddress(server.host, server.port, name, login)

    def store(self, folder: Path) -> ClickhouseStore:
        return ClickhouseStore(folder, self.address)

    def ask(self, store: RecordStore[Batch], sql: str) -> list[tuple[Any, ...]]:
        connection = clickhouse_connection.ClickhouseConnection(self.address, 30.0)
        try:
            return [tuple(row) for row in connection.table(sql)[1]]
        finally:
            connection.close()

    def record(self, folder: Path, keeps_store: bool = True, **settings: Any) -> KeptRecord:
        if self.is_apart and keeps_store:
            settings["apart"] = self.place()
        return _ClickhouseRecord(folder, self.store(folder), keeps_store, settings)

    def place(self) -> StorePlace:
        return _place("clickhouse", self.address)

    def break_legs(self, store: RecordStore[Batch]) -> None:
        self.database.run("ALTER TABLE callgate_record RENAME COLUMN legs TO elsewhere")

    def close(self) -> None:
        self.database.run(f"DROP DATABASE {self.database.database} SYNC", database="default")
