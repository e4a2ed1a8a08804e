"""JSON that others wrote, where only an object means anything to us."""

from typing import Any, cast

import msgspec

from callgate.api.shapes import Json


def object_in(raw: bytes | str | None) -> Json | None:
    """None for whatever is no object: nothing, cut off, nested too deep."""
    if not raw:
        return None
    try:
        return as_object(msgspec.json.decode(raw))
    except (msgspec.DecodeError, RecursionError):
        return None


def as_object(value: Any) -> Json | None:
    return cast(Json, value) if isinstance(value, dict) else None
