"""What a request between replicas is signed with, and what the signature covers. Pure.

Whoever has the operator's `state_key` may speak as any principal, so the signature covers all that decides:
who sent it, for which replica, on whose behalf, when, and a digest of the whole request.
"""

import hashlib

import msgspec

from callgate.model.identity import Role
from callgate.ports.peers import PassedRequest
from callgate.replicas.sealed_ids import derived_key
from callgate.wire.sealed_claims import ClaimsSeal


class HopClaims(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    sender: str
    to: str
    principal: str
    peer: str | None  # the client's address
    issued_at: float  # wall clock, seconds
    nonce: str
    digest: str
    role: Role = Role.CALL


class HopSeal(ClaimsSeal[HopClaims]):
    def __init__(self, state_key: bytes) -> None:
        super().__init__(derived_key(state_key, "hop"), HopClaims)


def digest_of(request: PassedRequest) -> str:
    return digest_of_bytes(request.head.signed + request.body)


def digest_of_bytes(signed: bytes) -> str:
    return hashlib.sha256(signed).hexdigest()
