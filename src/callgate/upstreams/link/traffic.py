"""What goes over a link: requests out, answers to their calls, and the server's unsolicited messages.

Rules
1. `wire.Connection` decides, this carries it out: sends, delivers, cancels, and keeps one timer for the
   earliest deadline.
2. Whose the server's notices and questions are is for `server_words` to say.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from callgate.model.envelope import Envelope
from callgate.model.error_codes import UPSTREAM_FAILED
from callgate.model.errors import UpstreamError
from callgate.model.reply import Answer, Notice, Paused, Reply, Tell, Undelivered, Unsolicited, tell_nobody
from callgate.upstreams.http.message_post import REPEATABLE_METHODS
from callgate.upstreams.link.call import Call
from callgate.upstreams.link.server_words import ServerWords
from callgate.upstreams.transport import Opened
from callgate.wire.connection import events
from callgate.wire.connection.connection import Connection, ConnectionState
from callgate.wire.fault_of import read_fault
from callgate.wire.framing.lines import MAX_FRAME_BYTES
from callgate.wire.json_rpc import encode_notification, result_in

_log = logging.getLogger(__name__)

# We ask these ourselves. A healthy server that needs some seconds to start answers the probe of its era late.
_OUR_HANDSHAKE = frozenset({"initialize", "server/discover"})
# Whoever holds the question for the client gives up first and cancels the call; this is for questions
# nobody holds.
_MARGIN_S = 5.0
# Each look at what is due goes through all requests (`wire.RequestTable`, rule 2).
_LEAST_TICK_S = 0.01


class Traffic:
    def __init__(
        self,
        name: str,
        client: Envelope | None,
        timeout_s: float,
        answer_timeout_s: Callable[[], float],
        on_unsolicited: Callable[[Unsolicited | Undelivered], None],
    ) -> None:
        self.name = name
        self._on_unsolicited = on_unsolicited
        self._loop = asyncio.get_running_loop()
        self.connection = Connection(random.random, timeout_s)
        self.server: tuple[str | None, str | None] = (None, None)  # version and revision, once ready
        self.over: Opened | None = None  # what carries the frames now, or did
        self._words = ServerWords(client, self, lambda: answer_timeout_s() + _MARGIN_S, on_unsolicited)
        self._is_shared = client is None
        self.drops = False
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0  # uvloop has no timer to ask for a deadline that is now

    @property
    def is_ready(self) -> bool:
        return self.connection.state is ConnectionState.READY

    def use(self, opened: Opened) -> None:
        self.over = opened
        # A pipe that several clients share is not held for one of them: the others would wait for a stranger.
        self.drops = self._is_shared and opened.is_pipe

    # ---- asking

    def ask(
        self, call: Call, method: str, params: bytes, tell: Tell, timeout_s: float | None = None
    ) -> Coroutine[Any, Any, Reply]:
        """The server's reply; `tell` hears what it says before. It is sent when that is awaited."""
        call.method, call.params, call.timeout_s, call.keeper = method, params, timeout_s, self
        return call.go_on(tell)

    def begin(self, call: Call) -> None:
        """Sends it, and it gets what comes of it. Raises UpstreamError at once when the server is down."""
        now, method, timeout_s = self._loop.time(), call.method, call.timeout_s
        sent = self.connection.ask(method, call.params, call, timeout_s, now, call.limit_key)
        rpc_id, over = sent.rpc_id, self.over
        call.rpc_id, call.keeper = rpc_id, self
        if (hop := call.hop) is not None:
            hop.rpc_id = rpc_id
            hop.server_version, hop.server_protocol = self.server
        # The timer of an older request mostly comes first.
        if self._timer is None or timeout_s is None or now + timeout_s < self._timer_at:
            self._arm()
        if over is None or not isinstance(sent, events.Send):
            return
        if not over.transport.send(sent.frame, rpc_id, method, call.name, call.param_headers):
            self._busy(sent)

    def let_go(self, call: Call) -> None:
        """Nobody waits for it any more: it is cancelled at the server unless it is over."""
        if call.is_full:  # what was held back for it is not any more
            call.set_full(False)
        if not call.is_over:
            self.cancel(call.rpc_id)

    async def ask_handshake(self, method: str, params: bytes, timeout_s: float) -> Reply:
        call = Call()
        send = self.connection.ask_handshake(method, params, call, self._loop.time(), timeout_s)
        call.rpc_id, call.method = send.rpc_id, method
        self._arm()
        self._send(send)
        return await call.go_on(tell_nobody)

    def tell(self, method: str, params: bytes) -> None:
        if self.is_ready and self.over is not None:
            self.over.transport.send(encode_notification(method, params), None, method)

    def hold(self, rpc_id: int, is_full: bool) -> None:
        """Its asker is behind, or caught up: backpressure reaches the stream (rule 9 of `Connection`)."""
        if self.over is not None and not self.drops:
            hold = self.over.transport.pause_stream if is_full else self.over.transport.resume_stream
            hold(rpc_id)

    # ---- the life of the connection

    def ready(self) -> None:
        for send in self.connection.ready(self._loop.time()):
            self._send(send)

    def lost(self, error: UpstreamError) -> None:
        self._words.forget_all()
        self._deliver(self.connection.lost(error, self._loop.time()))

    def renew(self, error: UpstreamError) -> None:
        """The server only forgot our session: what is safe to ask twice is asked again, once it knows us."""
        now = self._loop.time()
        self._words.forget_all()
        ended = self.connection.lost(error, now)
        self.connection.retrying()
        for event in ended:
            call: Call = event.pending.call
            if call.method in REPEATABLE_METHODS and not event.pending.handshake:
                call.is_full = False
                self.begin(call)
            else:
                self._deliver([event])

    def close(self) -> None:
        self._words.forget_all()
        self._deliver(self.connection.close(self._loop.time()))
        if self._timer is not None:
            self._timer.cancel()

    # ---- what comes in

    def received(self, frame: bytes, about: int | None) -> None:
        try:
            read = result_in(frame) if len(frame) <= MAX_FRAME_BYTES else None
            if read is None or not self.answered(read.id, bytes(read.result)):
                self._deliver(self.connection.receive(frame, about, self._loop.time()))
        except Exception:  # noqa: BLE001 - one frame must not cost those behind it in the same chunk
            _log.exception("%s: a frame could not be handled", self.name)

    def answered(self, rpc_id: int, result: bytes) -> bool:
        """A result, for this request of ours. False: nobody waits for it, or it is not an object."""
        pending = self.connection.answered(rpc_id) if result[:1] == b"{" else None
        if pending is None:
            return False
        call: Call = pending.call
        listener = call.listener
        if listener is None or call.is_full:
            call.put(Reply(result=result))
        else:  # as `put`
            call.listener, call.is_over = None, True
            listener(Reply(result=result))
        return True

    def failed(self, about: int, error: UpstreamError) -> None:
        ended = self.connection.fail(about, error, self._loop.time())
        if ended is not None:
            self._deliver([ended])

    def paused(self, about: int, retry_ms: int | None) -> None:
        if (call := self.call_of(about)) is not None:
            call.put(Paused(retry_ms))

    def _deliver(self, happened: Iterable[events.Event | events.Send]) -> None:
        for event in happened:
            match event:
                case events.Answered():
                    self._answered(event)
                case events.Progressed(pending, params):
                    pending.call.put(Notice("notifications/progress", params))
                case events.Notified():
                    self._words.notified(event)
                case events.AskedBack():
                    self._words.ask(event)
                case events.Ended(pending, error, frame):
                    pending.call.put(error)
                    self._say_cancelled(pending.rpc_id, frame)
                case events.Send():
                    self._send(event)
                case events.Late(progress=bytes() as params) | events.Orphan(progress=bytes() as params):
                    self._on_unsolicited(Undelivered("notifications/progress", params))
                case events.Late(rpc_id, method, late_s):
                    level = logging.DEBUG if method in _OUR_HANDSHAKE else logging.INFO
                    _log.log(
                        level, "%s: a reply to %s (%d) came %.1f s late", self.name, method, rpc_id, late_s
                    )
                case events.Orphan(rpc_id):
                    _log.info("%s: a reply to a request that we did not send (%s)", self.name, rpc_id[:40])
                case events.Garbage(error):
                    _log.warning("%s sent something that is not MCP: %s", self.name, error)

    def _answered(self, answered: events.Answered) -> None:
        pending, result = answered.pending, answered.result
        if answered.error is not None:
            pending.call.put(Reply(fault=read_fault(answered.error)))
        elif result is None or result[:1] != b"{":
            text = f"{self.name} answered {pending.method} with a result that is not an object"
            pending.call.put(UpstreamError(UPSTREAM_FAILED, text))
        else:
            pending.call.put(Reply(result=result))

    def under_way(self) -> list[Call]:
        """Calls that a message without an address could belong to, the latest last."""
        return [
            pending.call
            for pending in self.connection.open_requests()
            if pending.method != "subscriptions/listen" and not pending.handshake
        ]

    def call_of(self, rpc_id: int) -> Call | None:
        """The one that is open under our id, unless it is our own handshake."""
        pending = self.connection.find(rpc_id)
        return None if pending is None or pending.handshake else pending.call

    def pause(self, call: Call) -> None:
        self.connection.pause(call.rpc_id, self._loop.time())

    def resume(self, call: Call) -> None:
        self.connection.resume(call.rpc_id, self._loop.time())
        self._arm()

    def answer_back(self, asked: events.AskedBack, answer: Answer) -> None:
        if asked.epoch != self.connection.epoch or self.over is None:
            return
        member, body = (b"error", answer.error) if answer.error is not None else (b"result", answer.result)
        frame = b'{"jsonrpc":"2.0","id":%b,"%b":%b}' % (asked.rpc_id, member, body or b"{}")
        self.over.transport.send(frame)

    # ---- sending

    def _send(self, send: events.Send) -> None:
        pending = self.connection.find(send.rpc_id)
        if pending is None or self.over is None:
            return
        call: Call = pending.call
        transport = self.over.transport
        if not transport.send(send.frame, call.rpc_id, call.method, call.name, call.param_headers):
            self._busy(send)

    def _busy(self, send: events.Send) -> None:
        ended = self.connection.busy(send, self._loop.time())
        if ended is not None:
            self._deliver([ended])
        else:
            self._arm()

    def cancel(self, rpc_id: int) -> None:
        cancelled = self.connection.cancel(rpc_id, "the client cancelled", self._loop.time())
        if cancelled is not None:
            self._say_cancelled(rpc_id, cancelled.frame)

    def _say_cancelled(self, rpc_id: int, frame: bytes | None) -> None:
        if self.over is None:
            return
        if frame is not None and not self.over.cancels_by_closing:
            self.over.transport.send(frame, None, "notifications/cancelled")
        self.over.transport.abandon(rpc_id)

    def _arm(self, not_before: float = 0.0) -> None:
        at = self.connection.next_deadline()
        if at is None:
            return
        at = max(at, not_before)
        if self._timer is not None and not self._timer.cancelled() and self._timer_at <= at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = self._loop.call_at(at, self._tick), at

    def _tick(self) -> None:
        self._timer, now = None, self._loop.time()
        self._deliver(self.connection.tick(now))
        self._arm(now + _LEAST_TICK_S)
