"""SQL results and other tables in JSON in which a column has a secret's name: its cells stand under it.

Rows are arrays there (`columns`, `rows`), so no key stands beside a cell; and the text that a model reads has
the same rows once more, in whatever format it asked for.
"""

from collections.abc import Callable
from typing import Any, cast

from callgate.recorder.redact.dsn import MASK
from callgate.recorder.redact.secret_names import NameKind

KindOf = Callable[[str], NameKind | None]
Hide = Callable[[NameKind, Any], Any]  # a value as it may be told under a name of that kind

# Beside these a "pass" is a password.
USERS = ("user", "login", "host", "email", "uid", "server")
_HEADS = ("columns", "fields", "headers", "header", "column_names", "columnNames")
_HEAD_SET = frozenset(_HEADS)
_ROWS = ("rows", "data", "values", "records")
# Tables of settings: a row has a name and its value.
_NAME_COLUMNS = frozenset(("name", "variable_name", "key", "parameter", "variable", "option", "setting_name"))
_VALUE_COLUMNS = frozenset(("value", "setting", "variable_value"))


def with_masked_columns(members: dict[str, Any], kind_of: KindOf, hide: Hide) -> dict[str, Any]:
    """A result or a call's answer with those cells masked; itself if it is neither, or there are none."""
    if "structuredContent" in members:
        if _has_masked(members["structuredContent"], kind_of, hide):
            return members | {"content": _masked_texts(members.get("content"))}
        return members
    if _HEAD_SET.isdisjoint(members):
        return members
    for head in _HEADS:
        names = _names(members.get(head))
        for place in _ROWS if names else ():
            rows = members.get(place)
            if isinstance(rows, list):
                masked = masked_rows(names, cast(list[Any], rows), kind_of, hide)
                if masked is not rows:
                    return members | {place: masked}
    return members


def masked_rows(names: list[Any], rows: list[Any], kind_of: KindOf, hide: Hide) -> list[Any]:
    """Itself if nothing is masked."""
    kinds = {
        place: kind
        for place, name in enumerate(names)
        if isinstance(name, str) and (kind := kind_of(name)) is not None
    }
    if NameKind.PASS in kinds.values() and not any(str(name).lower().startswith(USERS) for name in names):
        kinds = {place: kind for place, kind in kinds.items() if kind is not NameKind.PASS}
    lowered = [name.lower() if isinstance(name, str) else "" for name in names]
    named = next((place for place, name in enumerate(lowered) if name in _NAME_COLUMNS), None)
    valued = next((place for place, name in enumerate(lowered) if name in _VALUE_COLUMNS), None)
    if not kinds and (named is None or valued is None):
        return rows
    masked = [_masked_row(row, kinds, kind_of, hide, named, valued) for row in rows]
    # Where the operator listed a column, the text with the same rows goes even if these rows are odd.
    is_listed = NameKind.LISTED in kinds.values()
    return masked if is_listed or any(new is not old for new, old in zip(masked, rows, strict=True)) else rows


def _masked_row(
    row: Any,
    kinds: dict[int, NameKind],
    kind_of: KindOf,
    hide: Hide,
    named: int | None,
    valued: int | None,
) -> Any:
    if not isinstance(row, list):
        return row
    cells = cast(list[Any], row)
    if named is not None and valued is not None and max(named, valued) < len(cells):
        kind = kind_of(cells[named]) if isinstance(cells[named], str) else None
        if kind is not None:
            kinds = kinds | {valued: kind}
    masked = [
        hide(kinds[place], cell) if place in kinds and cell is not None else cell
        for place, cell in enumerate(cells)
    ]
    return masked if any(new is not old for new, old in zip(masked, cells, strict=True)) else cells


def _names(columns: Any) -> list[Any]:
    if not isinstance(columns, list):
        return []
    return [
        cast(dict[str, Any], column).get("name") if isinstance(column, dict) else column
        for column in cast(list[Any], columns)
    ]


def _has_masked(structured: Any, kind_of: KindOf, hide: Hide) -> bool:
    """Also in the results of several statements."""
    if not isinstance(structured, dict):
        return False
    members = cast(dict[str, Any], structured)
    if "structuredContent" not in members and with_masked_columns(members, kind_of, hide) is not members:
        return True
    statements = members.get("statements")
    return isinstance(statements, list) and any(
        _has_masked(statement, kind_of, hide) for statement in cast(list[Any], statements)
    )


def _masked_texts(content: Any) -> Any:
    if not isinstance(content, list):
        return MASK
    return [_masked_text(item) for item in cast(list[Any], content)]


def _masked_text(item: Any) -> Any:
    """Of a text, or of an embedded resource."""
    if not isinstance(item, dict):
        return item
    block = cast(dict[str, Any], item)
    masked = {"text": MASK} if "text" in block else {}
    return block | masked | ({"resource": _masked_text(block["resource"])} if "resource" in block else {})
