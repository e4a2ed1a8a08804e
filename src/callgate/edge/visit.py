"""One HTTP request that passed the gate, on its way to the MCP endpoint, and how it is refused there."""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from callgate.config.specs.server_params import is_loopback
from callgate.edge.http.message import JSON_HEADERS, Headers, HttpRequest, Responder
from callgate.model.envelope import Envelope
from callgate.model.errors import CallgateError
from callgate.model.exchange import Arrival
from callgate.model.identity import Principal
from callgate.model.session import Session
from callgate.ports.http_app import FORWARDED, UNIX_PEER
from callgate.wire.fault_of import fault_of
from callgate.wire.json_rpc import Message, Notification, Request, Unreadable, encode_fault

WORKSPACE_HEADER = "x-callgate-workspace"
_NONE: Mapping[str, str] = {}
_MAX_CLIENT_CHARS = 200  # what a client says of itself is hostile input like everything else


class Visit(msgspec.Struct, frozen=True):
    request: HttpRequest
    headers: Mapping[str, str]
    principal: Principal
    target: str | None

    def arrival(
        self,
        message: Request | Notification,
        envelope: Envelope,
        session: Session | None = None,
    ) -> Arrival:
        return Arrival(
            message.method,
            message.rpc_id if isinstance(message, Request) else None,
            message.params,
            envelope,
            self.principal,
            "http",
            name_client(envelope, self.headers, self.request.peer),
            session,
            self.target,
            self.headers.get(WORKSPACE_HEADER),
            self.headers,
            is_local=self.is_local,
        )

    @property
    def is_local(self) -> bool:
        """A proxy on this machine speaks for clients elsewhere, and says so."""
        is_near = self.request.hop is None and _is_loopback(self.request.peer)
        return is_near and self.headers.keys().isdisjoint(FORWARDED)


@lru_cache(maxsize=1024)
def _is_loopback(peer: str | None) -> bool:
    return peer is not None and (peer == UNIX_PEER or is_loopback(peer))


def name_client(envelope: Envelope, headers: Mapping[str, str] = _NONE, peer: str | None = None) -> str:
    """Who called, in words for people: an explicit client id, clientInfo, User-Agent, IP address, else
    "stdio"."""
    explicit = headers.get("x-callgate-client-id") or headers.get("x-dbhub-client-id")
    name = explicit or envelope.client_label or headers.get("user-agent") or peer or "stdio"
    return name[:_MAX_CLIENT_CHARS]


class RefusedVisitError(Exception):
    """An error that ends the visit before there is an exchange."""

    def __init__(
        self, error: CallgateError, message: Message | Unreadable | None = None, extra: Headers = ()
    ) -> None:
        """`message`: what was refused, as far as it could be read."""
        super().__init__(error.message)
        self.error = error
        self.message = message
        self.extra = extra

    def send(self, responder: Responder) -> None:
        rpc_id = self.message.rpc_id if isinstance(self.message, (Request, Unreadable)) else None
        body = encode_fault(rpc_id, fault_of(self.error))
        responder.send(self.error.code.http_status, JSON_HEADERS + self.extra, body)
