"""Calls that have most of their columns in common: those are written once for a group, not once for a call.

Most of a row says what the row before it said: client, server, tool, annotations, versions. To build, encode
and look through all of it for each call was most of what the recorder cost the event loop, and to parse it
again half of what it cost the store.

Rules
1. Only an ordinary call is written like this: a client's request, answered by one server, with nothing to
   tell but its two bodies and, of an SQL tool, its statement. Every other exchange is a whole row
   (`build_rows`), which is the definition: `event_rows` gives exactly the rows that it would have made.
2. A frame's shapes are in the frame: it can be read without the one before it.
3. The bodies lie beside the JSON, as those of whole rows do.
4. What is a call's own is written column by column: no object for a call, no name in its JSON.
5. A call that was only given another name on its way to the server (`/mcp`) does not tell its request twice:
   its shape says how the server's begins.
"""

from collections.abc import Iterable
from operator import add
from typing import Any

import msgspec

from callgate.model.exchange import EndedBy, Exchange, Outcome
from callgate.recorder.call_columns import CallColumns, CallShape, event_rows
from callgate.recorder.redact.redact import valid_utf8
from callgate.recorder.rows import EventRow

# Python 3.11 needs 0.1 µs to find a member of an enumeration.
_ANSWERED, _UPSTREAM = Outcome.ANSWERED, EndedBy.UPSTREAM
_encode = msgspec.json.Encoder().encode
_NAME = b'{"name":"'  # as most clients begin
_NAME_AT = len(_NAME)


# A call as it was added, its bodies in the place of their lengths, and texts as bytes.
_Added = tuple[
    str, int, str, bytes, float, float, bytes, bytes, int | None, float, int, bytes | None, bytes | None,
    str | None, int | None,
]  # fmt: skip


class _Renamed(msgspec.Struct, frozen=True, gc=False):
    """How requests begin that a client sent with one name, and their server got with another (rule 5)."""

    begin: bytes = b""
    sent_begin: bytes = b""
    # The same for `CallShape`: None where nothing was renamed.
    cut: int | None = None
    sent: str | None = None


_AS_IT_IS = _Renamed()


def _renamed(params: bytes, sent: bytes) -> _Renamed | None:
    """None: more than the name differs, or it is not where most clients write it."""
    cut, sent_cut = params.find(b'"', _NAME_AT) + 1, sent.find(b'"', _NAME_AT) + 1
    begin, sent_begin = params[:cut], sent[:sent_cut]
    if (
        params[cut:] != sent[sent_cut:]
        or not (begin.startswith(_NAME) and sent_begin.startswith(_NAME))
        or not (begin + sent_begin).isascii()
    ):
        return None
    return _Renamed(begin, sent_begin, cut, sent_begin.decode())


class Calls:
    """The ordinary calls of one group, in their order."""

    __slots__ = ("_calls", "_places", "_renamed", "_shapes", "first_seq")

    def __init__(self) -> None:
        self._shapes: list[CallShape] = []
        self._places: dict[tuple[Any, ...], int] = {}  # of shapes, by what they are made of
        self._renamed: dict[str | None, _Renamed] = {}  # how the requests of a tool begin, by its name
        self._calls: list[_Added] = []
        self.first_seq = 0  # see Sequence

    def __len__(self) -> int:
        return len(self._calls)

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
            or hop.error is not None
            or hop.cached
            or settlement.error is not None
            or settlement.error_code is not None
            or exchange.trace is not None
            or arrival.envelope.traceparent is not None
            or (headers is not None and "traceparent" in headers)
            or not (params.isascii() or valid_utf8(params) is params)
            or not (reply.isascii() or valid_utf8(reply) is reply)
        ):
            return False
        tool_name, renamed, sent_body = exchange.tool_name, _AS_IT_IS, None
        if sent is not params and sent != params:
            known = self._renamed.get(tool_name)
            if (
                known is None
                or not (  # as `_renamed` would find
                    params.startswith(known.begin) and sent == known.sent_begin + params[known.cut :]
                )
            ):
                known = _renamed(params, sent)
                if known is not None:
                    self._renamed[tool_name] = known
            if known is None:
                sent_body = sent
            else:
                renamed = known
        key: tuple[Any, ...] = (
            exchange.sender,
            exchange.server_name,
            arrival.method,
            arrival.client,
            hop.upstream,
            tool_name,
            exchange.annotations,
            session.principal.name,
            exchange.via,
            hop.server_version,
            hop.server_protocol,
            renamed.sent,
            renamed.cut,
        )
        facts, sql, rows = hop.facts, None, None
        if facts is not None:
            sql, rows = facts.sql, facts.rows
            if not _is_encodable(sql):
                return False
            key += (
                facts.source_id,
                facts.statement_type,
                facts.mode,
                facts.verdict,
                facts.rule,
                facts.tables,
                facts.truncated,
            )
        place = self._places.get(key)
        if place is None:
            is_notice = arrival.method.startswith("notifications/")
            if exchange.sender != "client" or exchange.server_name != hop.upstream or is_notice:
                return False
            place = self._places[key] = len(self._shapes)
            self._shapes.append(_shape(*key[2:]))
        opened_mono, started_mono = exchange.opened_mono, hop.started_mono
        self._calls.append(
            (
                exchange.exchange_id,
                int(exchange.opened_at * 1_000_000),
                session.session_id,
                rpc_id,
                (settled_mono - opened_mono) * 1000,
                (ended_mono - started_mono) * 1000,
                params,
                reply,
                hop.rpc_id,
                (started_mono - opened_mono) * 1000,
                place,
                sent_body,
                None if result is reply or result == reply else result,
                sql,
                rows,
            )
        )
        return True

    def columns(self) -> "Columns":
        """Not of none."""
        return Columns(self._shapes, self.first_seq, zip(*self._calls, strict=True))

    def event_rows(self) -> list[EventRow]:
        """The same as whole rows."""
        if not self._calls:
            return []
        columns = self.columns()
        rows = event_rows(columns.own.calls(), self._shapes, self.first_seq, columns.requests)
        for row, request, response in zip(rows, columns.requests, columns.responses, strict=True):
            row.request_json, row.response_json = request, response
        return rows


