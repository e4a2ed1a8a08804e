"""What the API gives: one struct for each thing, its fields as the record and the vocabulary name them.
Servers and their tools are `server_shapes`.

Moments are RFC 3339 in UTC. A field may be added, never change its meaning.
"""

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from callgate.ports.record_reader import Evidence

Json = dict[str, Any]
Era = Literal["legacy", "modern"]
Outcome = Literal["answered", "tool_error", "refused", "failed", "cancelled", "lost"]


class Annotations(msgspec.Struct, rename="camel"):
    """A tool's hints, as the specification spells them. What is not there was not declared, and then the
    specification's default holds: not read-only, destructive, not idempotent, open world."""

    title: str | UnsetType = UNSET
    read_only_hint: bool | UnsetType = UNSET
    destructive_hint: bool | UnsetType = UNSET
    idempotent_hint: bool | UnsetType = UNSET
    open_world_hint: bool | UnsetType = UNSET


class SessionShape(msgspec.Struct):
    session_id: str
    status: Literal["open", "closed"]
    created_at: datetime | None
    last_seen_at: datetime | None
    ended_at: datetime | None
    client_name: str | None
    client_version: str | None
    client_protocol: str | None
    era: Era | None
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
    session_id: str | None  # null: refused before there was one, or said by a server to nobody in particular
    kind: Literal["request", "notification"]
    sender: Literal["client", "server", "operator"]  # which way it went
    method: str
    server: str | None  # "aggregate" for a merged list
    server_version: str | None
    server_protocol: str | None
    tool: str | None
    source_id: str | None
    duration_ms: float | None
    ok: bool | None
    outcome: Outcome | None  # null: still open
    ended_by: Literal["client", "gateway", "upstream"] | None
    error: str | None
    error_code: str | None
    client: str | None
    arguments: str | None  # JSON text, redacted, the first 2 KB
    annotations: Annotations | None  # as they were when the call was made; null: none were declared
    seen_to_write: Evidence | None  # declared read-only, and yet; null in the live stream, which cannot know
    request_bytes: int | None
    response_bytes: int | None
    request_tokens: int | None
    response_tokens: int | None
    tokens_by: Literal["o200k", "bytes"] | None  # how the tokens were estimated
    is_redacted: bool | None
    is_cut: bool | None
    sql: str | None
    statement_type: str | None
    mode: Literal["read_only", "write"] | None
    verdict: Literal["allow", "deny"] | None
    rule: str | None
    tables: list[str] | None
    rows: int | None
    truncated: bool | None
    cached: bool | None
    trace_id: str | None
    principal: str | None  # who sent it
    via: Literal["call_tool"] | None  # the tool of the gateway's own that a call came through


class HopShape(msgspec.Struct):
    server: str | None
    ok: bool | None
    started_ms: float | None  # after the exchange was opened; null in records of before version 3
    duration_ms: float | None
    rpc_id: str | None  # our own id of the request at that server
    request_json: str | None
    response_json: str | None
    error: str | None
    cached: bool | None
    server_version: str | None
    server_protocol: str | None


class LaneEvent(msgspec.Struct):
    """One exchange, as short as a mark on a time line needs it."""

    id: str
    started_ms: float  # after the session's `created_at`, or the call's `timestamp`
    duration_ms: float | None  # null: still open, or over at once, as a notification is
    kind: Literal["request", "notification"]
    sender: Literal["client", "server", "operator"]
    method: str
    server: str | None
    tool: str | None
    outcome: Outcome | None
    error_code: str | None


class SaidShape(LaneEvent):
    """What a server said or asked during a call. The whole of it is the exchange of that id."""

    params: str | None  # JSON text, redacted, the first 2 KB
    answer: str | None  # to a question, likewise


class SessionTimeline(msgspec.Struct):
    session: SessionShape
    events: list[LaneEvent]  # oldest first
    total: int  # when there are more than were asked for, the newest are told


class Replay(msgspec.Struct):
    """Whether a call can be made again. `redacted` and `cut`: not all of its arguments is in the record, so
    they have to be given again. `missing_capability`: the server offers the tool to clients that can be asked
    something, and nobody could be asked here."""

    possible: bool  # as it was
    # Why not.
    reason: Literal["not_a_call", "no_tool", "not_offered", "missing_capability", "redacted", "cut"] | None
    tool: str | None  # its name at /mcp today; null: there is nothing to call
    needs_confirmation: bool  # it may destroy something, by what was or is declared: ask a person first
    missing_capabilities: list[str]  # which clients declare that are offered the tool


class WholeExchange(ExchangeShape):
    rpc_id: str | None  # the client's own, as JSON
    request_json: str | None  # params, as JSON text: redacted, and cut when `is_cut`
    response_json: str | None
    hops: list[HopShape]
    # By the server meanwhile, on the stream of this call: progress, logs, questions. The first 1,000.
    said: list[SaidShape]
    replay: Replay


class SessionList(msgspec.Struct):
    sessions: list[SessionShape]
    total: int
    next_cursor: str | None
    total_is_at_least: bool = False  # there are more, and the store did not count them all


class ToolCallList(msgspec.Struct):
    tool_calls: list[ExchangeShape]
    total: int
    next_cursor: str | None
    total_is_at_least: bool = False  # there are more, and the store did not count them all


class ExchangeList(msgspec.Struct):
    exchanges: list[ExchangeShape]
    total: int
    next_cursor: str | None
    total_is_at_least: bool = False  # there are more, and the store did not count them all


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


class ConfigProblemShape(msgspec.Struct):
    key_path: str
    message: str
    hint: str


class Problem(msgspec.Struct):
    """RFC 9457, with our stable code: docs/errors has a page for each."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str | msgspec.UnsetType = msgspec.UNSET
    problems: list[ConfigProblemShape] | msgspec.UnsetType = msgspec.UNSET  # of a configuration
    toml: list[str] | msgspec.UnsetType = msgspec.UNSET  # lines to paste where the file comes from
