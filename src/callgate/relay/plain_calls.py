"""Tool calls that need nothing but their server's answer: sent at once, and answered by a callback.

A task, its coroutines and a future cost more than everything else that is done for such a call.

Rules
1. A call is plain when its tool is known and allowed as it is, its server takes it at once, in whichever era,
   and its client wants no log of it: the server may have to be told the level first. Everything else takes
   the general path (`Relay.answer_generally`), which is the definition: a plain call is recorded and answered
   exactly as there. Who answers by a task begins it too, and awaits it.
2. When the server says something before its answer, or asks for input, the general path goes on with it.
3. With `sync = "reply"` the answer leaves when its row is in the journal, as always.
4. Otherwise the answers of one turn of the loop leave together when it is over. uvloop writes what was sent
   in a turn in no order: answers to clients between requests to servers wake both again and again.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from callgate.model.envelope import Era
from callgate.model.errors import CallgateError
from callgate.model.events import ExchangeSettled
from callgate.model.exchange import MAX_TOOL_NAME_CHARS, Arrival, EndedBy, Exchange, Hop, Settlement
from callgate.model.identity import new_exchange_id
from callgate.model.reply import Reply, Said, Tell
from callgate.model.session import Session
from callgate.model.wording import clip
from callgate.ports.answerer import Answering, PlainReceiver
from callgate.ports.event_sink import EventSink
from callgate.ports.record_gate import RecordGate
from callgate.ports.tracer import Tracer
from callgate.ports.upstream import Asker, BegunCall
from callgate.relay import settlements
from callgate.relay.hops import MAX_ERROR_CHARS, reply_in_era
from callgate.relay.lasting_calls import LastingCalls
from callgate.relay.path import Path, ToolRoute
from callgate.relay.session_book import SessionBook
from callgate.wire.eras.faults import URL_ELICITATION_REQUIRED
from callgate.wire.eras.input_required import says_input_required
from callgate.wire.eras.result_shape import to_modern
from callgate.wire.params import call_params

_log = logging.getLogger(__name__)

# Python 3.11 needs 0.1 µs to find a member of an enumeration.
_MODERN, _UPSTREAM = Era.MODERN, EndedBy.UPSTREAM
# Routes that are remembered, of all sessions; past it all are found again.
_MAX_ROUTES = 10_000

# Target, tool, and what a modern client declares: it decides what is shown to it.
_RouteKey = tuple[str | None, str, bytes]


class PlainCalls:
    def __init__(
        self,
        path: Path,
        sessions: SessionBook,
        sink: EventSink,
        lasting: LastingCalls,
        record_gate: RecordGate | None,
        tracer: Tracer | None,
        settle: Callable[[Exchange, Settlement], None],
        stopped: Callable[[], Settlement],
        answer: "Callable[[BegunToolCall, Tell], Coroutine[Any, Any, Reply]]",
    ) -> None:
        """The last three are `Relay`'s. `stopped`: how a call ends that nobody waits for; `answer`: goes on
        with one that is not plain, on the general path."""
        self._path = path
        self._known_lists = path.listings.known_lists
        # The session of an arrival; None: it is not known yet, and the general path sees to it.
        self.session_of: Callable[[Arrival, float], Session | None] = sessions.of
        # Whether a session's calls to a server may be made by this replica; None: there are no others.
        self.is_here: Callable[[Session, str], bool] | None = None
        self.emit = sink.emit
        self._lasting = lasting
        self.young = lasting.young
        self.record_gate = record_gate
        self._tracer = tracer
        self.settle, self.stopped, self.answer = settle, stopped, answer
        self._replies: list[tuple[PlainReceiver, Reply]] = []  # of this turn
        self._routes: dict[str, dict[_RouteKey, ToolRoute]] = {}  # by session
        self._routes_found = 0
        self._routes_version = -1

    def begin(self, arrival: Arrival, tool_name: str, receiver: PlainReceiver) -> "BegunToolCall | None":
        """Implements `ports.Answerer.begin`."""
        gate = self.record_gate
        is_refusing = gate is not None and gate.refuses and gate.is_refusing
        if is_refusing or arrival.envelope.log_level is not None:
            return None
        now_s, now_mono = time.time(), time.monotonic()
        session = arrival.session
        if session is not None and session.last_seen_at // 1 == now_s // 1 and session.ended_at is None:
            session.last_seen_at = now_s  # as `SessionBook.of`
        elif (session := self.session_of(arrival, now_s)) is None:
            return None
        key = (arrival.target, tool_name, arrival.envelope.capabilities)
        routes = self._routes.get(session.session_id)
        route = None if routes is None else routes.get(key)
        if route is None or route.until_mono < now_mono or self._routes_version != self._known_lists.version:
            route = self._find(key, arrival, session)
        if (
            route is None
            or (caller := route.caller) is None
            or (self.is_here is not None and not self.is_here(session, route.server))
        ):
            return None
        try:
            params = arrival.params
            if route.renaming is not None:
                params = route.renaming.of(params)
            hop = Hop(route.server, "tools/call", params, now_mono)
            exchange = Exchange(
                arrival.exchange_id or new_exchange_id(now_s),
                arrival,
                session,
                now_s,
                now_mono,
                [hop],
                route.server,
                tool_name if len(tool_name) <= MAX_TOOL_NAME_CHARS else tool_name[:MAX_TOOL_NAME_CHARS],
                route.annotations,
            )
            if self._tracer is not None:
                exchange.trace = self._tracer.begin(arrival)
                self._path.write_trace(hop, exchange.trace)
            call = BegunToolCall(exchange, session, hop, receiver, self, route.is_bridged)
            begun = caller.begin(hop, call.received)
        except CallgateError:  # nothing was sent: the general path tells what is wrong
            return None
        if begun is None:  # the server, or the line to it, is another one
            self._routes[session.session_id].pop(key)
            return None
        if self.young:  # as `opened`: its timer runs
            self.young[exchange.exchange_id] = exchange
        else:
            self._lasting.opened(exchange)
        call.begun = begun
        if call.early is not None:  # it failed while it was sent: the receiver is not ready to hear of it
            asyncio.get_running_loop().call_soon(call.received, call.early)
        return call

    def reply_soon(self, receiver: PlainReceiver, reply: Reply) -> None:
        """Rule 4."""
        if not self._replies:
            asyncio.get_running_loop().call_soon(self._reply_all)
        self._replies.append((receiver, reply))

    def _reply_all(self) -> None:
        replies, self._replies = self._replies, []
        for receiver, reply in replies:
            try:
                receiver.replied(reply)
            except Exception:  # noqa: BLE001 - a bug of ours: the others are answered all the same
                _log.exception("a reply could not be sent")

    def forget(self, session: Session) -> None:
        """The session ended."""
        self._routes.pop(session.session_id, None)

    def _find(self, key: _RouteKey, arrival: Arrival, session: Session) -> ToolRoute | None:
        """None: it is not known where the call goes, or more has to be done than to send it there."""
        target, tool_name, _ = key
        # What a legacy call carries beside that is its own, and may be large: it is not remembered.
        envelope = arrival.envelope if arrival.envelope.era is _MODERN else session.envelope
        version = self._known_lists.version
        if self._routes_version != version or self._routes_found >= _MAX_ROUTES:
            self._routes.clear()
            self._routes_found, self._routes_version = 0, version
        route = self._path.tool_route(target, tool_name, Asker(envelope, session, b"null"))
        if route is not None:
            self._routes.setdefault(session.session_id, {})[key] = route
            self._routes_found += 1
        return route


class BegunToolCall(msgspec.Struct, eq=False):
    """Implements `ports.answerer.PlainCall`."""

    exchange: Exchange
    session: Session
    hop: Hop
    receiver: PlainReceiver
    calls: PlainCalls
    is_bridged: bool
    begun: BegunCall | None = None
    reply: Reply | None = None  # the server's, where it is not the end of the call
    early: Reply | Said | CallgateError | None = None  # what was received before it was begun

    async def go_on(self, tell: Tell) -> Reply:
        assert self.begun is not None
        return await self.begun.go_on(tell) if self.reply is None else self.reply

    def cancel(self) -> None:
        if self.exchange.settlement is None and self.begun is not None:
            self.begun.cancel()
            self.hop.error, self.hop.ended_mono = "cancelled", time.monotonic()
            self.calls.settle(self.exchange, self.calls.stopped())
            self.begun = None

    def received(self, item: Reply | Said | CallgateError) -> None:
        exchange, hop = self.exchange, self.hop
        if exchange.settlement is not None:
            return  # cancelled in the same turn of the loop
        if self.begun is None:
            self.early = item
            return
        now_mono = time.monotonic()
        try:
            if isinstance(item, Reply) and not (self.is_bridged and _asks_for_input(item)):
                reply = item
                hop.ended_mono, hop.result = now_mono, reply.result
                if reply.fault is not None:
                    hop.error = clip(reply.fault.message, MAX_ERROR_CHARS)
                if self.is_bridged:
                    reply = reply_in_era(reply, exchange)
                elif reply.result is not None and exchange.arrival.envelope.era is _MODERN:
                    result = to_modern(reply.result, "tools/call")
                    if result is not reply.result:
                        reply = Reply(result=result)
                settlement = settlements.of_reply(reply, "tools/call", _UPSTREAM, hop.is_built_in)
            elif isinstance(item, CallgateError):
                hop.ended_mono, hop.error = now_mono, item.message
                reply, settlement = settlements.of_error(item, exchange.arrival)
            else:
                self.reply = item if isinstance(item, Reply) else None
                self.receiver.said_more(partial(self.calls.answer, self))
                return
        except Exception:  # noqa: BLE001 - the border where a bug of ours becomes an answer
            _log.exception("answering tools/call failed")
            reply, settlement = settlements.of_bug()
        self.begun = None  # it holds us: what is over is freed at once, and not when the collector looks
        calls = self.calls
        # As `Relay._settle`: nothing else can be open of a call during which nothing was said.
        exchange.settlement, exchange.settled_mono = settlement, now_mono
        calls.young.pop(exchange.exchange_id, None)
        calls.emit(ExchangeSettled(exchange))
        if (gate := calls.record_gate) is None or not gate.when_written(self.receiver.replied, reply):
            calls.reply_soon(self.receiver, reply)


def _asks_for_input(reply: Reply) -> bool:
    """It may be what `rounds` and `parked_calls` are for: they know."""
    if reply.fault is not None:
        return reply.fault.code == URL_ELICITATION_REQUIRED
    return reply.result is not None and says_input_required(reply.result)


Begin = Callable[[Arrival, str, PlainReceiver], BegunToolCall | None]


class _Waiting(msgspec.Struct, eq=False):
    """Implements `ports.answerer.PlainReceiver` for a task."""

    over: asyncio.Future[Reply | None]
    go_on: Answering | None = None

    def replied(self, reply: Reply) -> None:
        if not self.over.done():
            self.over.set_result(reply)

    def said_more(self, go_on: Answering) -> None:
        self.go_on = go_on
        if not self.over.done():
            self.over.set_result(None)


async def begin_and_wait(begin: Begin, arrival: Arrival, tell: Tell) -> Reply | None:
    """`Answerer.answer` of a call that can be begun. None: nothing was done yet."""
    params = call_params(arrival.params)
    if params is None:
        return None
    waiting = _Waiting(asyncio.get_running_loop().create_future())
    try:
        call = begin(arrival, params.name, waiting)
    except Exception:  # noqa: BLE001 - a bug of ours: the general path has a border for it
        _log.exception("tools/call could not be begun")
        return None
    if call is None:
        return None
    try:
        reply = await waiting.over
    except asyncio.CancelledError:
        call.cancel()
        raise
    go_on, waiting.go_on = waiting.go_on, None  # it holds us
    return reply if go_on is None else await go_on(tell)
