"""A source's schema as the API shows it. Implements `ports.source_schema.SourceSchema`.

The words of the schema's own shapes are the resources'; these are the page's. A name is
looked for among those that the schema lists before it goes anywhere, so what a caller makes up reaches no
statement.
"""

from collections.abc import Sequence

from callgate.model.error_codes import CALLER_NOT_FOUND
from callgate.model.errors import CallerError
from callgate.model.near_miss import did_you_mean_one_of
from callgate.ports.source_schema import (
    ColumnDetail,
    ColumnKey,
    DatabaseOutline,
    IndexDetail,
    TableDetail,
    TableList,
    TableOutline,
)
from callgate.sql.schema.reader import SchemaReader
from callgate.sql.schema.shapes import ColumnEntry, TableEntry, TableInfo

_KEYS: dict[str, ColumnKey] = {"PRI": "primary", "UNI": "unique", "MUL": "index"}


class SchemaView:
    def __init__(self, schema_reader: SchemaReader) -> None:
        self._schema_reader = schema_reader

    async def databases(self) -> Sequence[DatabaseOutline]:
        return [
            DatabaseOutline(
                entry.name, entry.table_count, entry.default_character_set, entry.default_collation
            )
            for entry in (await self._schema_reader.databases()).databases
        ]

    async def tables(self, database: str, offset: int = 0) -> TableList:
        found = await self._schema_reader.database(database, offset)
        if found is None:
            raise await self._no_database(database)
        tables = [_outline(entry) for entry in found.tables]
        return TableList(found.database.name, tables, found.table_count, found.next_offset)

    async def table(self, database: str, table: str) -> TableDetail:
        shape = await self._schema_reader.table(database, table)
        if shape is None:
            raise await self._no_table(database, table)
        info = shape.table
        outward, inward = await self._schema_reader.foreign_keys(info.database, info.name)
        return TableDetail(
            info.database,
            _outline(info),
            [_column(entry) for entry in shape.columns],
            outward,
            inward,
            [
                IndexDetail(entry.name, entry.unique, entry.columns, entry.index_type, entry.comment)
                for entry in shape.indexes
            ],
        )

    async def _no_database(self, wanted: str) -> CallerError:
        known = await self._schema_reader.database_names()
        return _unknown(f"There is no database {wanted[:100]!r} here, or it is not accessible", wanted, known)

    async def _no_table(self, database: str, wanted: str) -> CallerError:
        if not await self._schema_reader.has_database(database):
            return await self._no_database(database)
        known = await self._schema_reader.near_table_names(database, wanted)
        return _unknown(f"There is no table {wanted[:100]!r} in {database[:100]!r}", wanted, known)


def _outline(entry: TableEntry | TableInfo) -> TableOutline:
    sizes = [size for size in (entry.data_length, entry.index_length) if size is not None]
    return TableOutline(
        entry.name,
        "view" if "VIEW" in entry.type else "table",
        entry.engine,
        entry.row_count,
        sum(sizes) if sizes else None,
        entry.comment,
    )


def _column(entry: ColumnEntry) -> ColumnDetail:
    return ColumnDetail(
        entry.name,
        entry.ordinal_position,
        entry.column_type,
        entry.is_nullable,
        entry.default_value,
        _KEYS.get(entry.column_key),
        entry.extra,
        entry.comment,
    )


def _unknown(message: str, wanted: str, known: Sequence[str]) -> CallerError:
    hint = did_you_mean_one_of(wanted, known) or (f"There are: {', '.join(known[:20])}" if known else "")
    return CallerError(CALLER_NOT_FOUND, message, hint=hint)
