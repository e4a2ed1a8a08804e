"""Ids that any replica can judge without asking anybody. Pure.

A handshake id names the replica that answered `initialize`, and its MAC binds that, the random part and the
principal: `cg2.<home>.<random>.<mac>`. A modern session's id is a digest of what makes the session and of the
stretch of time (`session_gap`) in which it began: two replicas make the same one without talking.
"""

import base64
import hashlib
import hmac
import re
import secrets

from callgate.model.identity import new_exchange_id

_HANDSHAKE_ID = re.compile(r"cg2\.([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{22})")
GATEWAY_NAME = re.compile(r"[A-Za-z0-9_-]{8}")
_RANDOM_BYTES = 32  # whoever knows the id is in the session (2025-11-25, transports)
_MAC_BYTES = 16


def new_gateway_name() -> str:
    return secrets.token_urlsafe(6)


def derived_key(state_key: bytes, label: str) -> bytes:
    """A key of its own for each use. A space is in no sealed text, so no label is one."""
    return hmac.new(state_key, f"callgate {label}".encode(), hashlib.sha256).digest()


def joined(parts: tuple[str | None, ...]) -> bytes:
    """Unambiguous: no part can pretend to be two, and nothing is not the empty text."""
    encoded = [b"-" if part is None else b"%d:%b" % (len(raw := part.encode()), raw) for part in parts]
    return b",".join(encoded)


class SealedIds:
    def __init__(self, state_key: bytes, gateway: str, gap_s: float) -> None:
        self._handshake_key = derived_key(state_key, "session")
        self._modern_key = derived_key(state_key, "modern session")
        self._gateway = gateway
        self._gap_s = gap_s

    def new_handshake_id(self, principal: str) -> str:
        random = secrets.token_urlsafe(_RANDOM_BYTES)
        return f"cg2.{self._gateway}.{random}.{self._mac(self._gateway, random, principal)}"

    def home_in(self, handshake_id: str, principal: str) -> str | None:
        match = _HANDSHAKE_ID.fullmatch(handshake_id)
        if match is None:
            return None
        home, random, mac = match.groups()
        return home if hmac.compare_digest(self._mac(home, random, principal), mac) else None

    def _mac(self, home: str, random: str, principal: str) -> str:
        mac = hmac.new(self._handshake_key, joined((home, random, principal)), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(mac[:_MAC_BYTES]).decode().rstrip("=")

    def modern(self, parts: tuple[str | None, ...], now_s: float) -> tuple[str, str]:
        """The key of the session in the directory, and the id that it has if it begins now."""
        key = hmac.new(self._modern_key, joined(parts), hashlib.sha256)
        began_s = now_s // self._gap_s * self._gap_s
        key_text = key.hexdigest()
        key.update(f"@{began_s:.0f}".encode())
        return f"m{key_text}", new_exchange_id(began_s, key.digest()[:10])


def directory_key(handshake_id: str) -> str:
    """Under which the directory has it: who reads the directory is not in the session."""
    return f"h{hashlib.sha256(handshake_id.encode()).hexdigest()}"
