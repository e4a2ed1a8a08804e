"""SQL results in which a column has the name of a listed key: its cells are what stands under that key.

Rows are arrays there (`columns`, `rows`), so no key stands beside a cell; and the text that a model reads has
the same rows once more, in whatever format it asked for.
"""

from collections.abc import Set
from typing import Any, cast

from callgate.recorder.dsn import MASK


def with_masked_columns(members: dict[str, Any], keys: Set[str]) -> dict[str, Any]:
    """A result or a call's answer with those cells masked; itself if it is neither, or there are none."""
    if "structuredContent" in members:
        if _has_listed(members["structuredContent"], keys):
            return members | {"content": _masked_texts(members.get("content"))}
        return members
    places = _listed_places(members, keys)
    if not places:
        return members
    rows = cast(list[Any], members["rows"])
    return members | {"rows": [_masked_row(row, places) for row in rows]}


def _listed_places(members: dict[str, Any], keys: Set[str]) -> set[int]:
    columns, rows = members.get("columns"), members.get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list):
        return set()
    names = [
        cast(dict[str, Any], column).get("name") if isinstance(column, dict) else column
        for column in cast(list[Any], columns)
    ]
    return {place for place, name in enumerate(names) if isinstance(name, str) and name.lower() in keys}


def _masked_row(row: Any, places: set[int]) -> Any:
    if not isinstance(row, list):
        return row
    cells = cast(list[Any], row)
    return [MASK if place in places and cell is not None else cell for place, cell in enumerate(cells)]


def _has_listed(structured: Any, keys: Set[str]) -> bool:
    """Also in the results of several statements."""
    if not isinstance(structured, dict):
        return False
    members = cast(dict[str, Any], structured)
    if _listed_places(members, keys):
        return True
    statements = members.get("statements")
    return isinstance(statements, list) and any(
        _has_listed(statement, keys) for statement in cast(list[Any], statements)
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
