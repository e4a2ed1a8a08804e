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
    """This listener was too slow for so many rows; the record has them. 0: nobody knows how many."""

    count: int


class RowFeed(Protocol):
    def listen(self) -> AsyncGenerator[FeedRow | Missed]:
        """From `ready` on, until closed. Bounded: a slow listener misses rows, and nobody else notices."""
        ...

    async def ready(self) -> None:
        """Whoever listens is told what settles from then on; or the store is away, and it is told `Missed`
        when it is back."""
        ...
