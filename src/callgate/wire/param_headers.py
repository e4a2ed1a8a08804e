"""`Mcp-Param-*`: tool parameters that a schema wants repeated in HTTP headers.

(2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters".) A schema whose
annotations are invalid declares nothing: conforming clients drop such a tool and send no headers for it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from callgate.model.error_codes import CALLER_HEADER_MISMATCH
from callgate.model.errors import CallerError
from callgate.wire.http_rules import decode_header_value, encode_header_value

_ANNOTATION = "x-mcp-header"
_ANNOTATION_BYTES = _ANNOTATION.encode()
_PREFIX = "Mcp-Param-"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES = frozenset({"string", "integer", "boolean"})
_DECIMAL = re.compile(r"-?[0-9]+(\.0+)?")
# Deeper than any honest schema; bounds the walk over a hostile one.
_MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Declared:
    path: tuple[str, ...]  # keys of `properties`, from the root
    header: str  # with the prefix
    type_name: str


def may_declare_headers(definition: bytes) -> bool:
    """Few do: of the others, once a list was read, the definition need not be looked at with each call."""
    return _ANNOTATION_BYTES in definition


def declared_headers(definition: bytes) -> tuple[Declared, ...]:
    """What a tool's definition (raw JSON) declares."""
    if not may_declare_headers(definition):
        return ()
    tool: Any = msgspec.json.decode(definition)
    found = list(_walk(tool.get("inputSchema"), (), 0))
    names = [entry.header.lower() for entry in found]
    valid = len(set(names)) == len(names) and all(
        entry.type_name in _TYPES and _TOKEN.fullmatch(entry.header.removeprefix(_PREFIX)) for entry in found
    )
    return tuple(found) if valid else ()


def _walk(schema: Any, path: tuple[str, ...], depth: int) -> Iterator[Declared]:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return
    members = cast(dict[str, Any], schema)
    if path and _ANNOTATION in members:
        yield Declared(path, f"{_PREFIX}{members[_ANNOTATION]}", str(members.get("type")))
    properties = members.get("properties")
    if isinstance(properties, dict):
        for key, inner in cast(dict[str, Any], properties).items():
            yield from _walk(inner, (*path, key), depth + 1)


def make_headers(declared: tuple[Declared, ...], arguments: Any) -> tuple[tuple[str, str], ...]:
    """The headers a call with these arguments carries."""
    made: list[tuple[str, str]] = []
    for entry in declared:
        text = _render(_value_at(arguments, entry.path))
        if text is not None:
            made.append((entry.header, encode_header_value(text)))
    return tuple(made)


def check_headers(declared: tuple[Declared, ...], arguments: Any, headers: Mapping[str, str]) -> None:
    """Raises CallerError when a declared header and its argument do not say the same."""
    for entry in declared:
        value = _value_at(arguments, entry.path)
        raw = headers.get(entry.header.lower())
        text = _render(value)
        if raw is None and text is None:
            continue
        sent = decode_header_value(raw)
        if entry.type_name == "integer" and sent is not None and _DECIMAL.fullmatch(sent):
            sent = sent.partition(".")[0]
        if text is None or text != sent:
            where = ".".join(entry.path)
            raise CallerError(
                CALLER_HEADER_MISMATCH,
                f"Header mismatch: {entry.header} must repeat the argument {where!r}",
                hint="tools/list says which parameters are repeated in headers",
            )


def _value_at(arguments: Any, path: tuple[str, ...]) -> Any:
    node = arguments
    for key in path:
        node = cast(dict[str, Any], node).get(key) if isinstance(node, dict) else None
    return node


def _render(value: Any) -> str | None:
    """As the client writes it into a header; None for what has no rendering (null, objects, fractions)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else None
    return str(value) if isinstance(value, (str, int)) else None
