"""The relay: every client message goes through `answer` or `notice`, and nothing else leads to an upstream.

Implements `ports.Answerer` for edge and `ports.Status` for api.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import CALLER_UNKNOWN_METHOD
from callgate.model.errors import CallerError, CallgateError, RefusedError
from callgate.model.events import ExchangeOpened, ExchangeSettled
from callgate.model.exchange import Arrival, EndedBy, Exchange, Settlement
from callgate.model.health import Health
from callgate.model.identity import Principal, new_exchange_id
from callgate.model.reply import Item, Reply
from callgate.model.session import Session
from callgate.model.verdict import Deny
from callgate.ports.event_sink import EventSink
from callgate.ports.upstream import Upstream
from callgate.relay import own_answers, settlements
from callgate.relay.hops import new_hop, run_hop
from callgate.relay.judge_call import judge_call
from callgate.relay.listings import Listings
from callgate.relay.session_book import SessionBook
from callgate.wire.params import name_of, with_member
from callgate.wire.result_shape import to_modern

_log = logging.getLogger(__name__)

AGGREGATE = "aggregate"  # the record's server_name of a merged list
_OWN_LEGACY_METHODS = frozenset({"initialize", "ping"})


class Relay:
    def __init__(
        self,
        upstreams: Sequence[Upstream],
        *,
        sink: EventSink,
        session_gap_s: float,
        deny_destructive: bool = False,
    ) -> None:
        self._upstreams = {upstream.name: upstream for upstream in upstreams}
        self._sink = sink
        self._deny_destructive = deny_destructive
        self._sessions = SessionBook(session_gap_s, sink.emit)
        self._listings = Listings(self._upstreams)

    # ---- ports.Status

    def health(self) -> list[Health]:
        return [upstream.health() for upstream in self._upstreams.values()]

    # ---- ports.Answerer

    def find_session(self, handshake_id: str, principal: Principal) -> Session | None:
        return self._sessions.find(handshake_id, principal)

    def end_session(self, session: Session) -> None:
        self._sessions.end(session, time.time())

    def has_server(self, name: str) -> bool:
        return name in self._upstreams

    def notice(self, arrival: Arrival) -> None:
        self._sessions.of(arrival, time.time())

    async def answer(self, arrival: Arrival) -> AsyncGenerator[Item]:
        exchange = self._open(arrival)
        reply = Reply()
        try:
            async with aclosing(self._dispatch(exchange)) as items:
                async for item in items:
                    if isinstance(item, Reply):
                        reply = item
                        break
                    yield item
            if reply.result is not None and arrival.envelope.era is Era.MODERN:
                reply = replace(reply, result=to_modern(reply.result, arrival.method))
            ended_by = EndedBy.UPSTREAM if exchange.hops else EndedBy.GATEWAY
            settlement = settlements.of_reply(reply, arrival.method, ended_by)
        except (asyncio.CancelledError, GeneratorExit):
            self._settle(exchange, settlements.CANCELLED)
            raise
        except CallgateError as error:
            reply, settlement = settlements.of_error(error)
        except Exception:  # noqa: BLE001 - the border where a bug of ours becomes an answer
            _log.exception("answering %s failed", arrival.method)
            reply, settlement = settlements.of_bug()
        self._settle(exchange, settlement)
        yield reply

    async def close(self) -> None:
        self._sessions.end_all(time.time())
        await asyncio.gather(*(upstream.close() for upstream in self._upstreams.values()))

    # ---- the path

    def _open(self, arrival: Arrival) -> Exchange:
        now_s = time.time()
        if arrival.method == "initialize" and arrival.envelope.era is Era.LEGACY:
            session = self._sessions.handshake(arrival, now_s)
        else:
            session = self._sessions.of(arrival, now_s)
        exchange = Exchange(
            exchange_id=new_exchange_id(now_s),
            arrival=arrival,
            session=session,
            opened_at=now_s,
            opened_mono=time.monotonic(),
            server_name=arrival.target,
        )
        self._sink.emit(ExchangeOpened(exchange))
        return exchange

    def _settle(self, exchange: Exchange, settlement: Settlement) -> None:
        exchange.settle(settlement, time.monotonic())
        self._sink.emit(ExchangeSettled(exchange))

    async def _dispatch(self, exchange: Exchange) -> AsyncGenerator[Item]:
        arrival = exchange.arrival
        legacy = arrival.envelope.era is Era.LEGACY
        match arrival.method:
            case "initialize" if legacy:
                yield Reply(result=own_answers.initialize_result(arrival.envelope), opened=exchange.session)
            case "ping" if legacy:
                yield Reply(result=b"{}")
            case "server/discover" if not legacy:
                yield Reply(result=own_answers.discover_result())
            case "tools/list":
                yield await self._list_tools(exchange)
            case "tools/call":
                async with aclosing(self._call_tool(exchange)) as items:
                    async for item in items:
                        yield item
            case method:
                era = "2026-07-28" if method in _OWN_LEGACY_METHODS else "this gateway"
                raise CallerError(CALLER_UNKNOWN_METHOD, f"Method not found: {method[:100]} (in {era})")

    async def _list_tools(self, exchange: Exchange) -> Reply:
        arrival = exchange.arrival
        if arrival.target is not None:
            # One server with its native names: its own bytes are the answer.
            listing = await self._listings.one(arrival.target, arrival.envelope, exchange.hops)
            return Reply(result=listing.result)
        exchange.server_name = AGGREGATE
        catalog = await self._listings.all(arrival.envelope, exchange.hops)
        return Reply(result=own_answers.tools_result([offer.definition for offer in catalog.offers]))

    async def _call_tool(self, exchange: Exchange) -> AsyncGenerator[Item]:
        arrival = exchange.arrival
        name = exchange.tool_name = name_of(arrival.params, arrival.method)
        offer = (await self._listings.catalog(arrival.envelope)).find(name, arrival.target)
        exchange.server_name = offer.route.upstream
        exchange.annotations = offer.annotations
        verdict = judge_call(offer, self._deny_destructive)
        if isinstance(verdict, Deny):
            raise RefusedError(verdict.code, verdict.reason, hint=verdict.hint)
        params = arrival.params
        if arrival.target is None:
            params = with_member(params, "name", msgspec.json.encode(offer.route.native_name))
        upstream = self._upstreams[offer.route.upstream]
        hop = new_hop(upstream, arrival.method, params)
        exchange.hops.append(hop)
        async with aclosing(run_hop(upstream, hop, arrival.envelope)) as items:
            async for item in items:
                yield item
