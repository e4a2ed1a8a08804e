"""Calls that have most of their columns in common: those are written once for a group, not once for a call.

Most of a row says what the row before it said: client, server, tool, annotations, versions. To build, encode
and look through all of it for each call was most of what the recorder cost the event loop, and to parse it
again half of what it cost the store.

Rules
1. Only an ordinary call is written like this: a client's request, answered by one server, with nothing to
   tell but its two bodies. Every other exchange is a whole row (`build_rows`), which is the definition:
   `event_rows` gives exactly the rows that it would have made.
2. A frame's shapes are in the frame: it can be read without the one before it.
3. The bodies lie beside the JSON, as those of whole rows do.
"""

from typing import Any

import msgspec

from callgate.model.exchange import EndedBy, Exchange, Outcome
from callgate.recorder.redact.redact import valid_utf8
from callgate.recorder.rows import EventRow, HopRow

# Python 3.11 needs 0.1 µs to find a member of an enumeration.
_ANSWERED, _UPSTREAM = Outcome.ANSWERED, EndedBy.UPSTREAM
_encode = msgspec.json.Encoder().encode


class CallShape(msgspec.Struct, omit_defaults=True, frozen=True, gc=False):
    """What calls have in common; each name is that of a column."""

    method: str
    client: str
    server_name: str
    tool_name: str | None = None
    annotations: str | None = None
    principal: str | None = None
    via: str | None = None
    server_version: str | None = None
    server_protocol: str | None = None


class CallRow(msgspec.Struct, omit_defaults=True, gc=False):
    """What is a call's own; `hop_…` is of its only hop. Bodies of the hop: where they differ from its own."""

    id: str
    ts: int
    session_id: str
    rpc_id: str
    duration_ms: float
    hop_ms: float
    request_bytes: int
    response_bytes: int
    shape: int = 0  # its place among the shapes of the frame
    hop_rpc_id: int | None = None
    hop_started_ms: float = 0.0
    hop_request: str | None = None
    hop_response: str | None = None
    seq: int | None = None

    def event_row(self, shape: CallShape) -> EventRow:
        hop = HopRow(
            shape.server_name,
            True,
            self.hop_ms,
            None if self.hop_rpc_id is None else str(self.hop_rpc_id),
            self.hop_request is None,
            self.hop_response is None,
            self.hop_request,
            self.hop_response,
            server_version=shape.server_version,
            server_protocol=shape.server_protocol,
            started_ms=self.hop_started_ms,
        )
        return EventRow(
            self.id,
            self.ts,
            self.session_id,
            shape.method,
            shape.client,
            rpc_id=self.rpc_id,
            seq=self.seq,
            server_name=shape.server_name,
            server_version=shape.server_version,
            server_protocol=shape.server_protocol,
            tool_name=shape.tool_name,
            duration_ms=self.duration_ms,
            ok=True,
            outcome=_ANSWERED,
            ended_by=_UPSTREAM,
            annotations=shape.annotations,
            request_bytes=self.request_bytes,
            response_bytes=self.response_bytes,
            principal=shape.principal,
            via=shape.via,
            hops=[hop],
        )


class _Written(msgspec.Struct, gc=False):
    """As JSON in a frame."""

    shapes: list[CallShape]
    calls: list[CallRow]


_decode = msgspec.json.Decoder(_Written).decode


class Calls:
    """The ordinary calls of one group, in their order."""

    __slots__ = ("_places", "_shapes", "largest_bytes", "requests", "responses", "rows")

    def __init__(self) -> None:
        self._shapes: list[CallShape] = []
        self._places: dict[tuple[Any, ...], int] = {}  # of shapes, by what they are made of
        self.rows: list[CallRow] = []
        self.requests: list[bytes] = []
        self.responses: list[bytes] = []
        self.largest_bytes = 0  # both bodies of a call

    def add(self, exchange: Exchange) -> bool:
        """False: it is none, and needs a whole row."""
        settlement, hops, settled_mono = exchange.settlement, exchange.hops, exchange.settled_mono
        if settlement is None or settled_mono is None or len(hops) != 1:
            return False
        hop, arrival, session = hops[0], exchange.arrival, exchange.session
        reply, params, rpc_id, headers = settlement.reply, arrival.params, arrival.rpc_id, arrival.headers
        ended_mono, result, sent = hop.ended_mono, hop.result, hop.params
        if (
            settlement.outcome is not _ANSWERED
            or settlement.ended_by is not _UPSTREAM
            or not reply
            or not params
            or not result
            or not sent
            or rpc_id is None
            or ended_mono is None
            or hop.upstream != exchange.server_name
            or hop.facts is not None
            or hop.error is not None
            or hop.cached
            or settlement.error is not None
            or settlement.error_code is not None
            or exchange.sender != "client"
            or exchange.trace is not None
            or arrival.envelope.traceparent is not None
            or (headers is not None and "traceparent" in headers)
            or arrival.method.startswith("notifications/")
            or not (params.isascii() or valid_utf8(params) is params)
            or not (reply.isascii() or valid_utf8(reply) is reply)
        ):
            return False
        shape = (
            arrival.method,
            arrival.client,
            hop.upstream,
            exchange.tool_name,
            exchange.annotations,
            session.principal.name,
            exchange.via,
            hop.server_version,
            hop.server_protocol,
        )
        place = self._places.get(shape)
        if place is None:
            place = self._places[shape] = len(self._shapes)
            self._shapes.append(_shape(*shape))
        opened_mono, started_mono = exchange.opened_mono, hop.started_mono
        self.rows.append(
            CallRow(
                exchange.exchange_id,
                int(exchange.opened_at * 1_000_000),
                session.session_id,
                rpc_id.decode(errors="replace"),
                (settled_mono - opened_mono) * 1000,
                (ended_mono - started_mono) * 1000,
                len(params),
                len(reply),
                place,
                hop.rpc_id,
                (started_mono - opened_mono) * 1000,
                None if sent is params or sent == params else sent.decode(errors="replace"),
                None if result is reply or result == reply else result.decode(errors="replace"),
            )
        )
        self.requests.append(params)
        self.responses.append(reply)
        size = len(params) + len(reply)
        if size > self.largest_bytes:
            self.largest_bytes = size
        return True

    def json(self) -> bytes:
        return _encode(_Written(self._shapes, self.rows))

    def event_rows(self) -> list[EventRow]:
        """The same as whole rows."""
        rows: list[EventRow] = []
        for call, request, response in zip(self.rows, self.requests, self.responses, strict=True):
            row = call.event_row(self._shapes[call.shape])
            row.request_json, row.response_json = request, response
            rows.append(row)
        return rows


def _shape(
    method: str, client: str, server_name: str, tool_name: str | None, annotations: bytes | None, *others: Any
) -> CallShape:
    told = annotations.decode(errors="replace") if annotations else None
    return CallShape(method, client, server_name, tool_name, told, *others)


def read_event_rows(calls_json: bytes) -> list[EventRow]:
    """Whole rows, without bodies. Raises msgspec.DecodeError: it is not what `Calls.json` wrote."""
    written = _decode(calls_json)
    try:
        return [call.event_row(written.shapes[call.shape]) for call in written.calls]
    except IndexError:
        raise msgspec.DecodeError("a call of a shape that is not there") from None
