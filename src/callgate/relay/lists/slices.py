"""Long work on the loop, in short pieces: after each one everybody else has a turn."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

# About a millisecond's work with definitions of tools.
_MAX_ITEMS = 200
_MAX_BYTES = 256 * 1024

Entry = TypeVar("Entry", bytes, msgspec.Raw)


def slices(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """All of them, in order, a few at a time. The event loop runs in between."""
    part: list[Entry] = []
    size_bytes = 0
    for entry in entries:
        part.append(entry)
        size_bytes += memoryview(entry).nbytes
        if len(part) == _MAX_ITEMS or size_bytes >= _MAX_BYTES:
            yield part
            part, size_bytes = [], 0
    if part:
        yield part
