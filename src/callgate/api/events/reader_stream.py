"""What one reader of `GET /api/v1/events` is told.

Rules
1. An event's id is the `seq` of the last settled row that was told: who comes back with it (`Last-Event-ID`)
   gets the rest from the record. Only settled rows carry one, so nothing between two of them is skipped.
2. A reader that is too slow gets what it missed from the record; nobody else notices (see `RowFeed`). Only
   where the record cannot be read is it told how many rows it missed.
3. Sums of sessions, health and the catalog are levels, not edges: they are looked at each second, and told
   when they differ from what this reader knows.
"""

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from callgate.api.record.row_views import exchange_of, session_of
from callgate.api.servers_api import health_of
from callgate.api.trust_api import trust_in_short
from callgate.model.errors import CallgateError
from callgate.model.health import Health
from callgate.ports.faces import TrustDesk
from callgate.ports.fleet import Fleet
from callgate.ports.record_reader import TOOL_CALL, RecordReader, Row, UnknownSeqError
from callgate.ports.row_feed import FeedRow, Missed
from callgate.ports.settings import SettingsNews
from callgate.ports.status import Status
from callgate.wire.framing.sse import KEEP_ALIVE

TICK_S = 1.0
# Proxies give up on an answer that is silent for a minute; this leaves room for two lost comments.
_SILENCE_S = 15.0
_PAGE = 500
# Sessions whose sums are read in one tick: each is a read of the record.
_SESSIONS_A_TICK = 20


class EventShape(msgspec.Struct):
    """`data` of one event."""

    type: str
    data: Any
    timestamp: datetime


class ReaderStream:
    """What one reader knows already."""

    def __init__(
        self,
        record: RecordReader | None,
        status: Status,
        redact: Callable[[str], str],
        after: int | None,
        fleet: Fleet | None,
        settings: Callable[[], SettingsNews],
        trust: TrustDesk | None,
    ) -> None:
        self._trust = trust
        self._trusted = trust_in_short(trust)
        self._settings = settings
        self._news = settings()
        self._fleet = fleet
        self._record = record
        self._status = status
        self._redact = redact
        self._after = after  # what the record told, or the reader knew when it came
        self._heard: int | None = None  # up to which number the feed has told everything
        self._touched: dict[str, str] = {}  # session: what to say of it
        self._ticked = self._spoke = time.monotonic()
        self._health = _short(status)
        self._catalog_version = status.catalog_version

    @property
    def comes_back(self) -> bool:
        return self._after is not None

    async def backlog(self, is_late: bool = False) -> AsyncIterator[bytes]:
        """What was recorded since. `is_late`: for a reader that also missed what happened to sessions."""
        while self._after is not None and self._record is not None:
            try:
                rows = await self._record.events_after(self._after, _PAGE)
            except UnknownSeqError:  # the operator changed the store: begin with what happens now
                self._after = None
                return
            for row in rows:
                self._after = max(self._after, row["seq"])
                if is_late and row["session_id"] is not None:
                    self._touched.setdefault(row["session_id"], "sessions.updated")
                if row["method"] == TOOL_CALL:
                    yield self._of_call(row, row["outcome"] is not None)
            if len(rows) < _PAGE:
                return

    async def told(self, item: FeedRow | Missed) -> AsyncIterator[bytes]:
        if isinstance(item, Missed):
            async for frame in self._missed(item):
                yield frame
        else:
            # A call's start has the number of its end, which may still be missed.
            self._heard = item.seq - 1 if item.happening == "exchange_started" else item.seq
            for frame in self._of_row(item):
                yield frame

    async def _missed(self, missed: Missed) -> AsyncIterator[bytes]:
        """From the record: it has what this reader was too slow for."""
        try:
            if self._heard is not None or self._after is not None:
                self._after = max(self._after or 0, self._heard or 0)
                async for frame in self.backlog(is_late=True):
                    yield frame
                return
        except CallgateError:
            pass  # the record is in trouble: /healthz says so, and the stream goes on
        yield _frame("events.missed", {"count": missed.count})

    def _of_row(self, item: FeedRow) -> list[bytes]:
        row = item.row
        match item.happening:
            case "session_created":
                return [_frame("sessions.created", session_of(row))]
            case "session_updated":
                self._touched.setdefault(row["session_id"], "sessions.updated")
            case "session_closed":
                self._touched[row["session_id"]] = "sessions.closed"
            case "exchange_started" | "exchange_settled":
                is_known = self._after is not None and item.seq <= self._after
                if row["method"] == TOOL_CALL and not is_known:
                    return [self._of_call(row, item.happening == "exchange_settled")]
        return []

    async def tick(self, now_mono: float) -> AsyncIterator[bytes]:
        if now_mono - self._ticked < TICK_S:
            return
        self._ticked = now_mono
        if self._fleet is not None:
            await self._fleet.look()
        for frame in [*self._changes(), *await self._sessions()]:
            self._spoke = now_mono
            yield frame
        if now_mono - self._spoke >= _SILENCE_S:
            self._spoke = now_mono
            yield KEEP_ALIVE

    def _of_call(self, row: Row, is_settled: bool) -> bytes:
        if not is_settled:
            return _frame("tool_calls.started", exchange_of(row))
        return _frame("tool_calls.settled", exchange_of(row), row["seq"])

    def _changes(self) -> list[bytes]:
        frames: list[bytes] = []
        health = _short(self._status)
        if health != self._health:
            changed = [entry for key, entry in health.items() if self._health.get(key) != entry]
            told = [health_of(entry, self._redact) for entry in changed]
            frames.append(_frame("servers.changed", {"servers": told}))
            self._health = health
        if self._status.catalog_version != self._catalog_version:
            self._catalog_version = self._status.catalog_version
            frames.append(_frame("catalog.changed", {"version": self._catalog_version}))
        if (news := self._settings()) != self._news:
            self._news = news
            frames.append(_frame("settings.updated", news))
        if (trusted := trust_in_short(self._trust)) != self._trusted:
            self._trusted = trusted
            frames.append(_frame("trust.changed", {"servers": trusted}))
        return frames

    async def _sessions(self) -> list[bytes]:
        frames: list[bytes] = []
        for session_id in list(self._touched)[:_SESSIONS_A_TICK]:
            event_type = self._touched.pop(session_id)
            if self._record is None:
                continue
            try:
                row = await self._record.session(session_id)
            except CallgateError:  # the record is in trouble: /healthz says so, and the stream goes on
                continue
            if row is not None:
                frames.append(_frame(event_type, session_of(row)))
        return frames


def _short(status: Status) -> dict[str, Health]:
    """Without stderr: a child that talks all day does not change."""
    return {entry.name: replace(entry, stderr_tail=()) for entry in status.health()}


def _frame(event_type: str, data: Any, seq: int | None = None) -> bytes:
    body = msgspec.json.encode(EventShape(event_type, data, datetime.now(UTC)))
    prefix = b"" if seq is None else b"id: %d\n" % seq
    return b"%bevent: %b\ndata: %b\n\n" % (prefix, event_type.encode(), body)
