"""`/servers/<name>/mcp`: one server under its own names, and everything passes.

`initialize` is answered from the upstream's own handshake (the session is ours), `ping` by us. Any other
method, also one invented next year, goes to the server as it came.
"""

from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import CALLER_UNKNOWN_METHOD
from callgate.model.errors import CallerError, CallgateError, unknown_server
from callgate.model.exchange import MAX_TOOL_NAME_CHARS, Exchange
from callgate.model.offers import KIND_BY_METHOD, Offer, OfferKind, Route
from callgate.model.reply import Reply, Tell
from callgate.ports.upstream import Asker
from callgate.relay import own_answers
from callgate.relay.faced_server import FacedServers
from callgate.relay.lists.offer_rules import FACED_KINDS
from callgate.relay.lists.tool_choice import chosen_tools
from callgate.relay.path import Path
from callgate.wire.params import members_decoder, name_of, peek, renaming, text_of, with_member


class DirectPath:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.faced = FacedServers(path.listings)

    async def route(self, exchange: Exchange, asker: Asker, tell: Tell) -> Reply | Awaitable[Reply]:
        """Our own reply, or the server's, which is to be awaited."""
        arrival = exchange.arrival
        target = arrival.target
        assert target is not None
        if target not in self._path.upstreams:  # it was removed, and this client came before
            raise unknown_server(target, self._path.upstreams)
        legacy = arrival.envelope.era is Era.LEGACY
        match arrival.method:
            case "tools/call":
                return await self._call(exchange, target, asker, tell)
            case method if method in KIND_BY_METHOD:
                return self._list(exchange, target, KIND_BY_METHOD[method], asker, tell)
            case "prompts/get" | "completion/complete" if (faced := self.faced.of(target)) is not None:
                faced.check_prompt(arrival, asker)
                return self._path.ask(exchange, target, arrival.params, asker, tell)
            case "ping" if legacy:
                return Reply(result=b"{}")
            case "initialize" if not legacy:
                raise CallerError(
                    CALLER_UNKNOWN_METHOD, "Method not found: initialize (there is none in 2026-07-28)"
                )
            case "resources/subscribe" | "resources/unsubscribe" if legacy:
                uri = text_of(peek(arrival.params).uri) or ""
                return self._path.subscribe(exchange, Route(target, uri), uri, arrival.params, asker, tell)
            case "initialize" | "server/discover":
                return self._ask_and_note(exchange, target, asker, tell)
            case _:
                return self._path.ask(exchange, target, arrival.params, asker, tell)

    async def _call(self, exchange: Exchange, target: str, asker: Asker, tell: Tell) -> Awaitable[Reply]:
        params = exchange.arrival.params
        name = name_of(params, exchange.arrival.method)
        exchange.tool_name = name[:MAX_TOOL_NAME_CHARS]
        listings = self._path.listings
        if (choice := listings.naming.choices.get(target)) is not None:
            choice.check(target, name)
        listing, part = listings.listing(target, OfferKind.TOOL, asker), None
        if listing is not None:
            part = listing.part
        else:
            with suppress(CallgateError):
                part = await listings.ask_part(target, OfferKind.TOOL, asker)
        if (faced := self.faced.of(target)) is not None:
            faced.check(OfferKind.TOOL, name, asker)
        route = Route(target, name)
        # A tool that is not listed is asked for all the same, as one that declares nothing: the server knows
        # best what it has.
        listed = part.by_route.get(route) if part is not None else None
        offer = listed or Offer(OfferKind.TOOL, name, route, definition=b"{}")
        param_headers = self._path.admit(exchange, offer)
        # What was judged is what is asked: a second "name" does not get through.
        is_guarded = faced is not None and faced.faces.guards(target)
        if listings.naming.rules.deny_destructive or choice is not None or is_guarded:
            params = renaming(name, name).of(params)
        return self._path.ask(exchange, target, params, asker, tell, param_headers)

    async def _list(
        self, exchange: Exchange, target: str, kind: OfferKind, asker: Asker, tell: Tell
    ) -> Reply:
        """The server's own list, without the tools that the operator leaves out, and with the faces of what
        is held."""
        listings = self._path.listings
        listings.wanted.add(kind)
        reply = await self._path.ask(exchange, target, exchange.arrival.params, asker, tell)
        if (result := reply.result) is None:
            return reply
        if kind is OfferKind.TOOL and (choice := listings.naming.choices.get(target)) is not None:
            result = await chosen_tools(target, result, choice)
        if kind in FACED_KINDS and (faced := self.faced.of(target)) is not None:
            result = await faced.page(kind, result, asker)
        return msgspec.structs.replace(reply, result=result)

    async def _ask_and_note(self, exchange: Exchange, target: str, asker: Asker, tell: Tell) -> Reply:
        """`initialize` or `server/discover`."""
        arrival = exchange.arrival
        try:
            reply = await self._path.ask(exchange, target, arrival.params, asker, tell)
        except CallerError:
            # The built-in SQL server leaves introductions to us.
            opened = exchange.session if arrival.method == "initialize" else None
            if opened is None and arrival.envelope.era is Era.LEGACY:
                raise
            return Reply(result=own_answers.introduction(arrival.envelope), opened=opened)
        if (result := reply.result) is None:
            return reply
        if (faced := self.faced.of(target)) is not None:
            result = await faced.introduction(result)
        if arrival.method != "initialize":
            return msgspec.structs.replace(reply, result=result)
        # The connection behind may be shared and speak a newer revision than this client asked for. Of two
        # dates the older one is what both know: the server's own where that is it.
        said = text_of(members_decoder.decode(result).get("protocolVersion", msgspec.Raw(b"")))
        revision = min(arrival.envelope.revision, said or arrival.envelope.revision)
        session = exchange.session
        session.envelope = replace(session.envelope, revision=revision)
        result = with_member(result, "protocolVersion", msgspec.json.encode(revision))
        return Reply(result=result, opened=session)
