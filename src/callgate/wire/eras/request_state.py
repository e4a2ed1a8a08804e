"""`requestState`: the sealed handle of a parked call, which travels through the client and back. Pure.

Whatever comes back is hostile until the seal is checked (2026-07-28, basic/patterns/mrtr, server
requirements). The claims say whose it is, for which request, and until when; that it is used once only the
holder of the parked calls can say.
"""

import msgspec

from callgate.wire.sealed_claims import ClaimsSeal


class StateClaims(msgspec.Struct, frozen=True, array_like=True):
    gateway: str  # the running process that parked the call: after a restart nobody can resume it
    handle: str
    principal: str
    expires_at: float  # wall clock, seconds
    digest: str  # of the request: `input_required.request_digest`


class StateSeal(ClaimsSeal[StateClaims]):
    def __init__(self, key: bytes) -> None:
        super().__init__(key, StateClaims, "cg1.")
