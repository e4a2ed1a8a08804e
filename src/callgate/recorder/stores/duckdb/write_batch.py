"""From journalled rows to the tables of one day's file, by DuckDB alone.

Rows go from a journal's frame to their table without Python looking at one: DuckDB parses the JSON itself and
takes the bodies as Arrow columns, with the interpreter's lock released. Measured, 21 KB bodies: 60 µs of CPU
an event, against 220 when bodies were part of the JSON and row groups were not whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from callgate.recorder.call_columns import SHARED_COLUMNS, CallColumns
from callgate.recorder.flush.batch import Batch
from callgate.recorder.journal.frames import CALLS, EVENTS, GAPS, OPENED, SESSIONS, Frame
from callgate.recorder.stores.duckdb.body_columns import BodyColumns
from callgate.recorder.stores.duckdb.library import duckdb
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS, SESSION_COLUMNS

_BODIES = ("request_json", "response_json")
_PIECE_BYTES = 16 * 1024 * 1024


def _shape(columns: dict[str, str], **others: str) -> str:
    """For from_json; moments are microseconds there."""
    members = {
        name: f'"{"BIGINT" if kind == "TIMESTAMP" else kind.partition(" USING")[0]}"'
        for name, kind in columns.items()
    }
    members = {name: '["VARCHAR"]' if kind == '"VARCHAR[]"' else kind for name, kind in members.items()}
    return "{" + ", ".join(f'"{name}": {kind}' for name, kind in (members | others).items()) + "}"


_HOP_SHAPE = _shape({name: kind for name, kind in HOP_COLUMNS.items() if name != "event_id"})
_EVENT_SHAPE = _shape(
    {name: kind for name, kind in EVENT_COLUMNS.items() if name not in ("tokens_by", *_BODIES)},
    writer='"VARCHAR"',
    was_open='"BOOLEAN"',
    hops=f"[{_HOP_SHAPE}]",
)
_SESSION_SHAPE = _shape(SESSION_COLUMNS)
_CALL_KINDS = {
    "id": "UUID", "ts": "BIGINT", "duration_ms": "DOUBLE", "hop_ms": "DOUBLE", "hop_started_ms": "DOUBLE",
    "request_bytes": "BIGINT", "response_bytes": "BIGINT", "shape": "INTEGER", "rows": "BIGINT",
}  # fmt: skip
_CALL_COLUMNS = [name for name in CallColumns.__struct_fields__ if name not in ("shapes", "seq")]
_SHARED = {name: EVENT_COLUMNS[name] for name in SHARED_COLUMNS}
_SHARED_SHAPE = _shape(_SHARED, sent_start='"VARCHAR"', sent_cut='"INTEGER"')
_CALLS_SHAPE = (
    f'{{"shapes": [{_SHARED_SHAPE}], "seq": "BIGINT", '
    + ", ".join(f'"{name}": ["{_CALL_KINDS.get(name, "VARCHAR")}"]' for name in _CALL_COLUMNS)
    + "}"
)
_GAP_SHAPE = '{"since": "BIGINT", "until": "BIGINT", "count": "BIGINT", "reason": "VARCHAR"}'

_STAGE = """
CREATE OR REPLACE TEMP TABLE stage AS SELECT unnest(rows, max_depth := 2)
FROM (SELECT from_json(rows_json, '[{shape}]') AS rows FROM (SELECT unnest($1::VARCHAR[]) AS rows_json))
"""
# A call and what it shares with others of its frame, in the order of the frames.
_STAGE_CALLS = f"""
CREATE OR REPLACE TEMP TABLE stage AS SELECT unnest(shapes[coalesce(shape, 0) + 1]), * EXCLUDE (shapes, shape)
FROM (SELECT frame.shapes AS shapes, frame.seq + unnest(range(len(frame.id))) AS seq,
        {", ".join(f"unnest(frame.{name}) AS {name}" for name in _CALL_COLUMNS)}
    FROM (SELECT from_json(calls_json, '{_CALLS_SHAPE}') AS frame
        FROM (SELECT unnest($1::VARCHAR[]) AS calls_json)))
