"""Streamable HTTP of both eras on one path: a POST becomes an arrival, its answer JSON or a stream.

The answer is plain JSON when it comes without notices, and becomes SSE with the first notice.
(2026-07-28 basic/transports/streamable-http; 2025-11-25 basic/transports.)
"""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass

from callgate.edge.http1 import Headers, HttpRequest, Responder
from callgate.edge.name_client import name_client
from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import (
    CALLER_MALFORMED,
    CALLER_NOT_INITIALIZED,
    CALLER_UNKNOWN_SESSION,
    CALLER_WRONG_HTTP_METHOD,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from callgate.model.errors import CallerError
from callgate.model.exchange import Arrival
from callgate.model.identity import Principal
from callgate.model.reply import Reply
from callgate.model.session import Session
from callgate.ports.answerer import Answerer
from callgate.wire import http_rules
from callgate.wire.envelopes import check_revision, legacy_envelope, read_initialize, read_modern
from callgate.wire.fault_of import fault_of
from callgate.wire.json_rpc import (
    Message,
    Notification,
    Request,
    Unreadable,
    decode,
    encode_fault,
    encode_notification,
    encode_reply,
)
from callgate.wire.params import Peek, meta_of, peek
from callgate.wire.revisions import MODERN_REVISIONS
from callgate.wire.sse import encode_event

_JSON: Headers = (("content-type", "application/json"),)
_SSE: Headers = (
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache, no-transform"),
    ("x-accel-buffering", "no"),
)
# Faults of a modern request that have their own HTTP status; everything else is an answer: 200.
_MODERN_STATUS = {
    METHOD_NOT_FOUND: 404,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
}


@dataclass(frozen=True, slots=True)
class Visit:
    """One HTTP request that passed the gate, on its way to the MCP endpoint."""

    request: HttpRequest
    headers: Mapping[str, str]
    principal: Principal
    target: str | None


class _RefusedVisitError(Exception):
    """An error that ends the visit before there is an exchange."""

    def __init__(self, error: CallerError, rpc_id: bytes | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.rpc_id = rpc_id


@dataclass(slots=True)
class _Open:
    task: asyncio.Task[object]
    cancelled: bool = False


class McpHttp:
    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer
        # Open legacy requests by session and id: `notifications/cancelled` comes in a POST of its own.
        self._open: dict[tuple[str, bytes], _Open] = {}

    async def handle(self, visit: Visit, responder: Responder) -> None:
        try:
            match visit.request.method:
                case "POST":
                    await self._post(visit, responder)
                case "DELETE" if not self._is_modern_header(visit):
                    self._answerer.end_session(self._session_of(visit))
                    responder.send(200, ())
                case method:
                    allow = "POST" if self._is_modern_header(visit) else "POST, DELETE"
                    error = CallerError(
                        CALLER_WRONG_HTTP_METHOD, f"{method[:20]} is not offered here; use POST"
                    )
                    _send_fault(responder, error, None, (("allow", allow),))
        except _RefusedVisitError as refusal:
            _send_fault(responder, refusal.error, refusal.rpc_id)

    # ---- reading the visit

    @staticmethod
    def _is_modern_header(visit: Visit) -> bool:
        return visit.headers.get(http_rules.VERSION_HEADER) in MODERN_REVISIONS

    def _session_of(self, visit: Visit) -> Session:
        handshake_id = visit.headers.get(http_rules.SESSION_HEADER)
        if handshake_id is None:
            raise _RefusedVisitError(
                CallerError(
                    CALLER_NOT_INITIALIZED,
                    "The Mcp-Session-Id header is missing",
                    hint="Send initialize first and repeat the Mcp-Session-Id header of its answer",
                )
            )
        session = self._answerer.find_session(handshake_id, visit.principal)
        if session is None:
            raise _RefusedVisitError(
                CallerError(CALLER_UNKNOWN_SESSION, "Session not found", hint="Send initialize again")
            )
        return session

    async def _post(self, visit: Visit, responder: Responder) -> None:
        message, peeked, era = self._read(visit)
        if era is Era.MODERN:
            await self._post_modern(visit, responder, message, peeked)
        else:
            await self._post_legacy(visit, responder, message, peeked)

    def _read(self, visit: Visit) -> tuple[Message, Peek, Era]:
        try:
            http_rules.check_post_headers(visit.headers)
        except CallerError as error:
            raise _RefusedVisitError(error) from error
        message = decode(visit.request.body)
        if isinstance(message, Unreadable):
            raise _RefusedVisitError(message.error, message.rpc_id)
        peeked = peek(message.params) if isinstance(message, (Request, Notification)) else Peek()
        return message, peeked, http_rules.choose_era(visit.headers, meta_of(peeked))

    async def _post_modern(self, visit: Visit, responder: Responder, message: Message, peeked: Peek) -> None:
        if isinstance(message, Notification):
            # The core protocol has none on this wire; a client in the field that sends one is not told off.
            responder.send(202, ())
            return
        if not isinstance(message, Request):
            raise _RefusedVisitError(
                CallerError(CALLER_MALFORMED, "The body must be one request or notification")
            )
        try:
            envelope = read_modern(meta_of(peeked))
            http_rules.check_modern_headers(visit.headers, message.method, peeked, envelope)
            check_revision(envelope)
        except CallerError as error:
            raise _RefusedVisitError(error, message.rpc_id) from error
        responder.cancel_on_disconnect = True  # closing the stream is the cancellation (basic/patterns)
        await self._answer(self._arrival(visit, message, envelope, None), message, responder)

    async def _post_legacy(self, visit: Visit, responder: Responder, message: Message, peeked: Peek) -> None:
        try:
            http_rules.check_legacy_version(visit.headers)
            if isinstance(message, Request) and message.method == "initialize":
                envelope = read_initialize(message.params)
                await self._answer(self._arrival(visit, message, envelope, None), message, responder)
                return
        except CallerError as error:
            raise _RefusedVisitError(
                error, message.rpc_id if isinstance(message, Request) else None
            ) from error
        session = self._session_of(visit)
        if isinstance(message, Request):
            envelope = legacy_envelope(session.envelope, peeked)
            await self._answer_legacy(self._arrival(visit, message, envelope, session), message, responder)
            return
        if isinstance(message, Notification):
            if message.method == "notifications/cancelled":
                self._cancel(session, bytes(peeked.requestId))
            self._answerer.notice(self._arrival(visit, message, session.envelope, session))
        responder.send(202, ())

    def _arrival(
        self, visit: Visit, message: Request | Notification, envelope: Envelope, session: Session | None
    ) -> Arrival:
        return Arrival(
            method=message.method,
            rpc_id=message.rpc_id if isinstance(message, Request) else None,
            params=message.params,
            envelope=envelope,
            principal=visit.principal,
            transport="http",
            client=name_client(visit.headers, envelope, visit.request.peer),
            session=session,
            target=visit.target,
            workspace=visit.headers.get("x-callgate-workspace"),
        )

    # ---- answering

    async def _answer_legacy(self, arrival: Arrival, message: Request, responder: Responder) -> None:
        """Like `_answer`, and open to `notifications/cancelled`; a disconnect alone does not cancel."""
        assert arrival.session is not None
        key = (arrival.session.session_id, message.rpc_id)
        if key in self._open:
            raise _RefusedVisitError(
                CallerError(CALLER_MALFORMED, "A request with this id is still open"), message.rpc_id
            )
        task = asyncio.current_task()
        assert task is not None
        being_answered = self._open[key] = _Open(task)
        try:
            await self._answer(arrival, message, responder)
        except asyncio.CancelledError:
            if not being_answered.cancelled:
                raise
            task.uncancel()  # the request ends here, the connection goes on
            # A cancelled request gets no response (2025-11-25, cancellation): the stream just ends.
            if not responder.started:
                responder.start_stream(200, _SSE)
            responder.end_stream()
        finally:
            del self._open[key]

    def _cancel(self, session: Session, rpc_id: bytes) -> None:
        being_answered = self._open.get((session.session_id, rpc_id))
        if being_answered is not None and not being_answered.cancelled:
            being_answered.cancelled = True
            being_answered.task.cancel()

    async def _answer(self, arrival: Arrival, message: Request, responder: Responder) -> None:
        async with aclosing(self._answerer.answer(arrival)) as items:
            async for item in items:
                if isinstance(item, Reply):
                    await _send_reply(responder, arrival, message, item)
                    return
                if not responder.streaming:
                    responder.start_stream(200, _SSE)
                await responder.stream(encode_event(encode_notification(item.method, item.params)))


async def _send_reply(responder: Responder, arrival: Arrival, message: Request, reply: Reply) -> None:
    frame = encode_reply(message.rpc_id, reply)
    if responder.streaming:
        await responder.stream(encode_event(frame))
        responder.end_stream()
        return
    headers = _JSON
    if reply.opened is not None and reply.opened.handshake_id is not None:
        headers += (("mcp-session-id", reply.opened.handshake_id),)
    modern = arrival.envelope.era is Era.MODERN
    status = _MODERN_STATUS.get(reply.fault.code, 200) if modern and reply.fault is not None else 200
    responder.send(status, headers, frame)


def _send_fault(responder: Responder, error: CallerError, rpc_id: bytes | None, extra: Headers = ()) -> None:
    responder.send(error.code.http_status, _JSON + extra, encode_fault(rpc_id, fault_of(error)))
