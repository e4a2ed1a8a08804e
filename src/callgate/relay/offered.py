"""What we offer, for those who ask in our own name: the api, and the search tool."""

import time
from collections.abc import Sequence

from callgate.model.envelope import Envelope, Era
from callgate.model.identity import LOCAL
from callgate.model.offers import Kind, Offer
from callgate.model.session import Session
from callgate.ports.upstream import Asker
from callgate.relay.listings import Listings
from callgate.relay.search_tools import ToolIndex
from callgate.wire.era_params import OUR_INFO
from callgate.wire.revisions import MODERN_REVISIONS


class Offered:
    def __init__(self, listings: Listings) -> None:
        self._listings = listings
        envelope = Envelope(Era.MODERN, MODERN_REVISIONS[0], client_info=OUR_INFO)
        now_s = time.time()
        self._asker = Asker(envelope, Session("callgate", LOCAL, "http", envelope, now_s, now_s), b"null")
        self._index: ToolIndex | None = None
        self._indexed: Sequence[Offer] = ()

    async def tools(self) -> Sequence[Offer]:
        return (await self._listings.known(Kind.TOOL, self._asker)).offers

    async def find(self, query: str, limit: int) -> Sequence[Offer]:
        return self.index_of(await self.tools()).find(query, limit)

    def index_of(self, offers: Sequence[Offer]) -> ToolIndex:
        """A catalog is replaced whole, so the same tuple is the same catalog."""
        if self._index is None or self._indexed is not offers:
            if self._index is not None:
                self._index.close()
            self._index, self._indexed = ToolIndex(offers), offers
        return self._index
