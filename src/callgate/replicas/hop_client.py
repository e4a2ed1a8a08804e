"""Passes whole requests on to the replica that they belong to. Implements `ports.Peers`.

Owns the signature and what a failure means. A request that may have been sent is never sent again: a hop that
breaks is `upstream.replica_lost`.
"""

import asyncio
import secrets
import time

from callgate.model.errors import UpstreamError, replica_lost, replica_unreachable
from callgate.ports.peers import (
    HOP_HEADER,
    HomeGoneError,
    NotSentError,
    PassedAnswer,
    PassedRequest,
    PeerTransport,
)
from callgate.replicas.hop_seal import HopClaims, HopSeal, digest_of
from callgate.replicas.members import Members

# Answers under way at a replica that stops may take some seconds; nobody waits longer for it than this.
_LEAVING_S = 2.5
_LOOK_AGAIN_S = 0.1


class HopClient:
    def __init__(self, members: Members, seal: HopSeal, transport: PeerTransport) -> None:
        self._members = members
        self._seal = seal
        self._transport = transport

    async def pass_on(self, home: str, request: PassedRequest) -> PassedAnswer:
        address = await self._members.address_of(home)
        is_refused = False
        if address is not None:
            try:
                return await self._transport.send(address, self._payload(home, address, request))
            except NotSentError as problem:
                is_refused = problem.is_refused
            except UpstreamError as problem:
                raise replica_lost() from problem
        if await self._is_gone(home, is_refused=is_refused):
            raise HomeGoneError
        raise replica_unreachable()

    async def _is_gone(self, home: str, *, is_refused: bool) -> bool:
        """One that is leaving lets go of its sessions in a moment: that is worth waiting for."""
        patience = asyncio.get_running_loop().time() + _LEAVING_S
        while not await self._members.is_gone(home, is_refused=is_refused):
            if not self._members.is_leaving(home) or asyncio.get_running_loop().time() > patience:
                return False
            await asyncio.sleep(_LOOK_AGAIN_S)
        return True

    def _payload(self, home: str, address: str, request: PassedRequest) -> bytes:
        claims = HopClaims(
            sender=self._members.me.gateway,
            to=home,
            principal=None if request.principal is None else request.principal.name,
            peer=request.peer,
            issued_at=time.time(),
            nonce=secrets.token_urlsafe(12),
            digest=digest_of(request),
        )
        lines = "".join(f"{name}: {value}\r\n" for name, value in request.headers)
        head = f"{request.method} {request.path} HTTP/1.1\r\nhost: {address}\r\n{lines}"
        head += f"{HOP_HEADER}: {self._seal.seal(claims)}\r\ncontent-length: {len(request.body)}\r\n\r\n"
        return head.encode("latin-1") + request.body
