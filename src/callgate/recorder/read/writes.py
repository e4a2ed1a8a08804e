"""SQL that finds calls of tools declared read-only which were seen to write.

What can be seen, and what it proves:
1. `statement`: our own SQL server let a statement through that writes. That is proof.
2. `notice`: the server said that a resource of its changed, on the call's own stream; or out of turn, while
   this call alone was under way there (one that may write counts for two seconds longer, as servers gather
   what changed). Nobody else *here* can have done it, but somebody outside of the gateway can.

A server that says nothing is not seen to write, whatever it does.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import duckdb

from callgate.ports.record_reader import TOOL_CALL, Row, SeenWrite
from callgate.recorder.read.answered_rows import rows_of

_CHANGES = "('notifications/resources/updated', 'notifications/resources/list_changed')"
_DECLARED = """coalesce(regexp_matches(annotations, '"readOnlyHint"\\s*:\\s*true'), false)"""
_WRITES = "(INSERT|UPDATE|DELETE|REPLACE|MERGE|TRUNCATE|CREATE|ALTER|DROP|RENAME|COPY)"
# A server that reports changes all day is looked at as far as this; each is held against every call of its.
_MOST_NOTICES = 200
# The longest call whose notices are looked for: beyond, it is a listener and not a call.
_LONGEST = timedelta(hours=1)

# $1 and $2: when the calls began, here and below.
_BY_STATEMENT = f"""
SELECT id::VARCHAR AS id, ts, server_name, tool_name, 'statement' AS evidence FROM rpc_events
WHERE ts BETWEEN $1 AND $2 AND verdict = 'allow' AND outcome = 'answered'
    AND regexp_matches(statement_type, '\\b{_WRITES}\\b') AND {_DECLARED}
"""  # noqa: S608
# Most records have none of these, and then there is nothing to be held against a million calls.
_NOTICES = f"""
SELECT min(ts), max(ts) FROM (
    SELECT ts FROM rpc_events WHERE ts BETWEEN $1 AND $2 AND sender = 'server' AND method IN {_CHANGES}
    ORDER BY ts DESC LIMIT {_MOST_NOTICES})
"""  # noqa: S608
# $3 and $4: the first and the last notice. Those of a call's own stream carry its id at the client.
_BY_NOTICE = f"""
WITH calls AS (
    SELECT id, ts, ts + to_microseconds((coalesce(duration_ms, 0) * 1000)::BIGINT) AS ended, session_id,
        rpc_id, server_name, tool_name, annotations
    FROM rpc_events
    WHERE ts BETWEEN $3 - to_microseconds($5) AND $4 AND method = 'tools/call' AND sender = 'client'
), said AS (
    SELECT id AS notice, ts AS said_at, session_id, rpc_id, server_name, tool_name FROM rpc_events
    WHERE ts BETWEEN $3 AND $4 AND sender = 'server' AND method IN {_CHANGES}
), on_stream AS (
    SELECT calls.* FROM said JOIN calls USING (server_name, tool_name, session_id, rpc_id)
    WHERE said_at BETWEEN ts AND ended
), around AS (
    SELECT calls.*, notice, said_at <= ended AS is_under_way, {_DECLARED} AS declared
    FROM said JOIN calls USING (server_name)
    WHERE said.tool_name IS NULL AND said_at BETWEEN ts AND ended + INTERVAL 2 SECOND
), out_of_turn AS (
    SELECT * FROM around WHERE is_under_way OR NOT declared
    QUALIFY count(*) OVER (PARTITION BY notice) = 1
), seen AS (
    SELECT id, ts, server_name, tool_name FROM on_stream WHERE {_DECLARED}
    UNION SELECT id, ts, server_name, tool_name FROM out_of_turn WHERE declared
)
SELECT id::VARCHAR AS id, ts, server_name, tool_name, 'notice' AS evidence
FROM seen WHERE ts BETWEEN $1 AND $2
"""  # noqa: S608


def writes_between(cursor: duckdb.DuckDBPyConnection, since: datetime, until: datetime) -> list[Row]:
    """Of calls that began then: id, ts, server_name, tool_name, evidence; the stronger evidence last."""
    last_notice = min(until, datetime.max - _LONGEST) + _LONGEST  # noqa: DTZ901 - as the store's moments are
    first, last = cursor.execute(_NOTICES, [since, last_notice]).fetchone() or (None, None)
    rows: list[Row] = []
    if first is not None:
        longest_us = _LONGEST // timedelta(microseconds=1)
        rows += rows_of(cursor.execute(_BY_NOTICE, [since, until, first, last, longest_us]))
    return rows + rows_of(cursor.execute(_BY_STATEMENT, [since, until]))


def mark_writes(cursor: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> None:
    """Adds `seen_to_write` to calls: the evidence, or None."""
    calls = [row for row in rows if row["method"] == TOOL_CALL]
    moments = [row["ts"] for row in calls]
    seen = writes_between(cursor, min(moments), max(moments)) if calls else []
    evidence = {row["id"]: row["evidence"] for row in seen}
    for row in calls:
        row["seen_to_write"] = evidence.get(row["id"])


def by_tool(rows: list[Row]) -> list[SeenWrite]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["server_name"] or "", row["tool_name"] or ""), []).append(row)
    seen: list[SeenWrite] = []
    for (server, tool), of_tool in found.items():
        last = max(of_tool, key=lambda row: row["ts"])
        calls = len({row["id"] for row in of_tool})
        seen.append(SeenWrite(server, tool, calls, last["id"], last["ts"], last["evidence"]))
    return seen
