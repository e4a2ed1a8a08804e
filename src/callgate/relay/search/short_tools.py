"""Tools in short: what each does and takes, as a model needs it to choose one and call it. Pure.

A parameter is one line: its type in TypeScript's words, whether it is required, and what it is for. A whole
definition has 1.5 KB on average, and some have 20.
"""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from callgate.model.offers import Offer
from callgate.model.wording import clip
from callgate.wire.json_rpc import read_if_readable

_MAX_DESCRIPTION_CHARS = 300
_MAX_TYPE_CHARS = 200
_MAX_PARAMETER_CHARS = 120
# What has more is told by the names of the rest.
_MAX_PARAMETERS = 30
# Of a nested object, an enumeration, or alternatives.
_MAX_INNER = 8
_MAX_DEPTH = 3
# Of all parameters in one answer; the tools beyond it have only their names and descriptions.
_MAX_PARAMETERS_BYTES = 24 * 1024
_TYPES = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})

_Json = dict[str, Any]
_any_decoder = msgspec.json.Decoder[Any]()


def short_tools(offers: Sequence[Offer], total: int) -> bytes:
    """The answer's text: JSON. `total`: how many tools there are."""
    if not offers:
        return (
            b"None of the %d tools fits these words. Try others: what is to be done, and with what." % total
        )
    told: list[_Json] = []
    left_bytes = _MAX_PARAMETERS_BYTES
    for offer in offers:
        definition = definition_of(offer)
        entry: _Json = {"name": offer.public_name}
        if description := _text(definition.get("description")) or _text(definition.get("title")):
            entry["description"] = clip(description, _MAX_DESCRIPTION_CHARS)
        parameters = short_parameters(members_of(definition.get("inputSchema")))
        left_bytes -= len(msgspec.json.encode(parameters))
        if left_bytes > 0:
            entry["parameters"] = parameters
        told.append(entry)
    return msgspec.json.encode({"tools": told, "total": total})


def short_parameters(schema: _Json) -> dict[str, str]:
    properties = members_of(schema.get("properties"))
    needed = _names(schema.get("required"))
    told: dict[str, str] = {}
    for name in list(properties)[:_MAX_PARAMETERS]:
        about = members_of(properties[name])
        text = clip(_type(about, schema, _MAX_DEPTH), _MAX_TYPE_CHARS)
        if name in needed:
            text += ", required"
        elif "default" in about:
            text += f", default {clip(_json(about['default']), 40)}"
        if description := _text(about.get("description")):
            text += f". {clip(description, _MAX_PARAMETER_CHARS)}"
        told[name] = text
    if rest := list(properties)[_MAX_PARAMETERS:]:
        told["…"] = f"{len(rest)} more: {clip(', '.join(rest), _MAX_TYPE_CHARS)}"
    return told


def _type(schema: _Json, root: _Json, depth: int) -> str:
    if depth == 0:
        return "…"
    if isinstance(reference := schema.get("$ref"), str):
        return _type(_referred(reference, root), root, depth - 1)
    if "const" in schema:
        return clip(_json(schema["const"]), _MAX_TYPE_CHARS)
    if isinstance(values := schema.get("enum"), list):
        every = cast(list[Any], values)
        return _one_of([clip(_json(value), 40) for value in every[:_MAX_INNER]], len(every))
    for key in ("anyOf", "oneOf"):
        if isinstance(either := schema.get(key), list):
            every = cast(list[Any], either)
            return _one_of(
                [_type(members_of(one), root, depth - 1) for one in every[:_MAX_INNER]], len(every)
            )
    declared = schema.get("type")
    kinds = cast(list[Any], declared) if isinstance(declared, list) else [declared]
    return " | ".join(_plain_type(kind, schema, root, depth) for kind in kinds[:_MAX_INNER])


def _plain_type(kind: object, schema: _Json, root: _Json, depth: int) -> str:
    if kind == "array":
        inner = _type(members_of(schema.get("items")), root, depth - 1)
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    properties = members_of(schema.get("properties"))
    if properties and kind in ("object", None):
        needed = _names(schema.get("required"))
        inside = [
            f"{name}{'' if name in needed else '?'}: {_type(members_of(about), root, depth - 1)}"
            for name, about in list(properties.items())[:_MAX_INNER]
        ]
        more = ", …" if len(properties) > _MAX_INNER else ""
        return f"{{{', '.join(inside)}{more}}}"
    return kind if isinstance(kind, str) and kind in _TYPES else "any"


def _one_of(told: list[str], total: int) -> str:
    return " | ".join(dict.fromkeys(told)) + (" | …" if total > len(told) else "")


def _referred(reference: str, root: _Json) -> _Json:
    """`#/$defs/X`, the only form that real servers write."""
    place: Any = root
    for step in reference.removeprefix("#/").split("/")[:_MAX_INNER]:
        place = members_of(place).get(step)
    return members_of(place)


def definition_of(offer: Offer) -> _Json:
    return members_of(read_if_readable(_any_decoder, offer.definition))


def _names(value: Any) -> set[str]:
    names = cast(list[Any], value) if isinstance(value, list) else []
    return {name for name in names if isinstance(name, str)}


def members_of(value: Any) -> _Json:
    """Whatever a server wrote where an object belongs."""
    return cast(_Json, value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """On one line: what breaks lines costs tokens and tells nothing here."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
