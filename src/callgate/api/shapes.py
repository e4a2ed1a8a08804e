"""What the API gives: one struct for each thing, its fields as the record and the vocabulary name them.

Moments are RFC 3339 in UTC. A field may be added, never change its meaning.
"""

from datetime import datetime
from typing import Any

import msgspec

Json = dict[str, Any]


class SessionShape(msgspec.Struct):
    session_id: str
    status: str  # "open" | "closed"
    created_at: datetime | None
    last_seen_at: datetime | None
    ended_at: datetime | None
    client_name: str | None
    client_version: str | None
    client_protocol: str | None
    era: str | None
    transport: str | None
    principal: str | None
    workspace: str | None
    handshake_session_id: str | None  # a digest: the id itself is a secret
    tool_call_count: int
    error_count: int
    total_tokens: int


class ExchangeShape(msgspec.Struct):
    """A request or notification. A tool call is one whose method is `tools/call`."""

    id: str
    seq: int | None
    timestamp: datetime | None
    session_id: str | None
    kind: str  # "request" | "notification"
    sender: str  # "client" | "server"
    method: str
    server: str | None  # "aggregate" for a merged list
    server_version: str | None
    server_protocol: str | None
    tool: str | None
    source_id: str | None
    duration_ms: float | None
    ok: bool | None
    outcome: str | None  # null: still open
    ended_by: str | None
    error: str | None
    error_code: str | None
    client: str | None
    arguments: str | None  # JSON text, redacted, the first 2 KB
    annotations: Json | None  # as they were when the call was made
    request_bytes: int | None
    response_bytes: int | None
    request_tokens: int | None
    response_tokens: int | None
    tokens_by: str | None  # "o200k" | "bytes": how the tokens were estimated
    is_redacted: bool | None
    is_cut: bool | None
    sql: str | None
    statement_type: str | None
    mode: str | None
    verdict: str | None
    rule: str | None
    tables: list[str] | None
    rows: int | None
    truncated: bool | None
    cached: bool | None
    trace_id: str | None


class HopShape(msgspec.Struct):
    server: str | None
    ok: bool | None
    duration_ms: float | None
    rpc_id: str | None  # our own id of the request at that server
    request_json: str | None
    response_json: str | None
    error: str | None
    cached: bool | None
    server_version: str | None
    server_protocol: str | None


class WholeExchange(ExchangeShape):
    rpc_id: str | None  # the client's own, as JSON
    request_json: str | None  # params, as JSON text: redacted, and cut when `is_cut`
    response_json: str | None
    hops: list[HopShape]
    replayable: bool  # false: it can only be edited, since what was sent is not all there


class ToolShape(msgspec.Struct):
    name: str  # as clients of /mcp call it
    server: str
    native_name: str
    title: str | None
    description: str | None
    annotations: Json | None  # null: the server declared none, and the specification's defaults hold
    input_schema: Json
    output_schema: Json | None
    tokens: int  # what the definition costs in a context, estimated


class ServerShape(msgspec.Struct):
    name: str
    kind: str  # "sql" | "mcp"
    state: str  # "up" | "starting" | "down"
    detail: str
    code: str | None
    era: str | None
    version: str | None
    stderr_tail: list[str]
    tools: list[ToolShape]
    tokens: int  # of all its tools


class SessionList(msgspec.Struct):
    sessions: list[SessionShape]
    total: int
    next_cursor: str | None


class ToolCallList(msgspec.Struct):
    tool_calls: list[ExchangeShape]
    total: int
    next_cursor: str | None


class ExchangeList(msgspec.Struct):
    exchanges: list[ExchangeShape]
    total: int
    next_cursor: str | None


class ToolList(msgspec.Struct):
    tools: list[ToolShape]
    total: int
    next_cursor: str | None


class ServerList(msgspec.Struct):
    servers: list[ServerShape]
    total: int
    next_cursor: str | None


class StatsShape(msgspec.Struct):
    since: datetime
    until: datetime
    totals: Json
    by_tool: list[Json]
    by_server: list[Json]
    by_method: list[Json]
    by_minute: list[Json]


class QueryAnswer(msgspec.Struct):
    columns: list[str]
    rows: list[list[Any]]
    row_count: int
    truncated: bool
    elapsed_ms: float


class CallAnswer(msgspec.Struct):
    """What a client would have got: one of result and error."""

    id: str  # of the recorded call
    result: Json | None
    error: Json | None


class Problem(msgspec.Struct):
    """RFC 9457, with our stable code: docs/errors has a page for each."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str | msgspec.UnsetType = msgspec.UNSET
