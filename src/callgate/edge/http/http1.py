"""HTTP/1.1 for one connection: requests in (`request_reader`), answers out (`client_socket`).

By hand because the layer above it decides the gateway's speed: an ASGI server costs 60 µs a request more
(docs/decisions/0002-own-http-layer.md). Knows nothing of MCP.

Rules
1. One request is answered at a time. One that arrives meanwhile (pipelining) waits, and reading stops until
   it is answered; while none waits we keep reading, since that is how a disconnect is noticed.
2. A client whose request cannot be read, or is too long, is answered and cut off. What was answered must be
   read before the next request is served.
3. Answers are whole or streamed in chunks.
4. When the client goes away, the handler's task is cancelled only if it asked for that.
5. All requests of a connection are answered by one task: one for each costs as much as reading the request.
   A request may also be answered without the task, by callbacks (`message.Begun`): whoever began it says when
   it is finished, or hands it over to the task after all.
6. A body is dropped when its request was answered, and when the connection ends: at once, not when the
   collector looks. Behind a request under way no body is read ahead.
7. A connection that is to end (`leave`) says so with its next answer, so that the client sends nothing more.
   One that is idle, or in the middle of a request, stays until `shut_down`.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from callgate.edge.http.client_socket import ClientSocket
from callgate.edge.http.message import Begun, HttpRequest, Responder
from callgate.edge.http.request_reader import RequestReader
from callgate.edge.http.service import Handler, Service
from callgate.model.errors import CallgateError
from callgate.ports.http_app import UNIX_PEER

_log = logging.getLogger(__name__)


class ClientConnection(ClientSocket):
    def __init__(self, service: Service, now: Callable[[], float]) -> None:
        super().__init__(service.unread, now)
        self._service = service
        self._reader = RequestReader(service, self._take, self._ask_for_body, now)
        self.has_asked = False  # a whole request came over it
        self._worker: asyncio.Task[None] | None = None  # from the first request on that is not begun without
        self._idle: asyncio.Future[None] | None = None  # what it waits on for the next one
        self._begun: Begun | None = None  # the request is answered without the task
        self._handed_over: Handler | None = None  # what the task is to go on with it
        self._ended: asyncio.Future[None] | None = None  # somebody waits for the end of the request
        self._request: HttpRequest | None = None  # the one being answered
        self._responder: Responder | None = None
        self._waiting: deque[HttpRequest] = deque()  # pipelined behind the one being answered
        self._refusal: CallgateError | None = None  # what follows them on the wire could not be read
        self._is_leaving = False
        self._answered_at = self._wrote_at

    # ---- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer: Any = transport.get_extra_info("peername")
        # A name, even an empty one, is a Unix socket's. None: who was there is gone already.
        of_socket = UNIX_PEER if isinstance(peer, str | bytes) else None
        self._reader.peer = peer[0] if isinstance(peer, tuple) else of_socket

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._reader.close()
        while self._waiting:
            self._service.drop_body(self._waiting.popleft())
        if self._idle is not None:
            self._idle.cancel()  # and with it the worker
            self._idle = self._worker = None
        if self._request is None:
            self._tell_ended()
        if self._responder is not None and self._responder.cancel_on_disconnect:
            if self._begun is not None:
                self._begun.abort()
            elif self._worker is not None:
                self._worker.cancel()

    def data_received(self, data: bytes) -> None:
        if self._closing or self._refusal is not None or self._reader.is_over:
            return
        if self._request is None and (known := self._reader.known_request(data)) is not None:
            self._start(known)
            return
        try:
            self._reader.feed(data)
        except CallgateError as error:
            self.refuse(error.with_traceback(None))  # its frames hold the bytes just read
        if self._is_reading_paused or self._transport is None:
            return
        if self._waiting or (self._request is not None and self._reader.is_mid_body):
            self.pause_reading()

    # ---- what the listener and the responder need

    @property
    def is_answering(self) -> bool:
        return self._request is not None

    @property
    def last_request(self) -> HttpRequest | None:
        """The one that is answered, or whose head is known for those to come."""
        return self._request or self._reader.known_head

    @property
    def task(self) -> asyncio.Task[None] | None:
        """The one that answers, while it does."""
        return self._worker if self._request is not None and self._begun is None else None

    @property
    def is_mid_request(self) -> bool:
        return self._reader.is_mid_request

    @property
    def waiting_since(self) -> float:
        """When we began to wait for the (rest of the) next request."""
        return max(self._answered_at, self._reader.began_at)

    def check_silence(self, before: float) -> None:
        """An answer under way that has written nothing since `before` is reminded to."""
        responder = self._responder
        if responder is not None and responder.on_silence is not None and self._wrote_at < before:
            responder.on_silence(responder)

    def leave(self) -> None:
        """The next answer, or the one under way, is the last."""
        self._is_leaving = True
        if self._responder is not None:
            self._responder.closes = True

    def shut_down(self) -> asyncio.Future[None] | None:
        """Hang up when idle; when a request is under way, hang up after its answer. Returns what to wait for;
        cancelling it ends the answer."""
        self.leave()
        if self._request is None and not self._reader.is_mid_request:
            self.close()
            return None
        if self.task is not None:
            return self.task
        self._ended = asyncio.get_running_loop().create_future()
        self._ended.add_done_callback(self._cancel_answer)
        return self._ended

    def _cancel_answer(self, ended: asyncio.Future[None]) -> None:
        if not ended.cancelled():
            return
        if self._begun is not None:
            self._begun.abort()
        elif self.task is not None:
            self.task.cancel()

    def _tell_ended(self) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def refuse(self, error: CallgateError) -> None:
        """Answer an unreadable request and hang up: what follows on the wire cannot be trusted.

        Not before those in front of it were answered: a client takes answers in the order it asked.
        """
        if self._request is not None:
            self._refusal = error
            return
        self._service.refuser(error, self._reader.so_far(), Responder(self, head_only=False))
        self._reader.close()
        self.linger()

    # ---- reading

    def _ask_for_body(self) -> None:
        # Not into the middle of another answer; a client that gets none sends its body after a while.
        if self._request is None:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _take(self, request: HttpRequest) -> None:
        if self._request is None:
            self._start(request)
        else:
            self._waiting.append(request)

    # ---- answering

    def _start(self, request: HttpRequest) -> None:
        self._responder = Responder(self, request.method == "HEAD", not request.is_http_10)
        if self._is_leaving:
            self._responder.closes = True
        self._wrote_at = self._now()
        self._request = request
        self.has_asked = True
        if request.beginner is not None:
            try:
                self._begun = request.beginner.begin(request, self._responder, self)
            except Exception:  # noqa: BLE001 - a bug of ours: the task answers, which has a border for it
                _log.exception("%s %s could not be begun", request.method, request.path)
        if self._begun is None:
            self._wake_worker()

    def _wake_worker(self) -> None:
        if self._idle is not None:
            self._idle.set_result(None)
            self._idle = None
        elif self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    def hand_over(self, handler: Handler) -> None:
        """What was begun without the task is the task's as soon as that runs."""
        self._handed_over = handler
        self._wake_worker()

    def finish(self) -> None:
        """What was begun without the task was answered, or given up."""
        request, responder = self._request, self._responder
        if self._begun is None or request is None or responder is None:
            return
        self._handed_over = None
        if self._drain is not None and self._transport is not None:
            self._drain.add_done_callback(lambda _: self._finish_read())
            return
        self._begun = None
        self._end(request, responder)
        if self._waiting or self._refusal is not None or self._is_reading_paused:
            self._next()
        else:
            self._answered_at = self._wrote_at

    def _finish_read(self) -> None:
        self._wrote_at = self._now()
        self.finish()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                while self._request is not None and (self._begun is None or self._handed_over is not None):
                    request, responder = self._request, self._responder
                    assert responder is not None
                    try:
                        handler = self._handed_over or self._service.handler
                        self._begun = self._handed_over = None
                        await handler(request, responder)
                        if self._drain is not None:
                            await self._drain
                    except asyncio.CancelledError:
                        self.close()
                    finally:
                        self._end(request, responder)
                    self._next()
                    if self.is_answering:
                        await asyncio.sleep(0)  # a long pipeline is not answered in one go: others wait too
                    request = responder = handler = None
                if self._transport is None or (self._closing and self._begun is None):
                    return
                self._idle = loop.create_future()
                await self._idle
        finally:
            if self._worker is asyncio.current_task():
                self._worker = None  # a task that was cancelled keeps its frames, and they keep us
            if self._lingering is None:
                self.close()  # whatever ended us: nobody else would answer here

    def _end(self, request: HttpRequest, responder: Responder) -> None:
        self._request = self._responder = None
        request.body, request.decoded = b"", None  # rule 6
        if request.budget_bytes:
            self._service.drop_body(request)
        if self._ended is not None:
            self._tell_ended()
        unfinished = not responder.started or responder.streaming
        if request.is_cut and not unfinished and not self._closing:
            self._reader.close()
            self.linger()
        elif request.wants_close or unfinished or self._closing or self._is_leaving:
            self.close()

    def _next(self) -> None:
        if self._transport is None or self._closing:
            return
        self._answered_at = self._now()
        if self._waiting:
            self._start(self._waiting.popleft())
        elif self._refusal is not None:
            self.refuse(self._refusal)
        if self._is_reading_paused and not self._waiting:
            self.resume_reading()
