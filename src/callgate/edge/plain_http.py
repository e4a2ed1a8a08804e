"""Tool calls over HTTP that are begun and answered in the callbacks of two sockets, without a task.

Rules
1. A request may be begun here when it is a short POST to an MCP endpoint (`http.request_reader`, rule 4), of
   a session that is still open or of a modern client. That is decided once for all requests with one head.
2. It must be a `tools/call`. A modern client's envelope is read again only when it is another one than in the
   request before. Whatever is refused or unusual is not begun: `mcp_http`
   answers it, which is the definition.
3. The relay must take it as it is (`ports.Answerer.begin`). If it does not, the connection's task awaits the
   answer; among replicas `mcp_http` finds out first whose it is.
4. When the server says something before its answer, the task of the connection goes on with it.
"""

from functools import partial

import msgspec

from callgate.edge.event_stream import start_sse
from callgate.edge.http.message import Begun, BegunOwner, HttpRequest, Responder
from callgate.edge.http_session import HttpSession
from callgate.edge.legacy_http import LegacyHttp
from callgate.edge.modern_http import answer_by, read_envelope, send_reply
from callgate.edge.visit import WORKSPACE_HEADER, Visit, name_client
from callgate.model.envelope import Envelope, Era
from callgate.model.errors import CallerError
from callgate.model.exchange import Arrival
from callgate.model.reply import Reply
from callgate.model.session import Session
from callgate.ports.answerer import Answerer, Answering
from callgate.wire import http_rules
from callgate.wire.eras.envelopes import legacy_envelope
from callgate.wire.json_rpc import Request, decode_call, encode_reply
from callgate.wire.params import NO_PARAMS, call_params, peek

_METHOD = "tools/call"


def plain_head(
    visit: Visit, answerer: Answerer, legacy: LegacyHttp, has_replicas: bool
) -> "LegacyHead | ModernHead | None":
    """What can be known of all requests with the head of this visit; None: none of them is plain."""
    headers = visit.headers
    known = answerer, visit, has_replicas, headers.get(WORKSPACE_HEADER), visit.is_local
    try:
        http_rules.check_post_headers(headers)
        if http_rules.choose_era(headers, NO_PARAMS) is Era.MODERN:
            if headers.get(http_rules.METHOD_HEADER) != _METHOD:
                return None
            return ModernHead(*known)
        http_session = legacy.session_of(visit)
    except CallerError:
        return None
    if http_rules.prefers_stream(headers.get("accept", "")):
        return None
    client = name_client(http_session.session.envelope, headers, visit.request.peer)
    return LegacyHead(*known, client, legacy=legacy, http_session=http_session)


class _Head(msgspec.Struct, eq=False):
    """What is the same for all requests with one head. Implements `http.message.Beginner`."""

    answerer: Answerer
    visit: Visit
    has_replicas: bool
    workspace: str | None
    is_local: bool
    client: str = ""


class LegacyHead(_Head, eq=False, kw_only=True):
    legacy: LegacyHttp
    http_session: HttpSession

    def begin(self, request: HttpRequest, responder: Responder, owner: BegunOwner) -> Begun | None:
        http_session = self.http_session
        session = http_session.session
        if session.ended_at is not None:
            return None
        message = request.decoded = decode_call(request.body)
        if not isinstance(message, Request) or message.method != _METHOD:
            return None
        params = call_params(message.params)
        if params is None or message.rpc_id in http_session.open:
            return None
        envelope = self._read(message.params) if params.meta else session.envelope
        if envelope is None:
            return None
        answer = LegacyAnswer(
            responder, owner, message=message, legacy=self.legacy, http_session=http_session
        )
        visit = self.visit
        arrival = Arrival(
            _METHOD, message.rpc_id, message.params, envelope, visit.principal, "http", self.client, session,
            visit.target, self.workspace, visit.headers, is_local=self.is_local,
        )  # fmt: skip
        answer.call = self.answerer.begin(arrival, params.name, answer)
        if answer.call is None:
            if self.has_replicas:
                return None
            answer.said_more(partial(self.answerer.answer_generally, arrival))
        http_session.open[message.rpc_id] = answer
        return answer

    def _read(self, params: bytes) -> Envelope | None:
        """None: it is refused, or a modern client's after all."""
        peeked = peek(params)
        if http_rules.choose_era(self.visit.headers, peeked) is Era.MODERN:
            return None
        try:
            return legacy_envelope(self.http_session.session.envelope, peeked)
        except CallerError:
            return None


