"""Secrets out, structure kept, before anything is written or shown.

A value under a listed key (any case, any depth, also inside JSON that is held in a string) becomes "***".
A password inside a DSN is found in any text. Patterns for other secrets are not built yet.
Never raises and takes linear time, whatever the caller made up: what cannot be redacted is masked whole.
"""

from collections.abc import Iterable
from typing import Any, cast

import msgspec

from callgate.recorder.dsn import MASK, mask_passwords

DEFAULT_KEYS = ("authorization", "token", "password", "secret", "api_key", "access_token")
_MASKED_JSON = f'"{MASK}"'


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
            return msgspec.json.encode(self._clean(msgspec.json.decode(raw))).decode()
        except Exception:  # noqa: BLE001 - not JSON, not UTF-8, nested too deep, a number out of range, ...
            # Nothing of it can be told apart from a secret.
            return _MASKED_JSON

    def text(self, text: str) -> str:
        return mask_passwords(text)

    def _may_hold_a_secret(self, text: str) -> bool:
        """Cheap and never wrong towards "no": what an escape could spell (a key, "://") counts as spelled."""
        folded = text.casefold()
        return (
            "\\u" in folded or "\\/" in folded or "://" in folded or any(key in folded for key in self._keys)
        )

    def _clean(self, value: Any) -> Any:
        if isinstance(value, dict):
            members = cast(dict[str, Any], value)
            return {
                self.text(key): MASK if key.casefold() in self._keys else self._clean(member)
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
                return msgspec.json.encode(self._clean(msgspec.json.decode(stripped))).decode()
            except (msgspec.ValidationError, RecursionError):
                return MASK  # it is JSON, only not for our parser (a huge number, deep nesting)
            except msgspec.DecodeError:
                return self.text(text)
        return self.text(text)


class MaskAll(Redactor):
    """For an event that cannot be recorded as it is: that it happened is kept, nothing of what it said."""

    def json(self, raw: bytes | None) -> str | None:
        return _MASKED_JSON if raw else None

    def text(self, text: str) -> str:
        return MASK
