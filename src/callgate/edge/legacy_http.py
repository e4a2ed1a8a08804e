"""The legacy half of Streamable HTTP: sessions, the GET stream, resumable answers, questions to the client.

An answer without notices is plain JSON. With the first notice or question it becomes a stream that goes on
when its connection ends: a disconnect is not a cancellation. (2025-11-25, basic/transports.)
"""

import asyncio
import time
from collections.abc import Awaitable
from functools import partial

from callgate.edge.event_stream import EventStream, start_sse
from callgate.edge.http.message import Responder
from callgate.edge.http_session import AnsweredRequest, HttpSession, KeptStreams, OpenRequest
from callgate.edge.refusals import Refusals
from callgate.edge.visit import JSON_HEADERS, Visit
from callgate.model.envelope import Envelope
from callgate.model.error_codes import (
    CALLER_CONFLICT,
    CALLER_MALFORMED,
    CALLER_NOT_ACCEPTABLE,
    CALLER_NOT_INITIALIZED,
    CALLER_UNKNOWN_SESSION,
)
from callgate.model.errors import CallerError
from callgate.model.reply import Paused, Said, tell_nobody
from callgate.model.session import Session
from callgate.ports.answerer import Answerer, Answering
from callgate.wire import http_rules
from callgate.wire.eras.envelopes import legacy_envelope, read_initialize
from callgate.wire.fault_of import fault_of
from callgate.wire.json_rpc import (
    Message,
    Notification,
    Request,
    Response,
    Unreadable,
    decode_batch,
    encode_fault,
    encode_reply,
)
from callgate.wire.params import Peek, peek

_BATCHING = "2025-03-26"


