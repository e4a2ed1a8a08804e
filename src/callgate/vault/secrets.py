"""Secrets by name, sealed in `state.db`.

Rules
1. Each is sealed for itself with AES-256-GCM. Its name is part of what is authenticated: a row that was moved
   under another name does not open.
2. The first byte says which key it was sealed with. The key is derived (HKDF) from the state key, or is in
   the system's keyring (`keyring_key`).
3. An error names the secret and what to do, never a value.

Must not know what a secret is used for, nor where the state key comes from.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from callgate.model.error_codes import SETUP_SECRET
from callgate.model.errors import SetupError
from callgate.model.near_miss import did_you_mean
from callgate.vault.state_db import SealedSecret, StateDb

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

BY_STATE_KEY = b"\x01"
BY_KEYRING = b"\x02"
MAX_SECRET_BYTES = 64 * 1024
_NONCE_BYTES = 12
_LABEL = b"callgate secret"


@dataclass(frozen=True, slots=True)
class KeptSecret:
    name: str
    changed_at: datetime
    is_readable: bool


class Secrets:
    """Every method raises SetupError."""

    def __init__(self, state: StateDb, keys: Mapping[bytes, Callable[[], bytes]]) -> None:
        """`keys`: how to get each key, by its byte."""
        self._state = state
        self._keys = keys

    def set(self, name: str, value: str, kind: bytes) -> None:
        """`kind`: the key it is sealed with."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher(kind).encrypt(nonce, value.encode(), _bound_to(kind, name))
        self._state.put_secret(name, kind + nonce + sealed)

    def read(self, name: str) -> str:
        found = self._state.secret(name)
        if found is None:
            near = did_you_mean(name, [one.name for one in self._state.secrets()])
            hint = f"{near} Set it with: callgate secret set {name}".strip()
            raise SetupError(SETUP_SECRET, f'There is no secret "{name}"', hint=hint)
        return self._opened(found)

    def kept(self) -> Sequence[KeptSecret]:
        return [
            KeptSecret(one.name, datetime.fromtimestamp(one.changed_at, UTC), self._is_readable(one))
            for one in self._state.secrets()
        ]

    def remove(self, name: str) -> bool:
        """Whether there was one."""
        return self._state.remove_secret(name)

    def _is_readable(self, found: SealedSecret) -> bool:
        try:
            self._opened(found)
        except SetupError:
            return False
        return True

    def _opened(self, found: SealedSecret) -> str:
        from cryptography.exceptions import InvalidTag

        kind, nonce = found.sealed[:1], found.sealed[1 : 1 + _NONCE_BYTES]
        sealed = found.sealed[1 + _NONCE_BYTES :]
        if kind not in self._keys:
            raise _unreadable(found.name, "it is cut or damaged", "Set")
        try:
            return self._cipher(kind).decrypt(nonce, sealed, _bound_to(kind, found.name)).decode()
        except (InvalidTag, ValueError):
            why = "it was sealed with another key, or its row was changed"
        raise _unreadable(found.name, why, "Bring the state_key back that it was set with, or set")

    def _cipher(self, kind: bytes) -> "AESGCM":
        # Imported late: most commands read no secret.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        derived = HKDF(SHA256(), length=32, salt=None, info=_LABEL + kind).derive(self._keys[kind]())
        return AESGCM(derived)


def _bound_to(kind: bytes, name: str) -> bytes:
    return _LABEL + kind + name.encode()


def _unreadable(name: str, why: str, hint: str) -> SetupError:
    return SetupError(
        SETUP_SECRET,
        f'The secret "{name}" cannot be read: {why}',
        hint=f"{hint} it again with: callgate secret set {name}",
    )
