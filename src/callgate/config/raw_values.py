"""Values as a file's reader left them, of which nothing is known yet. Must not judge them."""

from typing import Any, cast


def table_of(value: object) -> dict[str, Any]:
    """The table, or an empty one where something else stands."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
