"""One SSE stream of a legacy session that outlives its connection: what was sent can be sent again.

Rules (2025-11-25, basic/transports, "Resumability and Redelivery")
1. Events have ids `<stream>.<number>`: the stream is found by the first half, the place in it by the second.
2. The stream ends with `finish`; a connection may end before it (the client left, or `pause`), and a GET with
   `Last-Event-ID` goes on where it stopped. One connection reads a stream at a time.
3. What was written is kept for a while, the oldest go first. While somebody reads, nothing unread is dropped:
   `room` holds back who writes. While nobody does, the oldest go too: a client that is away too long loses
   them.
"""

import asyncio
from collections import deque

from callgate.edge.http.message import Headers, Responder
from callgate.wire.framing.sse import KEEP_ALIVE, encode_event

SSE_HEADERS: Headers = (
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache, no-transform"),
    ("x-accel-buffering", "no"),
)
_MAX_EVENTS = 256
_MAX_BYTES = 1024 * 1024
# How long a client should wait before it comes back to a paused stream, when the upstream did not say.
_RETRY_MS = 1000


def start_sse(responder: Responder) -> None:
    responder.start_stream(200, SSE_HEADERS)
    responder.on_silence = _keep_alive


def _keep_alive(responder: Responder) -> None:
    responder.write(KEEP_ALIVE)


class EventStream:
    def __init__(self, stream_id: str, primes: bool, *, waits: bool = True) -> None:
        """`primes`: the client knows of priming events (2025-11-25 on). `waits`: the writer calls `room`."""
        self.stream_id = stream_id
        self._waits = waits
        self._primes = primes
        self._events: deque[bytes] = deque()
        self.size_bytes = 0  # of what is kept
        self._first = 1  # number of the oldest event kept
        self._changed = asyncio.Event()  # something to write, or the end
        self._progress = asyncio.Event()  # something was written, or nobody reads any more
        self._written = 0  # number of the newest event that somebody was given
        self._paused_ms: int | None = None
        self.is_finished = False
        self.is_read = False

    def push(self, frame: bytes) -> None:
        self._events.append(frame)
        self.size_bytes += len(frame)
        while self._is_too_much() and (not self._waits or not self.is_read or self._first <= self._written):
            self.size_bytes -= len(self._events.popleft())
            self._first += 1
        self._changed.set()

    def _is_too_much(self) -> bool:
        return len(self._events) > _MAX_EVENTS or (self.size_bytes > _MAX_BYTES and len(self._events) > 1)

    async def room(self) -> None:
        """Wait while the reader is far behind."""
        while self.is_read and self._is_too_much():
            self._progress.clear()
            await self._progress.wait()
            if self._first <= self._written:
                return

    @property
    def is_used_up(self) -> bool:
        """It ended, and somebody was given all of it."""
        return self.is_finished and self._written == self._first - 1 + len(self._events)

    def finish(self) -> None:
        self.is_finished = True
        self._changed.set()

    def pause(self, retry_ms: int | None) -> None:
        """Close the connection, not the stream; only for a client that can come back, and did not leave."""
        if self._primes and self.is_read:
            self._paused_ms = _RETRY_MS if retry_ms is None else retry_ms
            self._changed.set()

    async def serve(self, responder: Responder, after: int | None = None) -> None:
        """Write the events after number `after` (None: those nobody was given), then the new ones, until the
        stream ends or is paused."""
        self.is_read = True
        responder.cancel_on_disconnect = True  # only this reading ends with it: the writer is another task
        try:
            start_sse(responder)
            if self._primes and after is None:
                await responder.stream(_prime(f"{self.stream_id}.0", _RETRY_MS))
            # A client that names no event wants what is new: what somebody was given is not given again.
            number = self._written if after is None else after
            while not responder.client_gone:
                number = await self._write_new(responder, number)
                if self.is_finished or self._paused_ms is not None:
                    break
                await self._changed.wait()
            if self._paused_ms is not None and not self.is_finished:
                await responder.stream(_prime(f"{self.stream_id}.{number}", self._paused_ms))
            responder.end_stream()
        finally:
            self.is_read, self._paused_ms = False, None
            self._progress.set()

    async def _write_new(self, responder: Responder, number: int) -> int:
        self._changed.clear()
        number = max(number, self._first - 1)
        while number < self._first - 1 + len(self._events):
            frame = self._events[number - (self._first - 1)]
            number += 1
            await responder.stream(encode_event(frame, f"{self.stream_id}.{number}"))
            self._written = max(self._written, number)
            self._progress.set()
        return number


def _prime(event_id: str, retry_ms: int) -> bytes:
    """An event with an id and no data: what a client needs to come back, and when."""
    return b"id: %b\nretry: %d\ndata:\n\n" % (event_id.encode(), retry_ms)
