"""Handshake clients where nobody can keep a session for them: replicas that cannot reach one another.

`initialize` is answered without an `Mcp-Session-Id`, which is optional (2025-11-25, transports), so each POST
stands alone. Nobody is asked anything: no capability that a client declared is known by the next request.
"""

from contextlib import aclosing

from callgate.edge.http.message import Responder
from callgate.edge.visit import JSON_HEADERS, Visit
from callgate.model.envelope import Envelope, Era
from callgate.model.reply import Answer, Asking, Reply
from callgate.ports.answerer import Answerer
from callgate.wire import http_rules
from callgate.wire.eras.envelopes import legacy_envelope, read_initialize
from callgate.wire.json_rpc import Message, Notification, Request, encode_reply
from callgate.wire.params import Peek

# What a client without the header speaks (2025-11-25, transports, "Protocol Version Header").
_UNSAID_REVISION = "2025-03-26"
_NOBODY = Answer(error=b'{"code":-32601,"message":"Clients of this gateway cannot be asked anything"}')


class StatelessLegacy:
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
        reply = Reply()
        async with aclosing(self._answerer.answer(arrival)) as items:
            async for item in items:
                if isinstance(item, Asking):
                    item.respond(_NOBODY)
                elif isinstance(item, Reply):
                    reply = item
        if reply.opened is not None:
            self._answerer.end_session(reply.opened)
        responder.send(200, JSON_HEADERS, encode_reply(message.rpc_id, reply))
