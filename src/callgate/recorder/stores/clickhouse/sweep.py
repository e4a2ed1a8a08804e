"""What a process left open when it died is ended for it: nothing in the record waits for ever.

Only of writers that shared our state folder: of others we do not know whether they live. The rows that say so
go by the same way as a batch, all in one INSERT.
"""

from typing import Any

from callgate.ports.record_reader import TOOL_CALL
from callgate.recorder.stores.batch_rows import SessionPart
from callgate.recorder.stores.clickhouse.connection import ClickhouseConnection
from callgate.recorder.stores.clickhouse.insert_rows import Values, session_values
from callgate.recorder.stores.clickhouse.schema import IS_OPEN, RECENT, RECORD
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS

_LEFT_OPEN = f"""
SELECT {", ".join(f"`{name}`" for name in EVENT_COLUMNS)}, writer
FROM {RECORD} WHERE {IS_OPEN} AND folder = $1 AND NOT has($2, assumeNotNull(writer))
"""  # noqa: S608
_LEFT_SESSIONS = f"""
SELECT row_key AS session_id, any(writer) AS writer,
    toUnixTimestamp64Micro(assumeNotNull(max(last_seen_at))) AS last_seen
FROM {RECORD} WHERE row_kind = 'session' AND {RECENT}
GROUP BY row_key HAVING max(ended_at) IS NULL AND countIf(folder != $1 OR has($2, assumeNotNull(writer))) = 0
"""  # noqa: S608
_LOST = {
    "row_kind": "event",
    "outcome": "lost",
    "ended_by": "gateway",
    "ok": False,
    "error": "The gateway ended before there was an answer",
    "response_tokens": 0,
    "tokens_by": "bytes",
}


def lost_rows(connection: ClickhouseConnection, folder: str, living: list[str]) -> list[Values]:
    """`living`: the writers that may still say how theirs ended."""
    events: list[Values] = []
    closed: list[Values] = []
    parts: dict[tuple[str, str], SessionPart] = {}
    for row in connection.fetch(_LEFT_OPEN, [folder, living]):
        writer = row.pop("writer")
        tokens = ((row["request_bytes"] or 0) + 3) // 4
        events.append({**_known(row), **_LOST, "ts": row["ts"].isoformat(" "), "request_tokens": tokens})
        closed.append({"row_kind": "closed", "id": row["id"]})
        if row["session_id"] is not None:
            part = parts.setdefault((row["session_id"], writer), SessionPart())
            part.calls += row["method"] == TOOL_CALL
            part.errors += 1
            part.tokens += tokens
    for row in connection.fetch(_LEFT_SESSIONS, [folder, living]):
        part = parts.setdefault((row["session_id"], row["writer"]), SessionPart())
        part.ended_at = row["last_seen"]
    sessions = [
        session_values(session_id, part, writer, folder) for (session_id, writer), part in parts.items()
    ]
    return [*events, *closed, *sessions]


def _known(row: dict[str, Any]) -> Values:
    return {name: value for name, value in row.items() if value is not None}
