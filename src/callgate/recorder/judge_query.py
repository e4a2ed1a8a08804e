"""Whether a user's SQL is one SELECT over the record's views and nothing else.

DuckDB parses it (`json_serialize_sql`), and every table in the tree must be one of the views or a CTE. The
instance cannot reach other files or the network anyway (see Store); this keeps users off each other's days,
off our bookkeeping, and off functions that read files.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

import duckdb
import msgspec

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError

VIEWS = frozenset({"rpc_events", "sessions", "rpc_event_upstreams", "gaps"})
_TABLE_FUNCTIONS = frozenset({"unnest", "range", "generate_series"})
_FORBIDDEN_FUNCTIONS = frozenset({"current_setting", "getenv", "getvariable", "nextval", "currval"})
# A name that could be a file's would be looked for as one.
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_SELECT = "Only SELECT statements"  # can be serialized, says DuckDB of what it can parse
_MAX_SQL_CHARS = 100_000


def judge_query(cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raises CallerError."""
    if len(sql) > _MAX_SQL_CHARS:
        raise _refusal("The query is longer than 100,000 characters")
    try:
        found = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
    except duckdb.Error as problem:
        raise _refusal(str(problem).partition("\n")[0]) from problem
    assert found is not None
    tree = msgspec.json.decode(found[0])
    if tree.get("error"):
        message = str(tree.get("error_message", "The query cannot be read")).partition("\n")[0]
        raise _refusal("Only SELECT is allowed here" if message.startswith(_NO_SELECT) else message)
    if len(tree.get("statements", ())) != 1:
        raise _refusal("One statement at a time")
    nodes = list(nodes_of(tree))
    named = VIEWS | {name for node in nodes for name in _cte_names(node)}
    for node in nodes:
        _judge_node(node, named)


def _judge_node(node: dict[str, Any], named: frozenset[str]) -> None:
    kind = node.get("type")
    if kind == "BASE_TABLE":
        name = str(node.get("table_name", ""))
        if node.get("schema_name") or node.get("catalog_name") or name.lower() not in named:
            raise _refusal(f"There is no table {name[:100]!r} here; there are {', '.join(sorted(VIEWS))}")
    elif kind == "TABLE_FUNCTION":
        function = cast(dict[str, Any], node.get("function") or {})
        if function.get("function_name") not in _TABLE_FUNCTIONS:
            raise _refusal(f"{function.get('function_name')!r} is not allowed here")
    elif kind == "SHOW_REF":
        raise _refusal("SHOW, DESCRIBE and SUMMARIZE are not allowed here")
    elif kind == "FUNCTION" and node.get("function_name") in _FORBIDDEN_FUNCTIONS:
        raise _refusal(f"{node.get('function_name')!r} is not allowed here")


def _cte_names(node: dict[str, Any]) -> Iterator[str]:
    ctes = cast(dict[str, Any], node.get("cte_map") or {})
    for entry in cast(list[dict[str, Any]], ctes.get("map") or []):
        name = str(entry.get("key", ""))
        if _PLAIN_NAME.fullmatch(name):
            yield name.lower()


def nodes_of(tree: Any) -> Iterator[dict[str, Any]]:
    """By hand and not by recursion: the tree is as deep as the caller likes."""
    waiting: list[Any] = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            node = cast(dict[str, Any], value)
            yield node
            waiting.extend(node.values())
        elif isinstance(value, list):
            waiting.extend(cast(list[Any], value))


def _refusal(message: str) -> CallerError:
    return CallerError(CALLER_BAD_PARAMS, message, hint="Write one SELECT over the record's tables")
