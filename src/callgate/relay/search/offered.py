"""What we offer, for those who ask in our own name: the api, and the search tool."""

import asyncio
import time
from collections.abc import Sequence

from callgate.model.identity import LOCAL
from callgate.model.offers import Offer, OfferKind
from callgate.model.session import Session
from callgate.ports.upstream import Asker
from callgate.relay.lists.listings import Listings
from callgate.relay.search.search_tools import ToolIndex
from callgate.wire.eras.params import OUR_MODERN_ENVELOPE


class Offered:
    def __init__(self, listings: Listings) -> None:
        self._listings = listings
        now_s, envelope = time.time(), OUR_MODERN_ENVELOPE
        self._asker = Asker(envelope, Session("callgate", LOCAL, "http", envelope, now_s, now_s), b"null")
        self._index: ToolIndex | None = None
        self._indexed: Sequence[Offer] = ()
        self._indexing = asyncio.Lock()

    async def tools(self) -> Sequence[Offer]:
        return (await self._listings.known(OfferKind.TOOL, self._asker)).offers

    def lacking(self, server: str, tool: str) -> list[str]:
        """The capabilities for want of which our own list does not have that tool."""
        return self._listings.some_clients_only.lacking(server, tool, self._asker.envelope.capabilities)

    async def find(self, query: str, limit: int) -> Sequence[Offer]:
        return await self.find_in(await self.tools(), query, limit)

    async def find_in(self, offers: Sequence[Offer], query: str, limit: int) -> list[Offer]:
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
