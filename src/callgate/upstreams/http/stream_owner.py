"""What the exchanges of one HTTP transport need from it, and where a stream of it stands."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol

from callgate.http_client.pool import HttpPool
from callgate.upstreams.hide_secrets import Hide
from callgate.upstreams.transport import Receiver
from callgate.wire.framing.sse import SseDecoder, SseEvent


class EventCursor:
    """How far one event stream was read: it outlives the connection that carried it."""

    __slots__ = ("_decoder", "last_event_id", "retry_ms")

    def __init__(self) -> None:
        self._decoder = SseDecoder()
        self.last_event_id: str | None = None
        self.retry_ms: int | None = None

    def start_again(self) -> None:
        """A new connection: half an event on the old one is void, the place in the stream is kept."""
        self._decoder = SseDecoder()

    def read(self, data: bytes) -> list[SseEvent]:
        """Raises CallerError when an event is too large."""
        events = self._decoder.feed(data)
        for event in events:
            if event.event_id is not None:
                self.last_event_id = event.event_id
            if event.retry_ms is not None:
                self.retry_ms = event.retry_ms
        return events


class UnderWay(Protocol):
    """A message on its way, or the stream of its answer."""

    def cancel(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


# The server's time to take what we say last: nobody waits longer for a courtesy.
FAREWELL_S = 1.0


class Unanswered:
    """Messages on their way that no answer comes to: notifications, and our responses to the server.

    Who closes the transport waits a moment for them: the last ones are cancellations of calls, and a server
    that does not hear of them works on for nobody."""

    def __init__(self) -> None:
        self._posts: set[UnderWay] = set()
        self._all_gone: asyncio.Future[None] | None = None

    def __iter__(self) -> Iterator[UnderWay]:
        return iter(self._posts)

    def add(self, post: UnderWay) -> None:
        self._posts.add(post)

    def discard(self, post: UnderWay) -> None:
        self._posts.discard(post)
        if not self._posts and self._all_gone is not None and not self._all_gone.done():
            self._all_gone.set_result(None)

    def clear(self) -> None:
        self._posts.clear()

    async def taken(self) -> None:
        """When the server has taken all of them, or after `FAREWELL_S`."""
        if not self._posts:
            return
        self._all_gone = asyncio.get_running_loop().create_future()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._all_gone, FAREWELL_S)


class StreamOwner(Protocol):
    shown: str  # name and address for messages
    hide: Hide  # takes the server's secrets out of a text
    receiver: Receiver
    pool: HttpPool
    can_resume: bool  # legacy only: 2026-07-28 has no resumable streams
    session_id: bytes | None

    def get_payload(self, last_event_id: str | None) -> bytes: ...

    def session_given(self, session_id: bytes) -> bool:
        """False when it cannot be sent back."""
        ...

    def session_lost(self) -> None: ...

    def post_ended(self, stream: UnderWay, about: int | None) -> None: ...

    def resume(self, about: int, cursor: EventCursor) -> None: ...

    def listen_refused(self) -> None: ...