class Columns:
    """What the calls of a group say: `own` is written as JSON, and their bodies beside it."""

    __slots__ = ("_hop_bodies", "_rpc_ids", "_statements", "own", "requests", "responses")

    def __init__(self, shapes: list[CallShape], first_seq: int, columns: Iterable[Any]) -> None:
        (
            ids, ts, sessions, self._rpc_ids, durations, hop_ms, self.requests, self.responses, hop_rpc_ids,
            hop_started, places, hop_requests, hop_responses, sql, rows,
        ) = columns  # fmt: skip
        has_sql = sql.count(None) < len(sql)
        self._statements: list[str] = [text for text in sql if text is not None] if has_sql else []
        self._hop_bodies: list[bytes] = [body for body in hop_requests + hop_responses if body is not None]
        self.own = CallColumns(
            msgspec.Raw(_encode(shapes)),
            first_seq,
            ids,
            ts,
            sessions,
            tuple([rpc_id.decode(errors="replace") for rpc_id in self._rpc_ids]),
            durations,
            hop_ms,
            tuple(map(len, self.requests)),
            tuple(map(len, self.responses)),
            hop_rpc_ids,
            hop_started,
            places if len(shapes) > 1 else (),
            _texts(hop_requests) if self._hop_bodies else (),
            _texts(hop_responses) if self._hop_bodies else (),
            sql if has_sql else (),
            rows if has_sql else (),
        )

    @property
    def largest_bytes(self) -> int:
        """Both bodies of a call."""
        return max(map(add, self.own.request_bytes, self.own.response_bytes))

    @property
    def said(self) -> list[bytes]:
        """All that others chose. The rest is ours: ids, moments, numbers."""
        said = [self.own.shapes, *self._rpc_ids, *self._hop_bodies, *self.requests, *self.responses]
        if self._statements:
            said += [text.encode() for text in self._statements]
        return said

    def json(self) -> bytes:
        return _encode(self.own)


def _is_encodable(text: str) -> bool:
    """Whether no lone surrogate is in it: whole rows are stored without those."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _texts(bodies: tuple[bytes | None, ...]) -> tuple[str | None, ...]:
    return tuple([None if body is None else body.decode(errors="replace") for body in bodies])


def _shape(
    method: str, client: str, server_name: str, tool_name: str | None, annotations: bytes | None,
    principal: str, via: str | None, server_version: str | None, server_protocol: str | None,
    sent: str | None, cut: int | None, *facts: Any,
) -> CallShape:  # fmt: skip
    told = annotations.decode(errors="replace") if annotations else None
    return CallShape(
        method, client, server_name, tool_name, told, principal, via, server_version, server_protocol, *facts,
        sent_start=sent, sent_cut=cut,
    )  # fmt: skip
