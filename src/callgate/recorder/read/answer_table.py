"""The answer to SQL of users, made of a store's rows: how much of it is kept, in every store. Pure."""

from collections.abc import Callable, Iterable
from typing import Any

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.ports.record_queries import Query, Table

MAX_ANSWER_CHARS = 8 * 1024 * 1024
_MAX_CELL_CHARS = 1024 * 1024
EXACT_INT = 2**53  # beyond, a JSON reader may round
SMALLER_HINT = "Filter by ts, aggregate, or ask for fewer columns"


class AnswerTable:
    def __init__(self, columns: list[str], query: Query, cell: Callable[[Any], Any]) -> None:
        """`cell`: a value as JSON has it, nothing rounded."""
        self._columns = columns
        self._query = query
        self._cell = cell
        self._rows: list[list[Any]] = []
        self._chars = 0
        self._is_full = False

    @property
    def room(self) -> int:
        """How many rows to ask for: one more than are kept, to know whether there are more."""
        return 0 if self._is_full else self._query.max_rows + 1 - len(self._rows)

    def add(self, rows: Iterable[Iterable[Any]]) -> None:
        for row in rows:
            if len(self._rows) == self._query.max_rows or self._chars > MAX_ANSWER_CHARS:
                self._is_full = True
                return
            cells = [self._cell(value) for value in row]
            self._chars += sum(len(cell) if isinstance(cell, str) else 8 for cell in cells)
            self._rows.append(cells)

    def table(self) -> Table:
        return Table(self._columns, self._rows, truncated=self._is_full)


def exact_int(value: int) -> int | str:
    return value if abs(value) < EXACT_INT else str(value)


def cut_text(text: str) -> str:
    return text if len(text) <= _MAX_CELL_CHARS else f"{text[:_MAX_CELL_CHARS]}…"


def query_too_long(query: Query) -> CallerError:
    message = f"The query took longer than {query.timeout_s:g} s"
    return CallerError(CALLER_BAD_PARAMS, message, hint=SMALLER_HINT)
