"""SQL that finds calls of tools declared read-only which were seen to write (`read.seen_writes`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from callgate.ports.record_reader import Row
from callgate.recorder.read import seen_writes as seen
from callgate.recorder.read.seen_writes import CHANGES, LONGEST, MOST_NOTICES, WRITES, last_notice_at
from callgate.recorder.stores.duckdb.answered_rows import rows_of
from callgate.recorder.stores.duckdb.library import duckdb

_DECLARED = """coalesce(regexp_matches(annotations, '"readOnlyHint"\\s*:\\s*true'), false)"""

# $1 and $2: when the calls began, here and below.
_BY_STATEMENT = f"""
SELECT id::VARCHAR AS id, ts, server_name, tool_name, 'statement' AS evidence FROM rpc_events
WHERE ts BETWEEN $1 AND $2 AND verdict = 'allow' AND outcome = 'answered'
    AND regexp_matches(statement_type, '\\b{WRITES}\\b') AND {_DECLARED}
"""  # noqa: S608
# Most records have none of these, and then there is nothing to be held against a million calls.
_NOTICES = f"""
SELECT min(ts), max(ts) FROM (
    SELECT ts FROM rpc_events WHERE ts BETWEEN $1 AND $2 AND sender = 'server' AND method IN {CHANGES}
    ORDER BY ts DESC LIMIT {MOST_NOTICES})
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
    WHERE ts BETWEEN $3 AND $4 AND sender = 'server' AND method IN {CHANGES}
), {seen.STREAM_AND_AROUND.format(declared=_DECLARED)}, out_of_turn AS (
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
    return _by_notice(cursor, since, until) + rows_of(cursor.execute(_BY_STATEMENT, [since, until]))


def _by_notice(cursor: duckdb.DuckDBPyConnection, since: datetime, until: datetime) -> list[Row]:
    first, last = cursor.execute(_NOTICES, [since, last_notice_at(until)]).fetchone() or (None, None)
    if first is None:
        return []
    longest_us = LONGEST // timedelta(microseconds=1)
    return rows_of(cursor.execute(_BY_NOTICE, [since, until, first, last, longest_us]))


def mark_writes(cursor: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> None:
    """Adds `seen_to_write` to calls: the evidence, or None."""
    if (stretch := seen.stretch_of_calls(rows)) is not None:
        seen.mark_seen(rows, _by_notice(cursor, *stretch))
