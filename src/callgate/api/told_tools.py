"""Tools as the API tells them: an offer's own JSON, taken apart, and what it costs in a context."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from callgate.api.shapes import Json, ToolShape
from callgate.model.offers import Offer

# Definitions whose cost is remembered; a server that makes up new ones all day must not fill the memory.
_MAX_REMEMBERED = 5_000


class ToolTeller:
    """`count_tokens` may take a while when it is first asked, so it is asked in a thread."""

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        self._count_tokens = count_tokens
        self._counted: dict[bytes, int] = {}
        self._lock = asyncio.Lock()

    async def tell(self, offers: Sequence[Offer]) -> list[ToolShape]:
        unknown = [offer.definition for offer in offers if offer.definition not in self._counted]
        if unknown:
            async with self._lock:
                counts = await asyncio.to_thread(self._count, unknown)
            if len(self._counted) + len(counts) > _MAX_REMEMBERED:
                self._counted.clear()
            self._counted.update(counts)
        else:
            counts = {}
        return [
            _told(offer, self._counted.get(offer.definition, counts.get(offer.definition, 0)))
            for offer in offers
        ]

    def _count(self, definitions: list[bytes]) -> dict[bytes, int]:
        return {one: self._count_tokens(one.decode(errors="replace")) for one in definitions}


def _told(offer: Offer, tokens: int) -> ToolShape:
    definition = members_of(offer.definition)
    annotations = members_of(offer.annotations) if offer.annotations is not None else None
    title = definition.get("title") or (annotations or {}).get("title")
    return ToolShape(
        name=offer.public_name,
        server=offer.route.upstream,
        native_name=offer.route.native_name,
        title=_text(title),
        description=_text(definition.get("description")),
        annotations=annotations,
        input_schema=_object(definition.get("inputSchema")) or {},
        output_schema=_object(definition.get("outputSchema")),
        tokens=tokens,
    )


def members_of(raw: bytes) -> Json:
    try:
        return _object(msgspec.json.decode(raw)) or {}
    except (msgspec.DecodeError, RecursionError):
        return {}


def _object(value: Any) -> Json | None:
    return cast(Json, value) if isinstance(value, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