class LegacyHttp:
    def __init__(self, answerer: Answerer, refusals: Refusals) -> None:
        self._answerer = answerer
        self._refusals = refusals
        self._sessions: dict[str, HttpSession] = {}  # by session_id
        self._kept = KeptStreams()

    # ---- what the client may do

    def post(
        self, visit: Visit, responder: Responder, message: Message, peeked: Peek
    ) -> Awaitable[None] | None:
        """What is still to be awaited. Raises CallerError."""
        if isinstance(message, Request) and message.method == "initialize":
            return self._initialize(visit, responder, message)
        http_session = self.session_of(visit)
        session = http_session.session
        if isinstance(message, Request):
            envelope = legacy_envelope(session.envelope, peeked)
            if message.rpc_id in http_session.open:
                raise CallerError(CALLER_MALFORMED, "A request with this id is still open")
            answer = partial(self._answerer.answer, visit.arrival(message, envelope, session))
            is_stream = http_rules.prefers_stream(visit.headers.get("accept", ""))
            return self.answer_by(answer, http_session, message, responder, is_stream)
        self._hear(http_session, visit, message)
        responder.send(202, ())
        return None

    async def get(self, visit: Visit, responder: Responder) -> None:
        if not http_rules.accepts(visit.headers.get("accept", ""), "text/event-stream"):
            raise CallerError(CALLER_NOT_ACCEPTABLE, "A GET must accept text/event-stream")
        http_session = self.session_of(visit)
        last_event_id = visit.headers.get("last-event-id")
        found = http_session.find_stream(last_event_id) if last_event_id else None
        stream, after = found or (http_session.get_stream, None)
        if stream.is_read:
            raise CallerError(
                CALLER_CONFLICT, "This stream is already open", hint="A session has one GET stream at a time"
            )
        if stream is not http_session.get_stream:
            await _serve(http_session, stream, responder, after)
            return
        # A client keeps this one open for as long as it is there: many leave without a DELETE.
        presence = http_session.session.presence
        presence.joined()
        try:
            await _serve(http_session, stream, responder, after)
        finally:
            presence.left(time.time())

    def delete(self, visit: Visit, responder: Responder) -> None:
        self._answerer.end_session(self.session_of(visit).session)
        responder.send(200, ())

    def close(self) -> None:
        """No more said out of turn: the GET streams end, answers under way go on."""
        for http_session in self._sessions.values():
            http_session.get_stream.finish()

    # ---- sessions

    def session_of(self, visit: Visit) -> HttpSession:
        handshake_id = visit.headers.get(http_rules.SESSION_HEADER)
        if handshake_id is None:
            raise CallerError(
                CALLER_NOT_INITIALIZED,
                "The Mcp-Session-Id header is missing",
                hint="Send initialize first and repeat the Mcp-Session-Id header of its answer",
            )
        session = self._answerer.find_session(handshake_id, visit.principal)
        http_session = self._sessions.get(session.session_id) if session is not None else None
        if http_session is None or http_session.target != visit.target:
            raise CallerError(CALLER_UNKNOWN_SESSION, "Session not found", hint="Send initialize again")
        return http_session

    async def _initialize(self, visit: Visit, responder: Responder, message: Request) -> None:
        arrival = visit.arrival(message, read_initialize(message.params))
        reply = await self._answerer.answer(arrival, tell_nobody)
        headers = JSON_HEADERS
        if reply.opened is not None and reply.opened.handshake_id is not None:
            self._remember(reply.opened, visit.target)
            headers += (("mcp-session-id", reply.opened.handshake_id),)
        responder.send(200, headers, encode_reply(message.rpc_id, reply))

    def take_over(self, session: Session) -> None:
        """A session that another replica had."""
        self._remember(session, session.target, epoch=f"{time.time_ns():x}")

    def _remember(self, session: Session, target: str | None, epoch: str = "") -> None:
        http_session = self._sessions[session.session_id] = HttpSession(session, target, self._kept, epoch)
        self._answerer.attach(session, http_session, lambda: self._forget(http_session))

    def _forget(self, http_session: HttpSession) -> None:
        self._sessions.pop(http_session.session.session_id, None)
        http_session.end()

    def _hear(self, http_session: HttpSession, visit: Visit, message: Notification | Response) -> None:
        """What is not answered."""
        if isinstance(message, Response):
            http_session.questions.answered(message)
            return
        if message.method == "notifications/cancelled":
            request = http_session.open.get(bytes(peek(message.params).requestId))
            if request is not None:
                request.cancel()
        session = http_session.session
        self._answerer.notice(visit.arrival(message, session.envelope, session))

    # ---- answering

    async def answer_by(
        self,
        answer: Answering,
        http_session: HttpSession,
        message: Request,
        responder: Responder,
        is_stream: bool = False,
    ) -> None:
        """`is_stream`: also when there is nothing but the reply."""
        request = AnsweredRequest(http_session, message.rpc_id, answer, is_stream)
        try:
            await request.decided
        except asyncio.CancelledError:  # the connection's task: nobody waits for the answer any more
            request.task.cancel()
            await asyncio.wait([request.task])
            raise
        if request.stream is not None:
            await _serve(http_session, request.stream, responder, None)
        elif request.task.cancelled():
            # A cancelled request gets no response (2025-11-25, cancellation): the stream just ends.
            start_sse(responder)
            responder.end_stream()
        else:
            responder.send_json(encode_reply(message.rpc_id, request.task.result()))

    async def post_batch(self, visit: Visit, responder: Responder) -> bool:
        """Batches exist in 2025-03-26 only (basic, "Batching"). False: this is not such a session.

        The answers come together when the last is there; what is said meanwhile goes to the GET stream.
        """
        if http_rules.SESSION_HEADER not in visit.headers:
            return False
        http_session = self.session_of(visit)
        if http_session.session.envelope.revision != _BATCHING:
            return False
        messages = decode_batch(visit.request.body)
        if not messages:
            return False
        visit.request.body = b""
        frames = await asyncio.gather(*(self._answer_part(http_session, visit, part) for part in messages))
        answers = [frame for frame in frames if frame is not None]
        if answers:
            responder.send(200, JSON_HEADERS, b"[%b]" % b",".join(answers))
        else:
            responder.send(202, ())
        return True

    async def _answer_part(
        self, http_session: HttpSession, visit: Visit, message: Message | Unreadable
    ) -> bytes | None:
        if isinstance(message, (Notification, Response)):
            self._hear(http_session, visit, message)
            return None
        try:
            if isinstance(message, Unreadable):
                raise message.error
            envelope = _part_envelope(http_session, message)
        except CallerError as error:
            self._refusals.of_visit(visit, error, message)
            return encode_fault(message.rpc_id, fault_of(error))

        async def say(said: Said) -> None:
            if not isinstance(said, Paused):
                http_session.say(said)

        arrival = visit.arrival(message, envelope, http_session.session)
        answering = asyncio.create_task(self._answerer.answer(arrival, say))
        http_session.open[message.rpc_id] = OpenRequest(answering)
        try:
            await asyncio.wait([answering])
        finally:
            answering.cancel()
            del http_session.open[message.rpc_id]
        return None if answering.cancelled() else encode_reply(message.rpc_id, answering.result())


def _part_envelope(http_session: HttpSession, message: Request) -> Envelope:
    if message.method == "initialize" or message.rpc_id in http_session.open:
        raise CallerError(
            CALLER_MALFORMED, "A batch cannot contain initialize, or an id of a request that is still open"
        )
    return legacy_envelope(http_session.session.envelope, peek(message.params))


async def _serve(
    http_session: HttpSession, stream: EventStream, responder: Responder, after: int | None
) -> None:
    try:
        await stream.serve(responder, after)
    finally:
        http_session.look_at(stream)
