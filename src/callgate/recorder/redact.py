"""Secrets out, structure kept, before anything is written or shown.

A value under a listed key (any case, any depth, also inside JSON that is held in a string) becomes "***".
A password inside a DSN is found in any text. Patterns for other secrets are not built yet.
"""

import re
from collections.abc import Iterable
from typing import Any, cast

import msgspec

DEFAULT_KEYS = ("authorization", "token", "password", "secret", "api_key", "access_token")
MASK = "***"

# Passwords that a statement or an error message spells out: user:password@host in a DSN.
_DSN_PASSWORD = re.compile(r"(?P<head>[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+(?=@)", re.IGNORECASE)


class Redactor:
    def __init__(self, extra_keys: Iterable[str] = ()) -> None:
        self._keys = frozenset(key.casefold() for key in (*DEFAULT_KEYS, *extra_keys))

    def json(self, raw: bytes | None) -> str | None:
        """Raw JSON as text to be stored. Text without a listed key keeps its exact bytes."""
        if not raw:
            return None
        text = raw.decode(errors="replace")
        if not self._may_hold_a_secret(text):
            return text
        try:
            value: Any = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            # Not JSON after all: nothing of it can be told apart from a secret.
            return msgspec.json.encode(MASK).decode()
        return msgspec.json.encode(self._clean(value)).decode()

    def text(self, text: str) -> str:
        return _DSN_PASSWORD.sub(rf"\g<head>{MASK}", text)

    def _may_hold_a_secret(self, text: str) -> bool:
        """Cheap and never wrong towards "no": an escaped character could spell a key, so it counts as one."""
        folded = text.casefold()
        return "\\u" in folded or "://" in folded or any(key in folded for key in self._keys)

    def _clean(self, value: Any) -> Any:
        if isinstance(value, dict):
            members = cast(dict[str, Any], value)
            return {
                key: MASK if key.casefold() in self._keys else self._clean(member)
                for key, member in members.items()
            }
        if isinstance(value, list):
            return [self._clean(item) for item in cast(list[Any], value)]
        if isinstance(value, str):
            return self._clean_string(value)
        return value

    def _clean_string(self, text: str) -> str:
        stripped = text.lstrip()
        if stripped[:1] in ("{", "[") and self._may_hold_a_secret(text):
            try:
                inner: Any = msgspec.json.decode(stripped)
            except (msgspec.DecodeError, RecursionError):
                return self.text(text)
            return msgspec.json.encode(self._clean(inner)).decode()
        return self.text(text)
