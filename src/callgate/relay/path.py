"""What all paths share: asking one upstream as a hop of the exchange, and the verdict on a tool call.

The verdict is on one call (`admit`), or on all that a client makes of one tool (`tool_route`).
"""

import time
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import REFUSED_DESTRUCTIVE
from callgate.model.errors import CallgateError, RefusedError, unknown_server
from callgate.model.exchange import MAX_TOOL_NAME_CHARS, Exchange, Hop, Trace
from callgate.model.identity import new_span_id
from callgate.model.offers import Offer, OfferKind, Route
from callgate.model.reply import Reply, Tell, tell_nobody
from callgate.model.session import Session
from callgate.ports.answerer import Answering
from callgate.ports.upstream import Asker, PlainUpstream, ToolCaller, Upstream
from callgate.relay.hops import run_hop
from callgate.relay.lists.ask_listing import DEFAULT_TTL_S
from callgate.relay.lists.listings import Listings
from callgate.relay.parked_calls import BridgeSettings, ParkedCalls
from callgate.relay.rounds import ask_in_rounds
from callgate.relay.side_messages import SideMessages
from callgate.relay.subscribers import Subscribers
from callgate.task_set import TaskSet
from callgate.wire.eras.input_required import ROUND_TRIP_METHODS
from callgate.wire.json_rpc import read_if_readable
from callgate.wire.param_headers import check_headers, declared_headers, make_headers
from callgate.wire.params import Renaming, call_params, renaming
from callgate.wire.trace_context import with_trace, write_traceparent

NAMED_METHODS = frozenset({"tools/call", "prompts/get"})
# The line to a server may come up, or be the client's own, a moment later.
_CALLER_AGAIN_S = 0.1


class _Hints(msgspec.Struct):
    readOnlyHint: bool = False  # noqa: N815 - the protocol's own spelling
    destructiveHint: bool = True  # noqa: N815 - the specification's default: what says nothing may destroy


_hints_decoder = msgspec.json.Decoder(_Hints)


class ToolRoute(msgspec.Struct, frozen=True):
    """Where the calls of one tool go that one client makes, where none of them has to be looked at."""

    server: str
    caller: ToolCaller | None  # None: there is none at the moment
    is_bridged: bool
    annotations: bytes | None  # of the tool
    renaming: Renaming | None  # to what the server calls it, where that has to be said again
    until_mono: float  # then the list it comes from is old, or a caller is looked for again


