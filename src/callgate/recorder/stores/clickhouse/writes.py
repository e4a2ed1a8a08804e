"""SQL that finds calls of tools declared read-only which were seen to write (`read.seen_writes`)."""

from collections.abc import Sequence
from datetime import datetime

from callgate.ports.record_reader import Row
from callgate.recorder.read import seen_writes as seen
from callgate.recorder.read.pages import EPOCH, day_before
from callgate.recorder.read.seen_writes import CHANGES, LONGEST, MOST_NOTICES, WRITES, last_notice_at
from callgate.recorder.stores.clickhouse.connection import ClickhouseConnection
from callgate.recorder.stores.clickhouse.schema import EVENTS, RECORD

_DECLARED = """ifNull(match(annotations, '"readOnlyHint"\\\\s*:\\\\s*true'), false)"""
_TOLD = "id, ts, server_name, tool_name"

# $1 and $2: when the calls began, $3: the first day they can be stored on; here and below.
_BY_STATEMENT = f"""
SELECT {_TOLD}, 'statement' AS evidence FROM {RECORD}
WHERE {EVENTS} AND ts BETWEEN $1 AND $2 AND stored_on >= $3 AND verdict = 'allow' AND outcome = 'answered'
    AND match(statement_type, '\\\\b{WRITES}\\\\b') AND {_DECLARED}
"""  # noqa: S608
_NOTICES = f"""
SELECT minOrNull(ts) AS first, maxOrNull(ts) AS last FROM (
    SELECT ts FROM {RECORD} WHERE {EVENTS} AND ts BETWEEN $1 AND $2 AND stored_on >= $3 AND sender = 'server'
        AND method IN {CHANGES}
    ORDER BY ts DESC LIMIT {MOST_NOTICES})
"""  # noqa: S608
# $4 and $5: the first and the last notice, $6: when the first call began that may have caused one. Those of a
# call's own stream carry its id at the client.
_BY_NOTICE = f"""
WITH calls AS (
    SELECT {_TOLD}, ts + toIntervalMicrosecond(toInt64(ifNull(duration_ms, 0) * 1000)) AS ended, session_id,
        rpc_id, {_DECLARED} AS declared
    FROM {RECORD}
    WHERE {EVENTS} AND ts BETWEEN $6 AND $5 AND stored_on >= $3 AND sender = 'client'
        AND method = 'tools/call'
), said AS (
    SELECT id AS notice, ts AS said_at, session_id, rpc_id, server_name, tool_name AS said_of FROM {RECORD}
    WHERE {EVENTS} AND ts BETWEEN $4 AND $5 AND stored_on >= $3 AND sender = 'server' AND method IN {CHANGES}
), on_stream AS (
    SELECT calls.id AS id, calls.ts AS ts, calls.server_name AS server_name, calls.tool_name AS tool_name
    FROM said JOIN calls ON said.server_name = calls.server_name AND said.said_of = calls.tool_name
        AND said.session_id = calls.session_id AND said.rpc_id = calls.rpc_id
    WHERE said_at BETWEEN ts AND ended AND declared
), around AS (
    SELECT calls.id AS id, calls.ts AS ts, calls.server_name AS server_name, calls.tool_name AS tool_name,
        notice, said_at <= ended AS is_under_way, declared
    FROM said JOIN calls ON said.server_name = calls.server_name
    WHERE said_of IS NULL AND said_at BETWEEN ts AND ended + toIntervalSecond(2)
), blamed AS (
    SELECT *, count() OVER (PARTITION BY notice) AS candidates FROM around WHERE is_under_way OR NOT declared
)
SELECT DISTINCT {_TOLD}, 'notice' AS evidence FROM (
    SELECT {_TOLD} FROM on_stream
    UNION ALL SELECT {_TOLD} FROM blamed WHERE candidates = 1 AND declared
) WHERE ts BETWEEN $1 AND $2
"""  # noqa: S608


def writes_between(connection: ClickhouseConnection, since: datetime, until: datetime) -> list[Row]:
    """Of calls that began then: id, ts, server_name, tool_name, evidence; the stronger evidence last."""
    proved = connection.fetch(_BY_STATEMENT, [since, until, day_before(since)])
    return [*_by_notice(connection, since, until), *proved]


def _by_notice(connection: ClickhouseConnection, since: datetime, until: datetime) -> list[Row]:
    day = day_before(since)
    (notices,) = connection.fetch(_NOTICES, [since, last_notice_at(until), day])
    first, last = notices["first"], notices["last"]
    if first is None:
        return []
    began = max(first, EPOCH + LONGEST) - LONGEST
    return connection.fetch(_BY_NOTICE, [since, until, day, first, last, began])


def mark_writes(connection: ClickhouseConnection, rows: Sequence[Row]) -> None:
    """Adds `seen_to_write` to calls: the evidence, or None."""
    if (stretch := seen.stretch_of_calls(rows)) is not None:
        seen.mark_seen(rows, _by_notice(connection, *stretch))
