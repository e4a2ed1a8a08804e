"""Secrets in a JSON document, by the names of its members; texts and numbers in it are another's business.

`{"password": "x"}`, `{"name": "password", "value": "x"}`, `["--password", "x"]`, tables with such a column,
and schemas: what a schema says of a password stays, what it gives as its default or example does not.
"""

from collections.abc import Callable
from typing import Any, cast

from callgate.recorder.redact.dsn import MASK
from callgate.recorder.redact.json_tables import USERS, KindOf, masked_rows, with_masked_columns
from callgate.recorder.redact.secret_names import NameKind, word_set
from callgate.recorder.redact.secret_values import is_secret_value, looks_made_up

_NAME_MEMBERS = word_set(
    """
    name key id type field label property header variable param parameter parameterkey selector
    element
    """
)
_VALUE_MEMBERS = word_set(
    """
    value val text parametervalue default example content
    """
)
_INPUTS = (" field", " input", " box", " textbox")
_SCHEMA_TYPES = frozenset(("string", "object", "array", "number", "integer", "boolean", "null"))
_SCHEMA_MARKS = ("$ref", "anyOf", "oneOf", "allOf")
_SCHEMA_WORDS = frozenset(("type", "format", "title", "description", "pattern", "$ref", "contentEncoding"))
_SCHEMA_PARTS = frozenset(("items", "anyOf", "oneOf", "allOf", "additionalProperties", "not", "prefixItems"))
# A number of so many digits may be a code that was sent by SMS.
_CODE = 100_000


# What stands under these is judged only if it is a text.
_JUDGED_STRINGS = (NameKind.AUTH, NameKind.LONE_PASS, NameKind.DSN, NameKind.PHRASE)
_MAX_KEYS = 4096
_MAX_KEY_CHARS = 100


class DocumentCleaner:
    def __init__(
        self, kind_of: KindOf, clean_text: Callable[[str], str], clean_number: Callable[[int], int | str]
    ) -> None:
        self._kind_of = kind_of
        self._clean_text = clean_text
        self._clean_number = clean_number
        # What is known of a key: rows repeat theirs, and to look costs more than all the rest.
        self._keys: dict[str, tuple[NameKind | None, str]] = {}

    def clean(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._object(cast(dict[str, Any], value))
        if isinstance(value, list):
            return self._array(cast(list[Any], value))
        if isinstance(value, str):
            return self._clean_text(value)
        return self._clean_number(value) if type(value) is int else value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        members = self._with_masked_value(with_masked_columns(value, self._kind_of, self._hidden))
        cleaned: dict[str, Any] = {}
        for key, member in members.items():
            kind, written = self._keys.get(key) or self._about_key(key)
            if kind is NameKind.PASS and not any(other.lower().startswith(USERS) for other in members):
                kind = NameKind.LONE_PASS
            cleaned[written] = self.clean(member) if kind is None else self._under(kind, member, key)
        return cleaned

    def _about_key(self, key: str) -> tuple[NameKind | None, str]:
        about = self._kind_of(key), self._clean_text(key)
        if len(self._keys) < _MAX_KEYS and len(key) <= _MAX_KEY_CHARS:
            self._keys[key] = about
        return about

    def _array(self, items: list[Any]) -> list[Any]:
        if len(items) > 1 and isinstance(items[0], list):
            items = [
                items[0],
                *masked_rows(cast(list[Any], items[0]), items[1:], self._kind_of, self._hidden),
            ]
        cleaned: list[Any] = []
        flag: NameKind | None = None
        for place, item in enumerate(items):
            if not isinstance(item, str):
                cleaned.append(self.clean(item))
                flag = None
                continue
            is_told = flag is not None and not item.startswith("-") and is_secret_value(flag, item)
            is_pair = place == 1 and len(items) == 2 and self._is_named_by(items[0], item)
            cleaned.append(MASK if is_told or is_pair else self._clean_text(item))
            flag = self._kind_of(item) if item.startswith("-") else None
        return cleaned

    def _is_named_by(self, name: Any, value: str) -> bool:
        kind = self._kind_of(name) if isinstance(name, str) else None
        return kind is not None and looks_made_up(value) and is_secret_value(kind, value)

    def _with_masked_value(self, members: dict[str, Any]) -> dict[str, Any]:
        """`{"name": "password", "value": "x"}`."""
        kind = None
        for key, name in members.items():
            if isinstance(name, str) and key.lower() in _NAME_MEMBERS:
                kind = kind or self._kind_of(_without_input(name))
        if kind is None or kind is NameKind.PASS:
            return members
        return {
            key: self._under(kind, member, "") if key.lower() in _VALUE_MEMBERS else member
            for key, member in members.items()
        }

    def _hidden(self, kind: NameKind, value: Any) -> Any:
        """`value`, the very same, if it holds none."""
        return MASK if self._holds_secret(kind, value, "") else value

    def _under(self, kind: NameKind, value: Any, name: str) -> Any:
        if kind is not NameKind.LISTED and isinstance(value, dict):
            members = cast(dict[str, Any], value)
            if _is_schema(members):
                return self._schema(kind, members)
            if kind in _JUDGED_STRINGS:
                return self.clean(members)
        return MASK if self._holds_secret(kind, value, name) else self.clean(value)

    def _holds_secret(self, kind: NameKind, value: Any, name: str) -> bool:
        if kind is NameKind.LISTED:
            return True
        if value is None or isinstance(value, bool):
            return False
        if isinstance(value, str):
            return is_secret_value(kind, value, name)
        if isinstance(value, int | float):
            return kind is NameKind.PASSWORD or (kind is NameKind.TOKEN and abs(value) >= _CODE)
        inside = cast(dict[str, Any], value).values() if isinstance(value, dict) else cast(list[Any], value)
        if kind is NameKind.COOKIE:
            return bool(inside)
        return any(self._holds_secret(kind, one, name) for one in inside)

    def _schema(self, kind: NameKind, members: dict[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for key, member in members.items():
            if key in _SCHEMA_WORDS or key == "properties":
                told[key] = self.clean(member)
            elif key in _SCHEMA_PARTS:
                told[key] = self._schema_part(kind, member)
            elif isinstance(member, list):
                told[key] = [self._under(kind, one, "") for one in cast(list[Any], member)]
            elif isinstance(member, int | float) and key != "default" and key != "const":
                told[key] = member  # minLength and its like
            else:
                told[key] = self._under(kind, member, "")
        return told

    def _schema_part(self, kind: NameKind, part: Any) -> Any:
        if isinstance(part, list):
            return [self._schema_part(kind, one) for one in cast(list[Any], part)]
        return self._schema(kind, cast(dict[str, Any], part)) if isinstance(part, dict) else part


def _is_schema(members: dict[str, Any]) -> bool:
    types = members.get("type")
    listed = cast(list[Any], types) if isinstance(types, list) else [types]
    is_typed = bool(listed) and all(isinstance(one, str) and one in _SCHEMA_TYPES for one in listed)
    return is_typed or any(mark in members for mark in _SCHEMA_MARKS)


def _without_input(name: str) -> str:
    """`Password field`, as a page's parts are described."""
    lowered = name.lower()
    for word in _INPUTS:
        if lowered.endswith(word):
            return name[: -len(word)]
    return name
