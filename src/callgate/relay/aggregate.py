"""`/mcp`: everything behind us as one server. Lists are merged, calls routed, names made public and back."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import CALLER_UNKNOWN_METHOD
from callgate.model.errors import CallerError, CallgateError
from callgate.model.exchange import Exchange
from callgate.model.offers import KIND_BY_METHOD, Offer, OfferKind, Route
from callgate.model.reply import Reply, Tell, tell_nobody
from callgate.ports.upstream import Asker
from callgate.relay import own_answers
from callgate.relay.choose_route import by_reference, by_uri, to_offer, unknown_name
from callgate.relay.listen import listen
from callgate.relay.path import Path
from callgate.relay.search import call_tool, find_tools
from callgate.relay.search.find_tools import ToolSearch
from callgate.wire.eras.capabilities import missing_for_tool
from callgate.wire.params import name_of, peek, text_of

_CALLED = {"tools/call": OfferKind.TOOL, "prompts/get": OfferKind.PROMPT}
AGGREGATE = "aggregate"  # the record's server_name of a merged list


class AggregatePath:
    def __init__(self, path: Path, search: ToolSearch) -> None:
        self._path = path
        self._search = search

    async def route(self, exchange: Exchange, asker: Asker, tell: Tell) -> Reply | Awaitable[Reply]:
        """Our own reply, or the server's, which is to be awaited."""
        rules = self._path.listings.naming.rules
        if rules.tool_search and exchange.arrival.method == "tools/call":
            match text_of(peek(exchange.arrival.params).name):
                case find_tools.NAME:
                    exchange.server_name = AGGREGATE
                    return await self._search.answer(exchange, asker)
                case call_tool.NAME:
                    call_tool.unwrap(exchange, find_tools.OWN_NAMES)
                case _:
                    pass
        kind = _CALLED.get(exchange.arrival.method)
        if kind is not None:
            return await self._call(exchange, asker, kind, tell)
        return await self._route(exchange, asker, tell)

    async def _route(self, exchange: Exchange, asker: Asker, tell: Tell) -> Reply | Awaitable[Reply]:
        """Raises CallerError when nothing of ours is meant."""
        arrival, path = exchange.arrival, self._path
        legacy = arrival.envelope.era is Era.LEGACY
        match arrival.method:
            case method if method in KIND_BY_METHOD:
                return await self._list(exchange, asker, KIND_BY_METHOD[method])
            case "initialize" if legacy:
                return Reply(result=self._introduction(arrival.envelope), opened=exchange.session)
            case "server/discover" if not legacy:
                return Reply(result=self._introduction(arrival.envelope))
            case "ping" if legacy:
                return Reply(result=b"{}")
            case "logging/setLevel" if legacy:
                return await self._tell_all(exchange, asker)
            case "subscriptions/listen" if not legacy:
                exchange.server_name = AGGREGATE
                return listen(path, exchange, asker, tell)
            case "resources/subscribe" | "resources/unsubscribe":
                route, params = await self._by_uri(arrival.params, asker)
                public = msgspec.json.decode(arrival.params, type=dict[str, Any])["uri"]
                return path.subscribe(exchange, route, public, params, asker, tell)
            case "resources/read":
                route, params = await self._by_uri(arrival.params, asker)
                return path.ask(exchange, route.upstream, params, asker, tell)
            case "completion/complete":
                prompts = await path.listings.to_route_by(OfferKind.PROMPT, asker)
                templates = await path.listings.to_route_by(OfferKind.TEMPLATE, asker)
                route, params = by_reference(arrival.params, prompts, templates)
                return path.ask(exchange, route.upstream, params, asker, tell)
            case method:
                # With one server behind us, what we do not know may be its own; with several, nobody can say.
                if len(path.upstreams) == 1:
                    return path.ask(exchange, next(iter(path.upstreams)), arrival.params, asker, tell)
                raise CallerError(
                    CALLER_UNKNOWN_METHOD,
                    f"Method not found: {method[:100]}",
                    hint="A method of one server's own is reached on /servers/<name>/mcp",
                )

    def _introduction(self, envelope: Envelope) -> bytes:
        has_search = self._path.listings.naming.rules.tool_search
        return own_answers.introduction(envelope, self._path.mcp_servers, has_search=has_search)

    async def _list(self, exchange: Exchange, asker: Asker, kind: OfferKind) -> Reply:
        exchange.server_name = AGGREGATE
        listings = self._path.listings
        with self._path.subscribers.listing(exchange.session, kind, lambda: listings.version):
            catalog, ttl_ms, is_public = await listings.all(kind, asker, exchange.hops)
        if listings.naming.rules.tool_search and kind is OfferKind.TOOL:
            catalog, is_public = self._search.listed(catalog, exchange.session), False
        era = exchange.arrival.envelope.era
        return Reply(result=own_answers.list_result(kind, catalog, era, (ttl_ms, is_public)))

    async def _call(self, exchange: Exchange, asker: Asker, kind: OfferKind, tell: Tell) -> Awaitable[Reply]:
        """Of a tool or a prompt. Raises CallerError when nothing of ours is meant."""
        arrival, path = exchange.arrival, self._path
        name = path.keep_what_was_asked(exchange) or name_of(arrival.params, arrival.method)
        offer = await self._find(exchange.server_name, kind, name, asker)
        if offer is None:
            is_tool, has_search = kind is OfferKind.TOOL, path.listings.naming.rules.tool_search
            # Where tools are found, the list is no advice.
            advice = f"{find_tools.NAME} finds those that there are" if is_tool and has_search else ""
            nearest = path.listings.current(kind, asker).nearest(name, advice)
            if is_tool:
                path.listings.naming.check_chosen(name)
                lacking = path.listings.some_clients_only.lacking(
                    exchange.server_name or "", name, asker.envelope.capabilities
                )
                if lacking:  # the tool is there for clients that declare more
                    raise missing_for_tool(name, lacking)
            raise unknown_name(name, kind, nearest)
        headers = path.admit(exchange, offer)
        route, params = to_offer(offer, arrival.params)
        return path.ask(exchange, route.upstream, params, asker, tell, headers)

    async def _by_uri(self, params: bytes, asker: Asker) -> tuple[Route, bytes]:
        listings = self._path.listings
        resources = await listings.to_route_by(OfferKind.RESOURCE, asker)
        templates = await listings.to_route_by(OfferKind.TEMPLATE, asker)
        return by_uri(params, resources, templates, listings.naming.territory)

    async def _find(self, server: str | None, kind: OfferKind, name: str, asker: Asker) -> Offer | None:
        """The tool or prompt of that public name, as far as this client is shown it.

        Only the server that the name begins with is asked, and only when what is known of it will not do.
        Raises that server's error when it cannot tell: a tool of a server that is down is not unknown.
        """
        if server is None:
            return None
        listings = self._path.listings
        listing = listings.listing(server, kind, asker)
        offer = listing.part.offers.get(name) if listing is not None else None
        if offer is None and (listing is None or not listings.is_settled(server, kind, asker)):
            offer = (await listings.ask_part(server, kind, asker)).offers.get(name)
        return offer

    async def _tell_all(self, exchange: Exchange, asker: Asker) -> Reply:
        """Every upstream hears it; one that does not know the method is no reason to fail."""
        exchange.server_name = AGGREGATE
        params = exchange.arrival.params
        asked = [self._path.ask(exchange, name, params, asker, tell_nobody) for name in self._path.upstreams]
        results = await asyncio.gather(*asked, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, CallgateError):
                raise result
        exchange.server_name = AGGREGATE
        return Reply(result=b"{}")