class ModernHead(_Head, eq=False, kw_only=True):
    # Of the call before: the next one mostly says the same of itself.
    meta: msgspec.Raw = msgspec.Raw()
    name: str = ""
    envelope: Envelope | None = None
    session: Session | None = None

    def begin(self, request: HttpRequest, responder: Responder, owner: BegunOwner) -> Begun | None:
        message = request.decoded = decode_call(request.body)
        if not isinstance(message, Request) or message.method != _METHOD:
            return None
        params = call_params(message.params)
        if params is None:
            return None
        if params.meta != self.meta or params.name != self.name:
            self.envelope = self.session = None
            self.meta, self.name = params.meta.copy(), params.name
            self.envelope = self._read(message.params)
        if self.envelope is None:
            return None
        answer = ModernAnswer(responder, owner, message=message)
        visit, session = self.visit, self.session
        arrival = Arrival(
            _METHOD, message.rpc_id, message.params, self.envelope, visit.principal, "http", self.client,
            session, visit.target, self.workspace, visit.headers, is_local=self.is_local,
        )  # fmt: skip
        call = answer.call = self.answerer.begin(arrival, params.name, answer)
        if call is not None:
            self.session = call.session
        elif self.has_replicas:
            return None
        else:
            answer.said_more(partial(self.answerer.answer_generally, arrival))
        responder.cancel_on_disconnect = True  # closing the stream is the cancellation (basic/patterns)
        responder.on_silence = start_sse
        return answer

    def _read(self, params: bytes) -> Envelope | None:
        """None: it is refused."""
        peeked = peek(params)
        if http_rules.choose_era(self.visit.headers, peeked) is not Era.MODERN:
            return None
        try:
            envelope = read_envelope(self.visit.headers, _METHOD, peeked)
        except CallerError:
            return None
        self.client = name_client(envelope, self.visit.headers, self.visit.request.peer)
        return envelope


class _Answer(Begun, eq=False, kw_only=True):
    """Implements `ports.answerer.PlainReceiver`."""

    message: Request
    go_on: Answering | None = None  # the task is to go on with this

    def said_more(self, go_on: Answering) -> None:
        self.go_on = go_on
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
        self.is_over, self.call = True, None
        rpc_id = self.message.rpc_id
        del self.http_session.open[rpc_id]
        self.responder.send_json(encode_reply(rpc_id, reply))
        self.owner.finish()

    def cancel(self) -> None:
        """A cancelled request gets no response (2025-11-25, cancellation): the stream just ends."""
        if self.is_over:
            return
        self._give_up()
        if self.go_on is None:
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
        assert self.go_on is not None
        self.is_over = True
        await self.legacy.answer_by(self.go_on, self.http_session, self.message, responder)


class ModernAnswer(_Answer, eq=False, kw_only=True):
    def replied(self, reply: Reply) -> None:
        if self.is_over:
            return
        self.is_over, self.call = True, None
        message, responder = self.message, self.responder
        if reply.fault is None and not responder.streaming:
            responder.send_json(encode_reply(message.rpc_id, reply))  # as `send_reply`
        else:
            send_reply(responder, message, reply)
        self.owner.finish()

    async def _go_on(self, request: HttpRequest, responder: Responder) -> None:
        assert self.go_on is not None
        if self.is_over:  # given up meanwhile
            return
        self.is_over = True
        await answer_by(self.go_on, self.message, responder)
