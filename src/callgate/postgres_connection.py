"""One connection to a PostgreSQL of our own: the record's store, or the directory of replicas.

Owns how asyncpg is used through a pooler in transaction mode. Whose database it is, and what an operator is
told of its failures, its users know. Imported only where such a database is configured: asyncpg is an extra.
"""

# pyright: reportMissingTypeStubs=false

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg
from asyncpg import exceptions as pg

__all__ = ["FAILURES", "OPTIONS", "Connection", "begin", "connect_to", "driver", "pg", "said", "transaction"]

_CONNECT_S, _ROLLBACK_S = 5.0, 2.0
FAILURES: tuple[type[Exception], ...] = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # with TimeoutError
    EOFError,
)
Connection = Any  # asyncpg has no types
driver: Any = asyncpg
OPTIONS: dict[str, Any] = {"statement_cache_size": 0, "server_settings": {"application_name": "callgate"}}


async def connect_to(dsn: str, timeout_s: float = _CONNECT_S) -> Connection:
    """Raises FAILURES. Statements are not kept: the next transaction may be on another server connection."""
    async with asyncio.timeout(timeout_s):
        return await driver.connect(dsn, timeout=timeout_s, **OPTIONS)


@asynccontextmanager
async def transaction(
    connection: Connection, *, limit_s: float, lock_s: float, read_only: bool = False
) -> AsyncGenerator[None]:
    """Given back or taken back at its end."""
    await begin(connection, limit_s=limit_s, lock_s=lock_s, read_only=read_only)
    try:
        yield
        await connection.execute("COMMIT")
    except BaseException:
        await _roll_back(connection)
        raise


async def _roll_back(connection: Connection) -> None:
    """Of a server that says nothing any more it is not waited for."""
    try:
        if connection.is_closed() or not connection.is_in_transaction():
            return
        async with asyncio.timeout(_ROLLBACK_S):
            await connection.execute("ROLLBACK")
    except FAILURES:
        with suppress(asyncpg.InterfaceError):  # its pool was ended meanwhile, and took it back
            connection.terminate()


async def begin(connection: Connection, *, limit_s: float, lock_s: float, read_only: bool = False) -> None:
    """The server's own limits end it where our connection hangs: only they free what it holds then."""
    settings = {
        "statement_timeout": limit_s,
        "lock_timeout": lock_s,
        "idle_in_transaction_session_timeout": limit_s,
    }
    spelled = "; ".join(f"SET LOCAL {name} = {int(value * 1000)}" for name, value in settings.items())
    await connection.execute(f"BEGIN{' READ ONLY' if read_only else ''}; {spelled}")


def said(problem: Exception) -> str:
    """What failed, in a few words: the server's message without the details below it, never our address."""
    if isinstance(problem, asyncpg.PostgresError):
        return str(problem.args[0] if problem.args else type(problem).__name__).partition("\n")[0][:300]
    if isinstance(problem, TimeoutError):
        return "it does not answer in time"
    if isinstance(problem, OSError):
        return problem.strerror or type(problem).__name__
    return f"the connection was lost ({type(problem).__name__})"
