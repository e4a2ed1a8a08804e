"""`find_tools`: with `[server] tool_search = true` `/mcp` lists this tool and `call_tool` in place of all
others, for catalogs that would fill a context. Nothing is hidden, only not listed.

What a session found is listed for it from then on, up to a bound. An answer has of each tool what is needed
to choose and call it; its name as the question has the whole definition. The api searches and lists too, in
our own name.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from callgate.model.envelope import Era
from callgate.model.error_codes import CALLER_BAD_ARGUMENTS
from callgate.model.errors import CallerError
from callgate.model.exchange import Exchange
from callgate.model.identity import LOCAL
from callgate.model.offers import Offer, OfferKind
from callgate.model.reply import Reply
from callgate.model.session import Session
from callgate.ports.upstream import Asker
from callgate.relay.lists.catalog import Catalog
from callgate.relay.lists.listings import Listings
from callgate.relay.search import call_tool
from callgate.relay.search.search_tools import ToolIndex
from callgate.relay.search.short_tools import short_tools
from callgate.relay.subscribers import Subscribers
from callgate.wire.eras.params import OUR_MODERN_ENVELOPE
from callgate.wire.eras.result_shape import to_modern
from callgate.wire.eras.subscription import LIST_CHANGED
from callgate.wire.json_rpc import NOT_READABLE

NAME: Final = "find_tools"
OWN_NAMES: Final = (NAME, call_tool.NAME)
_MAX_FOUND = 50
# Of one session's list: those that were found last. More would fill the context again.
_MAX_LISTED = 50
_ANNOTATIONS: dict[str, Any] = {
    "title": "Find tools",
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            description="What the tool should do, in words; or its exact name, for the whole definition.",
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=_MAX_FOUND, description="How many, at most.")] = 10


class _Params(msgspec.Struct):
    arguments: _Arguments


_params_decoder = msgspec.json.Decoder(_Params)
_OFFER: Final = call_tool.own_tool(
    NAME,
    "Finds the tools that fit a few words, the best first: what each does, and its parameters. The other "
    f"tools of this server are not listed: find them here, then call them with {call_tool.NAME}.",
    {**msgspec.json.schema_components([_Arguments])[1]["_Arguments"], "title": NAME},
    _ANNOTATIONS,
)


class ToolSearch:
    def __init__(self, listings: Listings, subscribers: Subscribers) -> None:
        self._listings = listings
        self._subscribers = subscribers
        now_s, envelope = time.time(), OUR_MODERN_ENVELOPE
        self._we = Asker(envelope, Session("callgate", LOCAL, "http", envelope, now_s, now_s), b"null")
        self._found: dict[str, dict[str, None]] = {}  # by session the names, the last found last
        self._index: ToolIndex | None = None
        self._indexed: Sequence[Offer] = ()
        self._indexing = asyncio.Lock()

    # ---- for the api

    async def tools(self) -> Sequence[Offer]:
        return (await self._listings.known(OfferKind.TOOL, self._we)).offers

    def lacking(self, server: str, tool: str) -> list[str]:
        """The capabilities for want of which our own list does not have that tool."""
        return self._listings.some_clients_only.lacking(server, tool, self._we.envelope.capabilities)

    async def find(self, query: str, limit: int) -> Sequence[Offer]:
        return await self._find_in(await self.tools(), query, limit)

    # ---- for clients

    def listed(self, catalog: Catalog, session: Session) -> Catalog:
        """What this session's list has of the whole catalog."""
        found = [catalog.by_public_name.get(name) for name in self._found.get(session.session_id, ())]
        return Catalog((_OFFER, call_tool.OFFER, *(offer for offer in found if offer is not None)))

    def forget(self, session: Session) -> None:
        self._found.pop(session.session_id, None)

    async def answer(self, exchange: Exchange, asker: Asker) -> Reply:
        exchange.tool_name, exchange.annotations = NAME, _OFFER.annotations
        try:
            arguments = _params_decoder.decode(exchange.arrival.params).arguments
        except NOT_READABLE as problem:
            raise CallerError(CALLER_BAD_ARGUMENTS, f"{NAME}: {problem}"[:300]) from problem
        catalog = await self._listings.known(OfferKind.TOOL, asker)
        era = exchange.arrival.envelope.era
        exact = catalog.by_public_name.get(arguments.query)
        if exact is not None:
            found, told = [exact], b'{"tools":[%b]}' % exact.definition_in(era)
        else:
            found = await self._find_in(catalog.offers, arguments.query, arguments.limit)
            told = await asyncio.to_thread(short_tools, found, len(catalog.offers))
        self._note(exchange.session, found)
        content: dict[str, Any] = {"content": [{"type": "text", "text": told.decode()}], "isError": False}
        result = msgspec.json.encode(content)
        return Reply(result=to_modern(result, exchange.arrival.method) if era is Era.MODERN else result)

    def _note(self, session: Session, found: list[Offer]) -> None:
        before = self._found.get(session.session_id, {})
        new = {offer.public_name: None for offer in found}
        names = {name: None for name in before if name not in new} | new
        for name in list(names)[:-_MAX_LISTED]:
            del names[name]
        if not names or session.ended_at is not None:
            return
        self._found[session.session_id] = names
        if names.keys() != before.keys():
            self._subscribers.say_to_one(session, LIST_CHANGED["toolsListChanged"])

    # ---- searching

    async def _find_in(self, offers: Sequence[Offer], query: str, limit: int) -> list[Offer]:
        """A catalog is replaced whole, so the same tuple is the same catalog."""
        async with self._indexing:  # one index at a time is made and asked
            return await asyncio.to_thread(self._find, offers, query, limit)

    def _find(self, offers: Sequence[Offer], query: str, limit: int) -> list[Offer]:
        """In a thread: both take milliseconds, and the more the more tools there are."""
        if self._index is None or self._indexed is not offers:
            if self._index is not None:
                self._index.close()
            self._index = None  # until the next one is whole
            self._index = ToolIndex(offers)
            self._indexed = offers
        return self._index.find(query, limit)
