"""An operation in the words of OpenTelemetry's conventions: the name and attributes of its span, and those of
its metric. Pure.

MCP: docs/gen-ai/mcp.md of open-telemetry/semantic-conventions-genai; databases: docs/database of
open-telemetry/semantic-conventions. What they do not name is called `callgate.…`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from callgate.otel.operations import OTHER, Side, TracedOperation

# A client's own words, cut: an attribute is for finding things, the record has the rest.
_MAX_CHARS = 200
_MAX_SQL_CHARS = 2_000
# Of tools and prompts that metrics tell apart: invented names must not make our memory grow.
_MAX_NAMES = 1_000
_TRANSPORTS = {"http": "tcp", "sse": "tcp", "stdio": "pipe"}
KNOWN_METHODS = frozenset(
    {
        "initialize", "ping", "server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get",
        "resources/list", "resources/templates/list", "resources/read", "resources/subscribe",
        "resources/unsubscribe", "subscriptions/listen", "completion/complete", "logging/setLevel",
        "sampling/createMessage", "elicitation/create", "roots/list",
    }
)  # fmt: skip

Attributes = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class Peer:
    """An upstream as the operator wrote it."""

    transport: str | None = None  # "http" | "sse" | "stdio"; None: a source
    address: str | None = None
    port: int | None = None
    db_system: str | None = None


@dataclass(frozen=True, slots=True)
class TelemetryWording:
    redact: Callable[[str], str]
    peers: Mapping[str, Peer] = field(default_factory=dict[str, Peer])
    tells_sql: bool = False
    _names: set[str] = field(default_factory=set[str])

    def span_name(self, told: TracedOperation) -> str:
        if told.side is Side.DATABASE and told.facts is not None:
            return f"{told.facts.statement_type[:_MAX_CHARS]} {told.facts.source_id}"
        target = told.tool or told.prompt
        return self._text(told.method if target is None else f"{told.method} {target}")

    def of_span(self, told: TracedOperation) -> Attributes:
        found = (
            self._database(told) if told.side is Side.DATABASE else self._mcp(told, self._text(told.method))
        )
        self._add_target(found, told, self._text)
        if told.uri is not None:
            found["mcp.resource.uri"] = self._text(told.uri)
        if told.rpc_id is not None and told.side in (Side.SERVER, Side.CLIENT):
            found["jsonrpc.request.id"] = self._text(told.rpc_id)
        # Our id: the protocol's own is a secret that lets its owner into the session.
        found["mcp.session.id"] = told.session_id
        found["callgate.exchange.id"] = told.exchange_id
        found["callgate.outcome"] = told.outcome
        if told.server is not None:
            found["callgate.server"] = told.server
        if told.via is not None:
            found["callgate.via"] = told.via
        if told.error_code is not None:
            found["callgate.error.code"] = told.error_code
        return found

    def of_metric(self, told: TracedOperation) -> Attributes:
        """Of few values each."""
        found = self._mcp(told, told.method if told.method in KNOWN_METHODS else OTHER)
        self._add_target(found, told, self._one_of_few)
        return found

    def message(self, told: TracedOperation) -> str | None:
        text = told.ending.message
        return None if text is None else self._text(text)

    def _mcp(self, told: TracedOperation, method: str) -> Attributes:
        found: Attributes = {"mcp.method.name": method}
        transport = told.transport
        if told.side is Side.CLIENT and transport is None:
            peer = self.peers.get(told.server or "", Peer())
            transport = peer.transport
            _add_address(found, peer)
        if transport is not None:
            found["network.transport"] = _TRANSPORTS.get(transport, transport)
            if transport != "stdio":
                found["network.protocol.name"] = "http"
        if told.protocol is not None:
            found["mcp.protocol.version"] = self._one_of_few(told.protocol)
        return found | _failure(told)

    def _database(self, told: TracedOperation) -> Attributes:
        assert told.facts is not None
        facts, peer = told.facts, self.peers.get(told.facts.source_id, Peer())
        found: Attributes = {
            "db.system.name": peer.db_system or "other_sql",
            "db.operation.name": facts.statement_type[:_MAX_CHARS],
            "callgate.verdict": facts.verdict,
        }
        _add_address(found, peer)
        if facts.rule is not None:
            found["callgate.rule"] = facts.rule
        if facts.rows is not None:
            found["db.response.returned_rows"] = facts.rows
        if self.tells_sql:
            # Redacted whole, then cut: half a secret is one too.
            found["db.query.text"] = self.redact(facts.sql)[:_MAX_SQL_CHARS]
        return found | _failure(told)

    def _add_target(self, found: Attributes, told: TracedOperation, said: Callable[[str], str]) -> None:
        if told.method == "tools/call":
            found["gen_ai.operation.name"] = "execute_tool"
        if told.tool is not None:
            found["gen_ai.tool.name"] = said(told.tool)
        if told.prompt is not None:
            found["gen_ai.prompt.name"] = said(told.prompt)

    def _text(self, text: str) -> str:
        """As it may leave us: a lone surrogate would cost the whole batch."""
        return self.redact(text).encode(errors="replace").decode()[:_MAX_CHARS]

    def _one_of_few(self, name: str) -> str:
        said = self._text(name)
        if said in self._names:
            return said
        if len(self._names) >= _MAX_NAMES:
            return OTHER
        self._names.add(said)
        return said


def _add_address(found: Attributes, peer: Peer) -> None:
    if peer.address is not None:
        found["server.address"] = peer.address
        if peer.port is not None:
            found["server.port"] = peer.port


def _failure(told: TracedOperation) -> Attributes:
    found: Attributes = {}
    if told.ending.error_type is not None:
        found["error.type"] = told.ending.error_type
    if told.ending.status_code is not None:
        found["rpc.response.status_code"] = told.ending.status_code
    return found
