"""Tool calls over HTTP that are begun and answered in the callbacks of two sockets, without a task.

Rules
1. A request may be begun here when its connection has sent the same head before (`http.message.KnownHead`),
   and that head is a POST to an MCP endpoint, of a session that is still open or of a modern client.
2. It must be a `tools/call` that carries nothing beside its arguments: no progress token, no trace, no log
   level. A modern client's envelope is read again only when it is another one than in the request before.
3. The relay must take it as it is (`ports.Answerer.begin`). Whatever is refused, unusual or not known yet is
   not begun: `mcp_http` answers it, which is the definition.
4. When the server says something before its answer, the task of the connection goes on with it.
"""

from collections.abc import AsyncGenerator

from callgate.edge.event_stream import start_sse
from callgate.edge.http.message import Begun, BegunOwner, HttpRequest, Responder
from callgate.edge.http_session import HttpSession
from callgate.edge.legacy_http import LegacyHttp
from callgate.edge.modern_http import ModernHttp, send_reply
from callgate.edge.visit import JSON_HEADERS, Visit
from callgate.model.envelope import Envelope, Era
from callgate.model.errors import CallerError
from callgate.model.reply import Item, Reply
from callgate.ports.answerer import Answerer, PlainCall
from callgate.wire import http_rules
from callgate.wire.eras.envelopes import check_revision, read_modern
from callgate.wire.json_rpc import Request, decode, encode_reply
from callgate.wire.params import NO_META, Peek, meta_of, peek, text_of

_METHOD = "tools/call"


class PlainHttp:
    def __init__(self, answerer: Answerer, legacy: LegacyHttp, modern: ModernHttp) -> None:
        self._answerer = answerer
        self._legacy = legacy
        self._modern = modern

    def decide(self, visit: Visit) -> "PlainHead | None":
        """What can be known of all requests with this head; None: none of them is plain."""
        headers = visit.headers
        try:
            http_rules.check_post_headers(headers)
            if http_rules.choose_era(headers, NO_META) is Era.MODERN:
                is_call = headers.get(http_rules.METHOD_HEADER) == _METHOD
                return _ModernHead(visit, self._modern) if is_call else None
            http_session = self._legacy.session_of(visit)
        except CallerError:
            return None
        if http_rules.prefers_stream(headers.get("accept", "")):
            return None
        return _LegacyHead(visit, self._legacy, http_session)

    def begin(
        self, head: "PlainHead", request: HttpRequest, responder: Responder, owner: BegunOwner
    ) -> Begun | None:
        message = decode(request.body)
        if not isinstance(message, Request):
            return None
        peeked = peek(message.params)
        request.decoded = message, peeked  # for `mcp_http`, should this not be plain
        name = text_of(peeked.name)
        if message.method != _METHOD or name is None:
            return None
        envelope = head.envelope_of(message, peeked, name)
        if envelope is None:
            return None
        answer = head.new_answer(message, responder, owner)
        call = self._answerer.begin(head.visit.arrival(message, envelope, head.session), name, answer)
        if call is None:
            return None
        answer.begun(call)
        return answer


class _LegacyHead:
    __slots__ = ("_http_session", "_legacy", "session", "visit")

    def __init__(self, visit: Visit, legacy: LegacyHttp, http_session: HttpSession) -> None:
        self.visit = visit
        self._legacy = legacy
        self._http_session = http_session
        self.session = http_session.session

    def envelope_of(self, message: Request, peeked: Peek, name: str) -> Envelope | None:
        """None: it is refused, or says more than who asks."""
        session = self.session
        if session.ended_at is not None or peeked.meta or message.rpc_id in self._http_session.open:
            return None
        return session.envelope

    def new_answer(self, message: Request, responder: Responder, owner: BegunOwner) -> "_LegacyAnswer":
        return _LegacyAnswer(self._legacy, self._http_session, message, responder, owner)


