"""`GET /api/v1/servers/{name}/schema…`: what is in a database, asked of the database itself.

Names of databases and tables are parameters and not parts of the path: they may hold slashes.
"""

from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from callgate.api.operation import Asked, Operation
from callgate.model import error_codes as codes
from callgate.model.errors import CallerError, unknown_server
from callgate.model.identity import Role
from callgate.ports.source_schema import (
    ColumnDetail,
    DatabaseOutline,
    ForeignKey,
    IndexDetail,
    SourceSchema,
    TableOutline,
)
from callgate.ports.status import Status

_Name = Annotated[str, Meta(min_length=1, max_length=500)]
_ERRORS = (
    codes.CALLER_NOT_FOUND,
    codes.CALLER_UNKNOWN_SERVER,
    codes.SOURCE_ACCESS_DENIED,
    codes.SOURCE_FAILED,
    codes.SOURCE_TIMEOUT,
    codes.SOURCE_UNAVAILABLE,
)


class DatabaseQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    database: _Name


class TableQuery(DatabaseQuery, kw_only=True):
    table: _Name


class DatabasesShape(msgspec.Struct):
    server: str
    databases: Sequence[DatabaseOutline]


class TablesShape(msgspec.Struct):
    server: str
    database: str
    tables: Sequence[TableOutline]
    total: int  # more than are listed, when there are very many: search_objects finds the others


class TableShape(msgspec.Struct):
    server: str
    database: str
    table: TableOutline
    columns: Sequence[ColumnDetail]
    indexes: Sequence[IndexDetail]
    foreign_keys: Sequence[ForeignKey]  # from here to others
    referenced_by: Sequence[ForeignKey]  # from others to here


class SchemaApi:
    def __init__(self, status: Status, schema_of: Callable[[str], SourceSchema | None]) -> None:
        """`schema_of`: of a database by its name; None for whatever is none."""
        self._status = status
        self._schema_of = schema_of

    def operations(self) -> list[Operation]:
        path = "/api/v1/servers/{name}/schema"
        return [
            Operation(
                path,
                "listDatabases",
                "The databases, or schemas, of a source",
                self.databases,
                DatabasesShape,
                errors=_ERRORS,
                role=Role.WATCH,
            ),
            Operation(
                f"{path}/tables",
                "listTables",
                "The tables and views of a database, with about how many rows they have",
                self.tables,
                TablesShape,
                DatabaseQuery,
                errors=_ERRORS,
                role=Role.WATCH,
            ),
            Operation(
                f"{path}/table",
                "getTable",
                "One table: columns, indexes, foreign keys both ways",
                self.table,
                TableShape,
                TableQuery,
                errors=_ERRORS,
                role=Role.WATCH,
            ),
        ]

    async def databases(self, asked: Asked[None, None]) -> DatabasesShape:
        name = asked.path["name"]
        return DatabasesShape(name, await self._schema(name).databases())

    async def tables(self, asked: Asked[DatabaseQuery, None]) -> TablesShape:
        name = asked.path["name"]
        found = await self._schema(name).tables(asked.query.database)
        return TablesShape(name, found.database, found.tables, found.total)

    async def table(self, asked: Asked[TableQuery, None]) -> TableShape:
        name = asked.path["name"]
        found = await self._schema(name).table(asked.query.database, asked.query.table)
        return TableShape(
            name,
            found.database,
            found.table,
            found.columns,
            found.indexes,
            found.foreign_keys,
            found.referenced_by,
        )

    def _schema(self, name: str) -> SourceSchema:
        schema = self._schema_of(name)
        if schema is not None:
            return schema
        if any(entry.name == name for entry in self._status.health()):
            raise CallerError(
                codes.CALLER_NOT_FOUND,
                f"{name[:100]!r} has no schema to show",
                hint="Only SQL sources have one: those of kind sql in /api/v1/servers",
            )
        raise unknown_server(name, [entry.name for entry in self._status.health()])