class Path:
    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        listings: Listings,
        bridge: BridgeSettings,
        side_messages: SideMessages,
    ) -> None:
        self.upstreams = upstreams
        self.listings = listings
        self.subscribers = Subscribers()
        self.parked = ParkedCalls(bridge, side_messages)
        self.mcp_servers: frozenset[str] = frozenset()
        self._subscribing = TaskSet()

    def look_at_upstreams(self) -> None:
        """Others are there now."""
        kinds = {name: upstream.health().kind for name, upstream in self.upstreams.items()}
        self.mcp_servers = frozenset(name for name, kind in kinds.items() if kind != "sql")

    def keep_what_was_asked(self, exchange: Exchange) -> str | None:
        """The name of the tool or prompt that is meant, and whose it would be: kept in the exchange before
        anybody is asked, so that the record has it whatever becomes of the call."""
        arrival = exchange.arrival
        if arrival.method not in NAMED_METHODS:
            return None
        params = call_params(arrival.params)
        if params is None:
            return None
        if arrival.method == "tools/call":
            exchange.tool_name = params.name[:MAX_TOOL_NAME_CHARS]
        if arrival.target is None:
            exchange.server_name = self.listings.server_of(params.name)
        return params.name

    def ask(
        self,
        exchange: Exchange,
        upstream: str,
        params: bytes,
        asker: Asker,
        tell: Tell,
        param_headers: tuple[tuple[str, str], ...] = (),
    ) -> Coroutine[Any, Any, Reply]:
        asked = self.upstreams.get(upstream)
        if asked is None:  # it was removed while this request looked for its way
            raise unknown_server(upstream, self.upstreams)
        exchange.server_name = upstream
        hop = self.new_leg(exchange, upstream, params, param_headers)
        if exchange.arrival.method in ROUND_TRIP_METHODS and asked.bridges(asker.envelope.era):
            return self.bridge(exchange, hop, asker, tell, partial(asked.ask, hop, asker))
        return run_hop(hop, partial(asked.ask, hop, asker, tell))

    def bridge(
        self, exchange: Exchange, first: Hop, asker: Asker, tell: Tell, ask: Answering
    ) -> Coroutine[Any, Any, Reply]:
        """The client may have to be asked, in the words of another era than the server's. `ask`: asks the
        server on the first leg, or goes on with it."""
        if asker.envelope.era is Era.MODERN:
            return run_hop(first, partial(self.parked.ask, ask, exchange, first, tell))
        upstream, is_first = self.upstreams.get(first.upstream), True

        def leg(params: bytes) -> Coroutine[Any, Any, Reply]:
            nonlocal is_first
            if is_first:
                is_first = False
                return run_hop(first, partial(ask, tell))
            hop = self.new_leg(exchange, first.upstream, params, first.param_headers)
            if upstream is None:
                raise unknown_server(first.upstream, self.upstreams)
            return run_hop(hop, partial(upstream.ask, hop, asker, tell))

        return ask_in_rounds(leg, first.params, asker.session.envelope, self.parked.timeout_s, tell)

    def new_leg(
        self,
        exchange: Exchange,
        upstream: str,
        params: bytes,
        param_headers: tuple[tuple[str, str], ...] = (),
    ) -> Hop:
        hop = Hop(upstream, exchange.arrival.method, params, time.monotonic(), param_headers=param_headers)
        if exchange.trace is not None:
            self.write_trace(hop, exchange.trace)
        exchange.hops.append(hop)
        return hop

    def write_trace(self, hop: Hop, trace: Trace) -> None:
        if hop.upstream in self.mcp_servers:  # a source has nobody behind it who would go on with it
            hop.span_id = new_span_id()
            ours = write_traceparent(trace.trace_id, hop.span_id, trace.is_sampled)
            hop.params = with_trace(hop.params, ours, trace.headers)

    async def subscribe(
        self, exchange: Exchange, route: Route, public_uri: str, params: bytes, asker: Asker, tell: Tell
    ) -> Reply:
        """`resources/subscribe` or `resources/unsubscribe` of a legacy client.

        The subscriber is there before the upstream is asked: what changes meanwhile is heard.
        """
        session = exchange.session
        was_subscribed = self.subscribers.is_subscribed(session, route)
        is_subscribed = exchange.arrival.method == "resources/subscribe"
        if is_subscribed:
            self.subscribers.subscribe(session, route, public_uri)
        try:
            reply = await self.ask(exchange, route.upstream, params, asker, tell)
        except CallgateError:
            is_subscribed = was_subscribed
            raise
        else:
            is_subscribed = is_subscribed if reply.fault is None else was_subscribed
            return reply
        finally:
            if not is_subscribed:
                self.subscribers.unsubscribe(session, route)

    def subscribe_again(self, upstreams: Iterable[str]) -> None:
        """Others stand for these names now, and know nothing of what legacy clients subscribed to there."""
        wanted = [one for name in upstreams for one in self.subscribers.subscriptions_at(name)]
        if wanted:
            self._subscribing.start(self._subscribe_all(wanted))

    async def _subscribe_all(self, wanted: list[tuple[Session, Route]]) -> None:
        for session, route in wanted:
            upstream = self.upstreams.get(route.upstream)
            params = msgspec.json.encode({"uri": route.native_name})
            hop = Hop(route.upstream, "resources/subscribe", params, time.monotonic())
            if upstream is not None:
                with suppress(CallgateError):
                    await upstream.ask(hop, Asker(session.envelope, session, b"null"), tell_nobody)

    async def close(self) -> None:
        self._subscribing.cancel()
        await self._subscribing.wait()
        await self.parked.close()

    def tool_route(self, target: str | None, tool_name: str, asker: Asker) -> ToolRoute | None:
        """Of the client who asks, or all of its requests that declare the same. None: it is not known, or
        each call has to be looked at."""
        listings, denies = self.listings, self.listings.naming.rules.deny_destructive
        server = listings.server_of(tool_name) if target is None else target
        upstream = self.upstreams.get(server) if server is not None else None
        if server is None or not isinstance(upstream, PlainUpstream):
            return None
        listing = listings.listing(server, OfferKind.TOOL, asker)
        if listing is None:
            return None
        by_route, by_name = listing.part.by_route, listing.part.offers
        offer = by_name.get(tool_name) if target is None else by_route.get(Route(target, tool_name))
        if offer is None or offer.may_want_headers or (denies and _may_destroy(offer)):
            return None
        native, choice = offer.route.native_name, listings.naming.choices.get(server)
        if choice is not None and not choice.takes(native):
            return None
        # What was judged is what is asked: a second "name" does not get through.
        faces = listings.naming.faces_of(server)
        is_named = target is None or denies or choice is not None
        is_named = is_named or (faces is not None and faces.guards(server))
        caller = upstream.tool_caller(native, asker)
        until_mono = listing.told_at_mono + DEFAULT_TTL_S
        if caller is None:
            until_mono = min(until_mono, time.monotonic() + _CALLER_AGAIN_S)
        return ToolRoute(
            server,
            caller,
            upstream.bridges(asker.envelope.era),
            offer.annotations,
            renaming(tool_name, native) if is_named else None,
            until_mono,
        )

    def admit(self, exchange: Exchange, offer: Offer) -> tuple[tuple[str, str], ...]:
        """The verdict on a call of this offer, and the snapshot of its annotations.

        Raises RefusedError, or CallerError for headers that disagree with the arguments. Returns the headers
        that the same call has to carry to an HTTP upstream.
        """
        if offer.kind is not OfferKind.TOOL:
            return ()
        arrival = exchange.arrival
        exchange.annotations = offer.annotations
        if self.listings.naming.rules.deny_destructive and _may_destroy(offer):
            raise RefusedError(
                REFUSED_DESTRUCTIVE,
                f"{offer.public_name} may change or destroy something, and the policy denies such tools",
                hint='Use a read-only tool, or set destructive = "allow" under [policy]',
            )
        declared = declared_headers(offer.definition) if offer.may_want_headers else ()
        if not declared:
            return ()
        params: dict[str, Any] = msgspec.json.decode(arrival.params)
        arguments = params.get("arguments")
        # Through `call_tool` a client has no schema that would ask for them.
        if arrival.headers is not None and arrival.envelope.era is Era.MODERN and exchange.via is None:
            check_headers(declared, arguments, arrival.headers)
        return make_headers(declared, arguments)


def _may_destroy(offer: Offer) -> bool:
    if offer.annotations is None:
        return True
    hints = read_if_readable(_hints_decoder, offer.annotations)
    return hints is None or (not hints.readOnlyHint and hints.destructiveHint)
