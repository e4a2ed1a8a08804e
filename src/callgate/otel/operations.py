"""What a span tells: one `TracedOperation` for the request we answered, and one for each leg of it. Pure.

Made on the loop, so it is small and holds no payload: what waits to be exported must not keep bodies alive.
"""

from collections.abc import Iterator
from enum import Enum

import msgspec

from callgate.model.exchange import Exchange, Hop, Outcome, Settlement, StatementFacts, Trace
from callgate.wire.params import peek, text_of

# Of what others wrote: more than is ever told (attributes.py), so that what is cut off here is not half a
# secret there; and little enough that a full queue is no danger.
_MAX_CHARS = 2_000
_MAX_SQL_CHARS = 16_000
TOOL_ERROR = "tool_error"  # the conventions' own word for `isError`
OTHER = "_OTHER"
_NOTIFICATION = "notifications/"
_URI_METHODS = frozenset({"resources/read", "resources/subscribe", "resources/unsubscribe"})


class Side(Enum):
    SERVER = "server"  # a client asked us
    CLIENT = "client"  # we asked a server, or passed its question to a client
    DATABASE = "database"  # we asked a source
    INTERNAL = "internal"  # our own SQL server was asked for a list and the like


class Ending(msgspec.Struct, frozen=True):
    """How it failed; all None when it did not."""

    error_type: str | None = None
    status_code: str | None = None  # JSON-RPC's
    message: str | None = None  # JSON-RPC's: what a tool says of its failure is a payload


class TracedOperation(msgspec.Struct, frozen=True, kw_only=True):
    trace: Trace
    side: Side
    span_id: str | None  # None: nobody was told of it, so any will do
    parent_id: str | None
    method: str
    began_ns: int
    ended_ns: int
    ending: Ending
    session_id: str
    exchange_id: str
    outcome: str
    server: str | None = None
    tool: str | None = None
    prompt: str | None = None
    uri: str | None = None
    rpc_id: str | None = None
    protocol: str | None = None
    transport: str | None = None
    error_code: str | None = None  # ours
    facts: StatementFacts | None = None
    via: str | None = None


class _RpcError(msgspec.Struct):
    code: int | None = None
    message: str = ""


_error_decoder = msgspec.json.Decoder(_RpcError)


def operations_of(exchange: Exchange) -> Iterator[TracedOperation]:
    """None of a notification: it takes no time, and a chatty server would make nothing but those."""
    trace, settlement = exchange.trace, exchange.settlement
    if trace is None or settlement is None or exchange.arrival.method.startswith(_NOTIFICATION):
        return
    ending = _ending_of(settlement)
    yield _whole(exchange, trace, settlement, ending)
    last = exchange.hops[-1] if exchange.hops else None
    for hop in exchange.hops:
        if not hop.cached and hop.ended_mono is not None:
            yield _leg(exchange, hop, trace, _ending_of_leg(hop, ending, is_last=hop is last))


def _whole(exchange: Exchange, trace: Trace, settlement: Settlement, ending: Ending) -> TracedOperation:
    arrival = exchange.arrival
    is_ours = exchange.sender == "server"  # a server's question, which we put to the client
    named = (
        peek(arrival.params) if arrival.method == "prompts/get" or arrival.method in _URI_METHODS else None
    )
    return TracedOperation(
        trace=trace,
        side=Side.CLIENT if is_ours else Side.SERVER,
        span_id=None if is_ours else trace.span_id,
        parent_id=trace.span_id if is_ours else trace.parent_id,
        method=arrival.method[:_MAX_CHARS],
        began_ns=int(exchange.opened_at * 1e9),
        ended_ns=_at_ns(exchange, exchange.settled_mono),
        ending=ending,
        session_id=exchange.session.session_id,
        exchange_id=exchange.exchange_id,
        outcome=settlement.outcome.value,
        server=exchange.server_name,
        # Only one that a server was asked for: strangers make up names, and span names are to be few.
        tool=exchange.tool_name[:_MAX_CHARS] if exchange.tool_name and exchange.hops else None,
        prompt=_text(named.name) if named is not None else None,
        uri=_text(named.uri) if named is not None else None,
        rpc_id=None if is_ours else _rpc_id(arrival.rpc_id),
        protocol=arrival.envelope.revision,
        transport=arrival.transport,
        error_code=settlement.error_code,
        via=exchange.via,
    )


