"""Secrets out, structure kept, before anything is written or shown.

1. A value under a listed key (any case, any depth, also inside JSON that is held in a string) becomes "***",
   and so do the cells of a column of that name (`listed_columns`).
2. In any text: what looks like a secret (`secret_patterns`), a password inside a DSN, and `key=value` or
   `key: value` of a listed key.
3. Text in which nothing was found keeps its exact bytes.
4. Never raises and takes linear time, whatever the caller made up: what cannot be redacted is masked whole.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from callgate.recorder.dsn import MASK, mask_passwords
from callgate.recorder.listed_columns import with_masked_columns
from callgate.recorder.needles import Mask, Needles
from callgate.recorder.secret_patterns import KINDS
from callgate.recorder.sieve import Sieve

DEFAULT_KEYS = ("authorization", "token", "password", "secret", "api_key", "access_token")
MASKED_JSON = f'"{MASK}"'.encode()

# What is longer and under suspicion is masked whole: taking a document apart holds the interpreter's lock,
# and nobody reads a megabyte in the record.
_MAX_PARSED_BYTES = 1024 * 1024
# Escapes can spell any of the others: what an ASCII character or a slash is written as counts as found.
_ESCAPES = r"\\u00[0-7]|\\u017[fF]|\\u212[aA]|\\/"
_ANY_ESCAPE = r"\\u|\\/"
_DSN = r"://[^\t\n\f\r \"'`/:]*:"
_SPELLED_BREAK = r"\\[nrt]"
_WORD_BEGINS = re.compile(r"\\b(?=[A-Za-z0-9(\[])")
# Letters, digits, a few signs, classes and repetitions of them; no anchors, no ".", nothing negated.
_PLAIN_PATTERN = re.compile(r"(?:[A-Za-z0-9_@#:,{}()|+*?-]|\[[A-Za-z0-9_-]+\]|\\[dw.-])+")


class Redactor:
    """What is looked for; the same for every thread."""

    def __init__(self, extra_keys: Iterable[str] = (), extra_patterns: Sequence[str] = ()) -> None:
        self.keys = frozenset(key.lower() for key in (*DEFAULT_KEYS, *extra_keys) if key)
        self.patterns = tuple(extra_patterns)
        spelled = "|".join(map(_quoted, sorted(self.keys)))
        is_ascii = all(key.isascii() for key in self.keys) and not extra_patterns
        hints = [f"(?i){spelled}", _DSN, *(kind.hint for kind in KINDS), *map(_hint_of, extra_patterns)]
        hints.append(_ESCAPES if is_ascii else _ANY_ESCAPE)
        self._hints = Needles(hints)
        # Ours are known to mean the same to both libraries; of an operator's nobody knows.
        self._sieve = Sieve(hints) if is_ascii else None
        named = Mask(
            rf"(?i)((?:^|[^a-z0-9]|{_SPELLED_BREAK})(?:{spelled})\\*[\"']?\s*[:=]\s*)"
            r"(?:\\*\"[^\"]*\"?|\\*'[^']*'?|[^\s,;&}\])\"']+)"
        )
        credentials = Mask(r"(?i)(authorization\\*[\"']?\s*[:=]\s*)[^\r\n\"',;}\\]+")
        forms = [(Mask(_beginning_anywhere(kind.form)),) for kind in KINDS]
        forms += [(Mask(pattern),) for pattern in extra_patterns]
        # In the order of the hints; a DSN has a scan of its own.
        self._masks: list[tuple[Mask, ...]] = [(credentials, named), (), *forms, ()]

    @classmethod
    def of_all(cls, redactors: "Iterable[Redactor]") -> "Redactor":
        """What is clean for it is clean for each of them: one look instead of many."""
        every = tuple(redactors)
        keys = {key for one in every for key in one.keys}
        patterns = dict.fromkeys(pattern for one in every for pattern in one.patterns)
        return cls(keys, tuple(patterns))

    def is_clean(self, hay: bytes) -> bool:
        """Cheap (0.2 or 1.5 ns a byte), never wrong towards "yes"; over many texts and raw JSON at once."""
        if self._sieve is not None and self._sieve.catches_nothing(hay):
            return True
        return not self._hints.found(hay)

    def body(self, raw: bytes | None) -> bytes | None:
        """Raw JSON as it is stored, in valid UTF-8."""
        if not raw:
            return None
        if self.is_clean(raw):
            return _utf8(raw)
        if len(raw) > _MAX_PARSED_BYTES:
            return MASKED_JSON
        try:
            return msgspec.json.encode(self._clean(msgspec.json.decode(raw)))
        except Exception:  # noqa: BLE001 - not JSON, not UTF-8, nested too deep, a number out of range, ...
            # Nothing of it can be told apart from a secret.
            return MASKED_JSON

    def json(self, raw: bytes | None) -> str | None:
        body = self.body(raw)
        return None if body is None else body.decode()

    def text(self, text: str) -> str:
        raw = text.encode(errors="surrogatepass")
        found = self._hints.found(raw)
        if not found:
            return text
        for place in found:
            for mask in self._masks[place]:
                raw = mask.apply(raw)
        return mask_passwords(raw.decode(errors="surrogatepass"))

    def _clean(self, value: Any) -> Any:
        if isinstance(value, dict):
            members = with_masked_columns(cast(dict[str, Any], value), self.keys)
            return {
                self.text(key): MASK if key.lower() in self.keys else self._clean(member)
                for key, member in members.items()
            }
        if isinstance(value, list):
            return [self._clean(item) for item in cast(list[Any], value)]
        if isinstance(value, str):
            return self._clean_string(value)
        return value

    def _clean_string(self, text: str) -> str:
        if text.lstrip()[:1] not in ("{", "["):
            return self.text(text)
        raw = text.encode(errors="surrogatepass")
        if self.is_clean(raw):
            return text
        try:
            return msgspec.json.encode(self._clean(msgspec.json.decode(raw))).decode()
        except (msgspec.ValidationError, RecursionError):
            return MASK  # it is JSON, only not for our parser (a huge number, deep nesting)
        except msgspec.DecodeError:
            return self.text(text)


class MaskAll(Redactor):
    """For an event that cannot be recorded as it is: that it happened is kept, nothing of what it said."""

    def __init__(self) -> None:
        pass

    def body(self, raw: bytes | None) -> bytes | None:
        return MASKED_JSON if raw else None

    def text(self, text: str) -> str:
        return MASK


class KnownClean(Redactor):
    """For what was looked through already, whole groups at a time."""

    def __init__(self) -> None:
        pass

    def body(self, raw: bytes | None) -> bytes | None:
        return _utf8(raw) if raw else None

    def text(self, text: str) -> str:
        return text


def _utf8(raw: bytes) -> bytes:
    """Itself, unless it is something else."""
    if raw.isascii():
        return raw
    try:
        raw.decode()
    except UnicodeDecodeError:
        return raw.decode(errors="replace").encode()
    return raw


def _beginning_anywhere(form: str) -> str:
    """A word may begin behind a line break that is spelled: `\\nAKIA…`, as in JSON that was cut."""
    return _WORD_BEGINS.sub(lambda _: rf"(?:\b|{_SPELLED_BREAK})", form)


def _hint_of(pattern: str) -> str:
    """A pattern of the operator's as it would be found in raw JSON: itself when it speaks only of characters
    that JSON leaves alone, else anywhere, which makes every text worth a closer look."""
    return pattern if _PLAIN_PATTERN.fullmatch(pattern) else "(?s)."


def _quoted(key: str) -> str:
    return "".join(char if char.isalnum() or char == "_" else rf"\x{{{ord(char):x}}}" for char in key)
