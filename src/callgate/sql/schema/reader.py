"""SchemaReader: asks a driver an engine's schema statements and builds the shapes. Counterpart: `queries`.

Names are matched exactly first and then, when that finds nothing, without regard to case if only one fits:
URI libraries fold the case of what they take for a host.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from callgate.model.errors import SourceError
from callgate.ports.source_schema import ForeignKey
from callgate.sql.drivers.driver import Driver
from callgate.sql.guard.judgement import Bound, Statement
from callgate.sql.guard.policy import Limits, Policy
from callgate.sql.named_parameters import read_templates
from callgate.sql.schema.queries import SchemaQueries
from callgate.sql.schema.rows import (
    Row,
    column_entry,
    foreign_key_entries,
    foreign_keys,
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

# A schema is read whole or not usefully at all; beyond this a reader is better served by search_objects.
MAX_TABLES = 2_000
_MAX_ROWS = 10_000
_MAX_CHARACTERS = 4_000_000
_LONGEST_PLAIN_NAME = 64
# Tables whose rows are counted one by one, where the engine keeps no estimate.
_MAX_COUNTED = 100


class SchemaReader:
    def __init__(self, driver: Driver, policy: Policy, queries: SchemaQueries) -> None:
        self._driver = driver
        self._dialect = policy.dialect
        self._queries = queries
        self._limits = Limits(policy.limits.timeout_s, _MAX_ROWS, _MAX_CHARACTERS)

    async def database_names(self) -> tuple[str, ...]:
        return tuple(str(row[0]) for row in await self._rows(self._queries.schemata))

    async def table_names(self, database: str) -> tuple[str, ...]:
        """Of one database, or with "" of all."""
        rows = await self._rows(self._queries.table_names, database=database)
        return tuple(dict.fromkeys(str(row[1]) for row in rows))

    async def databases(self) -> DatabaseList:
        schemata = await self._rows(self._queries.schemata)
        counts = {str(row[0]): number_of(row[1]) or 0 for row in await self._rows(self._queries.table_counts)}
        entries = tuple(
            DatabaseEntry(str(name), text_of(charset), text_of(collation), counts.get(str(name), 0))
            for name, charset, collation in schemata
        )
        return DatabaseList(entries, len(entries))

    async def database(self, name: str) -> DatabaseShape | None:
        schemata = {str(row[0]): row for row in await self._rows(self._queries.schemata)}
        exact = _resolved(name, schemata)
        if exact is None:
            return None
        rows = await self._rows(self._queries.tables, database=exact)
        tables = tuple(table_entry(row) for row in rows[:MAX_TABLES])
        _, charset, collation = schemata[exact]
        info = DatabaseInfo(exact, text_of(charset), text_of(collation))
        return DatabaseShape(info, await self._counted(exact, tables), len(rows))

    async def table(self, database: str, name: str) -> TableDescription | None:
        # As it is written first: to list all names takes seconds where there are thousands of tables.
        is_plain = _is_plain(database) and _is_plain(name)
        if is_plain and (described := await self._described(database, name)) is not None:
            return described
        exact = _resolved(database, await self.database_names())
        if exact is None:
            return None
        table = _resolved(name, await self.table_names(exact))
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
        queries = (self._queries.foreign_keys, self._queries.referenced_by)
        outward, inward = await self._ask(queries, {"database": database, "table": table})
        return foreign_keys(outward, database), foreign_keys(inward, database)

    async def find_tables(self, like: str, database: str) -> tuple[FoundTable, ...]:
        rows = await self._rows(self._queries.find_tables, like=like, database=database)
        return tuple(
            FoundTable(str(schema), str(name), str(kind), number_of(count), text_of(comment) or "")
            for schema, name, kind, count, comment in rows
        )

    async def find_columns(self, like: str, database: str) -> tuple[FoundColumn, ...]:
        rows = await self._rows(self._queries.find_columns, like=like, database=database)
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
