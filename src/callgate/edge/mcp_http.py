"""Streamable HTTP of both eras on one path: reads the visit, decides the era, hands it to that era's half."""

from callgate.edge.hops.passing_on import PassingOn
from callgate.edge.http.message import Beginner, Responder
from callgate.edge.http.service import Handler
from callgate.edge.legacy_http import LegacyHttp
from callgate.edge.modern_http import ModernHttp, read_envelope
from callgate.edge.plain_http import plain_head
from callgate.edge.refusals import Refusals
from callgate.edge.visit import RefusedVisitError, Visit
from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import CALLER_WRONG_HTTP_METHOD
from callgate.model.errors import CallerError
from callgate.model.reply import Answer, Asking, Said
from callgate.ports.answerer import Answerer, SharedSessions
from callgate.ports.homes import Homes
from callgate.ports.peers import Peers
from callgate.wire import http_rules
from callgate.wire.eras.envelopes import legacy_envelope, read_initialize
from callgate.wire.json_rpc import Message, Notification, Request, Unreadable, decode_call, encode_reply
from callgate.wire.params import NO_PARAMS, Peek, peek
from callgate.wire.revisions import LEGACY_REVISIONS

# What a client without the header speaks (2025-11-25, transports, "Protocol Version Header").
_UNSAID_REVISION = "2025-03-26"
_NOBODY = Answer(error=b'{"code":-32601,"message":"Clients of this gateway cannot be asked anything"}')


class StatelessLegacy:
    """Handshake clients where nobody can keep a session for them: replicas that cannot reach one another.

    `initialize` is answered without an `Mcp-Session-Id`, which is optional (2025-11-25, transports), so each
    POST stands alone. Nobody is asked anything: no capability that a client declared is known by the next
    request.
    """

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer

    async def post(self, visit: Visit, responder: Responder, message: Message, peeked: Peek) -> None:
        """Raises CallerError."""
        if not isinstance(message, (Request, Notification)):
            responder.send(202, ())
            return
        if message.method == "initialize":
            envelope = read_initialize(message.params)
        else:
            revision = visit.headers.get(http_rules.VERSION_HEADER, _UNSAID_REVISION)
            envelope = legacy_envelope(Envelope(Era.LEGACY, revision), peeked)
        arrival = visit.arrival(message, envelope)
        if not isinstance(message, Request):
            self._answerer.notice(arrival)
            responder.send(202, ())
            return
        reply = await self._answerer.answer(arrival, _answer_for_nobody)
        if reply.opened is not None:
            self._answerer.end_session(reply.opened)
        responder.send_json(encode_reply(message.rpc_id, reply))


async def _answer_for_nobody(said: Said) -> None:
    if isinstance(said, Asking):
        said.respond(_NOBODY)


class McpHttp:
    def __init__(self, answerer: Answerer, refusals: Refusals) -> None:
        self._answerer = answerer
        self._refusals = refusals
        self._passing: PassingOn | None = None  # without replicas nothing belongs to anybody else
        self._alone: StatelessLegacy | None = None  # in place of the next: nobody has a session
        self._legacy = LegacyHttp(answerer, refusals)
        self._modern = ModernHttp(answerer, refusals)

    def join(self, homes: Homes, peers: Peers | None, sessions: SharedSessions) -> None:
        """There are replicas. `peers`: None where they cannot reach one another."""
        self._passing = PassingOn(homes, peers, self._answerer, sessions, self._legacy, self._refuse)
        if peers is None:
            self._alone = StatelessLegacy(self._answerer)

    def decide(self, visit: Visit, handler: Handler) -> Beginner | None:
        """Who may begin answers to requests with the head of this visit. `handler`: who answers those that
        cannot be begun after all."""
        found = plain_head(visit, self._answerer, self._legacy, self._passing is not None)
        if found is None and self._passing is not None:
            return self._passing.decide(visit, handler)
        return found

    async def handle(self, visit: Visit, responder: Responder) -> None:
        request, message = visit.request, None
        try:
            passing = self._passing
            if passing is not None and await passing.session(visit, responder):
                return
            if request.method != "POST":
                await self._other_method(visit, responder)
                return
            http_rules.check_post_headers(visit.headers)
            decoded = request.decoded or decode_call(request.body)
            if isinstance(decoded, Unreadable):
                is_batch = request.body.lstrip()[:1] == b"["
                if not is_batch or not await self._legacy.post_batch(visit, responder):
                    self._refuse(visit, responder, RefusedVisitError(decoded.error, decoded))
                return
            message = decoded
            peeked = peek(message.params) if isinstance(message, (Request, Notification)) else NO_PARAMS
            is_modern = http_rules.choose_era(visit.headers, peeked) is Era.MODERN
            if passing is not None and is_modern and isinstance(message, Request):
                envelope = read_envelope(visit.headers, message.method, peeked)
                if await passing.modern(visit, responder, visit.arrival(message, envelope), message):
                    return
            request.body = b""  # what is wanted of it is in the message; an answer may take hours
            half = self._modern if is_modern else self._alone or self._legacy
            answer = half.post(visit, responder, message, peeked)
            if answer is not None:
                await answer
        except RefusedVisitError as refusal:
            self._refuse(visit, responder, refusal)
        except CallerError as error:
            self._refuse(visit, responder, RefusedVisitError(error, message))

    def close(self) -> None:
        self._legacy.close()

    def _refuse(self, visit: Visit, responder: Responder, refusal: RefusedVisitError) -> None:
        refusal.send(responder)
        self._refusals.of_visit(visit, refusal.error, refusal.message)

    async def _other_method(self, visit: Visit, responder: Responder) -> None:
        version = visit.headers.get(http_rules.VERSION_HEADER)
        legacy = self._alone is None and (version is None or version in LEGACY_REVISIONS)
        match visit.request.method:
            case "GET" if legacy:
                await self._legacy.get(visit, responder)
            case "DELETE" if legacy:
                self._legacy.delete(visit, responder)
            case method:
                allow = "GET, POST, DELETE" if legacy else "POST"
                error = CallerError(
                    CALLER_WRONG_HTTP_METHOD, f"{method[:20]} is not offered here; use {allow}"
                )
                raise RefusedVisitError(error, extra=(("allow", allow),))
