"""`GET /api/v1/servers/{name}/schema…`: what is in a database, asked of the database itself.

Names of databases and tables are parameters and not parts of the path: they may hold slashes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, TypeVar

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

_Told = TypeVar("_Told", TableOutline, ColumnDetail, IndexDetail)
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


class TablesQuery(DatabaseQuery, kw_only=True):
    offset: Annotated[
        int,
        Meta(ge=0, le=9_999_999, description="`next_offset` of the page before.",
             extra_json_schema={"default": 0}),
    ] = 0  # fmt: skip


class TableQuery(DatabaseQuery, kw_only=True):
    table: _Name


class DatabasesShape(msgspec.Struct):
    server: str
    databases: Sequence[DatabaseOutline]


class TablesShape(msgspec.Struct):
    server: str
    database: str
    tables: Sequence[TableOutline]
    total: int
    next_offset: int | None  # where the next page begins; null on the last


class TableShape(msgspec.Struct):
    server: str
    database: str
    table: TableOutline
    columns: Sequence[ColumnDetail]
    indexes: Sequence[IndexDetail]
    foreign_keys: Sequence[ForeignKey]  # from here to others
    referenced_by: Sequence[ForeignKey]  # from others to here


class SchemaApi:
    def __init__(
        self,
        status: Status,
        schema_of: Callable[[str], SourceSchema | None],
        redact: Callable[[str], str],
    ) -> None:
        """`schema_of`: of a database by its name; None for whatever is none. `redact`: comments and
        expressions; names stay, or nobody could ask for what they name."""
        self._redact = redact
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
                "The tables and views of a database, with about how many rows they have, in pages",
                self.tables,
                TablesShape,
                TablesQuery,
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

    async def tables(self, asked: Asked[TablesQuery, None]) -> TablesShape:
        name = asked.path["name"]
        found = await self._schema(name).tables(asked.query.database, asked.query.offset)
        tables = list(map(self._redacted, found.tables))
        return TablesShape(name, found.database, tables, found.total, found.next_offset)

    async def table(self, asked: Asked[TableQuery, None]) -> TableShape:
        name = asked.path["name"]
        found = await self._schema(name).table(asked.query.database, asked.query.table)
        return TableShape(
            name,
            found.database,
            self._redacted(found.table),
            list(map(self._redacted, found.columns)),
            list(map(self._redacted, found.indexes)),
            found.foreign_keys,
            found.referenced_by,
        )

    def _redacted(self, told: _Told) -> _Told:
        texts = {name: getattr(told, name, None) for name in ("comment", "default", "extra")}
        return replace(told, **{name: self._redact(text) for name, text in texts.items() if text})

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
