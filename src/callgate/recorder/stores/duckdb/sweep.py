"""What a process left open when it died is ended for it: nothing in the record waits for ever."""

from __future__ import annotations

from callgate.recorder.stores.duckdb.library import duckdb
from callgate.recorder.stores.duckdb.schema import SESSION_COLUMNS

_LOST = """
INSERT INTO {day}.rpc_events BY NAME
SELECT * EXCLUDE (writer) REPLACE ('lost' AS outcome, 'gateway' AS ended_by, false AS ok,
    'The gateway ended before there was an answer' AS error,
    (coalesce(request_bytes, 0) + 3) // 4 AS request_tokens, 0 AS response_tokens, 'bytes' AS tokens_by)
FROM {day}.rpc_open WHERE writer NOT IN (SELECT unnest($1::VARCHAR[]))
"""
_LOST_SUMS = """
UPDATE {day}.sessions SET
    tool_call_count = tool_call_count + calls, error_count = error_count + errors,
    total_tokens = total_tokens + tokens
FROM (
    SELECT session_id AS lost_id, count(*) FILTER (method = 'tools/call') AS calls, count(*) AS errors,
        sum((coalesce(request_bytes, 0) + 3) // 4) AS tokens
    FROM {day}.rpc_open WHERE writer NOT IN (SELECT unnest($1::VARCHAR[])) GROUP BY session_id
) WHERE session_id = lost_id
"""
_FORGET = "DELETE FROM {day}.rpc_open WHERE writer NOT IN (SELECT unnest($1::VARCHAR[]))"
_END_SESSIONS = """
UPDATE {day}.sessions SET ended_at = last_seen_at
WHERE ended_at IS NULL AND writer NOT IN (SELECT unnest($1::VARCHAR[]))
"""
_MOVE = """
INSERT INTO {today}.rpc_open BY NAME
SELECT * FROM {day}.rpc_open AS old WHERE NOT EXISTS (FROM {today}.rpc_open AS new WHERE new.id = old.id)
    AND NOT EXISTS (FROM {today}.rpc_events AS new WHERE new.id = old.id)
"""
_SUMS = ("tool_call_count", "error_count", "total_tokens")
_LATEST = [name for name in SESSION_COLUMNS if name not in ("session_id", "created_at", *_SUMS)]
_CARRY = f"""
INSERT INTO {{today}}.sessions BY NAME
SELECT session_id, min(created_at) AS created_at, {", ".join(f"max({name}) AS {name}" for name in _LATEST)},
    {", ".join(f"0 AS {name}" for name in _SUMS)}
FROM ({{all}}) GROUP BY session_id
HAVING max(ended_at) IS NULL AND max(writer) IS NOT NULL
    AND session_id NOT IN (SELECT session_id FROM {{today}}.sessions)
"""  # noqa: S608


def sweep(connection: duckdb.DuckDBPyConnection, day: str, living: list[str]) -> None:
    """`living`: the writers that may still say how theirs ended. Inside the caller's transaction."""
    for statement in (_LOST, _LOST_SUMS, _FORGET, _END_SESSIONS):
        connection.execute(statement.format(day=day), [living])


def move_open(connection: duckdb.DuckDBPyConnection, day: str, today: str) -> None:
    """What is open goes with the file that is written to, so that its end can find it. Two transactions,
    since there are two files: a crash in between is made good the next time."""
    if has_open(connection, day):
        connection.execute(_MOVE.format(day=day, today=today))
        connection.execute(f"DELETE FROM {day}.rpc_open")  # noqa: S608


def has_open(connection: duckdb.DuckDBPyConnection, day: str) -> bool:
    found = connection.execute(f"SELECT count(*) FROM {day}.rpc_open").fetchone()  # noqa: S608
    return found is not None and bool(found[0])


def carry_sessions(connection: duckdb.DuckDBPyConnection, days: list[str]) -> None:
    """Sessions that have not ended get a row in the file that is written to (`days[0]`), with sums of zero: a
    sweep must be able to end them, and the other files are no longer written to."""
    every = " UNION ALL BY NAME ".join(f"SELECT * FROM {day}.sessions" for day in days)  # noqa: S608
    connection.execute(_CARRY.format(today=days[0], all=every))
