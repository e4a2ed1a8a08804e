"""SQL of users over the record in ClickHouse; implements `ports.RecordQueries`.

What is judged is also held by the server: `readonly`, which forbids every change and every table function,
limits of time, memory and rows, and, where the operator named a user for it, that user's rights.
"""

import re
from typing import Any, cast

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.ports.record_queries import Query, Table
from callgate.ports.record_store import StatementGuard
from callgate.recorder.read.answer_table import (
    MAX_ANSWER_CHARS,
    SMALLER_HINT,
    AnswerTable,
    cut_text,
    exact_int,
    query_too_long,
)
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.stores.clickhouse.connection import ClickhouseConnection, ClickhouseError, StoreUser
from callgate.recorder.stores.clickhouse.reader import ClickhouseReader

_LIMITS: dict[str, object] = {
    "readonly": 1,
    "max_memory_usage": 1024**3,
    "max_memory_usage_for_user": 4 * 1024**3,
    "max_result_bytes": 4 * MAX_ANSWER_CHARS,
    "result_overflow_mode": "break",
    "timeout_overflow_mode": "throw",
    "prefer_column_name_to_alias": 0,
    "date_time_output_format": "iso",
    "output_format_json_quote_decimals": 1,
}
_NO_FRACTION = re.compile(r"(\d{2}:\d{2}:\d{2})\.0+Z")


class ClickhouseQueries:
    def __init__(
        self, reader: ClickhouseReader, guard: StatementGuard, login: StoreUser | None = None
    ) -> None:
        """`login`: whom the statements run as; None: the store's own user."""
        self._reader = reader
        self._guard = guard
        self._login = login

    async def query(self, query: Query) -> Table:
        return await self.run(await self._guard.allowed(query.sql), query)

    async def run(self, text: str, query: Query) -> Table:
        """A statement that was judged: the server holds against any other by itself."""

        def read(connection: ClickhouseConnection) -> Table:
            limits = {**_LIMITS, "max_execution_time": query.timeout_s, "limit": query.max_rows + 1}
            try:
                columns, found = connection.plain_table(text, **limits)
            except ClickhouseError as problem:
                raise _told(problem, query) from None
            answer = AnswerTable(columns, query, _cell)
            answer.add(found)
            return answer.table()

        return await self._reader.read(read, ReadKind.SCAN, query.timeout_s, self._login)


def _told(problem: ClickhouseError, query: Query) -> Exception:
    if problem.is_of_the_way:
        return problem
    if problem.is_out_of_time:
        return query_too_long(query)
    if problem.is_out_of_memory:
        return CallerError(
            CALLER_BAD_PARAMS, "The query needs more memory than it may have", hint=SMALLER_HINT
        )
    return CallerError(CALLER_BAD_PARAMS, str(problem))


def _cell(value: Any) -> Any:
    """As JSON has it, nothing rounded."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return exact_int(value)
    if isinstance(value, str):
        return cut_text(_NO_FRACTION.sub(r"\1Z", value) if len(value) < 40 else value)
    if isinstance(value, list):
        return [_cell(one) for one in cast("list[Any]", value)]
    return value
