"""ShortWay: which statement is sent as one command, without a transaction before it and a reset behind it.

Only when all of this holds:

1. The guard said that it is a plain read (`Statement.is_plain_read`), and it is alone in its call.
2. The session is pinned to READ ONLY and to autocommit: the statement is a read-only transaction by itself.
3. It reads base tables alone (`base_tables`): nothing runs that could leave something in the session.
4. The server tells when a statement has changed the session. That it does was seen when the pins were set,
   which do change it. What it tells is read behind each plain read (`status.is_as_pinned`): unless all is
   as it was, the reset follows at once.

Even then a reset is owed (`session_reset`). A stopped, failed or unfinished statement ends as any other does.
"""

from collections.abc import Sequence

from callgate.sql.engines.mysql.base_tables import Ask, BaseTables
from callgate.sql.engines.mysql.driver.status import has_changed_session
from callgate.sql.guard.judgement import Statement


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
