"""Rows of one DuckDB file, attached as `part`, as a copy wants them (`days.record_days`)."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from callgate.recorder.days.record_days import PIECE_BYTES, PIECE_ROWS, Piece, Rest, event_of, hop_of
from callgate.recorder.rows import EventRow, GapRow, SessionRow
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS, SESSION_COLUMNS

_SUMS = ("tool_call_count", "error_count", "total_tokens")
_EVENT_NAMES = list(EVENT_COLUMNS)
_HOP_NAMES = [name for name in HOP_COLUMNS if name != "event_id"]
_SESSION_NAMES = [name for name in SESSION_COLUMNS if name not in _SUMS]


def _spelled(names: Sequence[str], kinds: Mapping[str, str]) -> str:
    return ", ".join(f"epoch_us({name})" if kinds[name] == "TIMESTAMP" else name for name in names)


_EVENTS = f"""
SELECT rowid, {_spelled(_EVENT_NAMES, EVENT_COLUMNS)} FROM part.rpc_events
WHERE rowid >= $1 AND rowid < $2 ORDER BY rowid
"""  # noqa: S608
_FOUND = f"""
SELECT rowid, {_spelled(_EVENT_NAMES, EVENT_COLUMNS)} FROM part.rpc_events
WHERE id IN (SELECT unnest($1::UUID[]))
"""  # noqa: S608
_HOPS = f"""
SELECT event_id::VARCHAR, {_spelled(_HOP_NAMES, HOP_COLUMNS)} FROM part.rpc_event_upstreams
WHERE event_id IN (SELECT unnest($1::UUID[])) ORDER BY rowid
"""  # noqa: S608
_SESSIONS = f"SELECT {_spelled(_SESSION_NAMES, SESSION_COLUMNS)} FROM part.sessions ORDER BY session_id"  # noqa: S608
_GAPS = 'SELECT epoch_us("from"), epoch_us("to"), count, reason FROM part.gaps ORDER BY rowid'
# What is read of a file at once, before its size is known.
_STEP_ROWS = 256


def piece_in(connection: duckdb.DuckDBPyConnection, begin: int) -> Piece:
    """Bodies differ much in size: read in steps, until it is enough."""
    piece = Piece(begin, begin)
    size = 0
    while len(piece.events) < PIECE_ROWS and size < PIECE_BYTES:
        rows: list[Any] = connection.execute(_EVENTS, [piece.end, piece.end + _STEP_ROWS]).fetchall()
        if not rows:
            break
        events = _with_hops(connection, rows)
        size += sum(len(row.request_json or b"") + len(row.response_json or b"") for row in events)
        piece.events += events
        piece.end = rows[-1][0] + 1
    return piece


def events_in(connection: duckdb.DuckDBPyConnection, ids: Sequence[str]) -> list[EventRow]:
    return _with_hops(connection, connection.execute(_FOUND, [list(ids)]).fetchall())


def _with_hops(connection: duckdb.DuckDBPyConnection, rows: list[Any]) -> list[EventRow]:
    events = [event_of(_EVENT_NAMES, row[1:]) for row in rows]
    by_id = {row.id: row for row in events}
    for event_id, *values in connection.execute(_HOPS, [list(by_id)]).fetchall():
        row = by_id[event_id]
        row.hops = [*row.hops, hop_of(_HOP_NAMES, values)]
    return events


def counts_in(connection: duckdb.DuckDBPyConnection) -> Sequence[int]:
    counted = connection.execute(
        "SELECT (SELECT count(*) FROM part.rpc_events), (SELECT count(*) FROM part.rpc_event_upstreams),"
        " (SELECT count(*) FROM part.gaps)"
    ).fetchone()
    assert counted is not None
    return counted


def marks_in(connection: duckdb.DuckDBPyConnection) -> list[Any]:
    return connection.execute("FROM part.watermarks").fetchall()


def rest_in(connection: duckdb.DuckDBPyConnection) -> Rest:
    sessions = [
        SessionRow(**dict(zip(_SESSION_NAMES, row, strict=True)))
        for row in connection.execute(_SESSIONS).fetchall()
    ]
    return Rest(sessions, [GapRow(*row) for row in connection.execute(_GAPS).fetchall()])
