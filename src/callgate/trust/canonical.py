"""Reads a definition, and makes its one spelling and its digest. Pure.

Order of members and blanks do not count; everything else does, also the digits of a number that are lost when
it is read. A member that is given twice is refused: one reader takes the first, another the last. What cannot
be read has the digest of its bytes.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, cast

from callgate.trust.definition_texts import DefinitionTexts, TooDeepError

_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class UnreadableError(Exception):
    """Why a definition cannot be read in one way only."""


@dataclass(frozen=True, slots=True)
class ReadDefinition:
    value: Any
    texts: DefinitionTexts
    numbers: tuple[str, ...] = ()  # that we would write otherwise: a text of digits can be hidden in one

    def member(self, key: str) -> str:
        """Empty where it is no text, or not there."""
        value: Any = self.value
        told: Any = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else ""
        return told if isinstance(told, str) else ""

    @property
    def digest(self) -> str:
        told = "\0".join((_CANONICAL.encode(self.value), *sorted(self.numbers)))  # no JSON has a NUL
        return _sha256(told.encode(errors="surrogatepass"))


def read_definition(definition: bytes) -> ReadDefinition:
    """Raises UnreadableError."""
    numbers: list[str] = []

    def read_float(text: str) -> float:
        number = float(text)
        if repr(number) != text:
            numbers.append(text)
        return number

    try:
        value: Any = json.loads(definition.decode(), parse_float=read_float)
        texts = DefinitionTexts(value)
    except (RecursionError, TooDeepError):
        raise UnreadableError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise UnreadableError("it is not UTF-8") from None
    except ValueError as problem:
        raise UnreadableError(str(problem)[:100]) from None
    if _says_twice(definition, texts):
        raise UnreadableError("it gives a member twice")
    return ReadDefinition(value, texts, tuple(numbers))


def digest_of_unreadable(definition: bytes) -> str:
    return _sha256(b"\0" + definition)  # no JSON begins so


def _sha256(told: bytes) -> str:
    return f"sha256:{hashlib.sha256(told).hexdigest()}"


def _says_twice(definition: bytes, texts: DefinitionTexts) -> bool:
    """Each member has a colon, and all others are inside of strings: one that was dropped leaves its own.
    Counting is several times faster than a look at the members of each object."""
    if b"\\u003a" in definition.lower():  # a colon that is not counted
        try:
            json.loads(definition, object_pairs_hook=_members)
        except UnreadableError:
            return True
        return False
    return definition.count(b":") != texts.members + texts.together.count(":")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise UnreadableError
    return members
