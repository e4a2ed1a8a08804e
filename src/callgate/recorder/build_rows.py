"""Events to redacted rows, a group at a time.

A group is looked through for secrets in one go: most groups hold none, and asking about each text by itself
would cost more than everything else here. One bad event costs no other, and is itself still told of.
"""

import hashlib
import logging
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from callgate.model.events import Aside
from callgate.model.exchange import Exchange, Hop, Outcome, Settlement
from callgate.model.session import Session
from callgate.recorder.group_texts import GroupTexts
from callgate.recorder.redact.redact import KnownClean, MaskAll, Redactor
from callgate.recorder.rows import EventRow, HopRow, SessionRow, micros
from callgate.recorder.sequence import Sequence
from callgate.wire.trace_context import read_traceparent

_log = logging.getLogger(__name__)

_known_clean = KnownClean()
_mask_all = MaskAll()
# Names of clients, methods and tools that were found clean: there are few, and they come with every call.
_MAX_KNOWN_TEXTS = 10_000
_NOTIFICATION = "notifications/"
_AGGREGATE = "aggregate"  # see Exchange.server_name
_NO_HEADERS: Mapping[str, str] = {}


class RowBuilder:
    """Used from the recorder's thread only. `of_server`: redactors of servers with rules of their own."""

    def __init__(
        self, redactor: Redactor, max_body_bytes: int, of_server: Mapping[str, Redactor] | None = None
    ) -> None:
        self._redactor = redactor
        self._of_server = of_server or {}
        self._of_all = Redactor.of_all([redactor, *self._of_server.values()]) if of_server else redactor
        self._max_body_bytes = max_body_bytes
        self._known_texts: set[str] = set()
        self.sequence = Sequence()

    def event_rows(self, exchanges: list[Exchange]) -> tuple[list[EventRow], int]:
        """Rows, in order; and how many exchanges could not become one."""
        is_clean = self._are_clean(exchanges)
        rows: list[EventRow] = []
        for exchange in exchanges:
            row = self._row(exchange, _known_clean if is_clean else self._redactor_of(exchange))
            if row is not None:
                rows.append(row)
        self.sequence.number(rows)
        return rows, len(exchanges) - len(rows)

    def open_rows(self, exchanges: list[Exchange]) -> tuple[list[EventRow], int]:
        """The same for exchanges that are not settled yet (another thread may do so any moment)."""
        made = [self._row(_as_opened(exchange), self._redactor_of(exchange)) for exchange in exchanges]
        rows = [row for row in made if row is not None]
        self.sequence.number(rows)
        return rows, len(made) - len(rows)

    def aside_row(self, aside: Aside) -> EventRow:
        """Its number comes with those of its group."""
        redactor = self._redactor_for(aside.server_name)
        row = storable(aside_row(aside, redactor))
        row.is_redacted = _is_masked(row)
        if len(row.request_json or b"") > self._max_body_bytes:
            _cut(row, self._max_body_bytes)
        return row

    def session_row(self, session: Session) -> SessionRow:
        """Names are the client's own words."""
        envelope, text = session.envelope, self._text
        secret_id = session.handshake_id
        return SessionRow(
            session_id=session.session_id,
            created_at=micros(session.created_at),
            last_seen_at=micros(session.last_seen_at),
            ended_at=None if session.ended_at is None else micros(session.ended_at),
            client_name=text(envelope.client_name),
            client_version=text(envelope.client_version),
            client_protocol=text(envelope.revision),
            era=session.era.value,
            transport=session.transport,
            principal=session.principal.name,
            workspace=text(session.workspace),
            # Whoever knows the id is in the session: enough of its digest to tell two apart.
            handshake_session_id=secret_id and hashlib.sha256(secret_id.encode()).hexdigest()[:16],
        )

    def _text(self, text: str | None) -> str | None:
        return None if text is None else storable(self._redactor.text(text))

    def _redactor_of(self, exchange: Exchange) -> Redactor:
        return self._redactor_for(exchange.server_name)

    def _redactor_for(self, server_name: str | None) -> Redactor:
        """A merged list holds what several said, and what was refused could have been for any of them."""
        if server_name in (None, _AGGREGATE):
            return self._of_all
        return self._of_server.get(server_name or "", self._redactor)

    def _row(self, exchange: Exchange, redactor: Redactor) -> EventRow | None:
        """Never raises. None: not even a masked row could be made of it, which is to be counted as a gap."""
        try:
            row = event_row(exchange, redactor, self._max_body_bytes)
            if redactor is not _known_clean:
                msgspec.json.encode(row)  # a lone surrogate would cost the whole group
                row.is_redacted = _is_masked(row)
            return row  # noqa: TRY300 - it is what is tried
        except Exception as problem:  # noqa: BLE001 - a caller must not keep a call out of the record
            # The type only: the text of an error may quote what was to be redacted.
            _log.warning("an event is recorded with its bodies masked: %s", type(problem).__name__)
        try:
            row = storable(event_row(exchange, _mask_all, self._max_body_bytes))
            row.is_redacted = True
            return row  # noqa: TRY300 - see above
        except Exception:  # noqa: BLE001 - see above
            _log.exception("an event could not be recorded")
            return None

    def _are_clean(self, exchanges: Iterable[Exchange]) -> bool:
        texts = GroupTexts(self._known_texts)
        try:
            for exchange in exchanges:
                texts.add(exchange)
            pieces = texts.pieces()
        except Exception:  # noqa: BLE001 - one of them is not what it should be: each is looked at by itself
            return False
        is_clean = all(map(self._of_all.is_clean, pieces))
        if is_clean and len(self._known_texts) < _MAX_KNOWN_TEXTS:
            self._known_texts.update(texts.names)
        return is_clean


