"""SQL of users over the record in PostgreSQL; implements `ports.RecordQueries`.

What is judged is also held by the server: a read-only transaction, by a user or under a role that may select
from the four views and nothing else (`users_sql`), ended at its limit of time, of which nothing stays.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.ports.record_queries import Query, Table
from callgate.ports.record_store import StatementGuard
from callgate.postgres_connection import Connection, pg
from callgate.recorder.read.answer_table import EXACT_INT, AnswerTable, cut_text, exact_int, query_too_long
from callgate.recorder.stores.postgres.reader import PostgresReader
from callgate.recorder.stores.postgres.users_sql import become_reader

_AT_ONCE = 200
_UNDO = "ROLLBACK TO SAVEPOINT asked; SELECT pg_advisory_unlock_all(); DEALLOCATE ALL"


class PostgresQueries:
    def __init__(self, reader: PostgresReader, guard: StatementGuard) -> None:
        self._reader = reader
        self._guard = guard

    async def query(self, query: Query) -> Table:
        return await self.run(await self._guard.allowed(query.sql), query)

    async def run(self, text: str, query: Query) -> Table:
        """A statement that was judged: the server holds against any other by itself."""

        async def read(connection: Connection) -> Table:
            await become_reader(connection, self._reader.address)
            try:
                async with _leaving_nothing(connection):
                    return await _answer(connection, text, query)
            except pg.QueryCanceledError:
                raise query_too_long(query) from None
            except (pg.PostgresConnectionError, pg.OperatorInterventionError):
                raise
            except pg.PostgresError as problem:
                said = str(problem.args[0] if problem.args else problem).partition("\n")[0]
                raise CallerError(CALLER_BAD_PARAMS, said[:500]) from None

        return await self._reader.read_for_users(read, query.timeout_s)


@asynccontextmanager
async def _leaving_nothing(connection: Connection) -> AsyncGenerator[None]:
    """A read-only transaction allows large objects, settings of the session and its locks: all is undone.

    Of a connection that broke, or on which nobody waits any more, `transaction` makes an end.
    """
    await connection.execute("SAVEPOINT asked")
    try:
        yield
    except pg.PostgresError:
        if not connection.is_closed():
            await connection.execute(_UNDO)
        raise
    else:
        await connection.execute(_UNDO)


async def _answer(connection: Connection, text: str, query: Query) -> Table:
    statement = await connection.prepare(text)
    columns = [attribute.name for attribute in statement.get_attributes()]
    cursor = await statement.cursor()
    answer = AnswerTable(columns, query, _cell)
    while answer.room and (found := await cursor.fetch(min(_AT_ONCE, answer.room))):
        answer.add(found)
    return answer.table()


def _cell(value: Any) -> Any:
    """As JSON has it, nothing rounded."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return exact_int(value)
    if isinstance(value, str):
        return cut_text(value)
    if isinstance(value, Decimal):
        is_whole = value == value.to_integral_value() and abs(value) < EXACT_INT
        return int(value) if is_whole else str(value)
    if isinstance(value, datetime):
        return value.isoformat() + ("Z" if value.tzinfo is None else "")
    if isinstance(value, date | timedelta):
        return str(value)
    if isinstance(value, list | tuple):
        return [_cell(one) for one in msgspec.convert(value, list[Any])]
    return str(value)
