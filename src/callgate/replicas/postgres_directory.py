"""The directory in PostgreSQL: three small tables, plain short transactions, any pooler.

Two connections: one beats, one does the rest. A connection that fails or hangs is thrown away, and the next
use opens another. No LISTEN, no session lock, no prepared statement is kept.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from callgate.postgres_connection import FAILURES, Connection, begin, connect_to, pg, said
from callgate.replicas.directory import Announcement, DirectoryAwayError, HomeRow, Member
from callgate.replicas.reports import MAX_REPORT_BYTES

SCHEMA = "callgate_replicas"
# Any number will do, as long as nobody else takes it: tables are made by one at a time.
_MAKING = 7_420_171_701
RIGHTS = "its user needs CREATE on the database, and afterwards all rights in the schema callgate_replicas"
_BEAT_LIMIT_S = 3.0
_LIMIT_S = 2.0
# A database that takes longer to tell the time does not tell it well.
_CLOCK_LIMIT_S = 0.5
_TABLES = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
CREATE TABLE IF NOT EXISTS {SCHEMA}.replicas (
    gateway text PRIMARY KEY, address text NOT NULL, seal text NOT NULL, state text NOT NULL,
    version text NOT NULL, fingerprint text NOT NULL, health text, clock_offset_ms integer,
    started_at timestamptz NOT NULL DEFAULT now(), seen_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS {SCHEMA}.homes (
    key text PRIMARY KEY, session_id text NOT NULL, home text NOT NULL, principal text NOT NULL,
    envelope text NOT NULL DEFAULT '', is_plain boolean NOT NULL DEFAULT true,
    seen_at timestamptz NOT NULL DEFAULT now(), ended_at timestamptz);
CREATE INDEX IF NOT EXISTS homes_seen_at ON {SCHEMA}.homes (seen_at);
CREATE TABLE IF NOT EXISTS {SCHEMA}.leases (
    name text PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL);
"""
_LAST_TABLE = f"{SCHEMA}.leases"
# By a scan: what a session remembers of names (`to_regclass`) may be from before it waited for the lock.
_IS_MADE_NOW = f"""
SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = '{SCHEMA}' AND c.relname = 'leases')
"""  # noqa: S608
_BEAT = f"""
INSERT INTO {SCHEMA}.replicas (gateway, address, seal, state, version, fingerprint, clock_offset_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (gateway) DO UPDATE SET address = excluded.address, seal = excluded.seal,
    state = excluded.state, clock_offset_ms = excluded.clock_offset_ms, seen_at = now()
"""  # noqa: S608
_MEMBERS = f"""
SELECT gateway, address, seal, state, version, fingerprint, clock_offset_ms,
    extract(epoch FROM started_at)::float8, extract(epoch FROM now() - seen_at)::float8
FROM {SCHEMA}.replicas WHERE isfinite(started_at) AND isfinite(seen_at)
"""  # noqa: S608
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
_REPORT = f"UPDATE {SCHEMA}.replicas SET health = $2 WHERE gateway = $1"  # noqa: S608
# A little more than any replica tells: whoever writes more there must not fill our memory.
_REPORTS = f"""
SELECT gateway, left(health, {2 * MAX_REPORT_BYTES}) FROM {SCHEMA}.replicas
WHERE health IS NOT NULL AND state <> 'left' AND seen_at > now() - interval '5 minutes'
"""  # noqa: S608
_PUT = f"""
INSERT INTO {SCHEMA}.homes AS h (key, session_id, home, principal, envelope, is_plain, ended_at)
SELECT key, session_id, home, principal, envelope, is_plain, CASE WHEN is_ended THEN now() END
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bool[], $7::bool[])
    AS given (key, session_id, home, principal, envelope, is_plain, is_ended)
ON CONFLICT (key) DO UPDATE SET is_plain = h.is_plain AND excluded.is_plain, seen_at = now(),
    ended_at = coalesce(h.ended_at, excluded.ended_at)
WHERE h.home = excluded.home
"""  # noqa: S608
_SAW = f"""
UPDATE {SCHEMA}.homes SET seen_at = now() WHERE key = ANY ($1::text[]) RETURNING key, home
"""  # noqa: S608
_CLAIM = f"""
INSERT INTO {SCHEMA}.homes AS h (key, session_id, home, principal) VALUES ($1, $2, $3, $4)
ON CONFLICT (key) DO UPDATE SET seen_at = now(),
    session_id = CASE WHEN h.seen_at > now() - $5::float8 * interval '1 second'
        THEN h.session_id ELSE excluded.session_id END,
    home = CASE WHEN h.seen_at > now() - $5::float8 * interval '1 second' THEN h.home ELSE excluded.home END
RETURNING session_id, home
"""  # noqa: S608
_COLUMNS = "key, session_id, home, principal, envelope, is_plain, ended_at IS NOT NULL"
_MOVE = f"""
UPDATE {SCHEMA}.homes SET home = $3, seen_at = now()
WHERE key = $1 AND home = $2 AND is_plain AND ended_at IS NULL
"""  # noqa: S608
_HOME = f"SELECT {_COLUMNS} FROM {SCHEMA}.homes WHERE key = $1"  # noqa: S608
_LEASE = f"""
INSERT INTO {SCHEMA}.leases AS l (name, holder, until)
VALUES ($1, $2, now() + $3::float8 * interval '1 second')
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE l.holder = excluded.holder OR l.until < now()
RETURNING holder
"""  # noqa: S608
_OLD = "seen_at < now() - $1::float8 * interval '1 second'"
_FORGET = (
    f"DELETE FROM {SCHEMA}.homes WHERE {_OLD}",  # noqa: S608
    f"DELETE FROM {SCHEMA}.replicas WHERE {_OLD}",  # noqa: S608
)
_Found = TypeVar("_Found")
_Work = Callable[[Connection], Awaitable[_Found]]


