"""Passes whole requests on to the replica that they belong to. Implements `ports.Peers`.

Owns the signature and what a failure means. A request that may have been sent is never sent again: a hop that
breaks is `upstream.replica_lost`.
"""

import asyncio
import secrets
import time
from collections import Counter
from itertools import count

from callgate.model.errors import UpstreamError, replica_lost, replica_unreachable
from callgate.ports.peers import (
    HOP_HEADER,
    BeginningTransport,
    HomeGoneError,
    NotSentError,
    PassedAnswer,
    PassedCall,
    PassedHead,
    PassedReceiver,
    PassedRequest,
)
from callgate.replicas.hop_seal import HopClaims, HopSeal, digest_of_bytes
from callgate.replicas.members import Members

# Answers under way at a replica that stops may take some seconds; nobody waits longer for it than this.
_LEAVING_S = 2.5
_LOOK_AGAIN_S = 0.1


class HopClient:
    def __init__(self, members: Members, seal: HopSeal, transport: BeginningTransport) -> None:
        self._members = members
        self._seal = seal
        self._transport = transport
        self.outcomes: Counter[str] = Counter()  # of hops, for /metrics
        self._nonces, self._numbers = secrets.token_urlsafe(12), count()  # once is all they have to be

    async def pass_on(self, home: str, request: PassedRequest, *, is_held: bool = False) -> PassedAnswer:
        address = await self._members.address_of(home)
        is_refused = False
        if address is not None:
            try:
                payload = self._signed(home, address, request.head, request.body)
                answer = await self._transport.send(address, payload)
            except NotSentError as problem:
                is_refused = problem.is_refused
            except UpstreamError as problem:
                self.outcomes["lost"] += 1
                raise replica_lost() from problem
            else:
                if answer.status != 403:
                    self.outcomes["answered"] += 1
                    return answer
                self.outcomes["refused"] += 1
                if not await self._members.is_gone(home, is_refused=False):
                    return answer
                await answer.pieces().aclose()  # another process has its address; it was not served there
        if await self._is_gone(home, is_refused=is_refused, is_held=is_held):
            self.outcomes["gone"] += 1
            raise HomeGoneError
        self.outcomes["unreachable"] += 1
        raise replica_unreachable()

    async def _is_gone(self, home: str, *, is_refused: bool, is_held: bool) -> bool:
        """One that is leaving lets go of its sessions in a moment: that is worth waiting for."""
        if is_held and is_refused and await self._members.is_there():
            return True  # its process listens for as long as it lives
        patience = asyncio.get_running_loop().time() + _LEAVING_S
        while not await self._members.is_gone(home, is_refused=is_refused):
            if not self._members.is_leaving(home) or asyncio.get_running_loop().time() > patience:
                return False
            await asyncio.sleep(_LOOK_AGAIN_S)
        return True

    def begin(self, home: str, head: PassedHead, body: bytes, receiver: PassedReceiver) -> PassedCall | None:
        address = self._members.known_address(home)
        if address is None:
            return None
        payload = self._signed(home, address, head, body)
        return self._transport.begin(address, payload, _Counted(receiver, self.outcomes))

    def _signed(self, home: str, address: str, head: PassedHead, body: bytes) -> bytes:
        """Our fields first, so that the rest is as it was signed (`edge.hop_listener` relies on it)."""
        claims = HopClaims(
            sender=self._members.me.gateway,
            to=home,
            principal=head.principal.name,
            role=head.principal.role,
            peer=head.peer,
            issued_at=time.time(),
            nonce=f"{self._nonces}{next(self._numbers):x}",
            digest=digest_of_bytes(head.signed + body),
        )
        own = f"{HOP_HEADER}: {self._seal.seal(claims)}\r\ncontent-length: {len(body)}\r\nhost: {address}\r\n"
        return f"{head.first} HTTP/1.1\r\n{own}".encode("latin-1") + head.lines + body


class _Counted:
    """A receiver that counts what it hears."""

    __slots__ = ("_outcomes", "_receiver")

    def __init__(self, receiver: PassedReceiver, outcomes: Counter[str]) -> None:
        self._receiver = receiver
        self._outcomes = outcomes

    def answered(self, status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> None:
        self._outcomes["refused" if status == 403 else "answered"] += 1
        self._receiver.answered(status, headers, body)

    def answers(self, answer: PassedAnswer) -> None:
        self._outcomes["refused" if answer.status == 403 else "answered"] += 1
        self._receiver.answers(answer)

    def not_sent(self) -> None:
        self._receiver.not_sent()  # counted by `pass_on`, which is asked next

    def lost(self) -> None:
        self._outcomes["lost"] += 1
        self._receiver.lost()
