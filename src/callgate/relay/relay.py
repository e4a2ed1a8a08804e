"""The relay: every client message goes through `answer` or `notice`, and nothing else leads to an upstream.

Implements `ports.Answerer` for edge and `ports.Status` for api.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from typing import Protocol

from callgate.model.envelope import Era
from callgate.model.errors import CallgateError
from callgate.model.events import ExchangeSettled, SessionClosed, SessionOpened
from callgate.model.exchange import Arrival, EndedBy, Exchange, Settlement
from callgate.model.health import Health
from callgate.model.identity import Principal, new_exchange_id
from callgate.model.offers import Offer, OfferKind
from callgate.model.reply import Item, Notice, Reply, Undelivered
from callgate.model.session import Session
from callgate.model.upstream_news import News, StateChanged, ViewChanged
from callgate.ports.answerer import PlainCall, PlainReceiver
from callgate.ports.event_sink import EventSink
from callgate.ports.outlet import Outlet
from callgate.ports.record_gate import RecordGate
from callgate.ports.tracer import Tracer
from callgate.ports.upstream import Asker, Upstream
from callgate.relay import own_answers, settlements
from callgate.relay.aggregate import AggregatePath
from callgate.relay.direct import DirectPath
from callgate.relay.hops import run_hop
from callgate.relay.lasting_calls import LastingCalls
from callgate.relay.lists.list_news import METHOD_OF, ListNews
from callgate.relay.lists.listings import DEFAULT_MAX_OFFERS, DEFAULT_PATIENCE_S, Listings
from callgate.relay.lists.tool_choice import ToolChoice
from callgate.relay.lists.tools_across import tools_across
from callgate.relay.parked_calls import BridgeSettings
from callgate.relay.path import Path
from callgate.relay.plain_calls import BegunToolCall, CallEnd, PlainCalls
from callgate.relay.search.find_tools import ToolSearch
from callgate.relay.search.offered import Offered
from callgate.relay.session_book import SessionBook
from callgate.relay.side_messages import SideMessages
from callgate.relay.state_history import StateHistory
from callgate.wire.eras.faults import fault_in
from callgate.wire.eras.result_shape import to_modern, without_other_era
from callgate.wire.revisions import era_of

_log = logging.getLogger(__name__)

# The handshake's last word: the row of `initialize` stands for all of it, and no upstream hears of it.
_INITIALIZED = "notifications/initialized"
_CANCELLED = "notifications/cancelled"  # has a path of its own to the upstream
_CHANGED_KINDS = {
    method: tuple(kind for kind in OfferKind if METHOD_OF[kind] == method) for method in METHOD_OF.values()
}
_NOTHING = Reply()  # as long as none has come


class _Begin(Protocol):
    def __call__(self, arrival: Arrival, tool_name: str, receiver: PlainReceiver) -> PlainCall | None: ...


def _begin_none(arrival: Arrival, tool_name: str, receiver: PlainReceiver) -> None:
    return None


class Relay:
    def __init__(
        self,
        upstreams: Sequence[Upstream],
        *,
        sink: EventSink,
        session_gap_s: float,
        bridge: BridgeSettings,
        deny_destructive: bool = False,
        record_gate: RecordGate | None = None,
        briefly_named: str | None = None,
        tool_search: bool = False,
        tracer: Tracer | None = None,
        max_offers: int = DEFAULT_MAX_OFFERS,
        tool_choices: Mapping[str, ToolChoice] | None = None,
        list_patience_s: float = DEFAULT_PATIENCE_S,
    ) -> None:
        """`briefly_named`: whose names, if anybody's, are joined by one underscore (`public_names`);
        `tool_search`: tools are found, not listed (`find_tools`); `max_offers`: of one server and kind;
        `tool_choices`: of servers with rules for their tools; `list_patience_s`: how long a list
        waits for a server that has not told its offers yet."""
        self._upstreams = {upstream.name: upstream for upstream in upstreams}
        self._histories: dict[str, StateHistory] = {}
        self._sink = sink
        self._record_gate = record_gate
        self._tracer = tracer
        self._lasting = LastingCalls(sink)
        self._side_messages = SideMessages(sink)
        self._is_retired = False
        self._sessions = SessionBook(session_gap_s, self._on_session)
        listings = Listings(
            self._upstreams,
            deny_destructive,
            briefly_named,
            max_offers,
            tool_choices,
            patience_s=list_patience_s,
            on_change=lambda key: self._news.changed(key),
        )
        self._path = Path(self._upstreams, listings, deny_destructive, bridge, self._side_messages)
        self._news = ListNews(self._path.subscribers, listings)
        only_sql = all(upstream.health().kind == "sql" for upstream in upstreams)
        capabilities = own_answers.BUILT_IN if only_sql else own_answers.EVERYTHING
        self._offered = Offered(self._path.listings)
        self._search = (
            ToolSearch(self._path.listings, self._offered, self._path.subscribers) if tool_search else None
        )
        self._aggregate = AggregatePath(self._path, capabilities, self._search)
        self._direct = DirectPath(self._path)
        # A policy reads the annotations, a search stands before the tools, a trace is written into the call.
        self.begin: _Begin = _begin_none
        self._plain: PlainCalls | None = None
        if not deny_destructive and self._search is None and tracer is None:
            end = CallEnd(self._settle, self._stopped, self._go_on)
            self._plain = PlainCalls(
                self._upstreams, listings, self._sessions, sink, self._lasting, record_gate, end
            )
            self.begin = self._plain.begin
        for upstream in upstreams:
            upstream.hear(self._hear)

    # ---- ports.Status

    def health(self) -> list[Health]:
        return [self._look(upstream) for upstream in self._upstreams.values()]

    async def tools(self) -> Sequence[Offer]:
        return await self._offered.tools()

    def lacking(self, server: str, tool: str) -> list[str]:
        return self._offered.lacking(server, tool)

    async def find_tools(self, query: str, limit: int) -> Sequence[Offer]:
        return await self._offered.find(query, limit)

    @property
    def catalog_version(self) -> int:
        return self._path.listings.version

    # ---- ports.Answerer

    def find_session(self, handshake_id: str, principal: Principal) -> Session | None:
        return self._sessions.find(handshake_id, principal)

    def end_session(self, session: Session) -> None:
        self._sessions.end(session, time.time())

    def server_of(self, public_name: str) -> str | None:
        return self._path.listings.server_of(public_name)

    def has_server(self, name: str) -> bool:
        return name in self._upstreams

    def server_names(self) -> Iterable[str]:
        return self._upstreams

    def attach(self, session: Session, outlet: Outlet, on_end: Callable[[], None]) -> None:
        self._path.subscribers.attach(session, outlet, on_end, self.catalog_version)

    def notice(self, arrival: Arrival) -> None:
        session = self._sessions.of(arrival, time.time())
        if arrival.method == _INITIALIZED:
            return
        is_ours = arrival.method == _CANCELLED
        told = [name for name in self._upstreams if not is_ours and arrival.target in (None, name)]
        for name in told:
            self._upstreams[name].tell(arrival.method, arrival.params, session)
        self._side_messages.notified(arrival, session, told)

    def _go_on(self, begun: BegunToolCall) -> AsyncGenerator[Item]:
        return self.answer(begun.exchange.arrival, begun)

    async def answer(self, arrival: Arrival, begun: BegunToolCall | None = None) -> AsyncGenerator[Item]:
        """`begun`: it is under way already."""
        exchange = self._open(arrival) if begun is None else begun.exchange
        reply = _NOTHING
        try:
            if begun is not None:
                routed = run_hop(begun.hop, begun.items())
            else:
                if self._record_gate is not None:
                    self._record_gate.admit()
                path = self._aggregate if arrival.target is None else self._direct
                asker = Asker(arrival.envelope, exchange.session, arrival.rpc_id or b"null")
                routed = await path.route(exchange, asker)
            if isinstance(routed, Reply):  # our own, in the client's era already
                reply = routed
            else:
                try:
                    async for item in routed:
                        if isinstance(item, Reply):
                            reply = item
                            break
                        yield self._side_messages.pass_on(item, exchange)
                finally:
                    await routed.aclose()
                reply = await self._in_era(reply, exchange)
            ended_by = EndedBy.UPSTREAM if exchange.hops else EndedBy.GATEWAY
            is_ours = bool(exchange.hops) and exchange.hops[-1].is_built_in
            settlement = settlements.of_reply(reply, arrival.method, ended_by, is_ours)
        except (asyncio.CancelledError, GeneratorExit):
            self._drop_unopened(exchange, _NOTHING)
            self._settle(exchange, self._stopped())
            raise
        except CallgateError as error:
            reply, settlement = settlements.of_error(error, arrival)
        except Exception:  # noqa: BLE001 - the border where a bug of ours becomes an answer
            _log.exception("answering %s failed", arrival.method)
            reply, settlement = settlements.of_bug()
        self._settle(exchange, settlement)
        self._drop_unopened(exchange, reply)
        if self._record_gate is not None and (written := self._record_gate.written()) is not None:
            await written
        yield reply

    def retire(self) -> None:
        """We are about to stop: modern listeners are told that their subscription ends."""
        self._is_retired = True
        self._path.subscribers.close()

    async def close(self) -> None:
        self._sessions.end_all(time.time())
        await self._path.parked.close()
        self._news.close()
        await self._path.listings.close()
        await asyncio.gather(*(upstream.close() for upstream in self._upstreams.values()))

    # ---- what upstreams say of their own accord, and what becomes of sessions

    def _look(self, upstream: Upstream) -> Health:
        history = self._histories.setdefault(upstream.name, StateHistory())
        return history.look(self._path.listings.judge(upstream.health()), time.time())

    def _hear(self, news: News) -> None:
        if isinstance(news, StateChanged):
            self._look(self._upstreams[news.upstream])
            if news.is_up:  # whoever is down keeps what it said in the lists
                self._path.listings.came_up(news.upstream)
            return
        if isinstance(news, ViewChanged):
            for kind in _CHANGED_KINDS.get(news.method, ()):
                self._path.listings.changed_view(news.upstream, kind, news.view)
            return
        if isinstance(news.item, Notice):
            for kind in _CHANGED_KINDS.get(news.item.method, ()):
                self._path.listings.changed(news.upstream, kind, news.session_id)
        session = self._path.subscribers.session_of(news)
        was_for_somebody = self._path.subscribers.publish(self._side_messages.ask_out_of_turn(news, session))
        if isinstance(news.item, (Notice, Undelivered)) or session is None:
            self._side_messages.said_out_of_turn(news, was_for_somebody, session)

    def _on_session(self, event: SessionOpened | SessionClosed) -> None:
        self._sink.emit(event)
        if isinstance(event, SessionClosed):
            self._side_messages.end(event.session)
            self._path.subscribers.end(event.session)
            self._path.listings.forget(event.session)
            if self._plain is not None:
                self._plain.forget(event.session)
            if self._search is not None:
                self._search.forget(event.session)
            for upstream in self._upstreams.values():
                upstream.forget(event.session)

    # ---- the path

    def _open(self, arrival: Arrival) -> Exchange:
        now_s = time.time()
        if arrival.method == "initialize" and arrival.envelope.era is Era.LEGACY:
            session = self._sessions.handshake(arrival, now_s)
        else:
            session = self._sessions.of(arrival, now_s)
        exchange = Exchange(
            exchange_id=arrival.exchange_id or new_exchange_id(now_s),
            arrival=arrival,
            session=session,
            opened_at=now_s,
            opened_mono=time.monotonic(),
            server_name=arrival.target,
            trace=self._tracer.begin(arrival) if self._tracer is not None else None,
        )
        self._lasting.opened(exchange)
        return exchange

    def _drop_unopened(self, exchange: Exchange, reply: Reply) -> None:
        """A handshake that failed: nobody will ever name this session again."""
        arrival = exchange.arrival
        if arrival.method == "initialize" and arrival.session is None and reply.opened is None:
            self._sessions.end(exchange.session, time.time())

    async def _in_era(self, reply: Reply, exchange: Exchange) -> Reply:
        """The answer as a client of its era expects it, whoever gave it."""
        arrival = exchange.arrival
        era = arrival.envelope.era
        crossed = False
        for hop in exchange.hops:
            crossed |= hop.server_protocol is not None and era_of(hop.server_protocol) is not era
        if reply.fault is not None:
            return Reply(fault=fault_in(reply.fault, era, arrival.method)) if crossed else reply
        if reply.result is None or (era is Era.LEGACY and not crossed):
            return reply
        result = reply.result
        if crossed:
            result = without_other_era(result, arrival.method, era)
            if arrival.method == OfferKind.TOOL.method:
                result = await tools_across(result, era)
        if era is Era.MODERN:
            result = to_modern(result, arrival.method)
        return Reply(result=result, opened=reply.opened)

    def _stopped(self) -> Settlement:
        """Of a call that nobody waits for any more."""
        return settlements.CUT_OFF if self._is_retired else settlements.CANCELLED

    def _settle(self, exchange: Exchange, settlement: Settlement) -> None:
        if exchange.server_name is None:
            self._path.keep_what_was_asked(exchange)
        exchange.settle(settlement, time.monotonic())
        self._lasting.settled(exchange)
        self._sink.emit(ExchangeSettled(exchange))
        self._side_messages.forget(exchange)