class PostgresDirectory:
    def __init__(self, dsn: str, *, makes_tables: bool = True) -> None:
        self._dsn = dsn  # with its password: never shown
        self._beating = _Lane(self._open)
        self._asking = _Lane(self._open)
        self._has_tables = not makes_tables
        self.own_host = ""  # from which address we reach the database
        self.clock_offset_s: float | None = None

    async def beat(self, me: Announcement) -> Sequence[Member]:
        async def work(connection: Connection) -> Sequence[Member]:
            await connection.execute(
                _BEAT, me.gateway, me.address, me.seal, me.state, me.version, me.fingerprint,
                me.clock_offset_ms,
            )  # fmt: skip
            await self._read_clock(connection)
            return _members(await connection.fetch(_MEMBERS))

        return await self._beating.run(work, _BEAT_LIMIT_S)

    async def is_made(self) -> bool:
        """Whether any replica was ever here."""

        async def work(connection: Connection) -> bool:
            return await connection.fetchval("SELECT to_regclass($1)::text", _LAST_TABLE) is not None

        return await self._asking.run(work, _LIMIT_S)

    async def may_make(self) -> bool:
        """Whether our user could make the tables."""

        async def work(connection: Connection) -> bool:
            return await connection.fetchval("SELECT has_database_privilege(current_database(), 'CREATE')")

        return await self._asking.run(work, _LIMIT_S)

    async def members(self) -> Sequence[Member]:
        async def work(connection: Connection) -> Sequence[Member]:
            if self.clock_offset_s is None:
                await self._read_clock(connection)
            return _members(await connection.fetch(_MEMBERS))

        return await self._asking.run(work, _LIMIT_S)

    async def report(self, gateway: str, text: str) -> None:
        async def work(connection: Connection) -> None:
            await connection.execute(_REPORT, gateway, text)

        await self._asking.run(work, _LIMIT_S)

    async def reports(self) -> Mapping[str, str]:
        async def work(connection: Connection) -> Mapping[str, str]:
            return {row[0]: row[1] for row in await connection.fetch(_REPORTS)}

        return await self._asking.run(work, _LIMIT_S)

    async def put(self, rows: Sequence[HomeRow]) -> None:
        columns = [
            [row.key for row in rows],
            [row.session_id for row in rows],
            [row.home for row in rows],
            [row.principal for row in rows],
            [row.envelope for row in rows],
            [row.is_plain for row in rows],
            [row.is_ended for row in rows],
        ]

        async def work(connection: Connection) -> None:
            await connection.execute(_PUT, *columns)

        await self._asking.run(work, _LIMIT_S)

    async def saw(self, keys: Collection[str]) -> Sequence[tuple[str, str]]:
        async def work(connection: Connection) -> Sequence[tuple[str, str]]:
            # In one order for all: two that lock the same rows the other way round would wait for each other.
            return [tuple(row) for row in await connection.fetch(_SAW, sorted(keys))]

        return await self._asking.run(work, _LIMIT_S)

    async def claim(self, row: HomeRow, gap_s: float, limit_s: float) -> tuple[str, str]:
        async def work(connection: Connection) -> tuple[str, str]:
            found = await connection.fetchrow(_CLAIM, row.key, row.session_id, row.home, row.principal, gap_s)
            return found[0], found[1]

        return await self._asking.run(work, limit_s, opens=limit_s >= _LIMIT_S)

    async def home_of(self, key: str) -> HomeRow | None:
        async def work(connection: Connection) -> HomeRow | None:
            return _home(await connection.fetchrow(_HOME, key))

        return await self._asking.run(work, _LIMIT_S)

    async def move(self, key: str, gone: str, to: str) -> HomeRow | None:
        async def work(connection: Connection) -> HomeRow | None:
            await connection.execute(_MOVE, key, gone, to)
            return _home(await connection.fetchrow(_HOME, key))

        return await self._asking.run(work, _LIMIT_S)

    async def lease(self, name: str, holder: str, seconds: float) -> bool:
        async def work(connection: Connection) -> bool:
            return await connection.fetchval(_LEASE, name, holder, seconds) == holder

        return await self._asking.run(work, _LIMIT_S)

    async def forget(self, older_than_s: float) -> None:
        async def work(connection: Connection) -> None:
            for statement in _FORGET:
                await connection.execute(statement, older_than_s)

        await self._asking.run(work, _LIMIT_S)

    async def close(self) -> None:
        self._beating.drop()
        self._asking.drop()

    async def _read_clock(self, connection: Connection) -> None:
        asked_at = time.time()
        its_time: float = await connection.fetchval(_CLOCK)
        told_at = time.time()
        if 0 <= told_at - asked_at < _CLOCK_LIMIT_S:
            self.clock_offset_s = (asked_at + told_at) / 2 - its_time

    async def _open(self) -> Connection:
        connection = await connect_to(self._dsn)
        try:
            name: Any = connection._transport.get_extra_info("sockname")  # noqa: SLF001 - asyncpg does not tell
            self.own_host = str(name[0]) if not isinstance(name, (str, bytes)) else "127.0.0.1"
            if not self._has_tables:
                await _make_tables(connection)
                self._has_tables = True
        except BaseException:
            connection.terminate()
            raise
        return connection


