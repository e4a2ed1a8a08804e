"""Api reads the record."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """One call to a source, as `GET /api/requests` tells it (seed 000)."""

    event_id: str
    ts: datetime
    source_id: str
    tool_name: str
    sql: str
    duration_ms: float
    client: str
    success: bool
    error: str | None
    error_code: str | None


class RecordReader(Protocol):
    async def source_requests(self, source_id: str | None) -> list[SourceRequest]:
        """Newest first, at most 100 per source, everything settled so far included (read your writes)."""
        ...

    def problem(self) -> str | None:
        """What keeps the record from being written or read at the moment, and what to do; None: nothing."""
        ...