"""  # noqa: S608
# What a row leaves out (see rows.py) has its default here.
_EVENT_DEFAULTS = """
make_timestamp(ts) AS ts, coalesce(kind, 'request') AS kind, coalesce(sender, 'client') AS sender,
coalesce(request_bytes, 0) AS request_bytes, coalesce(response_bytes, 0) AS response_bytes,
coalesce(is_redacted, false) AS is_redacted, coalesce(is_cut, false) AS is_cut,
coalesce(cached, false) AS cached,
nullif(request_json, '') AS request_json, nullif(response_json, '') AS response_json
"""
# Nobody counted the tokens (see tokens.py): four bytes are one, and the column says so.
_EVENTS = f"""
INSERT INTO {{day}}.rpc_events BY NAME
SELECT * EXCLUDE (hops, writer, was_open) REPLACE ({_EVENT_DEFAULTS},
        coalesce(request_tokens, (coalesce(request_bytes, 0) + 3) // 4) AS request_tokens,
        coalesce(response_tokens, (coalesce(response_bytes, 0) + 3) // 4) AS response_tokens),
    CASE WHEN request_tokens IS NULL THEN 'bytes' ELSE 'o200k' END AS tokens_by
FROM (FROM (FROM stage LIMIT {{count}} OFFSET {{first}}) POSITIONAL JOIN bodies)
"""  # noqa: S608
_OPENED = f"""
INSERT INTO {{day}}.rpc_open BY NAME SELECT * EXCLUDE (hops, was_open) REPLACE ({_EVENT_DEFAULTS})
FROM (FROM (FROM stage LIMIT {{count}} OFFSET {{first}}) POSITIONAL JOIN bodies)
"""  # noqa: S608
_HOPS = """
INSERT INTO {day}.rpc_event_upstreams BY NAME
SELECT * REPLACE (coalesce(cached, false) AS cached, coalesce(same_request, false) AS same_request,
    coalesce(same_response, false) AS same_response)
FROM (SELECT id AS event_id, unnest(hops, max_depth := 2) FROM stage)
"""
# What every ordinary call says; see `call_rows`.
_CALLS = """
INSERT INTO {day}.rpc_events BY NAME
SELECT id, make_timestamp(ts) AS ts, session_id, method, client, 'request' AS kind, 'client' AS sender,
    rpc_id, seq, server_name, server_version, server_protocol, tool_name, duration_ms, true AS ok,
    'answered' AS outcome, 'upstream' AS ended_by, request_json, response_json, annotations, request_bytes,
    response_bytes, (request_bytes + 3) // 4 AS request_tokens, (response_bytes + 3) // 4 AS response_tokens,
    'bytes' AS tokens_by, false AS is_redacted, false AS is_cut, false AS cached, principal, via,
    source_id, sql, statement_type, mode, verdict, rule, tables, rows, truncated
FROM (FROM (FROM stage LIMIT {count} OFFSET {first}) POSITIONAL JOIN bodies)
"""
_HOPS_OF_CALLS = """
INSERT INTO {day}.rpc_event_upstreams BY NAME
SELECT id AS event_id, server_name, true AS ok, hop_ms AS duration_ms, hop_rpc_id AS rpc_id,
    hop_request IS NULL AND sent_start IS NULL AS same_request, hop_response IS NULL AS same_response,
    {request} AS request_json, hop_response AS response_json, false AS cached,
    server_version, server_protocol, coalesce(hop_started_ms, 0) AS started_ms
FROM (FROM (FROM stage LIMIT {count} OFFSET {first}) POSITIONAL JOIN bodies)
"""
_SENT_AS_TOLD = _HOPS_OF_CALLS.replace("{request}", "hop_request").replace(" POSITIONAL JOIN bodies", "")
_SENT_RENAMED = _HOPS_OF_CALLS.replace(
    "{request}", "coalesce(sent_start || substr(request_json, sent_cut + 1), hop_request)"
)
_RENAMED = b'"sent_start":'
_WAS_OPEN = b'"was_open":true'
_FORGET_OPEN = "DELETE FROM {day}.rpc_open WHERE id IN (SELECT id FROM stage WHERE was_open)"
_NEW = """
SELECT session_id, make_timestamp(min(ts)) AS first_ts, make_timestamp(max(ts)) AS last_ts,
    count(*) FILTER (method = 'tools/call') AS calls, count(*) FILTER (NOT ok) AS errors,
    sum(coalesce(request_tokens, (coalesce(request_bytes, 0) + 3) // 4)
        + coalesce(response_tokens, (coalesce(response_bytes, 0) + 3) // 4)) AS tokens
FROM stage WHERE session_id IS NOT NULL GROUP BY session_id
"""
_NEW_OF_CALLS = """
SELECT session_id, make_timestamp(min(ts)) AS first_ts, make_timestamp(max(ts)) AS last_ts,
    count(*) FILTER (method = 'tools/call') AS calls, 0 AS errors,
    sum((request_bytes + 3) // 4 + (response_bytes + 3) // 4) AS tokens
FROM stage GROUP BY session_id
"""
_SUMS = """
MERGE INTO {day}.sessions AS known USING ({new}) AS new ON known.session_id = new.session_id
WHEN MATCHED THEN UPDATE SET
    tool_call_count = tool_call_count + calls, error_count = error_count + errors,
    total_tokens = total_tokens + tokens, last_seen_at = greatest(last_seen_at, last_ts)
WHEN NOT MATCHED THEN
    INSERT (session_id, created_at, last_seen_at, tool_call_count, error_count, total_tokens)
    VALUES (new.session_id, first_ts, last_ts, calls, errors, tokens)
"""
_SESSIONS = """
MERGE INTO {day}.sessions AS known USING (
    SELECT session_id, make_timestamp(min(created_at)) AS created_at,
        make_timestamp(max(last_seen_at)) AS last_seen_at, make_timestamp(max(ended_at)) AS ended_at,
        max(client_name) AS client_name, max(client_version) AS client_version,
        max(client_protocol) AS client_protocol, max(era) AS era, max(transport) AS transport,
        max(principal) AS principal, max(workspace) AS workspace,
        max(handshake_session_id) AS handshake_session_id, max(writer) AS writer,
        0 AS tool_call_count, 0 AS error_count, 0 AS total_tokens
    FROM stage GROUP BY session_id
) AS new ON known.session_id = new.session_id
WHEN MATCHED THEN UPDATE SET
    created_at = least(known.created_at, new.created_at),
    last_seen_at = greatest(known.last_seen_at, new.last_seen_at),
    ended_at = coalesce(new.ended_at, known.ended_at),
    client_name = coalesce(new.client_name, known.client_name),
    client_version = coalesce(new.client_version, known.client_version),
    client_protocol = coalesce(new.client_protocol, known.client_protocol),
    era = coalesce(new.era, known.era),
    transport = coalesce(new.transport, known.transport),
    principal = coalesce(new.principal, known.principal),
    workspace = coalesce(new.workspace, known.workspace),
    handshake_session_id = coalesce(new.handshake_session_id, known.handshake_session_id),
    writer = coalesce(new.writer, known.writer)
WHEN NOT MATCHED THEN INSERT BY NAME
"""
_GAPS = """
INSERT INTO {day}.gaps SELECT make_timestamp(since), make_timestamp(until), count, reason FROM stage
"""


def write_rows(connection: duckdb.DuckDBPyConnection, day: str, batch: Batch) -> None:
    """Inside the caller's transaction; `day` is the attached file's quoted name. Raises duckdb.Error."""

    def stage(kind: bytes, statement: str) -> bool:
        frames = batch.frames[kind]
        if not frames:
            return False
        rows_json: list[Any] = [str(frame.rows_json, "utf-8", "replace") for frame in frames]
        staged = connection.execute(statement, [rows_json]).fetchone()
        if staged is None or staged[0] != sum(frame.count for frame in frames):
            raise duckdb.InvalidInputException("A frame holds other rows than it says")
        return True

    def insert_with_bodies(statements: str, frames: list[Frame]) -> None:
        """A row and its bodies are joined by their place."""
        first = 0
        for piece in _pieces(frames):
            count = sum(frame.count for frame in piece)
            connection.register("bodies", BodyColumns(frame.bodies for frame in piece if frame.bodies))
            try:
                connection.execute(statements.format(day=day, first=first, count=count))
            finally:
                connection.unregister("bodies")
            first += count

    if stage(SESSIONS, _STAGE.format(shape=_SESSION_SHAPE)):
        connection.execute(_SESSIONS.format(day=day))
    if stage(OPENED, _STAGE.format(shape=_EVENT_SHAPE)):
        insert_with_bodies(_OPENED, batch.frames[OPENED])
    if stage(EVENTS, _STAGE.format(shape=_EVENT_SHAPE)):
        insert_with_bodies(_EVENTS, batch.frames[EVENTS])
        connection.execute(_HOPS.format(day=day))
        connection.execute(_SUMS.format(day=day, new=_NEW))
        if any(_WAS_OPEN in frame.rows_json for frame in batch.frames[EVENTS]):
            connection.execute(_FORGET_OPEN.format(day=day))
    if stage(CALLS, _STAGE_CALLS):
        insert_with_bodies(f"{_CALLS}; {_hops_of_calls(batch.frames[CALLS])}", batch.frames[CALLS])
        connection.execute(_SUMS.format(day=day, new=_NEW_OF_CALLS))
    if stage(GAPS, _STAGE.format(shape=_GAP_SHAPE)):
        connection.execute(_GAPS.format(day=day))


def _hops_of_calls(frames: list[Frame]) -> str:
    """The statement; most of the time the bodies are not needed for it."""
    return _SENT_RENAMED if any(_RENAMED in frame.rows_json for frame in frames) else _SENT_AS_TOLD


def _pieces(frames: list[Frame]) -> Iterator[list[Frame]]:
    """A statement holds what it inserts once more while it runs."""
    piece: list[Frame] = []
    size = 0
    for frame in frames:
        piece.append(frame)
        size += len(frame.bodies.data) if frame.bodies else 0
        if size >= _PIECE_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
