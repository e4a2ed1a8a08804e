"""`/mcp`: everything behind us as one server. Lists are merged, calls routed, names made public and back."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import CALLER_UNKNOWN_METHOD
from callgate.model.errors import CallerError, CallgateError
from callgate.model.exchange import Exchange
from callgate.model.offers import KIND_BY_METHOD, Offer, OfferKind
from callgate.model.reply import Item, Reply
from callgate.ports.upstream import Asker
from callgate.relay import own_answers
from callgate.relay.choose_route import Routed, by_reference, by_uri, to_offer, unknown_name
from callgate.relay.listen import listen
from callgate.relay.path import Path
from callgate.relay.search import call_tool, find_tools
from callgate.relay.search.find_tools import ToolSearch
from callgate.wire.eras.capabilities import missing_for_tool
from callgate.wire.params import name_of, peek, text_of

AGGREGATE = "aggregate"  # the record's server_name of a merged list


class AggregatePath:
    def __init__(self, path: Path, capabilities: dict[str, Any], search: ToolSearch | None = None) -> None:
        """`search`: stands for all tools in the list."""
        self._path = path
        self._capabilities = capabilities if search is None else own_answers.with_search(capabilities)
        self._search = search
        # For a tool that does not exist; where tools are found, the list is no advice.
        self._advice = "" if search is None else f"{find_tools.NAME} finds those that there are"

    async def route(self, exchange: Exchange, asker: Asker) -> Reply | AsyncGenerator[Item]:
        """Our own reply, or the items of the server's answer."""
        own = self._own(exchange)
        if own is not None:
            return own
        if self._search is not None and exchange.arrival.method == "tools/call":
            match text_of(peek(exchange.arrival.params).name):
                case find_tools.NAME:
                    exchange.server_name = AGGREGATE
                    return await self._search.answer(exchange, asker)
                case call_tool.NAME:
                    call_tool.unwrap(exchange, find_tools.OWN_NAMES)
                case _:
                    pass
        arrival = exchange.arrival
        match arrival.method:
            case method if method in KIND_BY_METHOD:
                return await self._list(exchange, asker, KIND_BY_METHOD[method])
            case "logging/setLevel" if arrival.envelope.era is Era.LEGACY:
                return await self._tell_all(exchange, asker)
            case "resources/subscribe" | "resources/unsubscribe":
                return await self._subscribe(exchange, asker)
            case "subscriptions/listen" if arrival.envelope.era is Era.MODERN:
                exchange.server_name = AGGREGATE
                return listen(self._path, exchange, asker)
            case _:
                routed = await self._route(exchange, asker)
                headers = () if routed.offer is None else self._path.admit(exchange, routed.offer)
                return self._path.ask(exchange, routed.upstream, routed.params, asker, headers)

    def _own(self, exchange: Exchange) -> Reply | None:
        arrival = exchange.arrival
        legacy = arrival.envelope.era is Era.LEGACY
        match arrival.method:
            case "initialize" if legacy:
                result = own_answers.initialize_result(
                    arrival.envelope, self._capabilities, has_search=self._search is not None
                )
                return Reply(result=result, opened=exchange.session)
            case "ping" if legacy:
                return Reply(result=b"{}")
            case "server/discover" if not legacy:
                has_search = self._search is not None
                return Reply(result=own_answers.discover_result(self._capabilities, has_search=has_search))
            case _:
                return None

    async def _list(self, exchange: Exchange, asker: Asker, kind: OfferKind) -> Reply:
        exchange.server_name = AGGREGATE
        listings = self._path.listings
        with self._path.subscribers.listing(exchange.session, kind, lambda: listings.version):
            catalog, ttl_ms, is_public = await listings.all(kind, asker, exchange.hops)
        if self._search is not None and kind is OfferKind.TOOL:
            catalog, is_public = self._search.listed(catalog, exchange.session), False
        era = exchange.arrival.envelope.era
        return Reply(result=own_answers.list_result(kind, catalog, era, (ttl_ms, is_public)))

    async def _route(self, exchange: Exchange, asker: Asker) -> Routed:
        """Raises CallerError when nothing of ours is meant."""
        arrival, listings = exchange.arrival, self._path.listings
        match arrival.method:
            case "tools/call":
                name = self._path.keep_what_was_asked(exchange) or name_of(arrival.params, "tools/call")
                offer = await self._find(exchange.server_name, OfferKind.TOOL, name, asker)
                if offer is None:
                    listings.check_chosen(name)
                    error = unknown_name(name, listings.current(OfferKind.TOOL, asker), "tool", self._advice)
                    raise self._for_others(name, exchange, asker) or error
                return to_offer(offer, arrival.params)
            case "prompts/get":
                name = self._path.keep_what_was_asked(exchange) or name_of(arrival.params, "prompts/get")
                offer = await self._find(exchange.server_name, OfferKind.PROMPT, name, asker)
                if offer is None:
                    raise unknown_name(name, listings.current(OfferKind.PROMPT, asker), "prompt")
                return to_offer(offer, arrival.params)
            case "resources/read":
                resources = await listings.to_route_by(OfferKind.RESOURCE, asker)
                templates = await listings.to_route_by(OfferKind.TEMPLATE, asker)
                return by_uri(arrival.params, resources, templates, listings.territory)[0]
            case "completion/complete":
                prompts = await listings.to_route_by(OfferKind.PROMPT, asker)
                return by_reference(
                    arrival.params, prompts, await listings.to_route_by(OfferKind.TEMPLATE, asker)
                )
            case method:
                # With one server behind us, what we do not know may be its own; with several, nobody can say.
                if len(self._path.upstreams) == 1:
                    return Routed(next(iter(self._path.upstreams)), arrival.params)
                raise CallerError(
                    CALLER_UNKNOWN_METHOD,
                    f"Method not found: {method[:100]}",
                    hint="A method of one server's own is reached on /servers/<name>/mcp",
                )

    def _for_others(self, name: str, exchange: Exchange, asker: Asker) -> CallerError | None:
        """What is missing to this client, if the tool is there for clients that declare more."""
        some_clients_only = self._path.listings.some_clients_only
        lacking = some_clients_only.lacking(exchange.server_name or "", name, asker.envelope.capabilities)
        return missing_for_tool(name, lacking) if lacking else None

    async def _find(self, server: str | None, kind: OfferKind, name: str, asker: Asker) -> Offer | None:
        """The tool or prompt of that public name, as far as this client is shown it.

        Only the server that the name begins with is asked, and only when what is known of it will not do.
        Raises that server's error when it cannot tell: a tool of a server that is down is not unknown.
        """
        if server is None:
            return None
        listings = self._path.listings
        part = listings.part(server, kind, asker)
        offer = part.offers.get(name) if part is not None else None
        if offer is None and (part is None or not listings.is_settled(server, kind, asker)):
            offer = (await listings.ask_part(server, kind, asker)).offers.get(name)
        return offer

    async def _tell_all(self, exchange: Exchange, asker: Asker) -> Reply:
        """Every upstream hears it; one that does not know the method is no reason to fail."""
        exchange.server_name = AGGREGATE

        async def tell(name: str) -> None:
            async with aclosing(self._path.ask(exchange, name, exchange.arrival.params, asker)) as items:
                async for _ in items:
                    pass

        results = await asyncio.gather(*(tell(name) for name in self._path.upstreams), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, CallgateError):
                raise result
        exchange.server_name = AGGREGATE
        return Reply(result=b"{}")

    async def _subscribe(self, exchange: Exchange, asker: Asker) -> AsyncGenerator[Item]:
        arrival, listings = exchange.arrival, self._path.listings
        resources = await listings.to_route_by(OfferKind.RESOURCE, asker)
        templates = await listings.to_route_by(OfferKind.TEMPLATE, asker)
        routed, route = by_uri(arrival.params, resources, templates, listings.territory)
        public = msgspec.json.decode(arrival.params, type=dict[str, Any])["uri"]
        return self._path.subscribe(exchange, route, public, routed.params, asker)
