"""`requestState`: the sealed handle of a parked call, which travels through the client and back. Pure.

Whatever comes back is hostile until the seal is checked (2026-07-28, basic/patterns/mrtr, server
requirements). The claims say whose it is, for which request, and until when; that it is used once only the
holder of the parked calls can say.
"""

import base64
import binascii
import hashlib
import hmac

import msgspec

from callgate.wire.json_rpc import NOT_READABLE

_PREFIX = "cg1."
_MAX_CHARS = 4096  # ours are under 400; nobody is to make us hash megabytes


class StateClaims(msgspec.Struct, frozen=True, array_like=True):
    gateway: str  # the running process that parked the call: after a restart nobody can resume it
    handle: str
    principal: str
    expires_at: float  # wall clock, seconds
    digest: str  # of the request: `input_required.request_digest`


class StateSeal:
    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, claims: StateClaims) -> str:
        body = _text(msgspec.json.encode(claims))
        return f"{_PREFIX}{body}.{_text(self._mac(body))}"

    def open(self, state: str) -> StateClaims | None:
        """None: not made with this key, so forged, or another server's."""
        if not state.startswith(_PREFIX) or len(state) > _MAX_CHARS or not state.isascii():
            return None
        body, _, mac = state.removeprefix(_PREFIX).partition(".")
        if not hmac.compare_digest(_text(self._mac(body)), mac):
            return None
        try:
            return msgspec.json.decode(
                base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=StateClaims
            )
        except (*NOT_READABLE, binascii.Error):
            return None

    def _mac(self, body: str) -> bytes:
        return hmac.new(self._key, body.encode(), hashlib.sha256).digest()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
