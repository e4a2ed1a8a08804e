"""What is refused before it becomes an exchange is told to the record too, as an `Aside`.

Of a client that did not pass the gate only the peer address and the request line are kept; of one that did,
the message if it was one and is not long, and of a call always the tool and its server. How many
of these the record keeps is its own affair.
"""

import time
from collections.abc import Callable

from callgate.edge.http.message import HttpRequest
from callgate.edge.visit import Visit, name_client
from callgate.model.envelope import Envelope, Era
from callgate.model.errors import CallgateError
from callgate.model.events import Aside
from callgate.model.exchange import MAX_TOOL_NAME_CHARS, EndedBy, Outcome, Settlement
from callgate.model.identity import Principal, new_exchange_id
from callgate.model.session import Session
from callgate.ports.event_sink import EventSink
from callgate.wire.json_rpc import Message, Notification, Request, Unreadable, decode
from callgate.wire.params import peek, text_of
from callgate.wire.revisions import LEGACY_REVISIONS

# A client that sends more with what is wrong anyway is not helped by reading it again.
_MAX_PARAMS_BYTES = 16 * 1024
# What was refused for its headers is read after all, for the record, unless it is long.
_MAX_READ_BYTES = 64 * 1024
# Names and texts that came from outside: enough to recognise them.
_MAX_METHOD_CHARS = 200
_MAX_ID_BYTES = 200
_MAX_ERROR_CHARS = 500
_CALL = "tools/call"
_TAKEN = Settlement(Outcome.ANSWERED, EndedBy.GATEWAY)
_NO_ENVELOPE = Envelope(Era.LEGACY, LEGACY_REVISIONS[0])


class Refusals:
    def __init__(self, sink: EventSink, server_of: Callable[[str], str | None]) -> None:
        """`server_of`: see `ports.Answerer`."""
        self._sink = sink
        self._server_of = server_of

    def at_the_door(self, request: HttpRequest, error: CallgateError, principal: Principal | None) -> None:
        """By the gate (`principal`: None), or because the request itself could not be read."""
        message = _message_in(request) if principal is not None else None
        client, size_bytes = request.peer or "http", request.body_bytes
        self._emit(_refused(error), message, _first_line(request), client, principal, size_bytes)

    def of_visit(
        self, visit: Visit, error: CallgateError | None, message: Message | Unreadable | None
    ) -> None:
        """`error`: None for a notification that was taken, and passed on to nobody."""
        request, settlement = visit.request, _TAKEN if error is None else _refused(error)
        message = _message_in(request) if message is None else message
        client, target = name_client(_NO_ENVELOPE, visit.headers, request.peer), visit.target
        first, size_bytes = _first_line(request), request.body_bytes
        self._emit(settlement, message, first, client, visit.principal, size_bytes, target=target)

    def on_stream(
        self,
        error: CallgateError,
        message: Message | Unreadable | None,
        principal: Principal,
        session: Session | None,
    ) -> None:
        """A frame of a pipe or local socket; None: it was too long to be read."""
        client = name_client(session.envelope if session is not None else _NO_ENVELOPE)
        self._emit(_refused(error), message, "stdio", client, principal, session=session)

    def _emit(
        self,
        settlement: Settlement,
        message: Message | Unreadable | None,
        otherwise: str,
        client: str,
        principal: Principal | None,
        size_bytes: int = 0,
        *,
        target: str | None = None,
        session: Session | None = None,
    ) -> None:
        """`otherwise`: what is told of one that is no call. `target`: of `/servers/<target>/mcp`."""
        now_s = time.time()
        is_told = isinstance(message, (Request, Notification))
        params, method = (message.params, message.method or otherwise) if is_told else (b"", otherwise)
        rpc_id = None if message is None or isinstance(message, Notification) else message.rpc_id
        is_named = isinstance(message, Request) and message.method in (_CALL, "prompts/get")
        name = text_of(peek(params).name) if is_named else None
        aside = Aside(
            event_id=new_exchange_id(now_s),
            at_s=now_s,
            method=method[:_MAX_METHOD_CHARS],
            settlement=settlement,
            is_notification=isinstance(message, Notification),
            rpc_id=rpc_id if rpc_id is not None and len(rpc_id) <= _MAX_ID_BYTES else None,
            params=params if len(params) <= _MAX_PARAMS_BYTES else b"",
            size_bytes=size_bytes or len(params),
            client=client,
            server_name=target or (name and self._server_of(name)),
            tool_name=name and name[:MAX_TOOL_NAME_CHARS] if method == _CALL else None,
            session_id=session and session.session_id,
            principal=principal and principal.name,
        )
        self._sink.emit(aside)


def _refused(error: CallgateError) -> Settlement:
    text = error.message[:_MAX_ERROR_CHARS]
    return Settlement(Outcome.REFUSED, EndedBy.GATEWAY, error_code=error.code.code, error=text)


def _first_line(request: HttpRequest) -> str:
    return f"{request.method} {request.path}"


def _message_in(request: HttpRequest) -> Request | Notification | None:
    """What nobody had read yet."""
    if request.method != "POST" or not 0 < len(request.body) <= _MAX_READ_BYTES:
        return None
    message = decode(request.body)
    return message if isinstance(message, (Request, Notification)) else None
