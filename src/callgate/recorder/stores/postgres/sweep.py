"""What a process left open when it died is ended for it: nothing in the record waits for ever.

Of writers that shared our state folder we know at once which of them are gone. Of others we know it when they
gave no sign of life for two minutes: their gateway is dead, or cut off. Should such a writer come back, what
it knows of a call replaces what was assumed (`take_back_lost`).
"""

from collections.abc import Sequence
from typing import Any

from callgate.ports.record_reader import TOOL_CALL
from callgate.postgres_connection import Connection, transaction
from callgate.recorder.stores.postgres.schema import EVENT_NAMES, STORE

SILENT_S = 120
_STATEMENT_S, _LOCK_S = 10.0, 5.0
# In one batch, whose rows have a place of 16 bits (see numbering).
_AT_ONCE = 10_000
_LOST = {
    "outcome": "'lost'",
    "ended_by": "'gateway'",
    "ok": "false",
    "error": "'The gateway ended before there was an answer'",
    "request_tokens": "(coalesce(request_bytes, 0) + 3) / 4",
    "response_tokens": "0",
    "tokens_by": "'bytes'",
}
_GONE = f"SELECT writer FROM {STORE}.writers WHERE folder = $1 AND NOT writer = ANY($2::text[])"  # noqa: S608
_SILENT = f"""
SELECT writer FROM {STORE}.writers WHERE seen_at < now() - make_interval(secs => {SILENT_S}) AND writer IN (
    SELECT writer FROM {STORE}.rpc_open UNION SELECT writer FROM {STORE}.session_parts WHERE ended_at IS NULL)
"""  # noqa: S608
# The number of a batch that has no segment of its own.
_BATCH = f"""
INSERT INTO {STORE}.batches (segment, from_offset, to_offset, events, writer)
SELECT 'lost', nextval('{STORE}.batch_numbers'), 0, 0, 'sweep'
WHERE EXISTS (SELECT FROM {STORE}.rpc_open WHERE writer = ANY($1::text[])) RETURNING batch
"""  # noqa: S608
_MOVE = f"""
WITH gone AS (
    DELETE FROM {STORE}.rpc_open WHERE id IN (
        SELECT id FROM {STORE}.rpc_open WHERE writer = ANY($1::text[]) LIMIT {_AT_ONCE}) RETURNING *
), bodies AS (
    INSERT INTO {STORE}.rpc_bodies (id, leg, request_json, response_json)
    SELECT id, 0, request_json, response_json FROM gone
    WHERE request_json IS NOT NULL OR response_json IS NOT NULL
), parts AS (
    UPDATE {STORE}.session_parts AS p SET tool_call_count = tool_call_count + calls,
        error_count = error_count + errors, total_tokens = total_tokens + tokens
    FROM (
        SELECT session_id, writer, count(*) FILTER (WHERE method = '{TOOL_CALL}') AS calls,
            count(*) AS errors, sum((coalesce(request_bytes, 0) + 3) / 4) AS tokens
        FROM gone GROUP BY session_id, writer
    ) AS lost WHERE p.session_id = lost.session_id AND p.writer = lost.writer
), moved AS (
    INSERT INTO {STORE}.rpc_events ({", ".join(f'"{name}"' for name in EVENT_NAMES)}, place)
    SELECT {", ".join(_LOST.get(name, f'"{name}"') for name in EVENT_NAMES)},
        row_number() OVER (ORDER BY ts, id) - 1 FROM gone RETURNING 1
)
UPDATE {STORE}.batches SET events = (SELECT count(*) FROM moved) WHERE batch = $2
"""  # noqa: S608
_END_SESSIONS = f"""
UPDATE {STORE}.session_parts SET ended_at = last_seen_at WHERE ended_at IS NULL AND writer = ANY($1::text[])
"""  # noqa: S608
_TAKE_BACK = f"""
WITH gone AS (
    DELETE FROM {STORE}.rpc_events WHERE id = ANY($1::uuid[]) AND outcome = 'lost' AND ended_by = 'gateway'
    RETURNING id, batch, session_id, method, request_tokens
), bodies AS (
    DELETE FROM {STORE}.rpc_bodies WHERE leg = 0 AND id IN (SELECT id FROM gone)
), counted AS (
    UPDATE {STORE}.batches AS b SET events = b.events - lost.events
    FROM (SELECT batch, count(*) AS events FROM gone GROUP BY batch) AS lost WHERE b.batch = lost.batch
)
SELECT session_id, count(*) FILTER (WHERE method = '{TOOL_CALL}') AS calls, count(*) AS errors,
    sum(request_tokens)::bigint AS tokens FROM gone WHERE session_id IS NOT NULL GROUP BY session_id
"""  # noqa: S608
_SUBTRACT = f"""
UPDATE {STORE}.session_parts SET tool_call_count = tool_call_count - $3, error_count = error_count - $4,
    total_tokens = total_tokens - $5
WHERE session_id = $1 AND writer = $2
"""  # noqa: S608


async def sweep(connection: Connection, folder: str, living: list[str]) -> None:
    """`living`: the writers of that folder that may still say how theirs ended. Inside of the caller's
    transaction."""
    await _end(connection, [row[0] for row in await connection.fetch(_GONE, folder, living)])


async def end_silent(connection: Connection) -> None:
    """Of all folders. For a gateway that was connected for as long: after an outage of the database nobody
    has given a sign of life, and all of them come back."""
    async with transaction(connection, limit_s=_STATEMENT_S, lock_s=_LOCK_S):
        await _end(connection, [row[0] for row in await connection.fetch(_SILENT)])


async def _end(connection: Connection, writers: list[str]) -> None:
    if not writers:
        return
    if (batch := await connection.fetchval(_BATCH, writers)) is not None:
        await connection.execute(_MOVE, writers, batch)
    await connection.execute(_END_SESSIONS, writers)


async def take_back_lost(connection: Connection, event_ids: Sequence[str]) -> list[Any]:
    """Before the true rows of these calls are stored: what was assumed of them goes. What they counted in
    their sessions is for `subtract`, once the true rows have counted."""
    return await connection.fetch(_TAKE_BACK, list(event_ids))


async def subtract(connection: Connection, writer: str, lost: Sequence[Any]) -> None:
    for row in lost:
        await connection.execute(
            _SUBTRACT, row["session_id"], writer, row["calls"], row["errors"], row["tokens"]
        )
