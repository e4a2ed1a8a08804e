"""Tool calls that need nothing but their server's answer: sent at once, and answered by a callback.

A task, its generators and a future cost more than everything else that is done for such a call.

Rules
1. A call is plain when its tool is known and allowed as it is, its server takes it at once in the client's
   own era, and nothing has to be added to it. Everything else is `Relay.answer`'s, which is the definition: a
   plain call is recorded and answered exactly as there.
2. When the server says something before its answer, `Relay.answer` goes on with the call.
3. With `sync = "reply"` the answer leaves when its row is in the journal, as always.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping

from callgate.model.clip import clip
from callgate.model.envelope import Era
from callgate.model.errors import CallgateError
from callgate.model.events import ExchangeOpened
from callgate.model.exchange import MAX_TOOL_NAME_CHARS, Arrival, EndedBy, Exchange, Hop, Settlement
from callgate.model.identity import new_exchange_id
from callgate.model.offers import Kind, Route
from callgate.model.reply import Item, Reply
from callgate.ports.answerer import PlainReceiver
from callgate.ports.event_sink import EventSink
from callgate.ports.record_gate import RecordGate
from callgate.ports.upstream import Asker, BegunCall, CallBeginner, Upstream
from callgate.relay import settlements
from callgate.relay.choose_route import to_offer
from callgate.relay.hops import MAX_ERROR_CHARS
from callgate.relay.lists.listings import Listings
from callgate.relay.session_book import SessionBook
from callgate.wire.eras.result_shape import to_modern

_log = logging.getLogger(__name__)


class PlainCalls:
    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        listings: Listings,
        sessions: SessionBook,
        sink: EventSink,
        record_gate: RecordGate | None,
        end: "CallEnd",
    ) -> None:
        self._beginners = {name: one for name, one in upstreams.items() if isinstance(one, CallBeginner)}
        self._listings = listings
        self._sessions = sessions
        self._sink = sink
        self._record_gate = record_gate
        self._end = end

    def begin(self, arrival: Arrival, tool_name: str, receiver: PlainReceiver) -> "BegunToolCall | None":
        listings, target = self._listings, arrival.target
        server = listings.server_of(tool_name) if target is None else target
        upstream = self._beginners.get(server) if server is not None else None
        if server is None or upstream is None or server in listings.choices:
            return None
        if self._record_gate is not None and self._record_gate.is_refusing:
            return None
        now_s = time.time()
        session = self._sessions.of(arrival, now_s)
        asker = Asker(arrival.envelope, session, arrival.rpc_id or b"null")
        part = listings.part(server, Kind.TOOL, asker)
        if part is None:
            return None
        by_route, by_name = part.by_route, part.offers
        offer = by_name.get(tool_name) if target is None else by_route.get(Route(target, tool_name))
        if offer is None or offer.may_want_headers:
            return None
        params = arrival.params if target is not None else to_offer(offer, arrival.params).params
        now_mono = time.monotonic()
        hop = Hop(server, "tools/call", params, now_mono)
        exchange = Exchange(
            new_exchange_id(now_s),
            arrival,
            session,
            now_s,
            now_mono,
            [hop],
            server,
            tool_name[:MAX_TOOL_NAME_CHARS],
            offer.annotations,
        )
        call = BegunToolCall(exchange, hop, receiver, self._end, self._record_gate)
        begun = upstream.begin(hop, asker, call.heard)
        if begun is None:
            return None
        self._sink.emit(ExchangeOpened(exchange))
        call.is_under_way(begun)
        return call


class CallEnd:
    """What `Relay` does at the end of every call."""

    __slots__ = ("answer", "settle", "stopped")

    def __init__(
        self,
        settle: Callable[[Exchange, Settlement], None],
        stopped: Callable[[], Settlement],
        answer: "Callable[[BegunToolCall], AsyncGenerator[Item]]",
    ) -> None:
        """`stopped`: how a call ends that nobody waits for; `answer`: goes on with one that is not plain."""
        self.settle = settle
        self.stopped = stopped
        self.answer = answer


class BegunToolCall:
    """Implements `ports.answerer.PlainCall`."""

    __slots__ = ("_begun", "_early", "_end", "_receiver", "_record_gate", "exchange", "hop")

    def __init__(
        self,
        exchange: Exchange,
        hop: Hop,
        receiver: PlainReceiver,
        end: CallEnd,
        record_gate: RecordGate | None,
    ) -> None:
        self.exchange = exchange
        self.hop = hop
        self._receiver = receiver
        self._end = end
        self._record_gate = record_gate
        self._begun: BegunCall | None = None
        self._early: Item | CallgateError | None = None

    def is_under_way(self, begun: BegunCall) -> None:
        self._begun = begun
        if self._early is not None:  # it failed while it was sent: the receiver is not ready to hear of it
            asyncio.get_running_loop().call_soon(self.heard, self._early)

    def items(self) -> AsyncGenerator[Item]:
        assert self._begun is not None, "it is under way"
        return self._begun.items()

    def cancel(self) -> None:
        if self.exchange.settlement is None and self._begun is not None:
            self._begun.cancel()
            self.hop.error, self.hop.ended_mono = "cancelled", time.monotonic()
            self._end.settle(self.exchange, self._end.stopped())

    def heard(self, item: Item | CallgateError) -> None:
        if self._begun is None:
            self._early = item
            return
        if self.exchange.settlement is not None:
            return
        exchange, hop = self.exchange, self.hop
        try:
            if isinstance(item, Reply):
                hop.ended_mono = time.monotonic()
                hop.result = item.result
                if item.fault is not None:
                    hop.error = clip(item.fault.message, MAX_ERROR_CHARS)
                elif exchange.arrival.envelope.era is Era.MODERN and item.result is not None:
                    item = Reply(result=to_modern(item.result, "tools/call"))
                reply = item
                settlement = settlements.of_reply(reply, "tools/call", EndedBy.UPSTREAM, is_ours=False)
            elif isinstance(item, CallgateError):
                hop.ended_mono = time.monotonic()
                hop.error = item.message
                reply, settlement = settlements.of_error(item, exchange.arrival)
            else:
                self._receiver.said_more(self._end.answer(self))
                return
        except Exception:  # noqa: BLE001 - the border where a bug of ours becomes an answer
            _log.exception("answering tools/call failed")
            reply, settlement = settlements.of_bug()
        self._end.settle(exchange, settlement)
        written = self._record_gate.written() if self._record_gate is not None else None
        if written is None:
            self._receiver.replied(reply)
        else:
            written.add_done_callback(lambda _: self._receiver.replied(reply))
