"""What the API gives of servers and their tools, as `shapes` does of the record."""

from datetime import datetime
from typing import Literal

import msgspec

from callgate.api.shapes import Annotations, Era, Json
from callgate.model.trust import TrustMode
from callgate.ports.record_reader import Evidence


class SeenToWrite(msgspec.Struct):
    """Of a tool that is declared read-only, in the last seven days."""

    calls: int
    last_call_id: str
    last_at: datetime
    evidence: Evidence  # of the last


class ToolShape(msgspec.Struct):
    name: str  # as clients of /mcp call it
    server: str
    native_name: str
    title: str | None
    description: str | None
    annotations: Annotations | None  # null: the server declared none, and the specification's defaults hold
    input_schema: Json
    output_schema: Json | None
    tokens: int  # what the definition costs in a context, estimated
    seen_to_write: SeenToWrite | None


class FailureShape(msgspec.Struct):
    at: datetime
    message: str
    code: str | None


class RecentCalls(msgspec.Struct):
    """Tool calls of the last hour."""

    calls: int
    errors: int  # whose outcome is not `answered`
    refused: int  # of these, by the gateway
    p50_ms: float | None
    p95_ms: float | None


class ServerOnReplica(msgspec.Struct):
    replica: str
    state: Literal["up", "starting", "down"]
    since: datetime | None
    detail: str
    code: str | None


class ServerReplicas(msgspec.Struct):
    """On how many replicas a server is how."""

    total: int
    up: int
    starting: int
    down: int
    not_up: list[ServerOnReplica]  # the first 20


class ServerShape(msgspec.Struct, kw_only=True):
    name: str  # its id: the prefix of its tools, and its place in addresses
    title: str  # what people call it: the name of its entry as it is written
    kind: Literal["sql", "mcp"]
    state: Literal["up", "starting", "down"]  # of several replicas: up on all, or down on any
    since: datetime | None  # when it was first seen in that state; down: not since the last attempt
    detail: str
    code: str | None
    last_failure: FailureShape | None  # why it was down last, even if it is up again
    era: Era | None
    protocol: str | None  # the revision that it speaks with us
    version: str | None
    # How it is reached, without passwords, keys and tokens; null: it is not in the configuration.
    address: str | None
    limits: dict[str, float]  # by the names of their settings
    engine: str | None  # of a database
    mode: Literal["read_only", "write"] | None  # of a database
    stderr_tail: list[str]
    notes: list[str]  # what is left out or renamed of what it lists: too much, or an address of another's
    recent: RecentCalls | None  # null: calls are not recorded, or the record cannot be read now
    tools: list[ToolShape]
    tokens: int  # of all its tools
    seen_to_write: list[str]  # those of its tools that are declared read-only and were seen to write
    replicas: ServerReplicas | None  # null: this gateway is alone
    trust: TrustMode | None = None  # null: nothing of it is pinned, as of a source
    changed: int  # definitions that are not as they were accepted, and pass
    held: int  # those that do not


class FindingShape(msgspec.Struct):
    severity: Literal["note", "warning", "problem"]
    text: str
    advice: str  # what to do about it; may be empty


class ExaminedServer(msgspec.Struct):
    name: str
    findings: list[FindingShape]  # empty: nothing is wrong


class ToolList(msgspec.Struct):
    tools: list[ToolShape]
    total: int
    next_cursor: str | None
    tokens: int  # of all of them, also of those beyond the limit
    tool_search: bool  # true: clients of /mcp are listed two tools in their place


class ServerList(msgspec.Struct):
    servers: list[ServerShape]
    total: int
    next_cursor: str | None
    tokens: int  # of all tools of all servers
    tool_search: bool  # true: clients of /mcp are listed two tools in their place
