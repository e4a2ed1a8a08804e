"""The one noun that travels: what gets routed, judged, settled and recorded.

Rules
1. An `Arrival` is what a client sent, as read by `edge` and `wire`; it never changes.
2. An `Exchange` is one arrival and all that became of it. `relay` opens it and settles it.
3. It is settled exactly once; a second `settle` is a bug and says so.
4. Each leg to an upstream is a `Hop`; a hop ends before its exchange is settled.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from callgate.model.envelope import Envelope
from callgate.model.identity import Principal
from callgate.model.session import Presence, Session

# Of a tool's name in an exchange: a longer one is an attack or a mistake.
MAX_TOOL_NAME_CHARS = 200


class Outcome(StrEnum):
    ANSWERED = "answered"
    TOOL_ERROR = "tool_error"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


class EndedBy(StrEnum):
    CLIENT = "client"
    GATEWAY = "gateway"
    UPSTREAM = "upstream"


class Trace(msgspec.Struct, frozen=True, gc=False):
    """Where an exchange stands in a trace of many programs (W3C Trace Context)."""

    trace_id: str  # 32 hexadecimal digits
    span_id: str  # 16: the exchange's own
    parent_id: str | None = None  # the client's span, if it told us
    state: str | None = None  # its `tracestate`
    is_sampled: bool = True
    # What came in HTTP headers, and goes to upstreams in `_meta`: names and values.
    headers: tuple[tuple[str, str], ...] = ()


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """One request or notification of a client, its payload still the client's own bytes."""

    method: str
    rpc_id: bytes | None  # raw JSON, so that 1, "1" and 12345678901234567890 go back as they came
    params: bytes  # raw JSON object, or b"" when there was none
    envelope: Envelope
    principal: Principal
    transport: str  # "http" | "stdio"
    client: str  # who it was, for people: see edge.visit
    session: Session | None = None  # a legacy session already open; a modern one of the call before, if any
    target: str | None = None  # /servers/<target>/mcp; None is the aggregate
    workspace: str | None = None
    headers: Mapping[str, str] | None = None  # HTTP only, names in lower case; never recorded
    exchange_id: str | None = None  # chosen by a caller of our own, who wants to find it again
    presence: Presence | None = None  # of the stream it came on, where one stream is one client
    is_local: bool = False  # the client is on this machine


class StatementFacts(msgspec.Struct, frozen=True, gc=False):
    """What a SQL statement was and what came of it; travels on the hop into the record's columns."""

    source_id: str
    sql: str
    statement_type: str
    mode: str
    verdict: str  # "allow" | "deny"
    rule: str | None = None
    tables: tuple[str, ...] = ()
    rows: int | None = None
    truncated: bool = False


class Hop(msgspec.Struct, gc=False):
    """One leg of an exchange to one upstream."""

    upstream: str
    method: str
    params: bytes
    started_mono: float
    rpc_id: int | None = None  # our own id of the request at the upstream
    param_headers: tuple[tuple[str, str], ...] = ()  # Mcp-Param-*, for an HTTP upstream of the modern era
    ended_mono: float | None = None
    result: bytes | None = None
    error: str | None = None
    server_version: str | None = None
    server_protocol: str | None = None
    cached: bool = False
    is_built_in: bool = False  # answered by our own SQL server
    span_id: str | None = None  # what the upstream was told is its parent, in the exchange's trace
    facts: StatementFacts | None = None

    @property
    def duration_ms(self) -> float | None:
        return None if self.ended_mono is None else (self.ended_mono - self.started_mono) * 1000


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """How an exchange ended."""

    outcome: Outcome
    ended_by: EndedBy
    reply: bytes | None = None  # raw result or error object, as the client got it
    error_code: str | None = None
    error: str | None = None


class Exchange(msgspec.Struct, gc=False):
    exchange_id: str
    arrival: Arrival
    session: Session
    opened_at: float  # wall clock, for people
    opened_mono: float  # monotonic clock, for durations
    hops: list[Hop] = []  # msgspec makes a new one for each exchange
    server_name: str | None = None  # the upstream, or "aggregate" for a merged list
    tool_name: str | None = None  # the name the client used, see MAX_TOOL_NAME_CHARS
    annotations: bytes | None = None  # snapshot of the tool's annotations at call time
    sender: str = "client"  # "client" | "server": a server's own question or notification is one too
    via: str | None = None  # the tool of the gateway's own that it came through: `call_tool`
    trace: Trace | None = None  # when traces are exported
    settlement: Settlement | None = None
    settled_mono: float | None = None

    def settle(self, settlement: Settlement, now_mono: float) -> None:
        if self.settlement is not None:
            raise RuntimeError(
                f"exchange {self.exchange_id} settled twice: {self.settlement} then {settlement}"
            )
        self.settlement = settlement
        self.settled_mono = now_mono

    @property
    def duration_ms(self) -> float | None:
        return None if self.settled_mono is None else (self.settled_mono - self.opened_mono) * 1000
