"""What the record knows of servers and tools: how they did lately. Asked for by a page that is looked at
every few seconds by several people, and so remembered for a while."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from callgate.api.server_shapes import RecentCalls, SeenToWrite
from callgate.api.tool_views import SeenWrites
from callgate.model.errors import CallgateError
from callgate.ports.record_reader import TOOL_CALLS, RecordReader

_RECENT = timedelta(hours=1)
_WRITES_SEEN = timedelta(days=7)
_FRESH_S = 5.0
_PATIENCE_S = 2.0  # health is what was asked for; figures beside it may be missing


@dataclass(frozen=True, slots=True)
class Known:
    calls: Mapping[str, RecentCalls] | None = None  # by server; None: nothing is recorded
    writes: SeenWrites = field(default_factory=dict[tuple[str, str], SeenToWrite])


class RecentPast:
    def __init__(self, record: RecordReader | None) -> None:
        self._record = record
        self._known = Known()
        self._at_mono = -_FRESH_S
        self._lock = asyncio.Lock()

    async def ask(self) -> Known:
        """A record that cannot be read is no reason not to show the servers: then nothing is known."""
        async with self._lock:
            if self._record is not None and time.monotonic() - self._at_mono >= _FRESH_S:
                try:
                    async with asyncio.timeout(_PATIENCE_S):
                        self._known = await _read(self._record)
                except (CallgateError, TimeoutError):
                    self._known = Known()
                self._at_mono = time.monotonic()
            return self._known


async def _read(record: RecordReader) -> Known:
    now = datetime.now(UTC).replace(tzinfo=None)
    stats = await record.stats(replace(TOOL_CALLS, since=now - _RECENT, until=now))
    calls = {
        share.values[0]: RecentCalls(
            share.sums.calls, share.sums.errors, share.sums.refused, share.sums.p50_ms, share.sums.p95_ms
        )
        for share in stats.by_server
        if share.values[0] is not None
    }
    writes = {
        (seen.server, seen.tool): SeenToWrite(
            seen.calls, seen.last_id, seen.last_ts.replace(tzinfo=UTC), seen.evidence
        )
        for seen in await record.seen_to_write(now - _WRITES_SEEN)
    }
    return Known(calls, writes)
