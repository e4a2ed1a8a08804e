"""The relay: every client message goes through `answer` or `notice`, and nothing else leads to an upstream.

Implements `ports.Answerer` for edge and `ports.Status` for api.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from callgate.model.envelope import Era
from callgate.model.errors import CallgateError
from callgate.model.events import ExchangeSettled, SessionClosed, SessionOpened
from callgate.model.exchange import Arrival, EndedBy, Exchange, Settlement
from callgate.model.health import Health
from callgate.model.identity import Principal, new_exchange_id
from callgate.model.offers import OfferKind
from callgate.model.reply import Reply, Said, Tell
from callgate.model.session import Presence, Session
from callgate.ports.event_sink import EventSink
from callgate.ports.faces import Faces
from callgate.ports.homes import Homes
from callgate.ports.outlet import Outlet
from callgate.ports.record_gate import RecordGate
from callgate.ports.tracer import Tracer
from callgate.ports.upstream import Asker, Upstream
from callgate.relay import settlements
from callgate.relay.aggregate import AggregatePath
from callgate.relay.direct import DirectPath
from callgate.relay.hops import crosses_eras, reply_in_era, run_hop
from callgate.relay.lasting_calls import LastingCalls
from callgate.relay.lists.listings import DEFAULT_PATIENCE_S, Listings
from callgate.relay.lists.offer_rules import OfferRules
from callgate.relay.lists.tool_choice import tools_across
from callgate.relay.parked_calls import BridgeSettings
from callgate.relay.path import Path
from callgate.relay.plain_calls import Begin, BegunToolCall, PlainCalls, begin_and_wait
from callgate.relay.search.find_tools import ToolSearch
from callgate.relay.session_book import SessionBook
from callgate.relay.side_messages import SideMessages
from callgate.relay.subscribers import ListNews
from callgate.relay.upstream_set import UpstreamSet
from callgate.relay.whereabouts import Whereabouts

_log = logging.getLogger(__name__)

# The handshake's last word: the row of `initialize` stands for all of it, and no upstream hears of it.
_INITIALIZED = "notifications/initialized"
_LIST = OfferKind.TOOL.method
_CANCELLED = "notifications/cancelled"  # has a path of its own to the upstream
# What lives in the memory of this process from then on: no other replica can go on with such a session.
_BINDING = frozenset({"resources/subscribe", "logging/setLevel"})


class Relay:
    def __init__(
        self,
        upstreams: Sequence[Upstream],
        *,
        sink: EventSink,
        session_gap_s: float,
        bridge: BridgeSettings,
        rules: OfferRules | None = None,
        record_gate: RecordGate | None = None,
        tracer: Tracer | None = None,
        list_patience_s: float = DEFAULT_PATIENCE_S,
        homes: Homes | None = None,
        faces: Faces | None = None,
    ) -> None:
        """`list_patience_s`: how long a list waits for a server that has not told its offers yet; `homes`:
        there are replicas; `faces`: what of servers' words may be shown."""
        self._upstreams = {upstream.name: upstream for upstream in upstreams}
        self._sink = sink
        self._record_gate = record_gate
        self._tracer = tracer
        self._lasting = LastingCalls(sink)
        self._side_messages = SideMessages(sink)
        self._is_retired = False
        self._homes = homes
        self._sessions = SessionBook(session_gap_s, self._on_session, homes)
        self.find_session = self._sessions.find
        listings = Listings(self._upstreams, rules or OfferRules(), patience_s=list_patience_s, faces=faces)
        self.judge_again, self.answered = listings.judge_again, listings.answered
        self.server_of = listings.server_of
        self._path = Path(self._upstreams, listings, bridge, self._side_messages)
        self.where: Whereabouts | None = None
        if homes is not None:
            self.where = Whereabouts(homes, self._sessions, self._path.parked, listings, self._upstreams)
        self._news = ListNews(self._path.subscribers, listings)
        listings.on_change = self._news.changed
        search = self._search = ToolSearch(listings, self._path.subscribers)
        self.tools, self.lacking, self.find_tools = search.tools, search.lacking, search.find
        self._aggregate = AggregatePath(self._path, self._search)
        self._direct = DirectPath(self._path)
        self._plain = PlainCalls(
            self._path,
            self._sessions,
            sink,
            self._lasting,
            record_gate,
            tracer,
            self._settle,
            self._stopped,
            lambda begun, tell: self.answer_generally(begun.exchange.arrival, tell, begun),
        )
        if self.where is not None:  # a session that was not seen here is claimed first
            self._plain.session_of = self._sessions.known
            self._plain.is_here = self.where.is_here
        self.begin: Begin = self._plain.begin
        behind = UpstreamSet(self._upstreams, self._path, self._news, self._side_messages)
        self._look, self.prepare, self.replace = behind.look, behind.prepare, behind.replace
        behind.begin()

    # ---- a changed configuration

    @property
    def rules(self) -> OfferRules:
        return self._path.listings.naming.rules

    def use_times(self, session_gap_s: float, answer_timeout_s: float) -> None:
        self._sessions.gap_s = session_gap_s
        self._path.parked.timeout_s = answer_timeout_s

    # ---- ports.Status

    def health(self) -> list[Health]:
        return [self._look(upstream) for upstream in self._upstreams.values()]

    async def look_at(self, server: str) -> None:
        """Has what this server says now judged by `faces`."""
        if server in self._upstreams:
            await self._direct.faced.look(self._upstreams[server])

    @property
    def catalog_version(self) -> int:
        return self._path.listings.version

    # ---- ports.Answerer

    def end_session(self, session: Session) -> None:
        self._sessions.end(session, time.time())

    def end_stream(self, presence: Presence, principal: Principal) -> None:
        self._sessions.end_stream(presence, principal, time.time())

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

    async def answer(self, arrival: Arrival, tell: Tell) -> Reply:
        if arrival.method == "tools/call":
            reply = await begin_and_wait(self.begin, arrival, tell)
            if reply is not None:
                return reply
        return await self.answer_generally(arrival, tell)

    async def answer_generally(
        self, arrival: Arrival, tell: Tell, begun: BegunToolCall | None = None
    ) -> Reply:
        """`begun`: it was, and turned out to be more than a plain call."""
        exchange = self._open(arrival) if begun is None else begun.exchange

        def pass_on(said: Said) -> Awaitable[None]:
            return tell(self._side_messages.pass_on(said, exchange))

        try:
            asker = Asker(arrival.envelope, exchange.session, arrival.rpc_id or b"null")
            if begun is not None and begun.is_bridged:
                routed = self._path.bridge(exchange, begun.hop, asker, pass_on, begun.go_on)
            elif begun is not None:
                routed = run_hop(begun.hop, partial(begun.go_on, pass_on))
            else:
                if self._record_gate is not None and self._record_gate.refuses:
                    self._record_gate.admit()
                path = self._aggregate if arrival.target is None else self._direct
                routed = await path.route(exchange, asker, pass_on)
            if isinstance(routed, Reply):  # our own, in the client's era already
                reply = routed
            else:
                reply = await routed
                if arrival.method == _LIST and reply.result is not None and crosses_eras(exchange):
                    reply = Reply(result=await tools_across(reply.result, arrival.envelope.era))
                reply = reply_in_era(reply, exchange)
            ended_by = EndedBy.UPSTREAM if exchange.hops else EndedBy.GATEWAY
            is_ours = bool(exchange.hops) and exchange.hops[-1].is_built_in
            settlement = settlements.of_reply(reply, arrival.method, ended_by, is_ours)
        except asyncio.CancelledError:
            self._settle(exchange, self._stopped())
            raise
        except CallgateError as error:
            reply, settlement = settlements.of_error(error, arrival)
        except Exception:  # noqa: BLE001 - the border where a bug of ours becomes an answer
            _log.exception("answering %s failed", arrival.method)
            reply, settlement = settlements.of_bug()
        self._settle(exchange, settlement, reply.opened)
        if self._record_gate is not None and (written := self._record_gate.written()) is not None:
            await written
        return reply

    def retire(self) -> None:
        """We are about to stop: modern listeners are told that their subscription ends."""
        self._is_retired = True
        self._path.subscribers.close()

    def end_sessions(self) -> None:
        self._sessions.end_all(time.time())

    async def close(self) -> None:
        self.end_sessions()
        await self._path.close()
        self._news.close()
        await self._path.listings.close()
        await asyncio.gather(*(upstream.close() for upstream in self._upstreams.values()))

    # ---- what becomes of sessions

    def _on_session(self, event: SessionOpened | SessionClosed) -> None:
        if isinstance(event, SessionOpened) or not event.goes_on:
            self._sink.emit(event)
        if isinstance(event, SessionClosed):
            if self._homes is not None:
                self._homes.ended(event.session, for_good=not event.goes_on)
            self._side_messages.end(event.session)
            self._path.subscribers.end(event.session)
            self._path.listings.forget(event.session)
            self._plain.forget(event.session)
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
        if self._homes is not None and arrival.method in _BINDING:
            self._homes.bound(session)
        return exchange

    def _stopped(self) -> Settlement:
        """Of a call that nobody waits for any more."""
        return settlements.CUT_OFF if self._is_retired else settlements.CANCELLED

    def _settle(self, exchange: Exchange, settlement: Settlement, opened: Session | None = None) -> None:
        """`opened`: by a handshake. Nobody will ever name the session of one that failed."""
        if exchange.server_name is None:
            self._path.keep_what_was_asked(exchange)
        exchange.settle(settlement, time.monotonic())
        self._lasting.young.pop(exchange.exchange_id, None)
        self._sink.emit(ExchangeSettled(exchange))
        self._side_messages.forget(exchange)
        arrival = exchange.arrival
        if arrival.method == "initialize" and arrival.session is None:
            if opened is None:
                self._sessions.end(exchange.session, time.time())
            elif self._homes is not None:
                self._homes.opened(opened)
