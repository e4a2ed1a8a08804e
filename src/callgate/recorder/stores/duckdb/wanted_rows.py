"""What some statements can read of the record, found out by DuckDB's own parser. Pure, but for the parser.

Only ever too much, never too little: what is not understood wants everything. Nothing here decides what may
be read; it keeps an excerpt from copying bodies that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from callgate.recorder.stores.duckdb.library import duckdb
from callgate.recorder.stores.duckdb.schema import TABLES, VIEWS

BODIES = frozenset({"request_json", "response_json"})
# A statement that names any other column may mean a whole row (`SELECT e FROM rpc_events e`).
_KNOWN_COLUMNS = {name.strip('"') for view in VIEWS for name in TABLES[view]} - BODIES
_WITH_BODIES = frozenset({"rpc_events", "rpc_event_upstreams"})
_NAMES = ("alias", "table_name", "key")  # of a table, and of a CTE
# What stands behind FROM and hides no column.
_PLAIN_SOURCES = frozenset({"BASE_TABLE", "SUBQUERY", "EMPTY", "EXPRESSION_LIST", "TABLE_FUNCTION"})


@dataclass(frozen=True, slots=True)
class Wanted:
    tables: frozenset[str] = VIEWS
    bodies: bool = True


def wanted_by(cursor: duckdb.DuckDBPyConnection, statements: Sequence[str]) -> Wanted:
    tables: set[str] = set()
    bodies = False
    for sql in statements:
        tree = _tree(cursor, sql)
        if tree is None:
            return Wanted()
        nodes = list(_nodes_of(tree))
        named = {str(node["table_name"]).lower() for node in nodes if node.get("type") == "BASE_TABLE"}
        # A system catalog tells of all tables, and how many rows they have.
        tables |= named & VIEWS if named and named <= VIEWS and not _asks_system_catalog(nodes) else VIEWS
        known = _KNOWN_COLUMNS | _own_names(nodes)
        bodies = bodies or (bool(named & _WITH_BODIES) and not all(_is_narrow(node, known) for node in nodes))
    return Wanted(frozenset(tables), bodies)


def _tree(cursor: duckdb.DuckDBPyConnection, sql: str) -> Any:
    """None: it is no SELECT, or not one that can be told apart."""
    try:
        found = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
        tree = msgspec.json.decode(found[0]) if found is not None else {"error": True}
    except (duckdb.Error, msgspec.DecodeError):
        return None
    return None if tree.get("error") else tree


def _asks_system_catalog(nodes: Sequence[dict[str, Any]]) -> bool:
    return any(node.get("type") == "TABLE_FUNCTION" for node in nodes)


def _own_names(nodes: Sequence[dict[str, Any]]) -> set[str]:
    """What the statement calls its own results (`count(*) AS n`), unless a table is called so too."""
    aliases = {str(node["alias"]).lower() for node in nodes if "class" in node and node.get("alias")}
    of_tables = {
        str(node[key]).lower() for node in nodes if "class" not in node for key in _NAMES if key in node
    }
    return aliases - of_tables - BODIES


def _is_narrow(node: dict[str, Any], known: Set[str]) -> bool:
    """Whether this part of a statement reads no body."""
    kind, of_class = node.get("type"), node.get("class")
    if of_class == "STAR":
        return False
    if of_class == "COLUMN_REF":
        name = str(cast(list[Any], node.get("column_names") or [""])[-1]).lower()
        return name in known
    if kind == "JOIN":
        using = {str(name).lower() for name in cast(list[Any], node.get("using_columns") or [])}
        return node.get("ref_type") != "NATURAL" and not using & BODIES
    is_source = "sample" in node and "alias" in node  # what a table reference has, and nothing else
    return not is_source or kind in _PLAIN_SOURCES


def _nodes_of(tree: Any) -> Iterator[dict[str, Any]]:
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