def event_row(exchange: Exchange, redactor: Redactor, max_body_bytes: int) -> EventRow:
    """Unless it is open, the exchange is settled: nothing changes it any more, another thread may read it."""
    arrival, sender = exchange.arrival, exchange.sender
    params, rpc_id = arrival.params, arrival.rpc_id
    # A server's question has no id of the client's, unless it was asked during a call.
    is_notification = arrival.method.startswith(_NOTIFICATION) or (rpc_id is None and sender == "client")
    json, text = redactor.json, redactor.text
    row = EventRow(
        exchange.exchange_id,
        int(exchange.opened_at * 1_000_000),
        exchange.session.session_id,
        text(arrival.method),
        text(arrival.client),
        "notification" if is_notification else "request",
        sender,
        json(rpc_id),
        server_name=exchange.server_name,
        tool_name=exchange.tool_name and text(exchange.tool_name),
        request_json=redactor.body(params),
        annotations=json(exchange.annotations),
        request_bytes=len(params),
        principal=exchange.session.principal.name,
        via=exchange.via,
    )
    row.trace_id = _trace_id(exchange)
    if exchange.settlement is not None:
        _add_settlement(row, exchange, exchange.settlement, redactor)
    if exchange.hops:
        _add_hops(row, exchange, redactor)
    if len(params) + row.response_bytes > max_body_bytes or len(exchange.hops) > 1:
        _cut(row, max_body_bytes)
    return row


def aside_row(aside: Aside, redactor: Redactor) -> EventRow:
    settlement, text = aside.settlement, redactor.text
    return EventRow(
        aside.event_id,
        micros(aside.at_s),
        aside.session_id,
        text(aside.method),
        text(aside.client),
        "notification" if aside.is_notification else "request",
        aside.sender,
        redactor.json(aside.rpc_id),
        server_name=aside.server_name,
        tool_name=aside.tool_name and text(aside.tool_name),
        principal=aside.principal,
        ok=settlement.outcome is Outcome.ANSWERED,
        error=settlement.error and text(settlement.error),
        error_code=settlement.error_code,
        outcome=settlement.outcome,
        ended_by=settlement.ended_by,
        request_json=redactor.body(aside.params),
        response_json=redactor.body(settlement.reply),
        request_bytes=aside.size_bytes,
        response_bytes=len(settlement.reply or b""),
        is_cut=aside.size_bytes > 0 and not aside.params,
    )


