"""`GET /api/v1/events`: what is recorded, as it is recorded, and what changes behind us (server-sent events).

Rules
1. An event's id is the `seq` of the last settled row that was told: who comes back with it (`Last-Event-ID`)
   gets the rest from the record. Only settled rows carry one, so nothing between two of them is skipped.
2. A reader that is too slow gets what it missed from the record; nobody else notices (see `RowFeed`). Only
   where the record cannot be read is it told how many rows it missed. One that comes back reads the record
   first and listens when it is nearly there: what is live meanwhile waits for it.
3. Sums of sessions, health and the catalog are levels, not edges: they are looked at each second, and told
   when they differ from what this reader knows.
"""

import asyncio
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response, StreamingResponse

from callgate.api.operation import Asked, Operation, bad_params
from callgate.api.record.queries import given
from callgate.api.record.row_views import exchange_of, session_of
from callgate.api.servers_api import health_of
from callgate.api.trust_api import trust_in_short
from callgate.model.error_codes import CALLER_TOO_MANY_READERS
from callgate.model.errors import CallerError, CallgateError
from callgate.model.health import Health
from callgate.model.identity import Role
from callgate.ports.faces import TrustDesk
from callgate.ports.fleet import Fleet
from callgate.ports.record_reader import TOOL_CALL, RecordReader, Row, UnknownSeqError
from callgate.ports.row_feed import FeedRow, Missed, RowFeed
from callgate.ports.settings import SettingsNews
from callgate.ports.status import Status
from callgate.wire.framing.sse import KEEP_ALIVE
from callgate.wire.problem_of import PROBLEM_TYPE, problem_of

_TICK_S = 1.0
# Proxies give up on an answer that is silent for a minute; this leaves room for two lost comments.
_SILENCE_S = 15.0
_PAGE = 500
# Sessions whose sums are read in one tick: each is a read of the record.
_SESSIONS_A_TICK = 20
# Each may have 2,000 rows waiting, and asks the record for sums each second.
_MAX_READERS = 64
_RETRY_AFTER_S = 5
_MAX_SEQ = 2**63 - 1
# How soon a browser comes back after a cut.
_HELLO = b"retry: 2000\n\n"


class EventsQuery(msgspec.Struct, forbid_unknown_fields=True):
    last_event_id: (
        Annotated[int, Meta(ge=0, le=_MAX_SEQ, description="As the header Last-Event-ID, which comes first.")]
        | UnsetType
    ) = UNSET
    follow: Annotated[
        bool, Meta(description="Go on with what happens from now on; if not, end with what is recorded.")
    ] = True


class EventShape(msgspec.Struct):
    """`data` of one event."""

    type: str
    data: Any
    timestamp: datetime


class EventsApi:
    def __init__(
        self,
        record: RecordReader | None,
        feed: RowFeed | None,
        status: Status,
        redact: Callable[[str], str],
        fleet: Fleet | None = None,
        settings: Callable[[], SettingsNews] = SettingsNews,
        trust: TrustDesk | None = None,
    ) -> None:
        """`status`: of all replicas, if there is a `fleet`."""
        self._trust = trust
        self._settings = settings
        self._record = record
        self._feed = feed
        self._status = status
        self._redact = redact
        self._fleet = fleet
        self._is_retired = asyncio.Event()
        # Weakly: an answer that was given up before its first byte has nobody to take it off the list.
        self._streams: weakref.WeakSet[_Stream] = weakref.WeakSet()

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/events",
                "streamEvents",
                "What is recorded and what changes, live; resumable by Last-Event-ID",
                self.events,
                EventShape,
                EventsQuery,
                media=("text/event-stream",),
                errors=(CALLER_TOO_MANY_READERS,),
                role=Role.WATCH,
            )
        ]

    def retire(self) -> None:
        """We are about to stop: streams end, so that nobody waits for them."""
        self._is_retired.set()

    async def events(self, asked: Asked[EventsQuery, None]) -> Response:
        after = _last_event_id(asked)
        if len(self._streams) >= _MAX_READERS:
            return _too_many()
        stream = _Stream(
            self._record, self._status, self._redact, after, self._fleet, self._settings, self._trust
        )
        self._streams.add(stream)
        frames = self._follow(stream) if asked.query.follow else _recorded(stream)
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        return StreamingResponse(
            self._counted(stream, frames), media_type="text/event-stream", headers=headers
        )

    async def _counted(self, stream: "_Stream", frames: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        try:
            async with aclosing(frames):
                async for frame in frames:
                    yield frame
        finally:
            self._streams.discard(stream)

    async def _follow(self, stream: "_Stream") -> AsyncGenerator[bytes]:
        if stream.comes_back:
            yield _HELLO
            async for frame in stream.backlog():
                yield frame
        listening = self._feed.listen() if self._feed is not None else _silence()
        async with aclosing(listening) as rows:
            if self._feed is not None:
                await self._feed.ready()
            if not stream.comes_back:
                yield _HELLO  # only now: a client that gets it misses nothing from here on
            async for frame in stream.backlog():
                yield frame
            ended = asyncio.ensure_future(self._is_retired.wait())
            row = asyncio.ensure_future(anext(rows))
            try:
                while not ended.done():
                    await asyncio.wait((row, ended), timeout=_TICK_S, return_when=asyncio.FIRST_COMPLETED)
                    if row.done():
                        async for frame in stream.told(row.result()):
                            yield frame
                        row = asyncio.ensure_future(anext(rows))
                    async for frame in stream.tick(time.monotonic()):
                        yield frame
            finally:
                ended.cancel()
                row.cancel()
                await asyncio.gather(row, ended, return_exceptions=True)


class _Stream:
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
        if now_mono - self._ticked < _TICK_S:
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


async def _recorded(stream: _Stream) -> AsyncGenerator[bytes]:
    yield _HELLO
    async for frame in stream.backlog():
        yield frame


def _too_many() -> Response:
    status, body = problem_of(
        CallerError(
            CALLER_TOO_MANY_READERS,
            f"{_MAX_READERS} clients already read the event stream",
            hint="Close a page, or try again later; clients that reconnect with Last-Event-ID miss nothing",
        )
    )
    return Response(body, status, media_type=PROBLEM_TYPE, headers={"retry-after": str(_RETRY_AFTER_S)})


def _short(status: Status) -> dict[str, Health]:
    """Without stderr: a child that talks all day does not change."""
    return {entry.name: replace(entry, stderr_tail=()) for entry in status.health()}


def _frame(event_type: str, data: Any, seq: int | None = None) -> bytes:
    body = msgspec.json.encode(EventShape(event_type, data, datetime.now(UTC)))
    prefix = b"" if seq is None else b"id: %d\n" % seq
    return b"%bevent: %b\ndata: %b\n\n" % (prefix, event_type.encode(), body)


def _last_event_id(asked: Asked[EventsQuery, None]) -> int | None:
    header = asked.headers.get("last-event-id")
    if header is None:
        return given(asked.query.last_event_id)
    if not header.isascii() or not header.isdigit() or int(header[:20]) > _MAX_SEQ:
        raise bad_params(
            "Last-Event-ID is not an event id of this gateway", "Send the id of the last event unchanged"
        )
    return int(header)


async def _silence() -> AsyncGenerator[FeedRow | Missed]:
    """Nothing is recorded."""
    await asyncio.Event().wait()
    yield Missed(0)
