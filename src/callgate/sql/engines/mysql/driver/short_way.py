"""ShortWay: which statement is sent as one command, without a transaction before it and a reset behind it.

Only when all of this holds:

1. The guard said that it is a plain read (`Statement.is_plain_read`), and it is alone in its call.
2. The session is pinned to READ ONLY and to autocommit: the statement is a read-only transaction by itself.
3. It reads base tables alone (`BaseTables`): nothing runs that could leave something in the session. Columns
   that those compute may call no stored function. A view may call one, and that may change the session.
4. The server tells when a statement has changed the session. That it does was seen when the pins were set,
   which do change it. What it tells is read behind each plain read (`status.is_as_pinned`): unless all is
   as it was, the reset follows at once.

Even then a reset is owed (`session_reset`). A stopped, failed or unfinished statement ends as any other does.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.server import ServerError
from callgate.sql.engines.mysql.driver.status import has_changed_session
from callgate.sql.guard.judgement import Statement

Ask = Callable[[str], Awaitable[list[tuple[Cell, ...]]]]

# A table that becomes a view is known to be one after this long; until then the server's own word remains.
_REFRESHED_AFTER_S = 5.0
_REMEMBERED = 1_000  # callers choose the names
_MOST_TABLES = 8  # of one statement: each that is not known costs a question
_NAME = re.compile(r"(?:([A-Za-z0-9_]+)\.)?([A-Za-z0-9_]+)")
# A computed column of MariaDB's may read and set variables of the session, or have another column's DEFAULT
# do so, in whose place only `default(…)` is shown. Without a row there is no table.
_IS_BASE_SQL = """
SELECT MIN(table_type = 'BASE TABLE') AND NOT EXISTS (
    SELECT 1 FROM information_schema.columns
    WHERE {place} AND (generation_expression LIKE '%@%' OR generation_expression LIKE '%default(%')
) FROM information_schema.tables WHERE {place}
"""


class BaseTables:
    """Which of the tables that statements name are base tables, learned from the server. Shared by all
    connections of a source."""

    def __init__(self) -> None:
        # By the name as it is written; with when it was learned. The one that was learned last stands at the
        # end.
        self._known: OrderedDict[str, tuple[bool, float]] = OrderedDict()

    def are_all(self, names: Sequence[str]) -> bool | None:
        """None: `learn` it."""
        if len(names) > _MOST_TABLES:
            return False
        are_all: bool | None = True
        for name in names:
            known = self._known.get(name)
            if known is None or time.monotonic() - known[1] >= _REFRESHED_AFTER_S:
                are_all = None
            elif not known[0]:
                return False
        return are_all

    async def learn(self, names: Sequence[str], ask: Ask) -> bool:
        """Whether all of them are base tables, asked anew. `ask` may raise `ServerError`."""
        for name in names:
            if not await self._learned(name, ask):
                return False
        return True

    async def _learned(self, name: str, ask: Ask) -> bool:
        now = time.monotonic()
        is_base = (found := _NAME.fullmatch(name)) is not None and await _is_base(found[1], found[2], ask)
        self._known[name] = is_base, now
        self._known.move_to_end(name)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return is_base


async def _is_base(database: str | None, table: str, ask: Ask) -> bool:
    # Letters, digits and `_` alone come here: nothing in them ends a string.
    schema = "DATABASE()" if database is None else f"'{database}'"
    place = f"table_schema = {schema} AND table_name = '{table}'"
    try:
        ((is_base,),) = await ask(_IS_BASE_SQL.format(place=place))
    except ServerError:
        return False
    return is_base == 1


class ShortWay:
    def __init__(self, base_tables: BaseTables) -> None:
        self._base_tables = base_tables
        self._is_open = False

    def open(self, said_to_pins: bytes) -> None:
        """The session is read-only, and no proxy is known to stand before the server."""
        self._is_open = has_changed_session(said_to_pins, is_eof=False)

    def takes(self, statements: Sequence[Statement]) -> bool | None:
        """None: as far as its tables are base tables, which are to be learned."""
        if not self._is_open or len(statements) != 1:
            return False
        (statement,) = statements
        if not statement.is_plain_read or statement.parameters or statement.limits is not None:
            return False
        return self._base_tables.are_all(statement.tables)

    async def learns(self, statement: Statement, ask: Ask) -> bool:
        return await self._base_tables.learn(statement.tables, ask)
