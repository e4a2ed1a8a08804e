"""What is refused before it becomes an exchange is told to the record too, as an `Aside`.

Of a client that did not pass the gate only the peer address and the request line are kept; of one that did,
the message if it was one and is not long, and of a call always the tool and its server. How many
of these the record keeps is its own affair.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class _Sender:
    client: str
    principal: str | None  # None: it did not pass the gate
    session_id: str | None = None
    target: str | None = None  # /servers/<target>/mcp


class Refusals:
    def __init__(self, sink: EventSink, server_of: Callable[[str], str | None]) -> None:
        """`server_of`: see `ports.Answerer`."""
        self._sink = sink
        self._server_of = server_of

    def at_the_door(self, request: HttpRequest, error: CallgateError, principal: Principal | None) -> None:
        """By the gate, or because the request itself could not be read."""
        sender = _Sender(request.peer or "http", principal and principal.name)
        message = _message_in(request) if principal is not None else None
        method = _method_of(message) or _first_line(request)
        self._emit(_refused(error), sender, method, message, request.body_bytes)

    def of_visit(self, visit: Visit, error: CallgateError, message: Message | Unreadable | None) -> None:
        if message is None:
            message = _message_in(visit.request)
        method = _method_of(message) or _first_line(visit.request)
        self._emit(_refused(error), _sender_of(visit), method, message, visit.request.body_bytes)

    def unheard(self, visit: Visit, notification: Notification) -> None:
        """Taken, and passed on to nobody: the modern era has no notifications of clients over HTTP."""
        method = notification.method[:_MAX_METHOD_CHARS]
        self._emit(_TAKEN, _sender_of(visit), method, notification, visit.request.body_bytes)

    def on_stream(
        self,
        error: CallgateError,
        message: Message | Unreadable | None,
        principal: Principal,
        session: Session | None,
    ) -> None:
        """A frame of a pipe or local socket; None: it was too long to be read."""
        envelope = session.envelope if session is not None else _NO_ENVELOPE
        sender = _Sender(name_client(envelope), principal.name, session and session.session_id)
        self._emit(_refused(error), sender, _method_of(message) or "stdio", message)

    def _emit(
        self,
        settlement: Settlement,
        sender: _Sender,
        method: str,
        message: Message | Unreadable | None,
        size_bytes: int = 0,
    ) -> None:
        now_s = time.time()
        params = message.params if isinstance(message, (Request, Notification)) else b""
        rpc_id = None if message is None or isinstance(message, Notification) else message.rpc_id
        is_named = isinstance(message, Request) and message.method in (_CALL, "prompts/get")
        name = text_of(peek(params).name) if is_named else None
        aside = Aside(
            event_id=new_exchange_id(now_s),
            at_s=now_s,
            method=method,
            settlement=settlement,
            is_notification=isinstance(message, Notification),
            rpc_id=rpc_id if rpc_id is not None and len(rpc_id) <= _MAX_ID_BYTES else None,
            params=params if len(params) <= _MAX_PARAMS_BYTES else b"",
            size_bytes=size_bytes or len(params),
            client=sender.client,
            server_name=sender.target or (name and self._server_of(name)),
            tool_name=name and name[:MAX_TOOL_NAME_CHARS] if method == _CALL else None,
            session_id=sender.session_id,
            principal=sender.principal,
        )
        self._sink.emit(aside)


def _sender_of(visit: Visit) -> _Sender:
    client = name_client(_NO_ENVELOPE, visit.headers, visit.request.peer)
    return _Sender(client, visit.principal.name, target=visit.target)


def _refused(error: CallgateError) -> Settlement:
    text = error.message[:_MAX_ERROR_CHARS]
    return Settlement(Outcome.REFUSED, EndedBy.GATEWAY, error_code=error.code.code, error=text)


def _first_line(request: HttpRequest) -> str:
    return f"{request.method} {request.path}"[:_MAX_METHOD_CHARS]


def _message_in(request: HttpRequest) -> Request | Notification | None:
    """What nobody had read yet."""
    if request.method != "POST" or not 0 < len(request.body) <= _MAX_READ_BYTES:
        return None
    message = decode(request.body)
    return message if isinstance(message, (Request, Notification)) else None


def _method_of(message: Message | Unreadable | None) -> str | None:
    return message.method[:_MAX_METHOD_CHARS] if isinstance(message, (Request, Notification)) else None
