"""A legacy event stream over GET, kept up over reconnects: the listen stream, or the rest of a request's.

(2025-11-25, basic/transports, "Listening for Messages from the Server", "Resumability and Redelivery".) Owns
when to reconnect; the transport behind (`StreamOwner`) owns session and connections.

Rules
1. `about` is the request whose interrupted POST stream goes on here; None for the listen stream.
2. After an end the server's `retry` is waited for (rarer and rarer, if it is next to nothing), or one second.
   Failures in a row wait longer, up to 30 s.
3. A request's stream gives up after a few failures in a row; an end without an event is no failure, it is how
   a server lets its clients poll. The listen stream is tried for as long as the transport lives.
4. An answer that is neither a stream nor passing trouble (5xx, 429) says that there is no such stream (405 by
   the specification): it is not asked for again.
"""

import asyncio
from typing import Protocol

from callgate.http_client.exchange import SSE_TYPE, HttpExchange, RawHeaders, media_type_of
from callgate.model.errors import CallerError, UpstreamError
from callgate.upstreams.http.faults import Refusal, answer_fault, is_answer_to, too_large_fault
from callgate.upstreams.http.http_transport import StreamOwner
from callgate.wire.framing.sse import SseDecoder

_PAUSE_S = 1.0
_MAX_PAUSE_S = 30.0
# A server may ask for `retry: 0`. That is heard at first, and then less and less: one that breaks off each
# stream at once would be asked a hundred times a second, as long as the call lasts.
_MIN_PAUSE_S = 0.01
_POLLS_PER_PAUSE = 6
_MAX_FAILURES = 5


def pause_s(retry_ms: int | None, polls: int) -> float:
    """How long to wait before the next connection, after so many of them."""
    if retry_ms is None:
        return _PAUSE_S
    return max(retry_ms / 1000, min(_PAUSE_S, _MIN_PAUSE_S * 2 ** min(polls // _POLLS_PER_PAUSE, 10)))


class GetStream:
    def __init__(self, owner: StreamOwner, about: int | None, decoder: SseDecoder) -> None:
        self._owner = owner
        self._about = about
        self._decoder = decoder
        self._attempt: StreamGet | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._polls = 0
        self._quiet_ends = 0  # ends in a row of connections that brought no event
        self._has_heard = False  # on this connection
        self._is_over = False

    def open_now(self) -> None:
        self._timer = None
        self._has_heard = False
        self._decoder.start_again()
        payload = self._owner.get_payload(self._decoder.last_event_id)
        self._attempt = StreamGet(self, payload, tells_why=self._about is not None)
        self._owner.pool.send(self._attempt)

    def open_later(self) -> None:
        wait_s = pause_s(self._decoder.retry_ms, self._polls)
        self._polls += 1
        if self._failures or (self._about is None and self._quiet_ends):
            wait_s = max(wait_s, min(_MAX_PAUSE_S, _PAUSE_S * 2 ** min(self._failures + self._quiet_ends, 6)))
        self._timer = asyncio.get_running_loop().call_later(wait_s, self.open_now)

    def cancel(self) -> None:
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._attempt is not None:
            self._attempt.cancel()

    def pause(self) -> None:
        if self._attempt is not None:
            self._attempt.pause()

    def resume(self) -> None:
        if self._attempt is not None:
            self._attempt.resume()

    # ---- what an attempt reports

    def refused(self, status: int, headers: RawHeaders, body: bytes) -> None:
        fault = answer_fault(self._owner.shown, status, headers, body, self._owner.hide)
        if status == 404 and self._owner.session_id is not None:
            self._owner.session_lost()
        elif status < 500 and status != 429:
            self._give_up(fault)
        else:
            self.failed(fault)

    def read(self, data: bytes) -> None:
        try:
            events = self._decoder.feed(data)
        except CallerError:
            self._give_up(too_large_fault(self._owner.shown))
            return
        if events:
            self._has_heard = True
            self._failures = 0
        for event in events:
            if self._is_over:
                return
            if event.data and event.event == "message":
                if self._about is not None and is_answer_to(event.data, self._about):
                    self._is_over = True
                    self._owner.post_ended(self, self._about)
                self._owner.receiver.received(event.data, self._about)
        if self._is_over:
            self.cancel()

    def ended(self) -> None:
        self._attempt = None
        if self._is_over:
            return
        self._failures = 0
        self._quiet_ends = 0 if self._has_heard else self._quiet_ends + 1
        if self._about is not None:
            self._owner.receiver.stream_paused(self._about, self._decoder.retry_ms)
        self.open_later()

    def failed(self, error: UpstreamError) -> None:
        self._attempt = None
        if self._is_over:
            return
        self._failures += 1
        if self._about is not None and self._failures >= _MAX_FAILURES:
            self._give_up(error)
        else:
            self.open_later()

    def _give_up(self, error: UpstreamError) -> None:
        self.cancel()
        self._owner.post_ended(self, self._about)
        if self._about is None:
            self._owner.listen_refused()
        else:
            self._owner.receiver.stream_failed(self._about, error)


class StreamReader(Protocol):
    def read(self, data: bytes) -> None: ...

    def refused(self, status: int, headers: RawHeaders, body: bytes) -> None: ...

    def ended(self) -> None: ...

    def failed(self, error: UpstreamError) -> None: ...


class StreamGet(HttpExchange):
    def __init__(self, reader: StreamReader, payload: bytes, *, tells_why: bool) -> None:
        """`tells_why`: somebody waits to hear why there is no stream."""
        super().__init__(payload, repeatable=True, is_urgent=True)
        self._reader = reader
        self._tells_why = tells_why
        self._refusal: Refusal | None = None

    def on_head(self, status: int, headers: RawHeaders) -> None:
        if status != 200 or media_type_of(headers) != SSE_TYPE:
            self._refusal = Refusal(status, headers)
            if self._refusal.is_whole or not self._tells_why:
                self._refused(self._refusal)

    def on_data(self, data: bytes) -> None:
        if self._refusal is None:
            self._reader.read(data)
        elif self._refusal.read(data):
            self._refused(self._refusal)

    def on_end(self) -> None:
        if self._refusal is None:
            self._reader.ended()
        else:
            self._refused(self._refusal)

    def _refused(self, refusal: Refusal) -> None:
        self.cancel()
        self._reader.refused(refusal.status, refusal.headers, refusal.body)

    def on_failure(self, error: UpstreamError) -> None:
        self._reader.failed(error)
