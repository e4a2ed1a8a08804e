"""A source's resources, in MCP's legacy shapes: lists, templates, reads.

`resources/read` gives two contents, JSON first and Markdown second; both say the same. Counterpart:
`resource_uris` knows the addresses, `schema` what stands behind them.
"""

from typing import Any

import msgspec

from callgate.model import error_codes as codes
from callgate.model.errors import CallerError
from callgate.model.near_miss import did_you_mean_one_of
from callgate.sql.schema import markdown
from callgate.sql.schema.reader import MAX_TABLES, SchemaReader
from callgate.sql.server.resource_uris import ResourceUris

_JSON, _MARKDOWN = "application/json", "text/markdown"

_encode = msgspec.json.Encoder().encode


class _ReadParams(msgspec.Struct):
    uri: str


class Resources:
    def __init__(self, uris: ResourceUris, engine_name: str, schema_reader: SchemaReader) -> None:
        self._uris = uris
        self._engine_name = engine_name
        self._schema_reader = schema_reader

    async def list(self) -> bytes:
        entries = [
            {
                "uri": self._uris.all_databases,
                "name": "All Databases",
                "description": f"List all accessible databases of {self._engine_name}",
                "mimeType": _JSON,
            }
        ]
        entries += [
            {
                "uri": self._uris.of_database(name),
                "name": f"Database: {name}",
                "description": f"Tables and metadata for {name} database",
                "mimeType": _JSON,
            }
            for name in await self._schema_reader.database_names()
        ]
        return _encode({"resources": entries})

    def templates(self) -> bytes:
        entries = [
            {
                "uriTemplate": self._uris.database_template,
                "name": "Database",
                "description": (
                    f"A database's tables with their sizes; {MAX_TABLES:,} at a time: add ?offset= and the "
                    "answer's nextOffset for more"
                ),
                "mimeType": _JSON,
            },
            {
                "uriTemplate": self._uris.table_template,
                "name": "Table",
                "description": "A table's columns, indexes and foreign keys",
                "mimeType": _JSON,
            },
        ]
        return _encode({"resourceTemplates": entries})

    async def read(self, raw: bytes) -> bytes:
        try:
            uri = msgspec.json.decode(raw or b"{}", type=_ReadParams).uri
        except msgspec.DecodeError:
            raise CallerError(
                codes.CALLER_BAD_PARAMS, 'resources/read needs the param "uri", a string'
            ) from None
        structured, text = await self._content(uri)
        contents = [
            {"uri": uri, "mimeType": _JSON, "text": _encode(structured).decode()},
            {"uri": uri, "mimeType": _MARKDOWN, "text": text},
        ]
        return _encode({"contents": contents})

    async def _content(self, uri: str) -> tuple[Any, str]:
        place = self._uris.read(uri)
        if place is None:
            raise _unknown(
                uri,
                "Resource not found.",
                f"Read {self._uris.all_databases}, {self._uris.database_template} or "
                f"{self._uris.table_template}, names percent-encoded.",
            )
        if place.database is None:
            databases = await self._schema_reader.databases()
            return databases, markdown.database_list(databases)
        if place.table is None:
            database = await self._schema_reader.database(place.database, place.offset)
            if database is None:
                raise await self._unknown_database(uri, place.database)
            following = database.next_offset
            next_page = self._uris.of_database(database.database.name, following) if following else ""
            return database, markdown.database(database, next_page)
        table = await self._schema_reader.table(place.database, place.table)
        if table is None:
            raise await self._unknown_table(uri, place.database, place.table)
        return table, markdown.table(table)

    async def _unknown_database(self, uri: str, wanted: str) -> CallerError:
        known = await self._schema_reader.database_names()
        return _unknown(
            uri,
            f"Database '{wanted[:100]}' does not exist or is not accessible.",
            f"{did_you_mean_one_of(wanted, known)} Read {self._uris.all_databases} to see all.".strip(),
        )

    async def _unknown_table(self, uri: str, database: str, wanted: str) -> CallerError:
        if not await self._schema_reader.has_database(database):
            return await self._unknown_database(uri, database)
        known = await self._schema_reader.near_table_names(database, wanted)
        return _unknown(
            uri,
            f"Table '{wanted[:100]}' does not exist in {database[:100]}.",
            f"{did_you_mean_one_of(wanted, known)} Read {self._uris.of_database(database)}.".strip(),
        )


def _unknown(uri: str, message: str, hint: str) -> CallerError:
    return CallerError(codes.CALLER_UNKNOWN_RESOURCE, message, hint=hint, data={"uri": uri})
