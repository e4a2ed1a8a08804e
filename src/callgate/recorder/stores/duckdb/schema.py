"""The tables of a day's file, and how an older file becomes one of today's.

Columns may grow, never change meaning. So a migration only ever adds columns, which DuckDB does without
rewriting a row.
No foreign keys and no secondary indexes: measured, they cost half the CPU and make deletes 200 times slower.
"""

from __future__ import annotations

from callgate.recorder.stores.duckdb.library import duckdb

SCHEMA_VERSION = 4

# Measured on 2.7 KB of words: a third of the bytes for twice the CPU of none.
_TEXT = "VARCHAR USING COMPRESSION zstd"


SESSION_COLUMNS = {
    "session_id": "VARCHAR",
    "created_at": "TIMESTAMP",
    "last_seen_at": "TIMESTAMP",
    "ended_at": "TIMESTAMP",
    "client_name": "VARCHAR",
    "client_version": "VARCHAR",
    "client_protocol": "VARCHAR",
    "era": "VARCHAR",
    "transport": "VARCHAR",
    "principal": "VARCHAR",
    "workspace": "VARCHAR",
    "handshake_session_id": "VARCHAR",
    "tool_call_count": "BIGINT",
    "error_count": "BIGINT",
    "total_tokens": "BIGINT",
    "writer": "VARCHAR",
}
EVENT_COLUMNS = {
    "id": "UUID",
    "ts": "TIMESTAMP",
    "session_id": "VARCHAR",
    "method": "VARCHAR",
    "client": "VARCHAR",
    "kind": "VARCHAR",
    "sender": "VARCHAR",
    "rpc_id": "VARCHAR",
    "seq": "BIGINT",
    "server_name": "VARCHAR",
    "server_version": "VARCHAR",
    "server_protocol": "VARCHAR",
    "tool_name": "VARCHAR",
    "source_id": "VARCHAR",
    "duration_ms": "DOUBLE",
    "ok": "BOOLEAN",
    "error": "VARCHAR",
    "error_code": "VARCHAR",
    "outcome": "VARCHAR",
    "ended_by": "VARCHAR",
    "request_json": _TEXT,
    "response_json": _TEXT,
    "annotations": "VARCHAR",
    "request_bytes": "BIGINT",
    "response_bytes": "BIGINT",
    "request_tokens": "BIGINT",
    "response_tokens": "BIGINT",
    "tokens_by": "VARCHAR",
    "is_redacted": "BOOLEAN",
    "is_cut": "BOOLEAN",
    "sql": "VARCHAR",
    "statement_type": "VARCHAR",
    "mode": "VARCHAR",
    "verdict": "VARCHAR",
    "rule": "VARCHAR",
    "tables": "VARCHAR[]",
    "rows": "BIGINT",
    "truncated": "BOOLEAN",
    "cached": "BOOLEAN",
    "trace_id": "VARCHAR",
    "principal": "VARCHAR",
    "via": "VARCHAR",
}
HOP_COLUMNS = {
    "event_id": "UUID",
    "server_name": "VARCHAR",
    "ok": "BOOLEAN",
    "duration_ms": "DOUBLE",
    "rpc_id": "VARCHAR",
    "same_request": "BOOLEAN",
    "same_response": "BOOLEAN",
    "request_json": _TEXT,
    "response_json": _TEXT,
    "error": "VARCHAR",
    "cached": "BOOLEAN",
    "server_version": "VARCHAR",
    "server_protocol": "VARCHAR",
    "started_ms": "DOUBLE",
}
TABLES = {
    "sessions": SESSION_COLUMNS,
    "rpc_events": EVENT_COLUMNS,
    # Exchanges without an outcome: few, and gone once they have one. Their own table, because completing a
    # row among a million others would cost a scan.
    "rpc_open": {**EVENT_COLUMNS, "writer": "VARCHAR"},
    "rpc_event_upstreams": HOP_COLUMNS,
    "gaps": {'"from"': "TIMESTAMP", '"to"': "TIMESTAMP", "count": "BIGINT", "reason": "VARCHAR"},
    "watermarks": {"segment": "VARCHAR", "byte_offset": "BIGINT"},
    "schema_versions": {"version": "INTEGER", "applied_at": "TIMESTAMP"},
}
# What the record's readers know them as.
VIEWS = frozenset({"rpc_events", "sessions", "rpc_event_upstreams", "gaps"})


