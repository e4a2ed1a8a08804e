"""Which tables have a key that leads to a table, on an engine that opens all of them to say so.

MariaDB takes a second for 5,000 tables where the account may not ask InnoDB (PROCESS). So what it said of all
keys is kept for a minute: whoever looks through a schema waits once. A key that is newer is shown a minute
later, as is the lack of one; the key itself is always read anew.
"""

import time
from collections.abc import Awaitable, Callable

from callgate.sql.schema.rows import Row

_KEPT_S = 60.0

Ask = Callable[[], Awaitable[tuple[Row, ...]]]


class References:
    def __init__(self, ask: Ask) -> None:
        """`ask` gives database and table of each key, and of the table that it leads to."""
        self._ask = ask
        self._rows: tuple[Row, ...] = ()
        self._read_mono: float | None = None

    async def to(self, database: str, table: str) -> tuple[Row, ...]:
        """Database and table of those with a key that leads there."""
        now = time.monotonic()
        if self._read_mono is None or now - self._read_mono > _KEPT_S:
            self._rows = await self._ask()
            self._read_mono = now
        # Servers differ in whether case matters; what is found too much is left out when the key is read.
        wanted = (database.casefold(), table.casefold())
        found = {row[:2] for row in self._rows if (str(row[2]).casefold(), str(row[3]).casefold()) == wanted}
        return tuple(sorted(found, key=str))
