"""What every kind of value is, and the plain ones: texts, numbers, true or false.

What a variable or a flag holds is text, so numbers and true or false are read from text as well.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from callgate.config.problem import Loc
from callgate.config.reading.mistakes import INVALID, Mistake
from callgate.config.secret import MASK, Secret

_TRUE = ("1", "on", "t", "true", "y", "yes")
_FALSE = ("0", "off", "f", "false", "n", "no")
# Python refuses more digits itself.
_MAX_DIGITS = 4300

Found = list[Mistake]
Schema = dict[str, Any]


class Kind(ABC):
    is_collection: bool = False
    describes_bounds: bool = False

    @abstractmethod
    def read(self, value: Any, at: Loc, found: Found) -> Any:
        """What is kept; INVALID after a mistake was added."""

    def show(self, value: Any, is_effective: bool) -> Any:
        """As JSON, secrets masked."""
        del is_effective
        return value

    @abstractmethod
    def schema(self, named: dict[str, Schema]) -> Schema:
        """JSON Schema; tables are put among the named ones."""


class KeyTable(ABC):
    """A spec, as far as the key that holds it needs to know."""

    @classmethod
    @abstractmethod
    def read_table(cls, table: Mapping[str, Any], at: Loc, found: Found) -> Any: ...

    @abstractmethod
    def shown(self, is_effective: bool = False) -> dict[str, Any]: ...

    @classmethod
    @abstractmethod
    def table_schema(cls, named: dict[str, Schema]) -> Schema: ...


class _Plain(Kind):
    describes_bounds = True

    def __init__(self, parse: Callable[[Any], Any], message: str, json_type: str) -> None:
        self._parse = parse
        self._message = message
        self._json_type = json_type

    def read(self, value: Any, at: Loc, found: Found) -> Any:
        made = self._parse(value)
        if made is None:
            found.append(Mistake(at, "other", self._message))
            return INVALID
        return made

    def show(self, value: Any, is_effective: bool) -> Any:
        return MASK if isinstance(value, Secret) else value

    def schema(self, named: dict[str, Schema]) -> Schema:
        return {"type": self._json_type}


def _text(value: Any) -> str | None:
    """JSON can hold halves of characters, which cannot be written anywhere."""
    if not isinstance(value, str):
        return None
    return None if any("\ud800" <= one <= "\udfff" for one in value) else value


def _secret(value: Any) -> Secret | None:
    if isinstance(value, Secret):
        return value
    text = _text(value)
    return None if text is None else Secret(text)


def _whole_number(value: Any) -> int | None:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if not isinstance(value, str) or not value.isascii() or len(value) > _MAX_DIGITS:
        return None
    digits, point, zeros = value.strip().partition(".")
    try:
        return int(digits) if not point or (zeros and not zeros.strip("0")) else None
    except ValueError:
        return None


def _number(value: Any) -> float | None:
    if not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _true_or_false(value: Any) -> bool | None:
    if isinstance(value, str):
        word = value.lower()
        return True if word in _TRUE else False if word in _FALSE else None
    return bool(value) if isinstance(value, (int, float)) and value in (0, 1) else None


PLAIN_KINDS: Mapping[Any, Kind] = {
    str: _Plain(_text, "a string is expected", "string"),
    Secret: _Plain(_secret, "a string is expected", "string"),
    int: _Plain(_whole_number, "a whole number is expected", "integer"),
    float: _Plain(_number, "a number is expected", "number"),
    bool: _Plain(_true_or_false, "true or false is expected", "boolean"),
}