class _Lane:
    """One connection, and one after the other on it."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()

    async def run(self, work: _Work[_Found], limit_s: float, *, opens: bool = True) -> _Found:
        """`opens`: there is time to open a connection. Who has less would only break the attempt off."""
        if not opens and self._connection is None:
            raise DirectoryAwayError("there is no connection to it")
        try:
            async with asyncio.timeout(limit_s), self._turn:
                return await self._on_connection(work, limit_s)
        except pg.InsufficientPrivilegeError as problem:
            raise DirectoryAwayError(f"{said(problem)} ({RIGHTS})") from problem
        except FAILURES as problem:
            raise DirectoryAwayError(said(problem)) from problem

    async def _on_connection(self, work: _Work[_Found], limit_s: float) -> _Found:
        try:
            connection = self._connection
            if connection is None or connection.is_closed():
                connection = self._connection = await self._connect()
            await begin(connection, limit_s=limit_s, lock_s=limit_s)
            found = await work(connection)
            await connection.execute("COMMIT")
        except BaseException:
            # Whatever it was: what is on its way on this connection cannot be told from the next answer.
            self.drop()
            raise
        return found

    def drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()


async def _make_tables(connection: Connection) -> None:
    """By one at a time; a role that may not create finds them made."""
    await begin(connection, limit_s=_BEAT_LIMIT_S, lock_s=_BEAT_LIMIT_S)
    if await connection.fetchval("SELECT to_regclass($1)::text", _LAST_TABLE) is None:
        await connection.execute(f"SELECT pg_advisory_xact_lock({_MAKING})")
        if not await connection.fetchval(_IS_MADE_NOW):
            await connection.execute(_TABLES)
    await connection.execute("COMMIT")


def _members(rows: Sequence[Sequence[object]]) -> list[Member]:
    return [Member(Announcement(*row[:7]), row[7], row[8]) for row in rows]  # pyright: ignore[reportArgumentType]


def _home(row: Sequence[object] | None) -> HomeRow | None:
    return None if row is None else HomeRow(*row)  # pyright: ignore[reportArgumentType]
