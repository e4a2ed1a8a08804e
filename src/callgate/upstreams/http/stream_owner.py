"""What the exchanges of one HTTP transport need from it, and where a stream of it stands."""

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
