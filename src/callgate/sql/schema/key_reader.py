"""The foreign keys of a table, those of other tables that lead to it included. Counterpart: `queries`.

To find these MariaDB opens all tables, a second for 5,000 of them, unless InnoDB may be asked (PROCESS). So
what it said of all keys is kept for a minute: whoever looks through a schema waits once. A key that is newer
is shown a minute later; the key itself is always read anew.
"""

import re
import time
from collections.abc import Mapping
from typing import Protocol

from callgate.model.errors import SourceError
from callgate.ports.source_schema import ForeignKey
from callgate.sql.guard.judgement import Bound
from callgate.sql.schema.queries import SchemaQueries
from callgate.sql.schema.rows import Row, foreign_keys

_KEPT_S = 60.0
# Other letters are in file names, and so in InnoDB's own lists, written in a code.
_IN_NO_CODE = re.compile(r"[0-9A-Za-z_]+")


class Ask(Protocol):
    async def __call__(self, sql: str, **values: Bound) -> tuple[Row, ...]: ...


class KeyReader:
    def __init__(self, ask: Ask, queries: SchemaQueries) -> None:
        self._ask = ask
        self._queries = queries
        self._may_ask_referencing = queries.referencing is not None
        self._all: tuple[Row, ...] = ()
        self._all_read_mono: float | None = None

    async def of(self, database: str, table: str) -> tuple[tuple[ForeignKey, ...], tuple[ForeignKey, ...]]:
        here: dict[str, Bound] = {"database": database, "table": table}
        outward = await self._ask(self._queries.foreign_keys, **here)
        if self._queries.references is None:
            inward = await self._ask(self._queries.referenced_by, **here)
        else:
            inward = ()
            for owner, name in await self._referencing(self._queries.references, here):
                values = here | {"from_database": str(owner), "from_table": str(name)}
                inward += await self._ask(self._queries.referenced_by, **values)
        return foreign_keys(outward, database), foreign_keys(inward, database)

    async def _referencing(self, all_keys: str, here: Mapping[str, Bound]) -> tuple[Row, ...]:
        """The tables with a key that leads here."""
        is_coded = any(not _IN_NO_CODE.fullmatch(str(name)) for name in here.values())
        if self._may_ask_referencing and not is_coded:
            try:
                rows = await self._ask(self._queries.referencing or "", **here)
            except SourceError:
                self._may_ask_referencing = False  # no such table in this version, or the account may not
            else:
                if all(_IN_NO_CODE.fullmatch(str(name)) for row in rows for name in row):
                    return tuple(sorted(set(rows)))
        now = time.monotonic()
        if self._all_read_mono is None or now - self._all_read_mono > _KEPT_S:
            self._all = await self._ask(all_keys)
            self._all_read_mono = now
        # Servers differ in whether case matters; what is found too much is left out when the key is read.
        wanted = (str(here["database"]).casefold(), str(here["table"]).casefold())
        found = {row[:2] for row in self._all if (str(row[2]).casefold(), str(row[3]).casefold()) == wanted}
        return tuple(sorted(found, key=str))
