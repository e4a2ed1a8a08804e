"""Claims that travel through others and come back: readable by anybody, made only by who has the key. Pure.

Whatever comes back is hostile until its MAC was checked. That it is used once, only its maker can say.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Generic, TypeVar

import msgspec

from callgate.model.error_codes import CALLER_REQUEST_STATE
from callgate.model.errors import CallerError
from callgate.wire.eras.input_required import CALL_ANEW
from callgate.wire.json_rpc import NOT_READABLE

_MAX_CHARS = 4096  # ours are under 700; nobody is to make us hash megabytes
_Claims = TypeVar("_Claims", bound=msgspec.Struct)


class ClaimsSeal(Generic[_Claims]):
    def __init__(self, key: bytes, kind: type[_Claims], prefix: str = "") -> None:
        # With the key in it already: a copy is cheaper than to begin anew.
        self._begun = hmac.new(key, digestmod=hashlib.sha256)
        self._kind = kind
        self._prefix = prefix

    def seal(self, claims: _Claims) -> str:
        body = _text(msgspec.json.encode(claims))
        return f"{self._prefix}{body}.{_text(self._mac(body))}"

    def open(self, text: str) -> _Claims | None:
        """None: not made with this key, so forged, or somebody else's."""
        if not text.startswith(self._prefix) or len(text) > _MAX_CHARS or not text.isascii():
            return None
        body, _, mac = text.removeprefix(self._prefix).partition(".")
        if not hmac.compare_digest(_text(self._mac(body)), mac):
            return None
        try:
            padded = body + "=" * (-len(body) % 4)
            return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=self._kind)
        except (*NOT_READABLE, binascii.Error):
            return None

    def _mac(self, body: str) -> bytes:
        mac = self._begun.copy()
        mac.update(body.encode())
        return mac.digest()


class StateClaims(msgspec.Struct, frozen=True, array_like=True):
    """`requestState`: the handle of a parked call (2026-07-28, basic/patterns/mrtr, server requirements)."""

    gateway: str  # the running process that parked the call: after a restart nobody can resume it
    handle: str
    principal: str
    expires_at: float  # wall clock, seconds
    digest: str  # of the request: `input_required.request_digest`

    def problem(self, principal: str, digest: str, now_s: float) -> CallerError | None:
        """What is wrong with it when this principal sends it with this request: every process can tell."""
        if self.principal != principal:
            return CallerError(
                CALLER_REQUEST_STATE, "This requestState belongs to somebody else", hint=CALL_ANEW
            )
        if self.digest != digest:
            return CallerError(
                CALLER_REQUEST_STATE,
                "This requestState belongs to another request",
                hint="A retry repeats the params of the request that was answered with input_required",
            )
        if self.expires_at < now_s:
            return CallerError(
                CALLER_REQUEST_STATE,
                "This requestState has expired: the answer came too late and the call was cancelled",
                hint=CALL_ANEW,
            )
        return None


class StateSeal(ClaimsSeal[StateClaims]):
    def __init__(self, key: bytes) -> None:
        super().__init__(key, StateClaims, "cg1.")


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
