"""The listener for other replicas: the same MCP endpoints as the public one, behind another gate.

Every request there is signed (`ports.HopGate`); nothing but MCP is served, except among workers. Who asks
is the client on whose behalf the other replica passes the request on.

Rules
1. A request is served when its signature, and the digest of all of it, were checked: before it is begun, or
   in `handle`.
2. What was decided of a head (`plain_http`) is remembered for this principal and client, whichever connection
   brings it: all clients of another replica share a few. Only what is whole, and has our own fields first and
   the rest byte for byte as before, is taken so (`KnownHops`). The parser and `judge` are the definition: all
   else, and whatever is wrong, is theirs.
"""

import re
from collections import OrderedDict
from copy import copy

from callgate.edge.connections import AcceptedConnection, Connections
from callgate.edge.hops.passed_message import passed_request
from callgate.edge.http.message import Beginner, HttpRequest, Responder
from callgate.edge.http.request_reader import RequestReader
from callgate.edge.http.service import Service
from callgate.edge.listener import Listener, mcp_endpoint
from callgate.model.error_codes import REFUSED_HOP
from callgate.model.errors import RefusedError
from callgate.ports.http_app import MountedApp
from callgate.ports.peers import HOP_HEADER, NOBODY, HopGate

# As `replicas.hop_client` writes it.
_OWN_FIELDS = re.compile(
    rb"(POST [!-~]+) HTTP/1\.1\r\n%b: ([!-~]+)\r\ncontent-length: ([0-9]{1,5})\r\nhost: [!-~]+\r\n"
    % HOP_HEADER.encode()
)
_MAX_BODY_BYTES = 16 * 1024
_MAX_HEAD_BYTES = 4 * 1024
_MAX_KNOWN = 2048


class KnownHops:
    """Requests that other replicas passed on before, and who may begin answers to the next ones like them."""

    def __init__(self, gate: HopGate) -> None:
        self._gate = gate
        # By all that was signed but the body, by principal and by client.
        self._known: OrderedDict[tuple[bytes, str, str | None], HttpRequest] = OrderedDict()
        self._heads: dict[bytes, int] = {}  # how many of these have it

    def learn(self, head: bytes, request: HttpRequest) -> None:
        if len(head) > _MAX_HEAD_BYTES or request.principal is None:
            return
        key = (head, request.principal.name, request.peer)
        if key not in self._known:
            self._heads[head] = self._heads.get(head, 0) + 1
        self._known[key] = request
        while len(self._known) > _MAX_KNOWN:
            (oldest, _, _), _ = self._known.popitem(last=False)
            self._heads[oldest] -= 1
            if not self._heads[oldest]:
                del self._heads[oldest]

    def request(self, data: bytes) -> HttpRequest | None:
        """The request that `data` is, and nothing else. None: it is to be read."""
        own = _OWN_FIELDS.match(data)
        if own is None:
            return None
        end = data.find(b"\r\n\r\n", own.end() - 2) + 4
        first, seal, length = own.groups()
        head = b"%b\r\n%b" % (first, data[own.end() : end])
        if end < 4 or not len(data) - end == int(length) <= _MAX_BODY_BYTES or head not in self._heads:
            return None
        body = data[end:]
        hop = self._gate.judge(seal.decode("ascii"), head + body)
        known = None if hop is None else self._known.get((head, hop.principal.name, hop.peer))
        if hop is None or known is None:
            return None
        self._gate.note(hop)
        request = copy(known)
        request.body, request.body_bytes, request.decoded = body, len(body), None
        request.hop, request.budget_bytes = hop, 0
        return request


class _HopReader(RequestReader):
    hops: KnownHops

    def known_request(self, data: bytes) -> HttpRequest | None:
        return self.hops.request(data) if self._is_between else None


class _HopConnection(AcceptedConnection):
    def __init__(self, service: Service, connections: Connections, hops: KnownHops) -> None:
        super().__init__(service, connections)
        reader = self._reader = _HopReader(service, self._take, self._ask_for_body, self._now)
        reader.hops = hops


class HopListener(Listener):
    def __init__(self, public: Listener, gate: HopGate, app: MountedApp | None = None) -> None:
        """With the sessions of the public listener. `app`: what is served to other workers beside MCP."""
        answerer, public_app, rules, limits, sink = public.made_of
        super().__init__(answerer, app or public_app, rules, limits, sink, mcp=public.mcp)
        self._hop_gate = gate
        self._serves_app = app is not None
        self._hops = KnownHops(gate)

    def accept(self) -> AcceptedConnection:
        return _HopConnection(self.service, self.connections, self._hops)

    def judge(self, request: HttpRequest) -> None:
        hop = self._hop_gate.admit(request.fields)
        principal = None if hop.principal == NOBODY else hop.principal
        is_mcp, _ = mcp_endpoint(request.path)
        if not (is_mcp or self._serves_app) or (is_mcp and principal is None):
            raise RefusedError(
                REFUSED_HOP,
                "Replicas send one another nothing but MCP requests",
                hint="Use the public listener, [server] listen",
            )
        request.hop, request.principal, request.peer = hop, principal, hop.peer

    def decide(self, request: HttpRequest) -> Beginner | None:
        assert request.hop is not None, "the gate lets nobody in without"
        passed = passed_request(request)
        try:
            self._hop_gate.check(request.hop, passed)
        except RefusedError:
            return None  # `handle` refuses it
        beginner = super().decide(request)
        if beginner is not None:
            request.beginner = beginner
            self._hops.learn(passed.head.signed, request)
        return beginner

    def _still_admits(self, request: HttpRequest) -> bool:
        return True  # the replica that let the client in hangs up when it would not any more

    async def handle(self, request: HttpRequest, responder: Responder) -> None:
        if request.refusal is None:
            assert request.hop is not None, "the gate lets nobody in without"
            try:
                self._hop_gate.check(request.hop, passed_request(request))
            except RefusedError as error:
                request.refusal = error
        await super().handle(request, responder)