class _ModernHead:
    __slots__ = ("_envelope", "_meta", "_modern", "_name", "visit")

    session = None

    def __init__(self, visit: Visit, modern: ModernHttp) -> None:
        self.visit = visit
        self._modern = modern
        self._meta = b""
        self._name: str = ""
        self._envelope: Envelope | None = None

    def envelope_of(self, message: Request, peeked: Peek, name: str) -> Envelope | None:
        """None: it is refused, or says more than who asks."""
        meta = bytes(peeked.meta)
        if meta != self._meta or name != self._name:
            self._meta, self._name = meta, name
            self._envelope = self._read(peeked)
        return self._envelope

    def _read(self, peeked: Peek) -> Envelope | None:
        headers = self.visit.headers
        if http_rules.choose_era(headers, meta_of(peeked)) is not Era.MODERN:
            return None
        try:
            envelope = read_modern(peeked)
            http_rules.check_modern_headers(headers, _METHOD, peeked, envelope)
            check_revision(envelope)
        except CallerError:
            return None
        says_more = envelope.progress_token or envelope.log_level or envelope.traceparent
        return None if says_more else envelope

    def new_answer(self, message: Request, responder: Responder, owner: BegunOwner) -> "_ModernAnswer":
        return _ModernAnswer(self._modern, message, responder, owner)


PlainHead = _LegacyHead | _ModernHead


class _Answer:
    """Implements `http.message.Begun` and `ports.answerer.PlainReceiver`."""

    __slots__ = ("_call", "_is_over", "_items", "_message", "_owner", "_responder")

    def __init__(self, message: Request, responder: Responder, owner: BegunOwner) -> None:
        self._message = message
        self._responder = responder
        self._owner = owner
        self._call: PlainCall | None = None
        self._items: AsyncGenerator[Item] | None = None  # the task is to go on with these
        self._is_over = False  # answered or given up: what comes now is for nobody

    def begun(self, call: PlainCall) -> None:
        self._call = call

    def abort(self) -> None:
        if not self._is_over:
            self._give_up()
            self._owner.finish()

    def _give_up(self) -> None:
        assert self._call is not None, "it was begun"
        self._is_over = True
        self._call.cancel()

    def replied(self, reply: Reply) -> None:
        if not self._is_over:
            self._is_over = True
            self._send(reply)
            self._owner.finish()

    def _send(self, reply: Reply) -> None:
        raise NotImplementedError

    def said_more(self, items: AsyncGenerator[Item]) -> None:
        self._items = items
        self._owner.hand_over(self._go_on)

    async def _go_on(self, request: HttpRequest, responder: Responder) -> None:
        raise NotImplementedError


class _LegacyAnswer(_Answer):
    """Also one of the session's open requests, which its client may cancel."""

    __slots__ = ("_http_session", "_legacy")

    def __init__(
        self,
        legacy: LegacyHttp,
        http_session: HttpSession,
        message: Request,
        responder: Responder,
        owner: BegunOwner,
    ) -> None:
        super().__init__(message, responder, owner)
        self._legacy = legacy
        self._http_session = http_session

    def begun(self, call: PlainCall) -> None:
        self._call = call
        self._http_session.open[self._message.rpc_id] = self

    def cancel(self) -> None:
        """A cancelled request gets no response (2025-11-25, cancellation): the stream just ends."""
        if self._is_over:
            return
        self._give_up()
        if self._items is None:
            self._end_without_reply()
            self._owner.finish()

    def _end_without_reply(self) -> None:
        start_sse(self._responder)
        self._responder.end_stream()

    def _give_up(self) -> None:
        del self._http_session.open[self._message.rpc_id]
        super()._give_up()

    def _send(self, reply: Reply) -> None:
        rpc_id = self._message.rpc_id
        del self._http_session.open[rpc_id]
        self._responder.send(200, JSON_HEADERS, encode_reply(rpc_id, reply))

    async def _go_on(self, request: HttpRequest, responder: Responder) -> None:
        assert self._items is not None
        if self._is_over:  # the client cancelled it meanwhile
            self._end_without_reply()
            return
        self._is_over = True
        await self._legacy.answer_items(self._http_session, self._items, self._message, responder)


class _ModernAnswer(_Answer):
    __slots__ = ("_modern",)

    def __init__(self, modern: ModernHttp, message: Request, responder: Responder, owner: BegunOwner) -> None:
        super().__init__(message, responder, owner)
        self._modern = modern

    def begun(self, call: PlainCall) -> None:
        self._call = call
        self._responder.cancel_on_disconnect = True  # closing the stream is the cancellation (basic/patterns)
        self._responder.on_silence = lambda: start_sse(self._responder)

    def _send(self, reply: Reply) -> None:
        send_reply(self._responder, self._message, reply)

    async def _go_on(self, request: HttpRequest, responder: Responder) -> None:
        assert self._items is not None
        self._is_over = True
        await self._modern.answer_items(self._items, self._message, responder)
