"""Values as a file's reader left them, of which nothing is known yet. Must not judge them."""

from itertools import pairwise
from typing import Any, cast

from callgate.config.problem import Loc


def table_of(value: object) -> dict[str, Any]:
    """The table, or an empty one where something else stands."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def is_in(node: object, part: str | int) -> bool:
    return part < len(list_of(node)) if isinstance(part, int) else part in table_of(node)


def child_of(node: object, part: str | int) -> Any:
    """None where there is none."""
    if not is_in(node, part):
        return None
    return list_of(node)[part] if isinstance(part, int) else table_of(node)[part]


def put_at(tree: dict[str, Any], loc: Loc, value: Any) -> None:
    """Tables and lists on the way are made."""
    node: Any = tree
    for part, after in pairwise(loc):
        if not is_in(node, part):
            _assign(node, part, [] if isinstance(after, int) else {})
        node = node[part]
    _assign(node, loc[-1], value)


def _assign(node: Any, part: str | int, value: Any) -> None:
    if isinstance(part, int) and part == len(node):
        node.append(value)
    else:
        node[part] = value
