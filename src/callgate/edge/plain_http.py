"""Tool calls over HTTP that are begun and answered in the callbacks of two sockets, without a task.

Rules
1. A request may be begun here when its connection has sent the same head before (`http.known_head`),
   and that head is a POST to an MCP endpoint, of a session that is still open or of a modern client.
2. It must be a `tools/call`. A modern client's must carry no trace or log level, and its envelope is read
   again only when it is another one than in the request before.
3. The relay must take it as it is (`ports.Answerer.begin`). Whatever is refused, unusual or not known yet is
   not begun: `mcp_http` answers it, which is the definition.
4. When the server says something before its answer, the task of the connection goes on with it.
"""

from collections.abc import AsyncGenerator

import msgspec

from callgate.edge.event_stream import start_sse
from callgate.edge.http.known_head import Begun, BegunOwner
from callgate.edge.http.message import HttpRequest, Responder
from callgate.edge.http_session import HttpSession
from callgate.edge.legacy_http import LegacyHttp
from callgate.edge.modern_http import ModernHttp, send_reply
from callgate.edge.name_client import name_client
from callgate.edge.visit import JSON_HEADERS, Visit
from callgate.model.envelope import Envelope, Era
from callgate.model.errors import CallerError
from callgate.model.exchange import Arrival
from callgate.model.reply import Item, Reply
from callgate.model.session import Session
from callgate.ports.answerer import Answerer, PlainCall
from callgate.wire import http_rules
from callgate.wire.eras.envelopes import check_revision, legacy_envelope, read_modern
from callgate.wire.json_rpc import Request, decode, encode_fault, encode_result
from callgate.wire.params import NO_META, call_params, meta_of, peek

_METHOD = "tools/call"


class PlainHttp:
    def __init__(self, answerer: Answerer, legacy: LegacyHttp, modern: ModernHttp) -> None:
        self._answerer = answerer
        self._legacy = legacy
        self._modern = modern

    def decide(self, visit: Visit) -> "LegacyHead | ModernHead | None":
        """What can be known of all requests with the head of this visit; None: none of them is plain."""
        headers = visit.headers
        try:
            http_rules.check_post_headers(headers)
            if http_rules.choose_era(headers, NO_META) is Era.MODERN:
                is_call = headers.get(http_rules.METHOD_HEADER) == _METHOD
                return ModernHead(self._answerer, visit, self._modern) if is_call else None
            http_session = self._legacy.session_of(visit)
        except CallerError:
            return None
        if http_rules.prefers_stream(headers.get("accept", "")):
            return None
        return LegacyHead(self._answerer, visit, self._legacy, http_session)


class _Head:
    """What is the same for all requests with one head. Implements `http.known_head.Beginner`."""

    __slots__ = ("_answerer", "_client", "_headers", "_peer", "_principal", "_target", "_workspace")

    def __init__(self, answerer: Answerer, visit: Visit) -> None:
        self._answerer = answerer
        self._headers = visit.headers
        self._principal = visit.principal
        self._peer = visit.request.peer
        self._target = visit.target
        self._workspace = visit.headers.get("x-callgate-workspace")
        self._client = ""

    def _arrival(self, message: Request, envelope: Envelope, session: Session | None) -> Arrival:
        return Arrival(
            _METHOD,
            message.rpc_id,
            message.params,
            envelope,
            self._principal,
            "http",
            self._client,
            session,
            self._target,
            self._workspace,
            self._headers,
        )


class LegacyHead(_Head):
    __slots__ = ("_http_session", "_legacy", "_session")

    def __init__(
        self, answerer: Answerer, visit: Visit, legacy: LegacyHttp, http_session: HttpSession
    ) -> None:
        super().__init__(answerer, visit)
        self._legacy = legacy
        self._http_session = http_session
        self._session = http_session.session
        self._client = name_client(visit.headers, self._session.envelope, self._peer)

    def begin(self, request: HttpRequest, responder: Responder, owner: BegunOwner) -> Begun | None:
        session, http_session = self._session, self._http_session
        if session.ended_at is not None:
            return None
        message = request.decoded = decode(request.body)
        if not isinstance(message, Request) or message.method != _METHOD:
            return None
        params = call_params(message.params)
        if params is None or message.rpc_id in http_session.open:
            return None
        envelope = self._read(message.params) if params.meta else session.envelope
        if envelope is None:
            return None
        answer = LegacyAnswer(message, responder, owner, legacy=self._legacy, http_session=http_session)
        arrival = self._arrival(message, envelope, session)
        call = answer.call = self._answerer.begin(arrival, params.name, answer)
        if call is None:
            return None
        http_session.open[message.rpc_id] = answer
        return answer

    def _read(self, params: bytes) -> Envelope | None:
        """None: it is refused, or a modern client's after all."""
        peeked = peek(params)
        if http_rules.choose_era(self._headers, meta_of(peeked)) is Era.MODERN:
            return None
        try:
            return legacy_envelope(self._session.envelope, peeked)
        except CallerError:
            return None


