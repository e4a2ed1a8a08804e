"""One JSON-RPC message as its own POST, and every way in which it may be answered.

Owns the meaning of status, content type and stream for one message; both eras. The transport behind
(`StreamOwner`) owns session and connections; `get_stream` goes on where a legacy stream was interrupted.

Rules
1. A request ends in exactly one of: its response `received`, `stream_failed`, `lost`, or `abandon`ed.
2. After the response the stream is read to its end, so that the connection can be reused, but not for long.
3. The failed POST of a notification or of our response to the server is nobody's failure here: what the
   server misses it will say on the next request. Only a lost session counts.
"""

import asyncio

from callgate.http_client.exchange import (
    JSON_TYPE,
    SSE_TYPE,
    HttpExchange,
    KnownAnswer,
    RawHeaders,
    header_of,
    media_type_of,
)
from callgate.model.error_codes import UPSTREAM_FAILED
from callgate.model.errors import CallerError, UpstreamError
from callgate.upstreams.http.faults import (
    answer_fault,
    coded_fault,
    cut_stream_fault,
    is_answer_to,
    too_large_fault,
)
from callgate.upstreams.http.http_transport import StreamOwner
from callgate.wire.framing.lines import MAX_FRAME_BYTES
from callgate.wire.framing.pieces import Pieces
from callgate.wire.framing.sse import SseDecoder, SseEvent
from callgate.wire.json_rpc import Result, result_in

# A server that has answered should end the stream by itself (both eras); one that does not is cut off.
_AFTER_RESPONSE_S = 5.0

# Asking for these twice does no harm (pool.py, rule 3). `tools/call` and what is unknown are not here.
REPEATABLE_METHODS = frozenset(
    {
        "completion/complete", "initialize", "logging/setLevel", "notifications/cancelled",
        "notifications/initialized", "notifications/roots/list_changed", "ping", "prompts/get",
        "prompts/list", "resources/list", "resources/read", "resources/subscribe",
        "resources/templates/list", "resources/unsubscribe", "server/discover", "subscriptions/listen",
        "tasks/get", "tasks/list", "tools/list",
    }
)  # fmt: skip


class MessagePost(HttpExchange):
    # Here and not in the constructor: there is one of these for each call, and most of them stay so.
    _status = 0
    _headers: RawHeaders = []  # noqa: RUF012 - replaced, never changed
    _body: Pieces | None = None  # from its first piece on
    _decoder: SseDecoder | None = None
    repeatable = is_urgent = _is_initialize = False
    _is_json = False
    _is_answered = False
    _is_over = False
    _timer: asyncio.TimerHandle | None = None

    def __init__(
        self, owner: StreamOwner, payload: bytes, about: int | None, method: str | None, has_session: bool
    ) -> None:
        # As the constructor of HttpExchange, which is a call more.
        self.payload = payload
        self._owner = owner
        self._about = about
        self._has_session = has_session
        if method != "tools/call":
            # Our answer to the server carries its id: a second copy is recognised.
            self.repeatable = method is None or method in REPEATABLE_METHODS
            # Answers and notifications are never behind requests: a request may be waiting for them.
            self.is_urgent = about is None
            self._is_initialize = method == "initialize"

    def cancel(self) -> None:
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        super().cancel()

    # ---- what the connection reports

    def on_head(self, status: int, headers: RawHeaders) -> None:
        self._status = status
        self._headers = headers
        if status != 200:
            return
        if self._is_initialize:
            session_id = header_of(headers, b"mcp-session-id")
            if session_id is not None and not self._owner.session_given(session_id):
                text = f"{self._owner.shown} gave a session id that cannot be sent in a header"
                self._fail(UpstreamError(UPSTREAM_FAILED, text))
                return
        coded = coded_fault(self._owner.shown, headers)
        if coded is not None:
            self._fail(coded)
            return
        kind = media_type_of(headers)
        if kind == SSE_TYPE:
            self._decoder = SseDecoder()
        self._is_json = kind == JSON_TYPE

    def on_data(self, data: bytes) -> None:
        if self._is_over:
            return
        if self._decoder is not None:
            self._read_stream(self._decoder, data)
            return
        if self._body is None:
            self._body = Pieces()
        self._body.append(data)
        if self._body.size_bytes > MAX_FRAME_BYTES:
            self._fail(too_large_fault(self._owner.shown))

    def on_end(self) -> None:
        if self._is_over:
            return
        if self._decoder is not None:
            self._stream_ended(self._decoder, None)
            return
        body = self._body.take() if self._body is not None else b""
        if self._has_session and self._status == 404:
            self._owner.session_lost()
        elif self._about is None:
            self._end()
        elif self._is_response(body, self._about):
            self._end()
            self._owner.receiver.received(body, self._about)
        else:
            self._fail(answer_fault(self._owner.shown, self._status, self._headers, body, self._owner.hide))

    def read_whole(self, answer: KnownAnswer, body: bytes) -> Result | None:
        about = self._about
        if about is None or not answer.is_plain_json or self._is_initialize or self._is_over:
            return None
        read = result_in(body)
        return read if read is not None and read.id == about else None

    def on_whole(self, body: bytes, read: Result) -> None:
        self._is_over = True
        owner, about = self._owner, read.id
        owner.post_ended(self, about)
        if not owner.receiver.answered(about, bytes(read.result)):
            owner.receiver.received(body, about)

    def on_failure(self, error: UpstreamError) -> None:
        if self._is_over:
            return
        if self._decoder is not None:
            self._stream_ended(self._decoder, error)
        else:
            self._fail(error)

    def _is_response(self, body: bytes, about: int) -> bool:
        """With 200 any response of that id; with an error status a JSON-RPC error of that id, so that the
        server's own words reach the client. Not with 401 and 403: those are for the operator."""
        if self._status == 200:
            return self._is_json and is_answer_to(body, about)
        return self._status >= 400 and self._status not in (401, 403) and is_answer_to(body, about)

    # ---- streams

    def _read_stream(self, decoder: SseDecoder, data: bytes) -> None:
        try:
            events = decoder.feed(data)
        except CallerError:
            self._fail(too_large_fault(self._owner.shown))
            return
        for event in events:
            if event.data and event.event == "message":
                self._read_event(event)
            if self._is_over:  # what was received led to our being cancelled
                return

    def _read_event(self, event: SseEvent) -> None:
        about = self._about
        if about is not None and not self._is_answered and is_answer_to(event.data, about):
            self._is_answered = True
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_AFTER_RESPONSE_S, self._cut_off)
        self._owner.receiver.received(event.data, about)

    def _cut_off(self) -> None:
        self._end()
        self.cancel()

    def _stream_ended(self, decoder: SseDecoder, error: UpstreamError | None) -> None:
        about = self._about
        if about is None or self._is_answered:
            self._end()
        elif decoder.last_event_id is not None and self._owner.can_resume:
            self._end()
            if error is None:
                self._owner.receiver.stream_paused(about, decoder.retry_ms)
            self._owner.resume(about, decoder)
        else:
            self._fail(error or cut_stream_fault(self._owner.shown))

    # ---- ending

    def _end(self) -> None:
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        self._owner.post_ended(self, self._about)

    def _fail(self, error: UpstreamError) -> None:
        was_answered = self._is_answered
        self._end()
        self.cancel()
        if self._about is not None and not was_answered:
            self._owner.receiver.stream_failed(self._about, error)
