"""The gate of the listener for replicas: who signed this request, for whom, and whether it came before.

Implements `ports.HopGate`. Must not know what a request asks for. Only nonces with a good signature are kept,
so nobody without the key can fill the memory.
"""

import hmac
import time
from collections import OrderedDict
from collections.abc import Mapping

from callgate.model.error_codes import REFUSED_HOP
from callgate.model.errors import RefusedError
from callgate.model.identity import Principal
from callgate.ports.peers import HOP_HEADER, PassedRequest, SignedHop
from callgate.replicas.hop_seal import HopClaims, HopSeal, digest_of, digest_of_bytes

# Both clocks may be wrong by some seconds; a request between replicas is sent when it is signed.
_MAX_AGE_S = 60.0
_SAME_KEY = "Give all replicas the same [server] state_key"
_CLOCKS = "Set the clocks of all replicas by NTP"


class SignedHopGate:
    def __init__(self, seal: HopSeal, gateway: str) -> None:
        self._seal = seal
        self._gateway = gateway
        self._seen: OrderedDict[str, float] = OrderedDict()  # nonces, by when they may be forgotten

    def admit(self, fields: Mapping[str, str]) -> SignedHop:
        claims = self._seal.open(fields.get(HOP_HEADER, ""))
        if claims is None:
            raise _refused("it is not signed with the key of this gateway", _SAME_KEY)
        if claims.to != self._gateway:
            raise _refused("it is for another replica", "Nothing: the sender finds out by itself")
        now_s = time.time()
        if abs(now_s - claims.issued_at) > _MAX_AGE_S:
            raise _refused(f"it was signed more than {_MAX_AGE_S:g} s ago, or in the future", _CLOCKS)
        if claims.nonce in self._seen:
            raise _refused("it came before", "Find out who repeats requests between replicas")
        hop = _hop_of(claims)
        self.note(hop)
        return hop

    def judge(self, seal: str, signed: bytes) -> SignedHop | None:
        claims = self._seal.open(seal)
        now_s = time.time()
        if (
            claims is None
            or claims.to != self._gateway
            or abs(now_s - claims.issued_at) > _MAX_AGE_S
            or claims.nonce in self._seen
            or not hmac.compare_digest(digest_of_bytes(signed), claims.digest)
        ):
            return None
        return _hop_of(claims)

    def note(self, hop: SignedHop) -> None:
        now_s = time.time()
        self._forget_old(now_s)
        self._seen[hop.nonce] = max(now_s, hop.issued_at) + _MAX_AGE_S

    def check(self, hop: SignedHop, request: PassedRequest) -> None:
        if digest_of(request) != hop.digest:
            raise _refused("it was changed on its way", "Find out what stands between the replicas")

    def _forget_old(self, now_s: float) -> None:
        while self._seen:
            nonce, until_s = next(iter(self._seen.items()))
            if until_s >= now_s:
                return
            del self._seen[nonce]


def _hop_of(claims: HopClaims) -> SignedHop:
    principal = Principal(claims.principal, claims.role)
    return SignedHop(principal, claims.peer, claims.digest, claims.nonce, claims.issued_at)


def _refused(why: str, hint: str) -> RefusedError:
    return RefusedError(REFUSED_HOP, f"This request between replicas is refused: {why}", hint=hint)
