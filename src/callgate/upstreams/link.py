"""One living connection to an upstream: rules (`wire.Connection`), bytes (a transport) and their common life.

Rules
1. It starts, shakes hands, lives, is lost, backs off and starts again until it is closed; `attempted` says
   that the first attempt is over, well or not.
2. What the upstream says on a call's own stream goes to that call; on a pipe it goes to the only call under
   way, or the latest one for a question; everything else is news for `on_heard`.
3. One timer, for the earliest deadline.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from callgate.model.errors import UpstreamError
from callgate.model.reply import Answer, Asking, Item, Notice, Paused, Reply, RpcFault
from callgate.upstreams.call import Call
from callgate.upstreams.handshake import (
    PROBE_TIMEOUT_S,
    Introduction,
    discover_params,
    initialize_params,
    is_modern_evidence,
    other_era,
    read_discover,
    read_initialize,
)
from callgate.upstreams.transport import Outgoing, Receiver, Transport
from callgate.wire.connection import Connection, ConnectionState
from callgate.wire.connection_events import (
    Answered,
    AskedBack,
    Ended,
    Event,
    Garbage,
    Late,
    Notified,
    Orphan,
    Progressed,
    Send,
)
from callgate.wire.json_rpc import encode_notification
from callgate.wire.request_table import Pending
from callgate.wire.revisions import META_SUBSCRIPTION_ID

_log = logging.getLogger(__name__)

_SUBSCRIPTION_MARK = META_SUBSCRIPTION_ID.encode()
# These are for everybody who listens, whichever call happens to be under way.
_PUBLIC_NOTICES = frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
    }
)


@dataclass(frozen=True, slots=True)
class Opened:
    """A transport that can be started, and the era it is for; None: the handshake is to find out."""

    transport: Transport
    era: Era | None
    cancels_by_closing: bool = False  # modern HTTP: no notification, the closed stream says it


Opener = Callable[[Receiver, Era | None], Awaitable[Opened]]


@dataclass(frozen=True, slots=True)
class LinkPlan:
    """What a link is for."""

    name: str
    opener: Opener
    era: Era | None  # None: whichever the upstream prefers
    client: Envelope | None  # the one client it serves; None when it is shared
    timeout_s: float


class Link:
    def __init__(
        self,
        plan: LinkPlan,
        on_heard: Callable[[Notice | Asking], None],
        on_state: Callable[[bool], None],
    ) -> None:
        self._plan = plan
        self._on_heard = on_heard
        self._on_state = on_state
        self._loop = asyncio.get_running_loop()
        self._connection = Connection(random.random, plan.timeout_s)
        self._transport: Transport | None = None
        self._cancels_by_closing = False
        self._calls: dict[int, Call] = {}
        self._gone = asyncio.Event()
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self.attempted = asyncio.Event()
        self.introduction: Introduction | None = None
        self.error: UpstreamError | None = None
        self._era = plan.era
        self._life = asyncio.create_task(self._live())

    @property
    def is_ready(self) -> bool:
        return self._connection.state is ConnectionState.READY

    @property
    def in_flight(self) -> int:
        return self._connection.in_flight

    @property
    def stderr_tail(self) -> list[str]:
        return self._transport.stderr_tail if self._transport is not None else []

    # ---- asking

    async def ask(
        self, method: str, params: bytes, call: Call, timeout_s: float | None
    ) -> AsyncGenerator[Item]:
        sent = self._connection.ask(method, params, call, timeout_s, self._loop.time())
        call.rpc_id = sent.rpc_id
        self._calls[sent.rpc_id] = call
        self._arm()
        if isinstance(sent, Send):
            self._send(sent, method)
        try:
            while True:
                item = await call.next()
                yield item
                if isinstance(item, Reply):
                    return
        finally:
            self._calls.pop(call.rpc_id, None)
            if not call.is_over:
                self._cancel(call.rpc_id)

    def tell(self, method: str, params: bytes) -> None:
        if self.is_ready and self._transport is not None:
            self._transport.send(Outgoing(encode_notification(method, params), None, method))

    async def until_ready(self, timeout_s: float) -> Introduction:
        """What the upstream said of itself, once it did. Raises UpstreamError."""
        if not self.is_ready:
            try:
                await asyncio.wait_for(self.attempted.wait(), timeout_s)
            except TimeoutError as problem:
                text = f"{self._plan.name} was not ready within {timeout_s:g} s"
                raise UpstreamError(UPSTREAM_TIMEOUT, text) from problem
        if self.introduction is None or not self.is_ready:
            raise self.error or UpstreamError(UPSTREAM_FAILED, f"{self._plan.name} is not ready")
        return self.introduction

    async def close(self) -> None:
        self._closing = True
        self._wake.set()
        self._gone.set()
        self._deliver([*self._connection.close(self._loop.time())])
        self._life.cancel()
        await asyncio.gather(self._life, return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            await self._transport.close()

    # ---- life

    async def _live(self) -> None:
        while not self._closing:
            self._gone.clear()
            try:
                await self._start()
            except UpstreamError as error:
                self._lose(error)
            except Exception:  # noqa: BLE001 - a bug of ours must not end the upstream for good
                _log.exception("connecting to %s failed", self._plan.name)
                self._lose(UpstreamError(UPSTREAM_FAILED, f"Connecting to {self._plan.name} failed"))
            else:
                self.error = None
                self._on_state(True)
                self.attempted.set()
                await self._gone.wait()
                self._on_state(False)
            self.attempted.set()
            if self._transport is not None:
                await self._transport.close()
            retry_at = self._connection.retry_at()
            if retry_at is not None:
                await asyncio.sleep(max(0.0, retry_at - self._loop.time()))
            self._connection.retrying()

    async def _start(self) -> None:
        opened = await self._plan.opener(self, self._era)
        self._transport, self._cancels_by_closing = opened.transport, opened.cancels_by_closing
        await opened.transport.start()
        self._connection.opened()
        self.introduction = await self._shake_hands(opened.era)
        self._era = self.introduction.era
        for send in self._connection.ready(self._loop.time()):
            self._send(send, None)

    async def _shake_hands(self, era: Era | None) -> Introduction:
        name = self._plan.name
        if era is not Era.LEGACY:
            try:
                answer = await self._ask_handshake("server/discover", discover_params(), PROBE_TIMEOUT_S)
            except UpstreamError as error:
                if era is Era.MODERN or error.code is not UPSTREAM_TIMEOUT:
                    raise
                answer = Answer()  # silence: a legacy server
            introduction = read_discover(answer.result) if answer.result is not None else None
            if introduction is not None:
                return introduction
            if era is Era.MODERN or (answer.error is not None and is_modern_evidence(answer.error)):
                raise other_era(name, Era.MODERN)
        answer = await self._ask_handshake("initialize", initialize_params(self._plan.client), None)
        if answer.result is None:
            if era is Era.LEGACY and self._plan.era is Era.LEGACY:
                raise other_era(name, Era.LEGACY)
            raise UpstreamError(UPSTREAM_FAILED, f"{name} refused initialize: {_message(answer.error)}")
        introduction = read_initialize(name, answer.result)
        assert self._transport is not None
        self._transport.negotiated(introduction.revision)
        self._transport.send(
            Outgoing(encode_notification("notifications/initialized", b""), None, "notifications/initialized")
        )
        self._transport.listen()
        return introduction

    async def _ask_handshake(self, method: str, params: bytes, timeout_s: float | None) -> Answer:
        call = Call()
        now = self._loop.time()
        if timeout_s is None:
            send = self._connection.ask_handshake(method, params, call, now)
        else:
            send = self._connection.ask_handshake(method, params, call, now, timeout_s)
        call.rpc_id = send.rpc_id
        self._arm()
        self._send(send, method, call)
        item = await call.next()
        assert isinstance(item, Reply)
        if item.fault is not None:
            error = {"code": item.fault.code, "message": item.fault.message, "data": item.fault.data}
            return Answer(error=msgspec.json.encode(error))
        return Answer(result=item.result)

    def _lose(self, error: UpstreamError) -> None:
        self.error = error
        self._deliver([*self._connection.lost(error, self._loop.time())])

    # ---- Receiver

    def received(self, frame: bytes, about: int | None) -> None:
        self._deliver(self._connection.receive(frame, about, self._loop.time()))

    def stream_failed(self, about: int, error: UpstreamError) -> None:
        ended = self._connection.fail(about, error, self._loop.time())
        if ended is not None:
            self._deliver([ended])

    def stream_paused(self, about: int, retry_ms: int | None) -> None:
        call = self._calls.get(about)
        if call is not None:
            call.put(Paused(retry_ms))

    def lost(self, error: UpstreamError) -> None:
        self._lose(error)
        self._gone.set()

    # ---- events

    def _deliver(self, events: list[Event] | list[Ended] | list[Ended | Send]) -> None:
        for event in events:
            match event:
                case Answered(pending, result, error):
                    fault = None if error is None else read_fault(error)
                    pending.call.put(Reply(result=result, fault=fault))
                case Progressed(pending, params):
                    pending.call.put(Notice("notifications/progress", params))
                case Notified(method, params, pending):
                    self._notified(method, params, pending)
                case AskedBack():
                    self._asked_back(event)
                case Ended(pending, error, frame):
                    pending.call.put(error)
                    self._say_cancelled(pending.rpc_id, frame)
                case Send():
                    self._send(event, None)
                case Late(rpc_id, method, late_s):
                    _log.info(
                        "%s: a reply to %s (%d) came %.1f s late", self._plan.name, method, rpc_id, late_s
                    )
                case Orphan(rpc_id):
                    _log.info("%s: a reply to nothing we asked (%s)", self._plan.name, rpc_id[:40])
                case Garbage(error):
                    _log.warning("%s sent something that is not MCP: %s", self._plan.name, error)

    def _notified(self, method: str, params: bytes, pending: Pending | None) -> None:
        notice = Notice(method, params)
        call = pending.call if pending is not None else None
        if _SUBSCRIPTION_MARK in params:
            call = self._calls.get(_subscription_of(params)) or call
        elif call is None and len(self._calls) == 1 and method not in _PUBLIC_NOTICES:
            (call,) = self._calls.values()
        if call is not None:
            call.put(notice)
        else:
            self._on_heard(notice)

    def _asked_back(self, asked: AskedBack) -> None:
        if asked.method == "ping":
            self._answer_back(asked, Answer(result=b"{}"))
            return
        call: Call | None = asked.pending.call if asked.pending is not None else None
        if call is None and self._calls:
            call = self._calls[max(self._calls)]
        if call is None:
            self._on_heard(
                Asking(asked.method, asked.params, lambda answer: self._answer_back(asked, answer))
            )
            return
        rpc_id = call.rpc_id

        def respond(answer: Answer) -> None:
            self._connection.resume(rpc_id, self._loop.time())
            self._arm()
            self._answer_back(asked, answer)

        self._connection.pause(rpc_id, self._loop.time())  # a person may have to think
        call.put(Asking(asked.method, asked.params, respond))

    def _answer_back(self, asked: AskedBack, answer: Answer) -> None:
        if asked.epoch != self._connection.epoch or self._transport is None:
            return
        member, body = (b"error", answer.error) if answer.error is not None else (b"result", answer.result)
        frame = b'{"jsonrpc":"2.0","id":%b,"%b":%b}' % (asked.rpc_id, member, body or b"{}")
        self._transport.send(Outgoing(frame, None, None))

    # ---- sending

    def _send(self, send: Send, method: str | None, call: Call | None = None) -> None:
        call = call or self._calls.get(send.rpc_id)
        if call is None or self._transport is None:
            return
        if method is None:
            method = call.method
        else:
            call.method = method
        if not self._transport.send(call.outgoing(send.frame, method)):
            outcome = self._connection.busy(send, self._loop.time())
            if isinstance(outcome, Ended):
                self._deliver([outcome])
            else:
                self._arm()

    def _cancel(self, rpc_id: int) -> None:
        cancelled = self._connection.cancel(rpc_id, "the client cancelled", self._loop.time())
        if cancelled is not None:
            self._say_cancelled(rpc_id, cancelled.frame)

    def _say_cancelled(self, rpc_id: int, frame: bytes | None) -> None:
        if self._transport is None:
            return
        if frame is not None and not self._cancels_by_closing:
            self._transport.send(Outgoing(frame, None, "notifications/cancelled"))
        self._transport.abandon(rpc_id)

    def _arm(self) -> None:
        at = self._connection.next_deadline()
        if at is None:
            return
        if self._timer is not None and not self._timer.cancelled() and self._timer.when() <= at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._deliver(self._connection.tick(self._loop.time()))
        self._arm()


def read_fault(error: bytes) -> RpcFault:
    try:
        members = msgspec.json.decode(error, type=dict[str, msgspec.Raw])
        code = msgspec.json.decode(members["code"], type=int)
        message = msgspec.json.decode(members["message"], type=str)
    except (msgspec.DecodeError, KeyError):
        return RpcFault(-32603, "The server answered with an error that is none")
    return RpcFault(code, message, members.get("data"))


def _message(error: bytes | None) -> str:
    return read_fault(error).message[:300] if error is not None else "no reason given"


def _subscription_of(params: bytes) -> int:
    members = msgspec.json.decode(params, type=dict[str, msgspec.Raw])
    meta = msgspec.json.decode(members.get("_meta", msgspec.Raw(b"{}")), type=dict[str, msgspec.Raw])
    raw = bytes(meta.get(META_SUBSCRIPTION_ID, b"")).strip(b'"')
    return int(raw) if raw.isdigit() and len(raw) < 20 else 0
