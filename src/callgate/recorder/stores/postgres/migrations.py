"""Brings the tables of the record up to date, by exactly one of those that come at once.

A version of the tables is a step that adds to the one before. All steps that are wanted run in one
transaction, under an advisory lock, with their rows of `schema_versions`. A table that somebody reads for
long is waited for in short turns: who waits for its lock keeps everybody behind them waiting too.
"""

import asyncio
from collections.abc import Awaitable, Callable

from callgate.model.error_codes import SETUP_STORE_NEWER, SETUP_STORE_SCHEMA
from callgate.model.errors import SetupError
from callgate.postgres_connection import Connection, pg, transaction
from callgate.recorder.stores.postgres.schema import (
    CREATE_ROLE,
    CREATE_VIEWS,
    GRANTS,
    LIVE_TABLES,
    LZ4,
    MIGRATION_LOCK,
    STORE,
    TABLES,
    VIEWS,
)

# How long a table's lock is waited for, and how often.
_LOCK_S, _TURNS, _PAUSE_S = 2.0, 30, 1.0
# An index over all days takes long.
_LIMIT_S = 600.0
_VERSIONS = f"CREATE TABLE {STORE}.schema_versions (version int, min_reader int, applied_at timestamptz)"
_FOUND = f"SELECT max(version) AS version, max(min_reader) AS min_reader FROM {STORE}.schema_versions"  # noqa: S608
_HAS_TABLE = f"""
SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = '{STORE}' AND c.relname = $1
"""  # noqa: S608


async def _make_tables(connection: Connection) -> None:
    for schema in (STORE, VIEWS):
        # Asked first: "IF NOT EXISTS" wants the right to make one even where there is one.
        if await connection.fetchval("SELECT 1 FROM pg_namespace WHERE nspname = $1", schema) is None:
            await connection.execute(f"CREATE SCHEMA {schema}")
    await connection.execute(f"{_VERSIONS};{TABLES}{CREATE_VIEWS}")
    await _attempt(connection, LZ4)  # where the server was built with it
    # Where an administrator made the role, it is not ours to grant; its rights on our views are.
    await _attempt(connection, CREATE_ROLE)
    await _attempt(connection, GRANTS)


async def _add_live_stream(connection: Connection) -> None:
    await connection.execute(LIVE_TABLES)


# From the version before to this one, from the first on; and the oldest version of this module that can still
# read and write what is there then.
STEPS: tuple[tuple[Callable[[Connection], Awaitable[None]], int], ...] = (
    (_make_tables, 1),
    (_add_live_stream, 1),
)
SCHEMA_VERSION = len(STEPS)


async def bring_up_to_date(connection: Connection, shown: str, may_migrate: bool = True) -> int:
    """How many steps were made. Raises SetupError when the tables are from the future; or when they are
    missing or old, and it is not ours to change that."""
    async with transaction(connection, limit_s=_LIMIT_S, lock_s=_LOCK_S):
        version = await _version(connection, shown)
    if version >= SCHEMA_VERSION:
        return 0
    if not may_migrate:
        raise _not_ours(version, shown)
    for turn in range(_TURNS):
        try:
            return await _migrate(connection, shown)
        except (pg.LockNotAvailableError, pg.DeadlockDetectedError):
            if turn == _TURNS - 1:
                raise
        await asyncio.sleep(_PAUSE_S)
    raise AssertionError("the last turn returns or raises")


async def _migrate(connection: Connection, shown: str) -> int:
    async with transaction(connection, limit_s=_LIMIT_S, lock_s=_LIMIT_S):
        await connection.execute(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
        await connection.execute(f"SET LOCAL lock_timeout = {int(_LOCK_S * 1000)}")
        version = await _version(connection, shown)
        for number, (step, min_reader) in enumerate(STEPS[version:], version + 1):
            await step(connection)
            await connection.execute(
                f"INSERT INTO {STORE}.schema_versions VALUES ($1, $2, now())",  # noqa: S608
                number,
                min_reader,
            )
        return max(0, SCHEMA_VERSION - version)


async def has_table(connection: Connection, name: str) -> bool:
    """By a query: `to_regclass` does not see what was made while we waited for a lock."""
    return await connection.fetchval(_HAS_TABLE, name) is not None


async def _version(connection: Connection, shown: str) -> int:
    """0: there is nothing yet."""
    if not await has_table(connection, "schema_versions"):
        return 0
    version, min_reader = await connection.fetchrow(_FOUND)
    if (min_reader or 0) > SCHEMA_VERSION:
        raise SetupError(
            SETUP_STORE_NEWER,
            f"The record's store at {shown} has tables of version {version}, and this Callgate knows "
            f"{SCHEMA_VERSION}",
            hint="Install the version of Callgate that the other gateways on this store have",
        )
    return version or 0


def _not_ours(version: int, shown: str) -> SetupError:
    found = f"has tables of version {version}" if version else "has no tables"
    return SetupError(
        SETUP_STORE_SCHEMA,
        f"The record's store at {shown} {found}, and this Callgate needs version {SCHEMA_VERSION}",
        hint="[record] migrate is false: run callgate record migrate as a user who may change the tables",
    )


async def _attempt(connection: Connection, statements: str) -> None:
    """What not every server or user can have."""
    await connection.execute("SAVEPOINT attempt")
    try:
        await connection.execute(statements)
    except (
        pg.InsufficientPrivilegeError,
        pg.FeatureNotSupportedError,
        pg.UniqueViolationError,
        pg.UndefinedObjectError,  # a role that this user may not make, and nobody made
    ):
        await connection.execute("ROLLBACK TO SAVEPOINT attempt")
