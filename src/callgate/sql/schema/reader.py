"""SchemaReader: asks a driver an engine's schema statements and builds the shapes. Counterpart: `queries`.

Names are matched exactly first and then, when that finds nothing, without regard to case if only one fits:
URI libraries fold the case of what they take for a host.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from callgate.model.errors import SourceError
from callgate.ports.source_schema import ForeignKey
from callgate.sql.drivers.driver import Driver
from callgate.sql.drivers.network.nearest import NEAR, pieces_of
from callgate.sql.guard.judgement import Bound, Statement
from callgate.sql.guard.policy import Limits, Policy
from callgate.sql.named_parameters import read_templates
from callgate.sql.schema.key_reader import KeyReader
from callgate.sql.schema.like import like_exactly
from callgate.sql.schema.queries import SchemaQueries
from callgate.sql.schema.rows import (
    Row,
    column_entry,
    foreign_key_entries,
    index_column,
    index_entries,
    is_true,
    number_of,
    table_entry,
    table_info,
    text_of,
    with_key,
)
from callgate.sql.schema.shapes import (
    DatabaseEntry,
    DatabaseInfo,
    DatabaseList,
    DatabaseShape,
    FoundColumn,
    FoundTable,
    TableDescription,
    TableEntry,
    TableInfo,
)

# The tables of one page.
MAX_TABLES = 2_000
_MAX_ROWS = 10_000
_MAX_CHARACTERS = 4_000_000
_LONGEST_PLAIN_NAME = 64
_MAX_SORTED = 1_000_000
# Tables whose rows are counted one by one, where the engine keeps no estimate.
_MAX_COUNTED = 100


class SchemaReader:
    def __init__(self, driver: Driver, policy: Policy, queries: SchemaQueries) -> None:
        self._driver = driver
        self._dialect = policy.dialect
        self._queries = queries
        self._keys = KeyReader(self._rows, queries)
        self._limits = Limits(policy.limits.timeout_s, _MAX_ROWS, _MAX_CHARACTERS)

    async def database_names(self) -> tuple[str, ...]:
        return tuple(str(row[0]) for row in await self._rows(self._queries.schemata))

    async def table_names(
        self, database: str, like: str = "%", limit: int = MAX_TABLES, offset: int = 0
    ) -> tuple[str, ...]:
        """Of one database, or with "" of all; each once. `like` as LIKE reads it."""
        page = {"like": like, "limit": limit, "offset": offset}
        rows = await self._rows(self._queries.table_names, database=database, **page)
        return tuple(dict.fromkeys(str(row[1]) for row in rows))

    async def near_table_names(self, database: str, wanted: str) -> tuple[str, ...]:
        """Those that share the most with a name that is not there. The engine sorts them."""
        pieces = pieces_of(wanted) if _is_plain(wanted) else ()
        shared = " + ".join(
            f"CASE WHEN LOWER(known.name) LIKE :piece_{at} ESCAPE '|' THEN 1 ELSE 0 END"
            for at in range(len(pieces))
        )
        values = {f"piece_{at}": f"%{like_exactly(piece)}%" for at, piece in enumerate(pieces)}
        rows = await self._rows(
            f"SELECT known.name FROM ({self._queries.table_names}) AS known"  # noqa: S608 - our own fragments
            f" ORDER BY {shared or '1'} DESC, known.name LIMIT {NEAR}",
            database=database, like="%", limit=_MAX_SORTED, offset=0, **values,
        )  # fmt: skip
        return tuple(dict.fromkeys(str(row[0]) for row in rows))

    async def databases(self) -> DatabaseList:
        schemata = await self._rows(self._queries.schemata)
        counts = {
            str(row[0]): number_of(row[1]) or 0
            for row in await self._rows(self._queries.table_counts, database="")
        }
        entries = tuple(
            DatabaseEntry(str(name), text_of(charset), text_of(collation), counts.get(str(name), 0))
            for name, charset, collation in schemata
        )
        return DatabaseList(entries, len(entries))

    async def has_database(self, name: str) -> bool:
        return _resolved(name, await self.database_names()) is not None

    async def database(self, name: str, offset: int = 0) -> DatabaseShape | None:
        """With the page of its tables that begins after `offset` of them."""
        schemata = {str(row[0]): row for row in await self._rows(self._queries.schemata)}
        exact = _resolved(name, schemata)
        if exact is None:
            return None
        # The names first, which every engine lists cheaply; then more about those of the page alone.
        names = await self.table_names(exact, offset=offset, limit=MAX_TABLES)
        tables = await self._tables(exact, names) if names else ()
        count, following = offset + len(names), None
        if offset or len(names) == MAX_TABLES:
            counts = await self._rows(self._queries.table_counts, database=exact)
            known = sum(number_of(row[1]) or 0 for row in counts)
            following = count if names and count < known else None
            count = known
        _, charset, collation = schemata[exact]
        info = DatabaseInfo(exact, text_of(charset), text_of(collation))
        return DatabaseShape(info, await self._counted(exact, tables), count, following)

    async def _tables(self, database: str, names: tuple[str, ...]) -> tuple[TableEntry, ...]:
        bounds = {"first": names[0], "last": names[-1]}
        rows = await self._rows(self._queries.tables, database=database, **bounds)
        wanted = frozenset(names)  # where case does not matter, one of the next page may equal the last
        return tuple(table_entry(row) for row in rows if str(row[0]) in wanted)

    async def table(self, database: str, name: str) -> TableDescription | None:
        # As it is written first: to list all names takes seconds where there are thousands of tables.
        is_plain = _is_plain(database) and _is_plain(name)
        if is_plain and (described := await self._described(database, name)) is not None:
            return described
        exact = _resolved(database, await self.database_names())
        if exact is None:
            return None
        like = like_exactly(name) if is_plain else "%"
        table = _resolved(name, await self.table_names(exact, like, _MAX_ROWS))
        if table is None:
            return None
        return await self._described(exact, table)

    async def _described(self, exact: str, table: str) -> TableDescription | None:
        queries = self._queries
        infos = await self._rows(queries.table, database=exact, table=table)
        # An engine may compare without regard to case; and a system schema is not described.
        if not infos or (infos[0][0], infos[0][1]) != (exact, table):
            return None
        wanted = (queries.columns, queries.indexes, queries.foreign_keys)
        columns, index_rows, keys = await self._ask(wanted, {"database": exact, "table": table})
        indexes = [index_column(row) for row in index_rows]
        return TableDescription(
            await self._counted_info(table_info(infos[0])),
            tuple(with_key(column_entry(row), indexes) for row in columns),
            index_entries(indexes),
            foreign_key_entries(keys, exact),
        )

    async def foreign_keys(
        self, database: str, table: str
    ) -> tuple[tuple[ForeignKey, ...], tuple[ForeignKey, ...]]:
        """Those that lead from a table to others, and from others to it. Names as the schema has them."""
        return await self._keys.of(database, table)

    async def find_tables(
        self, like: str, database: str, limit: int, offset: int = 0
    ) -> tuple[FoundTable, ...]:
        wanted = {"like": like, "database": database, "limit": limit, "offset": offset}
        if (find_names := self._queries.find_names) is not None:
            rows = await self._named(await self._rows(find_names, **wanted))
        else:
            rows = await self._rows(self._queries.find_tables, **wanted)
        return tuple(
            FoundTable(str(schema), str(name), str(kind), number_of(count), text_of(comment) or "")
            for schema, name, kind, count, comment in rows
        )

    async def _named(self, found: tuple[Row, ...]) -> tuple[Row, ...]:
        """FoundTable's fields of each, in the same order. What is gone by now is left out."""
        known: dict[tuple[str, str], Row] = {}
        for database in dict.fromkeys(str(row[0]) for row in found):
            names = [str(row[1]) for row in found if row[0] == database]
            values = {f"name_{at}": name for at, name in enumerate(names)}
            for row in await self._rows(self._queries.named_tables(len(names)), database=database, **values):
                known[str(row[0]), str(row[1])] = row
        return tuple(known[key] for row in found if (key := (str(row[0]), str(row[1]))) in known)

    async def count_tables(self, like: str, database: str) -> int:
        names = self._queries.table_names
        page = {"limit": _MAX_SORTED, "offset": 0}
        sql = f"SELECT count(*) FROM ({names}) AS known"  # noqa: S608 - our own fragments
        ((count,),) = await self._rows(sql, like=like, database=database, **page)
        return number_of(count) or 0

    async def find_columns(
        self, like: str, database: str, limit: int, offset: int = 0
    ) -> tuple[FoundColumn, ...]:
        page = {"limit": limit, "offset": offset}
        rows = await self._rows(self._queries.find_columns, like=like, database=database, **page)
        return tuple(
            FoundColumn(
                str(schema), str(table), str(name), str(kind), is_true(nullable), text_of(comment) or ""
            )
            for schema, table, name, kind, nullable, comment in rows
        )

    async def own_types(self) -> frozenset[str]:
        """By all names that they go by. A dot in a name of one part is no name of two parts."""
        if self._queries.own_types is None:
            return frozenset()
        names: set[str] = set()
        for schema, name, is_visible in await self._rows(self._queries.own_types):
            if "." in f"{schema}{name}":
                continue
            names.add(f"{schema}.{name}")
            if is_true(is_visible):
                names.add(str(name))
        return frozenset(names)

    async def _rows(self, sql: str, **values: Bound) -> tuple[Row, ...]:
        return (await self._ask((sql,), values))[0]

    async def _ask(self, queries: Iterable[str], values: Mapping[str, Bound]) -> list[tuple[Row, ...]]:
        """All of them on one connection, the values bound."""
        statements: list[Statement] = []
        for sql in queries:
            (template,) = read_templates(sql, self._dialect)
            statements.append(
                Statement(
                    template.with_placeholders(self._driver.placeholder),
                    "SELECT",
                    parameters=tuple(values[name] for name in template.names),
                    limits=self._limits,
                )
            )
        return [result.rows for result in await self._driver.run(statements)]

    async def _counted(self, database: str, tables: tuple[TableEntry, ...]) -> tuple[TableEntry, ...]:
        count_rows = self._queries.count_rows
        if count_rows is None:
            return tables
        wanted = [table for table in tables if table.type == "BASE TABLE" and table.row_count is None]
        counts: dict[str, int | None] = {}
        for table in wanted[:_MAX_COUNTED]:
            counts[table.name] = await self._count(count_rows(database, table.name))
        return tuple(replace(table, row_count=counts.get(table.name, table.row_count)) for table in tables)

    async def _counted_info(self, info: TableInfo) -> TableInfo:
        count_rows = self._queries.count_rows
        if count_rows is None or info.type != "BASE TABLE" or info.row_count is not None:
            return info
        return replace(info, row_count=await self._count(count_rows(info.database, info.name)))

    async def _count(self, sql: str) -> int | None:
        try:
            ((count,),) = await self._rows(sql)
        except SourceError:
            return None  # one odd table must not hide the others
        return number_of(count)


def _is_plain(name: str) -> bool:
    """One that every engine takes for a name; others are only looked for in the list."""
    return len(name) < _LONGEST_PLAIN_NAME and name.isprintable()


def _resolved(wanted: str, names: Iterable[str]) -> str | None:
    known = list(names)
    if wanted in known:
        return wanted
    alike = [name for name in known if name.casefold() == wanted.casefold()]
    return alike[0] if len(alike) == 1 else None
