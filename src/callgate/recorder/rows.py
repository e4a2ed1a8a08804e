"""The stored form of an event: one struct per table, its fields the table's columns.

Columns may be added; their meaning never changes. A struct is also a row of the journal, as JSON: DuckDB
reads that itself, so between journal and table no Python touches a row. Moments are microseconds since 1970
in UTC.
"""

import msgspec


class SessionRow(msgspec.Struct, omit_defaults=True, gc=False):
    """A session as far as it is known when the row is written; the store merges rows of one session."""

    session_id: str
    created_at: int
    last_seen_at: int
    ended_at: int | None = None
    client_name: str | None = None
    client_version: str | None = None
    client_protocol: str | None = None
    era: str | None = None
    transport: str | None = None
    principal: str | None = None
    workspace: str | None = None
    handshake_session_id: str | None = None
    writer: str | None = None  # whose session it is, so that it can be ended when that one died


class HopRow(msgspec.Struct, omit_defaults=True, gc=False):
    """One leg to one upstream. A body that is byte for byte the exchange's own is not kept twice."""

    server_name: str
    ok: bool
    duration_ms: float | None = None
    rpc_id: str | None = None
    same_request: bool = False
    same_response: bool = False
    request_json: str | None = None
    response_json: str | None = None
    error: str | None = None
    cached: bool = False
    server_version: str | None = None
    server_protocol: str | None = None
    started_ms: float | None = None  # after the exchange was opened


class EventRow(msgspec.Struct, omit_defaults=True, gc=False):
    """One request or notification; without an outcome: still open."""

    id: str
    ts: int
    session_id: str | None  # None: refused before there was one, or said to nobody in particular
    method: str
    client: str
    kind: str = "request"  # "request" | "notification"
    sender: str = "client"  # "client" | "server": who sent it
    rpc_id: str | None = None
    seq: int | None = None  # increasing per process; what the live stream counts by
    writer: str | None = None  # of an open exchange: whose it is, so that it can be ended when that one died
    server_name: str | None = None
    server_version: str | None = None
    server_protocol: str | None = None
    tool_name: str | None = None
    source_id: str | None = None
    duration_ms: float | None = None
    ok: bool | None = None
    error: str | None = None
    error_code: str | None = None
    outcome: str | None = None
    ended_by: str | None = None
    request_json: bytes | None = None  # valid UTF-8; in the journal it lies beside the JSON, as it is here
    response_json: bytes | None = None
    annotations: str | None = None
    request_bytes: int = 0
    response_bytes: int = 0
    request_tokens: int | None = None
    response_tokens: int | None = None
    is_redacted: bool = False
    is_cut: bool = False  # a body was longer than `max_body`, or was dropped for want of room
    was_open: bool = False  # a row without an outcome was written before
    sql: str | None = None
    statement_type: str | None = None
    mode: str | None = None
    verdict: str | None = None
    rule: str | None = None
    tables: list[str] | None = None
    rows: int | None = None
    truncated: bool | None = None
    cached: bool = False
    trace_id: str | None = None
    principal: str | None = None  # who sent it
    via: str | None = None  # the tool of the gateway's own that a call came through
    hops: list[HopRow] = []


class GapRow(msgspec.Struct, gc=False):
    """What could not be kept: the record says so itself."""

    since: int
    until: int
    count: int
    reason: str


def micros(unix_s: float) -> int:
    return int(unix_s * 1_000_000)
