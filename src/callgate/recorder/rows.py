"""The stored form of an event: one struct per table, its fields the table's columns.

Names are from seed 001 and the design; columns may grow, never change meaning. The structs are also the
journal's frames (msgpack, tagged).
"""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from callgate.model.exchange import Exchange, Hop, Outcome
from callgate.model.session import Session
from callgate.recorder.redact import Redactor


class SessionRow(msgspec.Struct, tag="session"):
    session_id: str
    created_at: datetime
    last_seen_at: datetime
    ended_at: datetime | None
    client_name: str | None
    client_version: str | None
    client_protocol: str
    era: str
    transport: str
    principal: str
    workspace: str | None
    tool_call_count: int = 0
    error_count: int = 0
    total_tokens: int = 0


class HopRow(msgspec.Struct):
    server_name: str
    request_json: str | None
    response_json: str | None
    duration_ms: float | None
    ok: bool
    error: str | None
    cached: bool


class EventRow(msgspec.Struct, tag="event"):
    id: str
    ts: datetime
    session_id: str
    method: str
    server_name: str | None
    server_version: str | None
    server_protocol: str | None
    tool_name: str | None
    source_id: str | None
    duration_ms: float | None
    ok: bool
    error: str | None
    error_code: str | None
    outcome: str
    ended_by: str
    client: str
    request_json: str | None
    response_json: str | None
    annotations: str | None
    request_bytes: int
    response_bytes: int
    sql: str | None
    statement_type: str | None
    mode: str | None
    verdict: str | None
    rule: str | None
    tables: list[str] | None
    rows: int | None
    truncated: bool | None
    trace_id: str | None
    hops: list[HopRow]


class GapRow(msgspec.Struct, tag="gap"):
    """What could not be kept: the record says so itself."""

    since: datetime
    until: datetime
    count: int
    reason: str


Row = SessionRow | EventRow | GapRow


def without_bodies(row: EventRow) -> EventRow:
    """What goes first when room is short; the statement stays, it is what an audit asks for."""
    hops = [msgspec.structs.replace(hop, request_json=None, response_json=None) for hop in row.hops]
    return msgspec.structs.replace(row, request_json=None, response_json=None, annotations=None, hops=hops)


def session_row(session: Session) -> SessionRow:
    envelope = session.envelope
    return SessionRow(
        session_id=session.session_id,
        created_at=moment(session.created_at),
        last_seen_at=moment(session.last_seen_at),
        ended_at=None if session.ended_at is None else moment(session.ended_at),
        client_name=envelope.client_name,
        client_version=envelope.client_version,
        client_protocol=envelope.revision,
        era=session.era.value,
        transport=session.transport,
        principal=session.principal.name,
        workspace=session.workspace,
    )


def event_row(exchange: Exchange, redactor: Redactor) -> EventRow:
    """The exchange is settled: nothing changes it any more, so another thread may read it."""
    arrival, settlement = exchange.arrival, exchange.settlement
    assert settlement is not None
    last_hop = exchange.hops[-1] if exchange.hops else None
    facts = last_hop.facts if last_hop else None
    # Of a merged list no single server's version is the exchange's.
    server = last_hop if last_hop is not None and last_hop.upstream == exchange.server_name else None
    request_json, response_json = redactor.json(arrival.params), redactor.json(settlement.reply)
    # A hop mostly carries the very same bytes: they are redacted once.
    redacted = {id(arrival.params): request_json, id(settlement.reply): response_json}
    return EventRow(
        id=exchange.exchange_id,
        ts=moment(exchange.opened_at),
        session_id=exchange.session.session_id,
        method=arrival.method,
        server_name=exchange.server_name,
        server_version=server.server_version if server else None,
        server_protocol=server.server_protocol if server else None,
        tool_name=exchange.tool_name,
        source_id=facts.source_id if facts else None,
        duration_ms=exchange.duration_ms,
        ok=settlement.outcome is Outcome.ANSWERED,
        error=settlement.error and redactor.text(settlement.error),
        error_code=settlement.error_code,
        outcome=settlement.outcome.value,
        ended_by=settlement.ended_by.value,
        client=arrival.client,
        request_json=request_json,
        response_json=response_json,
        annotations=redactor.json(exchange.annotations),
        request_bytes=len(arrival.params),
        response_bytes=len(settlement.reply or b""),
        sql=facts and redactor.text(facts.sql),
        statement_type=facts and facts.statement_type,
        mode=facts and facts.mode,
        verdict=facts and facts.verdict,
        rule=facts and facts.rule,
        tables=list(facts.tables) if facts else None,
        rows=facts.rows if facts else None,
        truncated=facts.truncated if facts else None,
        trace_id=_trace_id(arrival.envelope.traceparent),
        hops=[_hop_row(hop, redactor, redacted) for hop in exchange.hops],
    )


def _hop_row(hop: Hop, redactor: Redactor, redacted: Mapping[int, str | None]) -> HopRow:
    params, result = hop.params, hop.result
    return HopRow(
        server_name=hop.upstream,
        request_json=redacted[id(params)] if id(params) in redacted else redactor.json(params),
        response_json=redacted[id(result)] if id(result) in redacted else redactor.json(result),
        duration_ms=hop.duration_ms,
        ok=hop.error is None and hop.ended_mono is not None,
        error=hop.error and redactor.text(hop.error),
        cached=hop.cached,
    )


def moment(unix_s: float) -> datetime:
    """UTC without a zone: the store's TIMESTAMP columns are UTC throughout."""
    return datetime.fromtimestamp(unix_s, UTC).replace(tzinfo=None)


def _trace_id(traceparent: str | None) -> str | None:
    """W3C trace context: version-traceid-parentid-flags."""
    parts = traceparent.split("-") if traceparent else []
    return parts[1] if len(parts) >= 4 and len(parts[1]) == 32 else None