def _leg(exchange: Exchange, hop: Hop, trace: Trace, ending: Ending) -> TracedOperation:
    side = Side.CLIENT
    if hop.is_built_in:
        side = Side.INTERNAL if hop.facts is None else Side.DATABASE
    tool = exchange.tool_name if hop.method == "tools/call" else None
    named = peek(hop.params) if hop.method == "prompts/get" or hop.method in _URI_METHODS else None
    return TracedOperation(
        trace=trace,
        side=side,
        span_id=hop.span_id,
        parent_id=trace.span_id,
        method=hop.method,
        began_ns=_at_ns(exchange, hop.started_mono),
        ended_ns=_at_ns(exchange, hop.ended_mono),
        ending=ending,
        session_id=exchange.session.session_id,
        exchange_id=exchange.exchange_id,
        outcome=Outcome.ANSWERED.value if ending.error_type is None else Outcome.FAILED.value,
        server=hop.upstream,
        tool=tool and tool.removeprefix(f"{hop.upstream}__")[:_MAX_CHARS],
        prompt=_text(named.name) if named is not None else None,
        uri=_text(named.uri) if named is not None else None,
        rpc_id=None if hop.rpc_id is None else str(hop.rpc_id),
        protocol=hop.server_protocol,
        facts=hop.facts and _short(hop.facts),
    )


def _short(facts: StatementFacts) -> StatementFacts:
    if len(facts.sql) <= _MAX_SQL_CHARS and not facts.tables:
        return facts
    return msgspec.structs.replace(facts, sql=facts.sql[:_MAX_SQL_CHARS], tables=())


def _text(raw: msgspec.Raw) -> str | None:
    found = text_of(raw)
    return found and found[:_MAX_CHARS]


def _ending_of(settlement: Settlement) -> Ending:
    match settlement.outcome:
        case Outcome.ANSWERED:
            return Ending()
        case Outcome.TOOL_ERROR:
            return Ending(TOOL_ERROR)
        case Outcome.CANCELLED | Outcome.LOST:
            return Ending(settlement.outcome.value)
        case _:
            return _ending_in(settlement.reply)


def _ending_in(reply: bytes | None) -> Ending:
    """An error object has a code; a refusal of our own SQL server is the result of a tool."""
    try:
        error = _error_decoder.decode(reply or b"{}")
    except (msgspec.DecodeError, RecursionError):
        return Ending(OTHER)
    if error.code is None:
        return Ending(TOOL_ERROR)
    return Ending(str(error.code), str(error.code), error.message[:_MAX_CHARS])


def _ending_of_leg(hop: Hop, whole: Ending, *, is_last: bool) -> Ending:
    """What the client got is what the last leg said, unless the leg was fine and we were not."""
    if hop.error is not None:
        return whole if is_last and whole.error_type is not None else Ending(OTHER)
    return whole if is_last and whole.error_type == TOOL_ERROR else Ending()


def _at_ns(exchange: Exchange, mono: float | None) -> int:
    passed_s = 0.0 if mono is None else mono - exchange.opened_mono
    return int((exchange.opened_at + passed_s) * 1e9)


def _rpc_id(raw: bytes | None) -> str | None:
    """As the conventions want it: without a string's quotes, and nothing for null."""
    if raw is None or raw == b"null":
        return None
    return _text(msgspec.Raw(raw)) or raw[:_MAX_CHARS].decode(errors="replace")