def _add_settlement(row: EventRow, exchange: Exchange, settlement: Settlement, redactor: Redactor) -> None:
    reply, error = settlement.reply, settlement.error
    row.duration_ms = exchange.duration_ms
    row.ok = settlement.outcome is Outcome.ANSWERED
    row.outcome = settlement.outcome
    row.ended_by = settlement.ended_by
    if error is not None:
        row.error = redactor.text(error)
    row.error_code = settlement.error_code
    if reply is not None:
        row.response_json = redactor.body(reply)
        row.response_bytes = len(reply)


def _as_opened(exchange: Exchange) -> Exchange:
    return msgspec.structs.replace(exchange, settlement=None, hops=[])


def _add_hops(row: EventRow, exchange: Exchange, redactor: Redactor) -> None:
    last = exchange.hops[-1]
    # Of a merged list no single server's version is the exchange's.
    if last.upstream == exchange.server_name:
        row.server_version = last.server_version and redactor.text(last.server_version)
        row.server_protocol = last.server_protocol and redactor.text(last.server_protocol)
    row.cached = last.cached
    if (facts := last.facts) is not None:
        row.source_id = facts.source_id
        row.sql = redactor.text(facts.sql)
        row.statement_type, row.mode = facts.statement_type, facts.mode
        row.verdict, row.rule = facts.verdict, facts.rule
        row.tables = [redactor.text(table) for table in facts.tables]
        row.rows, row.truncated = facts.rows, facts.truncated
    row.hops = [_hop_row(hop, exchange, redactor) for hop in exchange.hops]


def _hop_row(hop: Hop, exchange: Exchange, redactor: Redactor) -> HopRow:
    params, result = exchange.arrival.params, exchange.settlement and exchange.settlement.reply
    error = hop.error
    same_request = hop.params is params or hop.params == params
    same_response = hop.result is not None and (hop.result is result or hop.result == result)
    return HopRow(
        hop.upstream,
        error is None and hop.ended_mono is not None,
        hop.duration_ms,
        None if hop.rpc_id is None else str(hop.rpc_id),
        same_request,
        same_response,
        None if same_request else redactor.json(hop.params),
        None if same_response else redactor.json(hop.result),
        None if error is None else redactor.text(error),
        hop.cached,
        hop.server_version and redactor.text(hop.server_version),
        hop.server_protocol and redactor.text(hop.server_protocol),
        (hop.started_mono - exchange.opened_mono) * 1000,
    )


def _cut(row: EventRow, limit: int) -> None:
    """Bodies to at most `limit` each; all hops together may have eight times that, or a merged list of a
    hundred servers would be a hundred times as long as what the client got."""
    for body in ("request_json", "response_json"):
        raw: bytes | None = getattr(row, body)
        if raw is not None and len(raw) > limit and len(text := raw.decode()) > limit:
            setattr(row, body, text[:limit].encode())
            row.is_cut = True
    left = 8 * limit
    for hop in row.hops:
        for body in ("request_json", "response_json"):
            text = getattr(hop, body)
            if text is None:
                continue
            if len(text) > min(left, limit):
                setattr(hop, body, text[: min(left, limit)])
                row.is_cut = True
            left = max(0, left - len(text))


def _is_masked(row: EventRow) -> bool:
    bodies = (row.request_json, row.response_json)
    texts = (row.error, row.sql, row.tool_name, row.client)
    return any(body is not None and b"***" in body for body in bodies) or any(
        text is not None and "***" in text for text in texts
    )


def storable(value: Any) -> Any:
    """Lone surrogates are the one thing a str can hold and neither journal nor store can."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [storable(item) for item in cast(list[Any], value)]
    if isinstance(value, msgspec.Struct):
        return type(value)(*(storable(getattr(value, name)) for name in value.__struct_fields__))
    return value


def _trace_id(exchange: Exchange) -> str | None:
    """Of the trace we export it to; else of the one that the caller named, in `_meta` or in a header."""
    if exchange.trace is not None:
        return exchange.trace.trace_id
    arrival = exchange.arrival
    told = arrival.envelope.traceparent or (arrival.headers or _NO_HEADERS).get("traceparent")
    remote = read_traceparent(told)
    return None if remote is None else remote.trace_id
