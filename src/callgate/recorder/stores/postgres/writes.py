"""SQL that finds calls of tools declared read-only which were seen to write (`read.seen_writes`)."""

from collections.abc import Sequence
from datetime import datetime

from callgate.ports.record_reader import Row
from callgate.postgres_connection import Connection
from callgate.recorder.read import seen_writes as seen
from callgate.recorder.read.pages import day_before
from callgate.recorder.read.seen_writes import CHANGES, LONGEST, MOST_NOTICES, WRITES, last_notice_at
from callgate.recorder.stores.postgres.events import EVENTS

_DECLARED = """coalesce(annotations ~ '"readOnlyHint"\\s*:\\s*true', false)"""

# $1 and $2: when the calls began, $3: the first day they can be stored on; here and below.
_BY_STATEMENT = f"""
SELECT id::text AS id, ts, server_name, tool_name, 'statement' AS evidence FROM {EVENTS}
WHERE ts BETWEEN $1 AND $2 AND stored_on >= $3 AND verdict = 'allow' AND outcome = 'answered'
    AND statement_type ~ '\\y{WRITES}\\y' AND {_DECLARED}
"""  # noqa: S608
_NOTICES = f"""
SELECT min(ts), max(ts) FROM (
    SELECT ts FROM {EVENTS} WHERE ts BETWEEN $1 AND $2 AND stored_on >= $3 AND sender = 'server'
        AND method IN {CHANGES}
    ORDER BY ts DESC LIMIT {MOST_NOTICES}) AS newest
"""  # noqa: S608
# $4 and $5: the first and the last notice. Those of a call's own stream carry its id at the client.
_BY_NOTICE = f"""
WITH calls AS (
    SELECT id, ts, ts + make_interval(secs => coalesce(duration_ms, 0) / 1000) AS ended, session_id,
        rpc_id, server_name, tool_name, annotations
    FROM {EVENTS}
    WHERE ts BETWEEN $4::timestamp - $6::interval AND $5 AND stored_on >= $3
        AND method = 'tools/call' AND sender = 'client'
), said AS (
    SELECT id AS notice, ts AS said_at, session_id, rpc_id, server_name, tool_name FROM {EVENTS}
    WHERE ts BETWEEN $4::timestamp AND $5 AND stored_on >= $3 AND sender = 'server' AND method IN {CHANGES}
), {seen.STREAM_AND_AROUND.format(declared=_DECLARED)}, blamed AS (
    SELECT *, count(*) OVER (PARTITION BY notice) AS candidates FROM around WHERE is_under_way OR NOT declared
), seen AS (
    SELECT id, ts, server_name, tool_name FROM on_stream WHERE {_DECLARED}
    UNION SELECT id, ts, server_name, tool_name FROM blamed WHERE candidates = 1 AND declared
)
SELECT id::text AS id, ts, server_name, tool_name, 'notice' AS evidence
FROM seen WHERE ts BETWEEN $1 AND $2
"""  # noqa: S608


async def writes_between(connection: Connection, since: datetime, until: datetime) -> list[Row]:
    """Of calls that began then: id, ts, server_name, tool_name, evidence; the stronger evidence last."""
    proved = await connection.fetch(_BY_STATEMENT, since, until, day_before(since))
    return [*await _by_notice(connection, since, until), *map(dict, proved)]


async def _by_notice(connection: Connection, since: datetime, until: datetime) -> list[Row]:
    day = day_before(since)
    first, last = await connection.fetchrow(_NOTICES, since, last_notice_at(until), day)
    if first is None:
        return []
    return [dict(row) for row in await connection.fetch(_BY_NOTICE, since, until, day, first, last, LONGEST)]


async def mark_writes(connection: Connection, rows: Sequence[Row]) -> None:
    """Adds `seen_to_write` to calls: the evidence, or None."""
    if (stretch := seen.stretch_of_calls(rows)) is not None:
        seen.mark_seen(rows, await _by_notice(connection, *stretch))