class ModernHead(_Head):
    __slots__ = ("_envelope", "_meta", "_modern", "_name")

    def __init__(self, answerer: Answerer, visit: Visit, modern: ModernHttp) -> None:
        super().__init__(answerer, visit)
        self._modern = modern
        self._meta = msgspec.Raw()
        self._name: str = ""
        self._envelope: Envelope | None = None

    def begin(self, request: HttpRequest, responder: Responder, owner: BegunOwner) -> Begun | None:
        message = request.decoded = decode(request.body)
        if not isinstance(message, Request) or message.method != _METHOD:
            return None
        params = call_params(message.params)
        if params is None:
            return None
        if params.meta != self._meta or params.name != self._name:
            self._envelope = None
            self._meta, self._name = params.meta.copy(), params.name
            self._envelope = self._read(message.params)
        if self._envelope is None:
            return None
        answer = ModernAnswer(message, responder, owner, modern=self._modern)
        arrival = self._arrival(message, self._envelope, None)
        call = answer.call = self._answerer.begin(arrival, params.name, answer)
        if call is None:
            return None
        responder.cancel_on_disconnect = True  # closing the stream is the cancellation (basic/patterns)
        responder.on_silence = answer.start_stream
        return answer

    def _read(self, params: bytes) -> Envelope | None:
        """None: it is refused, or says more than who asks."""
        peeked = peek(params)
        if http_rules.choose_era(self._headers, meta_of(peeked)) is not Era.MODERN:
            return None
        try:
            envelope = read_modern(peeked)
            http_rules.check_modern_headers(self._headers, _METHOD, peeked, envelope)
            check_revision(envelope)
        except CallerError:
            return None
        self._client = name_client(self._headers, envelope, self._peer)
        return None if envelope.log_level or envelope.traceparent else envelope


class _Answer(msgspec.Struct, eq=False):
    """Implements `http.known_head.Begun` and `ports.answerer.PlainReceiver`."""

    message: Request
    responder: Responder
    owner: BegunOwner
    call: PlainCall | None = None
    items: AsyncGenerator[Item] | None = None  # the task is to go on with these
    is_over: bool = False  # answered or given up: what comes now is for nobody

    def abort(self) -> None:
        if not self.is_over:
            self._give_up()
            self.owner.finish()

    def _give_up(self) -> None:
        self.is_over = True
        if self.call is not None:
            self.call.cancel()

    def said_more(self, items: AsyncGenerator[Item]) -> None:
        self.items = items
        self.owner.hand_over(self._go_on)

    async def _go_on(self, request: HttpRequest, responder: Responder) -> None:
        raise NotImplementedError


class LegacyAnswer(_Answer, eq=False, kw_only=True):
    """Also one of the session's open requests, which its client may cancel."""

    legacy: LegacyHttp
    http_session: HttpSession

    def replied(self, reply: Reply) -> None:
        if self.is_over:
            return
        self.is_over = True
        rpc_id = self.message.rpc_id
        del self.http_session.open[rpc_id]
        if reply.fault is not None:
            frame = encode_fault(rpc_id, reply.fault)
        else:
            frame = encode_result(rpc_id, reply.result or b"{}")
        self.responder.send(200, JSON_HEADERS, frame)
        self.owner.finish()

    def cancel(self) -> None:
        """A cancelled request gets no response (2025-11-25, cancellation): the stream just ends."""
        if self.is_over:
            return
        self._give_up()
        if self.items is None:
            self._end_without_reply()
            self.owner.finish()

    def _end_without_reply(self) -> None:
        start_sse(self.responder)
        self.responder.end_stream()

    def _give_up(self) -> None:
        self.http_session.open.pop(self.message.rpc_id, None)
        super()._give_up()

    async def _go_on(self, request: HttpRequest, responder: Responder) -> None:
        if self.is_over:  # the client cancelled it meanwhile
            self._end_without_reply()
            return
        assert self.items is not None
        self.is_over = True
        await self.legacy.answer_items(self.http_session, self.items, self.message, responder)


class ModernAnswer(_Answer, eq=False, kw_only=True):
    modern: ModernHttp

    def start_stream(self) -> None:
        start_sse(self.responder)

    def replied(self, reply: Reply) -> None:
        if not self.is_over:
            self.is_over = True
            send_reply(self.responder, self.message, reply)
            self.owner.finish()

    async def _go_on(self, request: HttpRequest, responder: Responder) -> None:
        assert self.items is not None
        if self.is_over:  # given up meanwhile
            return
        self.is_over = True
        await self.modern.answer_items(self.items, self.message, responder)
