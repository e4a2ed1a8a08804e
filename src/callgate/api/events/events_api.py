"""`GET /api/v1/events`: what is recorded, as it is recorded, and what changes behind us (server-sent events).

One that comes back reads the record first and listens when it is nearly there: what is live meanwhile waits
for it. What each reader is told is `reader_stream`'s.
"""

import asyncio
import time
import weakref
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response, StreamingResponse

from callgate.api.events.reader_stream import TICK_S, EventShape, ReaderStream
from callgate.api.operation import Asked, Operation, bad_params
from callgate.api.record.queries import given
from callgate.model.error_codes import CALLER_TOO_MANY_READERS
from callgate.model.errors import CallerError
from callgate.model.identity import Role
from callgate.ports.faces import TrustDesk
from callgate.ports.fleet import Fleet
from callgate.ports.record_reader import RecordReader
from callgate.ports.row_feed import FeedRow, Missed, RowFeed
from callgate.ports.settings import SettingsNews
from callgate.ports.status import Status
from callgate.wire.problem_of import PROBLEM_TYPE, problem_of

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
        self._streams: weakref.WeakSet[ReaderStream] = weakref.WeakSet()

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
        stream = ReaderStream(
            self._record, self._status, self._redact, after, self._fleet, self._settings, self._trust
        )
        self._streams.add(stream)
        frames = self._follow(stream) if asked.query.follow else _recorded(stream)
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        return StreamingResponse(
            self._counted(stream, frames), media_type="text/event-stream", headers=headers
        )

    async def _counted(self, stream: ReaderStream, frames: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        try:
            async with aclosing(frames):
                async for frame in frames:
                    yield frame
        finally:
            self._streams.discard(stream)

    async def _follow(self, stream: ReaderStream) -> AsyncGenerator[bytes]:
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
                    await asyncio.wait((row, ended), timeout=TICK_S, return_when=asyncio.FIRST_COMPLETED)
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


async def _recorded(stream: ReaderStream) -> AsyncGenerator[bytes]:
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
