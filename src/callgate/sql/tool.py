"""The query tool as clients see it: description, schemas and annotations, all read from the policy. Pure.

Counterpart: `results.answer` builds what the output schema declares.
"""

from typing import Any

from callgate.sql.arguments import FORMATS
from callgate.sql.policy import MAX_QUERY_CHARS, MAX_STATEMENTS, Policy

TOOL_NAME = "query"


def query_tool(policy: Policy) -> dict[str, Any]:
    return {
        "name": TOOL_NAME,
        "title": f"Execute {policy.dialect.display_name} Query",
        "description": _description(policy),
        "inputSchema": _input_schema(policy),
        "outputSchema": _output_schema(),
        "annotations": annotations(policy),
    }


def annotations(policy: Policy) -> dict[str, Any]:
    return {
        "title": f"Execute {policy.dialect.display_name} Query",
        "readOnlyHint": not policy.may_write,
        "destructiveHint": policy.may_write,
        "idempotentHint": False,
        "openWorldHint": True,
    }


def _input_schema(policy: Policy) -> dict[str, Any]:
    names = " Must use fully qualified table names (database.table)." if policy.require_qualified else ""
    return {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_QUERY_CHARS,
                "description": f"SQL query to execute, in {policy.dialect.display_name}'s dialect.{names}",
            },
            "response_format": {
                "type": "string",
                "enum": list(FORMATS),
                "default": FORMATS[0],
                "description": "Output format: 'markdown' for human-readable or 'json' for machine-readable",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def _output_schema() -> dict[str, Any]:
    properties: dict[str, Any] = {
        "columns": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
                "required": ["name", "type"],
            },
        },
        "rows": {"type": "array", "items": {"type": "array"}},
        "rowCount": {"type": "integer", "description": "Rows returned; of a write: affected rows"},
        "executionTime": {"type": "number", "description": "Milliseconds"},
        "truncated": {"type": "boolean"},
        "message": {"type": "string", "description": "How to get the rest, when truncated; or a note"},
    }
    required = ["columns", "rows", "rowCount", "executionTime", "truncated"]
    one = {
        "type": "object",
        "properties": {"statementType": {"type": "string"}, **properties},
        "required": required,
    }
    statements = {"type": "array", "items": one, "description": "Of several statements: each one's result"}
    return {"type": "object", "properties": {**properties, "statements": statements}, "required": required}


def _description(policy: Policy) -> str:
    limits = policy.limits
    size = f"{limits.max_rows:,} rows, {limits.character_limit:,} characters, {limits.timeout_s:g} s"
    engine = policy.dialect.display_name
    label = policy.mode.label
    lines = [
        f"Execute a SQL query against the {engine} database. The server operates in {label} mode.",
        "",
        f"**{label} mode**:",
        *_mode_lines(policy),
        "",
        "**Query requirements**:",
        f"- {engine}'s SQL dialect, 1 to {MAX_QUERY_CHARS:,} characters, at most {MAX_STATEMENTS} statements",
        "- Built-in functions only; write values into the query, placeholders are not bound",
        *_name_lines(policy),
        "",
        f"**Limits**: {size}. Results are cut at a row and say so: use LIMIT, WHERE, or aggregate.",
        "",
        "**Examples**:",
        f"- List tables: {policy.dialect.list_tables_sql.format(master=policy.catalogue)}",
        *_example_lines(policy),
        "",
        '**Returns**: a Markdown table, or with response_format "json":',
        '{"columns": [{"name", "type"}], "rows": [[…]], "rowCount", "executionTime", "truncated"}.',
    ]
    return "\n".join(lines)


def _mode_lines(policy: Policy) -> list[str]:
    reads = "SELECT, WITH … SELECT, VALUES, EXPLAIN, PRAGMA that only reads (e.g. table_info)"
    if not policy.may_write:
        return [
            f"- ALLOWED: {reads}",
            "- BLOCKED: INSERT, UPDATE, DELETE, REPLACE, CREATE, ALTER, DROP, ATTACH, VACUUM, transactions",
        ]
    writes = "INSERT, UPDATE, DELETE, REPLACE, transactions within one call (BEGIN; …; COMMIT)"
    if policy.may_define:
        return [
            f"- ALLOWED: {reads}, {writes}, CREATE TABLE, CREATE INDEX, CREATE VIEW, ALTER TABLE",
            "- BLOCKED: DROP, ATTACH, VACUUM, triggers, virtual tables",
        ]
    return [f"- ALLOWED: {reads}, {writes}", "- BLOCKED: CREATE, ALTER, DROP, ATTACH, VACUUM"]


def _name_lines(policy: Policy) -> list[str]:
    if policy.require_qualified:
        return ["- Must use fully qualified table names: database.table"]
    if policy.schema:
        return [f"- Tables may be written as table or {policy.schema}.table"]
    return []


def _example_lines(policy: Policy) -> list[str]:
    master = policy.catalogue
    lines = [
        "- Table structure: PRAGMA table_info(sqlite_master)",
        f"- Count by kind: SELECT type, count(*) AS n FROM {master} GROUP BY type ORDER BY n DESC",  # noqa: S608 - a text
        f"- Plan of a query: EXPLAIN QUERY PLAN SELECT name FROM {master} LIMIT 10",  # noqa: S608 - a text
    ]
    if policy.may_write:
        lines.append("- Change data: UPDATE table_name SET column_name = 'x' WHERE id = 1")
    return lines
