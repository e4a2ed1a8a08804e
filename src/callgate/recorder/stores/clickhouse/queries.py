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
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.stores.clickhouse.connection import ClickhouseConnection, ClickhouseError, StoreUser
from callgate.recorder.stores.clickhouse.reader import ClickhouseReader

_MAX_ANSWER_CHARS = 8 * 1024 * 1024
_MAX_CELL_CHARS = 1024 * 1024
_EXACT_INT = 2**53
_LIMITS: dict[str, object] = {
    "readonly": 1,
    "max_memory_usage": 1024**3,
    "max_memory_usage_for_user": 4 * 1024**3,
    "max_result_bytes": 4 * _MAX_ANSWER_CHARS,
    "result_overflow_mode": "break",
    "timeout_overflow_mode": "throw",
    "prefer_column_name_to_alias": 0,
    "date_time_output_format": "iso",
    "output_format_json_quote_decimals": 1,
}
_HINT = "Filter by ts, aggregate, or ask for fewer columns"
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
                return _answer(*connection.plain_table(text, **limits), query)
            except ClickhouseError as problem:
                raise _told(problem, query) from None

        return await self._reader.read(read, ReadKind.SCAN, query.timeout_s, self._login)


def _told(problem: ClickhouseError, query: Query) -> Exception:
    if problem.is_of_the_way:
        return problem
    if problem.is_out_of_time:
        return CallerError(CALLER_BAD_PARAMS, f"The query took longer than {query.timeout_s:g} s", hint=_HINT)
    if problem.is_out_of_memory:
        return CallerError(CALLER_BAD_PARAMS, "The query needs more memory than it may have", hint=_HINT)
    return CallerError(CALLER_BAD_PARAMS, str(problem))


def _answer(columns: list[str], found: list[list[Any]], query: Query) -> Table:
    rows: list[list[Any]] = []
    chars = 0
    for row in found:
        if len(rows) == query.max_rows or chars > _MAX_ANSWER_CHARS:
            return Table(columns, rows, truncated=True)
        cells = [_cell(value) for value in row]
        chars += sum(len(cell) if isinstance(cell, str) else 8 for cell in cells)
        rows.append(cells)
    return Table(columns, rows, truncated=False)


def _cell(value: Any) -> Any:
    """As JSON has it, nothing rounded."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < _EXACT_INT else str(value)
    if isinstance(value, str):
        text = _NO_FRACTION.sub(r"\1Z", value) if len(value) < 40 else value
        return text if len(text) <= _MAX_CELL_CHARS else f"{text[:_MAX_CELL_CHARS]}…"
    if isinstance(value, list):
        return [_cell(one) for one in cast("list[Any]", value)]
    return value
