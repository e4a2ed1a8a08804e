"""Long work on the loop, in short pieces: after each one everybody else has a turn."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

import msgspec

# About a millisecond's work with definitions of tools.
_MAX_ITEMS = 200
_MAX_BYTES = 256 * 1024

Entry = TypeVar("Entry", bytes, msgspec.Raw)


async def in_slices(entries: Sequence[Entry]) -> AsyncIterator[Entry]:
    """All of them, in order. The event loop runs after every few."""
    items = size_bytes = 0
    for entry in entries:
        yield entry
        items, size_bytes = items + 1, size_bytes + memoryview(entry).nbytes
        if items == _MAX_ITEMS or size_bytes >= _MAX_BYTES:
            await asyncio.sleep(0)
            items = size_bytes = 0
