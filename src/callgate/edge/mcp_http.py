"""Streamable HTTP of both eras on one path: reads the visit, decides the era, hands it to that era's half."""

from callgate.edge.http.message import Responder
from callgate.edge.legacy_http import LegacyHttp
from callgate.edge.modern_http import ModernHttp
from callgate.edge.plain_http import PlainHttp
from callgate.edge.refusals import Refusals
from callgate.edge.visit import RefusedVisitError, Visit
from callgate.model.envelope import Era
from callgate.model.error_codes import CALLER_WRONG_HTTP_METHOD
from callgate.model.errors import CallerError
from callgate.ports.answerer import Answerer
from callgate.wire import http_rules
from callgate.wire.json_rpc import Notification, Request, Unreadable, decode
from callgate.wire.params import NO_PARAMS, meta_of, peek
from callgate.wire.revisions import LEGACY_REVISIONS


class McpHttp:
    def __init__(self, answerer: Answerer, refusals: Refusals) -> None:
        self._refusals = refusals
        self._legacy = LegacyHttp(answerer, refusals)
        self._modern = ModernHttp(answerer, refusals)
        self.plain = PlainHttp(answerer, self._legacy, self._modern)

    async def handle(self, visit: Visit, responder: Responder) -> None:
        try:
            if visit.request.method == "POST":
                await self._post(visit, responder)
            else:
                await self._other_method(visit, responder)
        except RefusedVisitError as refusal:
            self._refuse(visit, responder, refusal)
        except CallerError as error:
            self._refuse(visit, responder, RefusedVisitError(error))

    def close(self) -> None:
        self._legacy.close()

    def _refuse(self, visit: Visit, responder: Responder, refusal: RefusedVisitError) -> None:
        refusal.send(responder)
        self._refusals.of_visit(visit, refusal.error, refusal.message)

    async def _other_method(self, visit: Visit, responder: Responder) -> None:
        version = visit.headers.get(http_rules.VERSION_HEADER)
        legacy = version is None or version in LEGACY_REVISIONS
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

    async def _post(self, visit: Visit, responder: Responder) -> None:
        http_rules.check_post_headers(visit.headers)
        message = visit.request.decoded or decode(visit.request.body)
        if isinstance(message, Unreadable):
            if visit.request.body.lstrip()[:1] == b"[" and await self._legacy.post_batch(visit, responder):
                return
            raise RefusedVisitError(message.error, message)
        visit.request.body = b""  # what is wanted of it is in the message; an answer may take hours
        peeked = peek(message.params) if isinstance(message, (Request, Notification)) else NO_PARAMS
        if http_rules.choose_era(visit.headers, meta_of(peeked)) is Era.MODERN:
            await self._modern.post(visit, responder, message, peeked)
        else:
            await self._legacy.post(visit, responder, message, peeked)
