"""Tools as the API tells them: an offer's own JSON, taken apart, and what it costs in a context."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from callgate.api.json_object import as_object, object_in
from callgate.api.shapes import SeenToWrite, ToolShape
from callgate.api.told_rows import annotations_of
from callgate.model.offers import Offer

# By server and the name that the record has: the public one, or at /servers/<name>/mcp the server's own.
SeenWrites = Mapping[tuple[str, str], SeenToWrite]
# Definitions whose cost is remembered; a server that makes up new ones all day must not fill the memory.
_MAX_REMEMBERED = 5_000


class ToolTeller:
    """`count_tokens` may take a while when it is first asked, so it is asked in a thread."""

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        self._count_tokens = count_tokens
        self._counted: dict[bytes, int] = {}
        self._lock = asyncio.Lock()

    async def tell(self, offers: Sequence[Offer], seen: SeenWrites) -> list[ToolShape]:
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
            _told(offer, self._counted.get(offer.definition, counts.get(offer.definition, 0)), seen)
            for offer in offers
        ]

    def _count(self, definitions: list[bytes]) -> dict[bytes, int]:
        return {one: self._count_tokens(one.decode(errors="replace")) for one in definitions}


def _told(offer: Offer, tokens: int, seen: SeenWrites) -> ToolShape:
    definition = object_in(offer.definition) or {}
    declared = object_in(offer.annotations)
    title = definition.get("title") or (declared or {}).get("title")
    return ToolShape(
        name=offer.public_name,
        server=offer.route.upstream,
        native_name=offer.route.native_name,
        title=_text(title),
        description=_text(definition.get("description")),
        annotations=annotations_of(declared),
        input_schema=as_object(definition.get("inputSchema")) or {},
        output_schema=as_object(definition.get("outputSchema")),
        tokens=tokens,
        seen_to_write=seen.get((offer.route.upstream, offer.public_name))
        or seen.get((offer.route.upstream, offer.route.native_name)),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