def bring_up_to_date(connection: duckdb.DuckDBPyConnection, database: str) -> None:
    """`database`: the attached file's quoted name. One transaction: a crash leaves the older version."""
    connection.begin()
    try:
        for table, columns in TABLES.items():
            spelled = ", ".join(f"{name} {kind}" for name, kind in columns.items())
            connection.execute(f"CREATE TABLE IF NOT EXISTS {database}.{table} ({spelled})")
        found = connection.execute(f"SELECT max(version) FROM {database}.schema_versions").fetchone()  # noqa: S608
        version = found[0] if found and found[0] is not None else 0
        if version < SCHEMA_VERSION:
            for table, columns in TABLES.items():
                for name, kind in columns.items():
                    plain = kind.partition(" USING")[0]
                    connection.execute(
                        f"ALTER TABLE {database}.{table} ADD COLUMN IF NOT EXISTS {name} {plain}"
                    )
            connection.execute(
                f"INSERT INTO {database}.schema_versions VALUES (?, now()::TIMESTAMP)",  # noqa: S608
                [SCHEMA_VERSION],
            )
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def is_up_to_date(connection: duckdb.DuckDBPyConnection, database: str) -> bool:
    try:
        found = connection.execute(f"SELECT max(version) FROM {database}.schema_versions").fetchone()  # noqa: S608
    except duckdb.CatalogException:
        return False
    return found is not None and found[0] is not None and found[0] >= SCHEMA_VERSION


def check_columns(connection: duckdb.DuckDBPyConnection, database: str) -> None:
    """Raises duckdb.Error: one file without a column of ours would take the views from all the others."""
    for table in TABLES:
        connection.execute(f"{_union([database], table)} LIMIT 0")


def _union(databases: list[str], table: str) -> str:
    """Columns by name, since an older file has them in another order. Not BY NAME: with 35 files that takes
    DuckDB 60 ms for each statement that reads the view, and this 14."""
    columns = ", ".join(TABLES[table])
    return " UNION ALL ".join(f"SELECT {columns} FROM {database}.{table}" for database in databases)  # noqa: S608


def view_statements(databases: list[str]) -> list[str]:
    """All days as one, the newest first in `databases`: it alone has open exchanges (`sweep.move_open`)."""
    opened = f"SELECT {', '.join(EVENT_COLUMNS)} FROM {databases[0]}.rpc_open"  # noqa: S608
    return [
        f"CREATE OR REPLACE VIEW rpc_events AS {_union(databases, 'rpc_events')} UNION ALL {opened}",
        f"CREATE OR REPLACE VIEW rpc_event_upstreams AS {_union(databases, 'rpc_event_upstreams')}",
        f"CREATE OR REPLACE VIEW gaps AS {_union(databases, 'gaps')}",
        # A session that lasts over midnight has a part in each day.
        f"""CREATE OR REPLACE VIEW sessions AS
        SELECT session_id, min(created_at) AS created_at, max(last_seen_at) AS last_seen_at,
            max(ended_at) AS ended_at, max(client_name) AS client_name, max(client_version) AS client_version,
            max(client_protocol) AS client_protocol, max(era) AS era, max(transport) AS transport,
            max(principal) AS principal, max(workspace) AS workspace,
            max(handshake_session_id) AS handshake_session_id,
            sum(tool_call_count)::BIGINT AS tool_call_count, sum(error_count)::BIGINT AS error_count,
            sum(total_tokens)::BIGINT AS total_tokens
        FROM ({_union(databases, "sessions")}) GROUP BY session_id""",  # noqa: S608
    ]
