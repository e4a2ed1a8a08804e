"""The listener for other replicas: the same MCP endpoints as the public one, behind another gate.

Every request there is signed (`ports.HopGate`); nothing but MCP is served, except among workers. Who asks
is the client on whose behalf the other replica passes the request on.
"""

from callgate.edge.http.message import HttpRequest, Responder
from callgate.edge.listener import Listener, is_mcp_endpoint
from callgate.edge.passing_on import passed_request
from callgate.model.error_codes import REFUSED_HOP
from callgate.model.errors import RefusedError
from callgate.ports.http_app import MountedApp
from callgate.ports.peers import HopGate


class HopListener(Listener):
    def __init__(self, public: Listener, gate: HopGate, app: MountedApp | None = None) -> None:
        """With the sessions of the public listener. `app`: what is served to other workers beside MCP."""
        answerer, public_app, rules, limits, sink = public.made_of
        super().__init__(answerer, app or public_app, rules, limits, sink, mcp=public.mcp)
        self._hop_gate = gate
        self._serves_app = app is not None

    def judge(self, request: HttpRequest) -> None:
        hop = self._hop_gate.admit(request.fields)
        is_mcp = is_mcp_endpoint(request.path)
        if not (is_mcp or self._serves_app) or (is_mcp and hop.principal is None):
            raise RefusedError(
                REFUSED_HOP,
                "Replicas send one another nothing but MCP requests",
                hint="Use the public listener, [server] listen",
            )
        request.hop, request.principal, request.peer = hop, hop.principal, hop.peer

    def decide(self, request: HttpRequest) -> None:
        """Each carries a signature of its own: none is like the one before."""

    async def handle(self, request: HttpRequest, responder: Responder) -> None:
        if request.refusal is None:
            assert request.hop is not None, "the gate lets nobody in without"
            try:
                self._hop_gate.check(request.hop, passed_request(request))
            except RefusedError as error:
                request.refusal = error
        await super().handle(request, responder)
