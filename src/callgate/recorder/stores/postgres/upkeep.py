"""What is done for all gateways of a store by one of them, and by hand where gateways may not change tables.

Each step can be done twice without harm: who holds the lease may hang, and another takes over. Partitions
themselves are `partitions`; what goes, and when, is `Retention`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from callgate.model.errors import SetupError
from callgate.postgres_connection import FAILURES, Connection, pg, transaction
from callgate.recorder.flush.retention import Retention
from callgate.recorder.stores.postgres import partitions
from callgate.recorder.stores.postgres.connection import StoreAddress, connect, trouble_of
from callgate.recorder.stores.postgres.migrations import SCHEMA_VERSION, bring_up_to_date, has_table
from callgate.recorder.stores.postgres.schema import READER_ROLE, SESSION_NAMES, STORE, SUM_NAMES, VIEWS
from callgate.recorder.stores.postgres.users_sql import reader_trouble

_STATEMENT_S, _LOCK_S, _LOOK_S = 10.0, 5.0, 10.0
_LOOK = f"""
SELECT current_setting('server_version'), has_database_privilege(current_database(), 'CREATE'),
    EXISTS (SELECT FROM pg_roles WHERE rolname = '{READER_ROLE}' AND pg_has_role(oid, 'MEMBER'))
"""  # noqa: S608
_MAY_WRITE = f"""
SELECT has_schema_privilege('{STORE}', 'USAGE') AND has_table_privilege('{STORE}.rpc_events', 'INSERT')
"""
# A part that is folded is locked, and so is who wants to add to it: a few at a time.
_MOST_FOLDED = 500
_FOLDED = "folded"  # instead of a writer
_WORDS = [name for name in SESSION_NAMES if name not in ("session_id", "created_at", *SUM_NAMES)]
_ADDED = [
    "created_at = least(p.created_at, excluded.created_at)",
    *(f"{name} = greatest(p.{name}, excluded.{name})" for name in _WORDS),
    *(f"{name} = p.{name} + excluded.{name}" for name in SUM_NAMES),
]
# Of sessions that every writer has ended, and that nobody has used for ten minutes.
_FOLD = f"""
WITH over AS (
    SELECT session_id FROM {STORE}.session_parts GROUP BY session_id
    HAVING count(*) > 1 AND bool_and(ended_at IS NOT NULL)
        AND max(ended_at) < (now() AT TIME ZONE 'UTC') - interval '10 minutes'
    LIMIT {_MOST_FOLDED}
), gone AS (
    DELETE FROM {STORE}.session_parts
    WHERE session_id IN (SELECT session_id FROM over) AND writer <> '{_FOLDED}' RETURNING *
)
INSERT INTO {STORE}.session_parts AS p (session_id, writer, created_at, {", ".join((*_WORDS, *SUM_NAMES))})
SELECT session_id, '{_FOLDED}', min(created_at), {", ".join(f"max({name})" for name in _WORDS)},
    {", ".join(f"sum({name})" for name in SUM_NAMES)} FROM gone GROUP BY session_id
