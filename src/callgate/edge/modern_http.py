"""The modern half of Streamable HTTP: every POST stands alone, and closing it is its cancellation.

The answer is plain JSON when it comes without notices, and becomes SSE with the first notice, or after a
while of silence so that no proxy gives up. (2026-07-28, basic/transports/streamable-http.)
"""

from collections.abc import Awaitable, Mapping
from functools import partial

from callgate.edge.event_stream import start_sse
from callgate.edge.http.message import Responder
from callgate.edge.refusals import Refusals
from callgate.edge.visit import JSON_HEADERS, RefusedVisitError, Visit
from callgate.model.envelope import Envelope
from callgate.model.error_codes import (
    CALLER_MALFORMED,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from callgate.model.errors import CallerError
from callgate.model.reply import Notice, Reply, Said
from callgate.ports.answerer import Answerer, Answering
from callgate.wire import http_rules
from callgate.wire.eras.envelopes import check_revision, read_modern
from callgate.wire.framing.sse import encode_event
from callgate.wire.json_rpc import Message, Notification, Request, encode_notification, encode_reply
from callgate.wire.params import Peek

# Faults that have an HTTP status of their own; everything else is an answer: 200.
_STATUS = {
    METHOD_NOT_FOUND: 404,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
}


class ModernHttp:
    def __init__(self, answerer: Answerer, refusals: Refusals) -> None:
        self._answerer = answerer
        self._refusals = refusals

    def post(
        self, visit: Visit, responder: Responder, message: Message, peeked: Peek
    ) -> Awaitable[None] | None:
        """What is still to be awaited. Raises CallerError."""
        if isinstance(message, Notification):
            # The core protocol has none on this wire; a client in the field that sends one is not told off.
            self._refusals.of_visit(visit, None, message)
            responder.send(202, ())
            return None
        if not isinstance(message, Request):
            error = CallerError(CALLER_MALFORMED, "The body must be one request or notification")
            raise RefusedVisitError(error)
        envelope = read_envelope(visit.headers, message.method, peeked)
        responder.cancel_on_disconnect = True  # closing the stream is the cancellation (basic/patterns)
        responder.on_silence = start_sse
        answer = partial(self._answerer.answer, visit.arrival(message, envelope))
        return answer_by(answer, message, responder)


async def answer_by(answer: Answering, message: Request, responder: Responder) -> None:
    async def tell(said: Said) -> None:
        if isinstance(said, Notice):
            if not responder.streaming:
                start_sse(responder)
            await responder.stream(encode_event(encode_notification(said.method, said.params)))

    send_reply(responder, message, await answer(tell))


def read_envelope(headers: Mapping[str, str], method: str, peeked: Peek) -> Envelope:
    """Raises CallerError: see the rungs of `wire.eras.envelopes`."""
    envelope = read_modern(peeked)
    http_rules.check_modern_headers(headers, method, peeked, envelope)
    check_revision(envelope)
    return envelope


def send_reply(responder: Responder, message: Request, reply: Reply) -> None:
    frame = encode_reply(message.rpc_id, reply)
    if responder.streaming:
        responder.write(encode_event(frame))
        responder.end_stream()
    elif reply.fault is None:
        responder.send_json(frame)
    else:
        responder.send(_STATUS.get(reply.fault.code, 200), JSON_HEADERS, frame)
