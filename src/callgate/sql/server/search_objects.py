"""The search_objects tool: tables and columns by a pattern of their names, in three levels of detail.

names: what is there; summary: with sizes, types and comments; full: tables with columns, indexes and keys.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from callgate.model import error_codes as codes
from callgate.model.exchange import Hop
from callgate.model.near_miss import did_you_mean_one_of
from callgate.sql.guard.judgement import Bound
from callgate.sql.guard.policy import Policy
from callgate.sql.results.answer import answer_error
from callgate.sql.schema.found_objects import FoundObject, found_column, found_table, objects_markdown
from callgate.sql.schema.like import like_pattern
from callgate.sql.schema.reader import SchemaReader
from callgate.sql.schema.shapes import FoundColumn, FoundTable, TableDescription
from callgate.sql.server.arguments import RESPONSE_FORMAT, Parameter, input_schema
from callgate.sql.server.tool import annotations, for_reads

# A few statements for each table: at full detail twenty are a second's work, and more than a reader takes in.
_MAX_FULL = 20
_MAX_OBJECTS = 500
_MAX_OFFSET = 1_000_000
# Kept free for what stands around the objects.
_RESERVE_CHARS = 600

_encode = msgspec.json.Encoder().encode


class SearchTool:
    name = "search_objects"

    def __init__(self, policy: Policy, schema_reader: SchemaReader) -> None:
        self._policy = policy
        self._schema_reader = schema_reader
        self.parameters = (
            Parameter(
                "pattern",
                "string",
                "Part of a name, or a pattern: * stands for any characters, ? for one. Case does not matter.",
                default="*",
                max_chars=200,
            ),
            Parameter(
                "object_type",
                "string",
                "What to look for",
                default="all",
                choices=("all", "table", "column"),
            ),
            Parameter("database", "string", "Look in this database only", default="", max_chars=200),
            Parameter(
                "detail_level",
                "string",
                "'names': what is there; 'summary': with sizes, types and comments; 'full': tables with "
                f"their columns, indexes and foreign keys, at most {_MAX_FULL}",
                default="names",
                choices=("names", "summary", "full"),
            ),
            Parameter("limit", "integer", "Most objects to return", default=100, bounds=(1, _MAX_OBJECTS)),
            Parameter(
                "offset",
                "integer",
                "How many to leave out: nextOffset of the answer before",
                default=0,
                bounds=(0, _MAX_OFFSET),
            ),
            RESPONSE_FORMAT,
        )

    def definition(self) -> dict[str, Any]:
        engine = self._policy.dialect.display_name
        return {
            "name": self.name,
            "title": f"Search {engine} Tables and Columns",
            "description": (
                f"Find tables, views and columns of the {engine} database by name. Start with "
                'detail_level "names", then ask for the tables that matter with "full".\n\n'
                "**Examples**:\n"
                '- All tables: {"object_type": "table"}\n'
                '- Everything about customers: {"pattern": "customer"}\n'
                '- Columns that hold an address: {"pattern": "*email*", "object_type": "column"}\n'
                '- A table with its keys: {"pattern": "orders", "detail_level": "full"}'
            ),
            "inputSchema": input_schema(self.parameters),
            "outputSchema": _OUTPUT_SCHEMA,
            "annotations": annotations(for_reads(self._policy), f"Search {engine} Tables and Columns"),
        }

    async def call(self, arguments: Mapping[str, Bound], hop: Hop) -> bytes:
        database = str(arguments["database"])
        if database and database not in (names := await self._schema_reader.database_names()):
            advice = did_you_mean_one_of(database, names) or f"There are: {', '.join(names[:20])}."
            return answer_error(
                "Error: Invalid input parameters.\n\n"
                f"- database: '{database}' does not exist or is not accessible. {advice}",
                codes.CALLER_BAD_ARGUMENTS,
            )
        level = str(arguments["detail_level"])
        limit = int(arguments["limit"] or 1)
        if level == "full":
            limit = min(limit, _MAX_FULL)
        # One more than is shown, to know that there is more.
        found = await self._find(arguments, limit + 1)
        objects, more = await self._shown(found[:limit], level)
        return self._answer(objects, more or len(found) > limit, arguments)

    async def _find(self, arguments: Mapping[str, Bound], limit: int) -> list[FoundTable | FoundColumn]:
        """Tables first, then columns, as one list that `offset` counts in."""
        kind, offset = str(arguments["object_type"]), int(arguments["offset"] or 0)
        where = (like_pattern(str(arguments["pattern"])), str(arguments["database"]))
        found: list[FoundTable | FoundColumn] = []
        if kind != "column":
            found += await self._schema_reader.find_tables(*where, limit, offset)
        if kind != "table" and len(found) < limit:
            if kind == "all" and not found and offset:
                offset -= await self._schema_reader.count_tables(*where)
            first = max(0, offset) if not found else 0
            found += await self._schema_reader.find_columns(*where, limit - len(found), first)
        return found

    async def _shown(
        self, found: list[FoundTable | FoundColumn], level: str
    ) -> tuple[list[FoundObject], bool]:
        """As many as the answer may hold, and whether some did not fit."""
        left = self._policy.limits.character_limit - _RESERVE_CHARS
        shapes: dict[tuple[str, str], TableDescription | None] = {}
        shown: list[FoundObject] = []
        for one in found:
            shape = None
            if level == "full":
                key = (one.database, one.table if isinstance(one, FoundColumn) else one.name)
                if key not in shapes:
                    shapes[key] = await self._schema_reader.table(*key)
                shape = shapes[key]
            is_column = isinstance(one, FoundColumn)
            entry = found_column(one, level, shape) if is_column else found_table(one, level, shape)
            left -= entry.chars
            if left < 0:
                return shown, True
            shown.append(entry)
        return shown, False

    def _answer(self, objects: list[FoundObject], truncated: bool, arguments: Mapping[str, Bound]) -> bytes:
        structured: dict[str, Any] = {
            "objects": [one.entry for one in objects],
            "count": len(objects),
            "truncated": truncated,
        }
        message = ""
        if truncated:
            message = "The next object is too long for an answer: ask for less detail."
            if objects:
                offset = int(arguments["offset"] or 0)
                structured["nextOffset"] = following = offset + len(objects)
                message = (
                    f"{_shown_range(offset, following)}. For more, ask again with offset {following}; "
                    "or narrow the pattern, or ask for less detail."
                )
            structured["message"] = message
        elif not objects and arguments["offset"]:
            message = "There are no more."
            structured["message"] = message
        elif not objects:
            pattern = str(arguments["pattern"])
            message = f"Nothing is named like {pattern!r}. Try a shorter part of the name."
            structured["message"] = message
        text = _encode(structured).decode()
        if arguments["response_format"] == "markdown":
            text = "\n\n".join(filter(None, (objects_markdown(objects), message)))
        content = [{"type": "text", "text": text}]
        return _encode({"content": content, "structuredContent": structured, "isError": False})


def _shown_range(offset: int, following: int) -> str:
    if not offset:
        return f"Only the first {following:,} are shown"
    return f"Only number {offset + 1:,} to {following:,} are shown"


_OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "objects": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": ["table", "view", "column"]},
                    "database": {"type": "string"},
                    "name": {"type": "string"},
                    "kind": {"type": "string", "description": "Of a table or view, as the engine calls it"},
                    "table": {"description": "Of a column its table; of a table at full detail its facts"},
                },
                "required": ["type", "database", "name"],
            },
        },
        "count": {"type": "integer"},
        "truncated": {"type": "boolean"},
        "nextOffset": {"type": "integer", "description": "Where the next page begins, when there is more"},
        "message": {"type": "string"},
    },
    "required": ["objects", "count", "truncated"],
}