ON CONFLICT (session_id, writer) DO UPDATE SET {", ".join(_ADDED)}
"""  # noqa: S608
_FORGET_OLD = (
    f"DELETE FROM {STORE}.session_parts WHERE last_seen_at < $1",  # noqa: S608
    f"DELETE FROM {STORE}.batches WHERE stored_on < $1",  # noqa: S608
    f"""DELETE FROM {STORE}.writers WHERE stored_on < $1 AND writer NOT IN (
        SELECT writer FROM {STORE}.rpc_open UNION SELECT writer FROM {STORE}.session_parts)""",  # noqa: S608
)


@dataclass(frozen=True, slots=True)
class MigrationReport:
    version: int
    steps: int  # that were made now
    partitions_until: date
    dropped_days: int


async def drop_overdue(connection: Connection, retention: Retention, today: date) -> list[date]:
    """Days that are too old or too much, newest first; and of the others, bodies that are too old."""
    async with transaction(connection, limit_s=_STATEMENT_S, lock_s=_LOCK_S):
        days = await partitions.found(connection)
    written = [day for day in days if day.day <= today]
    overdue = retention.overdue(written, today)
    bodies_from = retention.oldest_bodies(today)
    for day in written[1:]:
        without_bodies = day.day < bodies_from and retention.may_drop(day.day)
        for one in day.partitions:
            if day in overdue or (one.table == "rpc_bodies" and without_bodies) or one.is_going:
                await partitions.drop(connection, one)
    if overdue:
        oldest = min((day.day for day in written if day not in overdue), default=today)
        async with transaction(connection, limit_s=_STATEMENT_S, lock_s=_LOCK_S):
            for statement in _FORGET_OLD:
                await connection.execute(statement, oldest)
    return [day.day for day in overdue]


async def fold(connection: Connection) -> None:
    """What several writers know of a session that is over becomes one row."""
    async with transaction(connection, limit_s=_STATEMENT_S, lock_s=_LOCK_S):
        await connection.execute(_FOLD)


async def migrate(
    address: StoreAddress, retention: Retention, days_ahead: int, grant_to: Sequence[str]
) -> MigrationReport:
    """By hand: all that gateways without the right to change tables leave undone. Raises SetupError."""
    try:
        connection = await connect(address)
        try:
            steps = await bring_up_to_date(connection, address.shown)
            today = await partitions.today_of(connection)
            until = today + timedelta(days=days_ahead)
            await partitions.make_ahead(connection, today, until)
            dropped = await drop_overdue(connection, retention, today)
            for role in grant_to:
                await _grant(connection, role)
            return MigrationReport(SCHEMA_VERSION, steps, until, len(dropped))
        finally:
            connection.terminate()
    except FAILURES as problem:
        raise trouble_of(address, problem) from problem


@dataclass(frozen=True, slots=True)
class StoreSeen:
    version: str  # of the server
    reader_trouble: SetupError | None  # of the user or the role that SQL over the record runs under


async def look(address: StoreAddress, may_migrate: bool) -> StoreSeen:
    """Whether a gateway could use it; changes nothing. Raises SetupError."""
    try:
        connection = await connect(address)
        try:
            async with asyncio.timeout(_LOOK_S):
                if not may_migrate:
                    await bring_up_to_date(connection, address.shown, may_migrate=False)
                version, may_make, has_role = await connection.fetchrow(_LOOK)
                is_made = await has_table(connection, "rpc_events")
                may_write = is_made and await connection.fetchval(_MAY_WRITE)
        finally:
            connection.terminate()
    except FAILURES as problem:
        raise trouble_of(address, problem) from problem
    if not (may_write if is_made else may_make):
        wanted = "write to its tables" if is_made else "make its tables"
        raise trouble_of(address, pg.InsufficientPrivilegeError(f"its user may not {wanted}"))
    return StoreSeen(version, await reader_trouble(address, has_role))


async def _grant(connection: Connection, role: str) -> None:
    """What a gateway needs that makes no tables."""
    async with transaction(connection, limit_s=_STATEMENT_S, lock_s=_LOCK_S):
        name = await connection.fetchval("SELECT quote_ident($1)", role)
        rights = "SELECT, INSERT, UPDATE, DELETE"
        await connection.execute(
            f"GRANT USAGE ON SCHEMA {STORE}, {VIEWS} TO {name};"
            f"GRANT {rights} ON ALL TABLES IN SCHEMA {STORE} TO {name};"
            f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {STORE} TO {name};"
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {VIEWS} TO {name};"
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA {STORE} GRANT {rights} ON TABLES TO {name};"
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA {STORE} GRANT USAGE ON SEQUENCES TO {name}"
        )
        await connection.execute("SAVEPOINT reader")
        try:
            await connection.execute(f"GRANT {READER_ROLE} TO {name}")
        except (pg.InsufficientPrivilegeError, pg.UndefinedObjectError):  # an administrator's: see queries
            await connection.execute("ROLLBACK TO SAVEPOINT reader")
