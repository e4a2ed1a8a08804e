"""Tools as the API tells them: an offer's own JSON, without secrets, and what it costs in a context.

Servers put working defaults and examples into their schemas. Clients of MCP get them as they are.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from callgate.api.json_object import as_object, object_in
from callgate.api.record.row_views import annotations_of
from callgate.api.server_shapes import SeenToWrite, ToolShape
from callgate.api.shapes import Json
from callgate.model.offers import Offer

# By server and the name that the record has: the public one, or at /servers/<name>/mcp the server's own.
SeenWrites = Mapping[tuple[str, str], SeenToWrite]
# Definitions whose cost is remembered; a server that makes up new ones all day must not fill the memory.
_MAX_REMEMBERED = 5_000


_Key = tuple[bytes, bytes | None]  # definition and annotations


@dataclass(frozen=True, slots=True)
class _Read:
    tokens: int
    definition: Json
    annotations: Json | None


class ToolViews:
    """To read a definition takes a while (it is counted and redacted): it is done once, in a thread."""

    def __init__(self, count_tokens: Callable[[str], int], redact_document: Callable[[bytes], bytes]) -> None:
        self._count_tokens = count_tokens
        self._redact = redact_document
        self._known: dict[_Key, _Read] = {}
        self._lock = asyncio.Lock()

    async def tell(self, offers: Sequence[Offer], seen: SeenWrites) -> list[ToolShape]:
        keys = [(offer.definition, offer.annotations) for offer in offers]
        read = {key: self._known[key] for key in keys if key in self._known}
        unknown = [key for key in keys if key not in read]
        if unknown:
            async with self._lock:
                new = await asyncio.to_thread(self._read_all, unknown)
            if len(self._known) + len(new) > _MAX_REMEMBERED:
                self._known.clear()
            self._known |= new
            read |= new
        return [_told(offer, read[key], seen) for offer, key in zip(offers, keys, strict=True)]

    def _read_all(self, keys: list[_Key]) -> dict[_Key, _Read]:
        return {key: self._read(*key) for key in keys}

    def _read(self, definition: bytes, annotations: bytes | None) -> _Read:
        return _Read(
            self._count_tokens(definition.decode(errors="replace")),
            object_in(self._redact(definition)) or {},
            object_in(self._redact(annotations)) if annotations else None,
        )


def _told(offer: Offer, read: _Read, seen: SeenWrites) -> ToolShape:
    definition, declared = read.definition, read.annotations
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
        tokens=read.tokens,
        seen_to_write=seen.get((offer.route.upstream, offer.public_name))
        or seen.get((offer.route.upstream, offer.route.native_name)),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
