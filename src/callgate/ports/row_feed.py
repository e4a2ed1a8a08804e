"""Api hears what was recorded, as it is recorded."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Happening = Literal[
    "session_created", "session_updated", "session_closed", "exchange_started", "exchange_settled"
]


@dataclass(frozen=True, slots=True)
class FeedRow:
    """A redacted row; `seq` increases, and `RecordReader.events_after` goes on from it."""

    seq: int
    happening: Happening
    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Missed:
    """This listener was too slow for so many rows; the record has them."""

    count: int


class RowFeed(Protocol):
    def listen(self) -> AsyncGenerator[FeedRow | Missed]:
        """From now on, until closed. Bounded: a slow listener misses rows, and nobody else notices."""
        ...
