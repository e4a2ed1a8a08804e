"""Events to rows, word for word: `redact_rows` takes out what must not be written.

Nothing here asks what a text says. A row is built once, and looked at where it is made JSON.
"""

import hashlib

from callgate.model.events import Aside
from callgate.model.exchange import Exchange, Outcome
from callgate.model.session import Session
from callgate.recorder.redact.redact import valid_utf8
from callgate.recorder.rows import EventRow, HopRow, SessionRow, micros
from callgate.wire.trace_context import read_traceparent

_NOTIFICATION = "notifications/"


def event_row(exchange: Exchange) -> EventRow:
    """The exchange is settled: nothing changes it any more, another thread may read it."""
    row = open_row(exchange)
    settlement = exchange.settlement
    assert settlement is not None
    reply = settlement.reply
    settled_mono, outcome = exchange.settled_mono, settlement.outcome
    if settled_mono is not None:
        row.duration_ms = (settled_mono - exchange.opened_mono) * 1000
    row.ok = outcome is Outcome.ANSWERED
    row.outcome = outcome
    row.ended_by = settlement.ended_by
    row.error = settlement.error
    row.error_code = settlement.error_code
    if reply:
        row.response_json = reply if reply.isascii() else valid_utf8(reply)
        row.response_bytes = len(reply)
    if exchange.hops:
        _add_hops(row, exchange, reply)
    return row


def open_row(exchange: Exchange) -> EventRow:
    """Of what is known from the start. Another thread may settle the exchange any moment."""
    arrival, sender, session = exchange.arrival, exchange.sender, exchange.session
    params, rpc_id, method, headers = arrival.params, arrival.rpc_id, arrival.method, arrival.headers
    annotations = exchange.annotations
    is_traced = (
        exchange.trace is not None
        or arrival.envelope.traceparent is not None
        or (headers is not None and "traceparent" in headers)
    )
    # A server's question has no id of the client's, unless it was asked during a call.
    is_notification = method.startswith(_NOTIFICATION) or (rpc_id is None and sender == "client")
    return EventRow(
        exchange.exchange_id,
        int(exchange.opened_at * 1_000_000),
        session.session_id,
        method,
        arrival.client,
        "notification" if is_notification else "request",
        sender,
        None if rpc_id is None else rpc_id.decode(errors="replace"),
        server_name=exchange.server_name,
        tool_name=exchange.tool_name,
        request_json=(params if params.isascii() else valid_utf8(params)) or None,
        annotations=annotations.decode(errors="replace") if annotations else None,
        request_bytes=len(params),
        trace_id=_trace_id(exchange) if is_traced else None,
        principal=session.principal.name,
        via=exchange.via,
    )


def aside_row(aside: Aside) -> EventRow:
    settlement, reply = aside.settlement, aside.settlement.reply
    return EventRow(
        aside.event_id,
        micros(aside.at_s),
        aside.session_id,
        aside.method,
        aside.client,
        "notification" if aside.is_notification else "request",
        aside.sender,
        None if aside.rpc_id is None else aside.rpc_id.decode(errors="replace"),
        server_name=aside.server_name,
        tool_name=aside.tool_name,
        principal=aside.principal,
        ok=settlement.outcome is Outcome.ANSWERED,
        error=settlement.error,
        error_code=settlement.error_code,
        outcome=settlement.outcome,
        ended_by=settlement.ended_by,
        request_json=valid_utf8(aside.params) or None,
        response_json=valid_utf8(reply) if reply else None,
        request_bytes=aside.size_bytes,
        response_bytes=len(reply or b""),
        is_cut=aside.size_bytes > 0 and not aside.params,
    )


def session_row(session: Session) -> SessionRow:
    envelope, secret_id = session.envelope, session.handshake_id
    return SessionRow(
        session_id=session.session_id,
        created_at=micros(session.created_at),
        last_seen_at=micros(session.last_seen_at),
        ended_at=None if session.ended_at is None else micros(session.ended_at),
        client_name=envelope.client_name,
        client_version=envelope.client_version,
        client_protocol=envelope.revision,
        era=session.era.value,
        transport=session.transport,
        principal=session.principal.name,
        workspace=session.workspace,
        # The id lets its owner into the session, so only its digest is kept: enough to tell two apart.
        handshake_session_id=secret_id and hashlib.sha256(secret_id.encode()).hexdigest()[:16],
    )


def _add_hops(row: EventRow, exchange: Exchange, reply: bytes | None) -> None:
    last = exchange.hops[-1]
    # Of a merged list no single server's version is the exchange's.
    if last.upstream == exchange.server_name:
        row.server_version, row.server_protocol = last.server_version, last.server_protocol
    row.cached = last.cached
    if (facts := last.facts) is not None:
        row.source_id, row.sql = facts.source_id, facts.sql
        row.statement_type, row.mode = facts.statement_type, facts.mode
        row.verdict, row.rule = facts.verdict, facts.rule
        row.tables = list(facts.tables)
        row.rows, row.truncated = facts.rows, facts.truncated
    params, opened_mono = exchange.arrival.params, exchange.opened_mono
    hops: list[HopRow] = []
    for hop in exchange.hops:
        sent, result, ended_mono, started_mono = hop.params, hop.result, hop.ended_mono, hop.started_mono
        same_request = sent is params or sent == params
        same_response = result is not None and (result is reply or result == reply)
        made = HopRow(
            hop.upstream,
            hop.error is None and ended_mono is not None,
            None if ended_mono is None else (ended_mono - started_mono) * 1000,
            None if hop.rpc_id is None else str(hop.rpc_id),
            same_request,
            same_response,
            None if same_request else sent.decode(errors="replace") or None,
            None if same_response or not result else result.decode(errors="replace"),
            hop.error,
            hop.cached,
            hop.server_version,
            hop.server_protocol,
            (started_mono - opened_mono) * 1000,
        )
        hops.append(made)
    row.hops = hops


def _trace_id(exchange: Exchange) -> str | None:
    """Of the trace we export it to; else of the one that the caller named, in `_meta` or in a header."""
    if exchange.trace is not None:
        return exchange.trace.trace_id
    arrival = exchange.arrival
    told = arrival.envelope.traceparent
    if told is None and arrival.headers is not None:
        told = arrival.headers.get("traceparent")
    remote = read_traceparent(told) if told else None
    return None if remote is None else remote.trace_id
