"""Telling clients that a list changed: once a moment and kind, however many upstreams changed theirs in it.

What a server announces itself passes at once (`subscribers`). This is for what we noticed: a server came up,
or told its list at last. A client that was given the new list meanwhile is not told.
"""

import asyncio
from functools import partial

from callgate.model.offers import OfferKind
from callgate.ports.upstream import Asker
from callgate.relay.lists.listing_attempts import Key
from callgate.relay.lists.listings import Listings
from callgate.relay.subscribers import Subscribers

# Servers come up one after the other: a client that lists again for each of them has nothing of it.
_MOMENT_S = 0.2

METHOD_OF = {
    OfferKind.TOOL: "notifications/tools/list_changed",
    OfferKind.PROMPT: "notifications/prompts/list_changed",
    OfferKind.RESOURCE: "notifications/resources/list_changed",
    OfferKind.TEMPLATE: "notifications/resources/list_changed",
}


class ListNews:
    def __init__(self, subscribers: Subscribers, listings: Listings) -> None:
        self._subscribers = subscribers
        self._listings = listings
        self._changed: dict[Key, int] = {}  # and the version since which it is so
        self._timer: asyncio.TimerHandle | None = None

    def changed(self, key: Key) -> None:
        self._changed[key] = self._listings.version
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_MOMENT_S, self._tell)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tell(self) -> None:
        changed, self._changed, self._timer = self._changed, {}, None
        for method in dict.fromkeys(METHOD_OF.values()):
            news = {key: version for key, version in changed.items() if METHOD_OF[key[1]] == method}
            if news:
                self._subscribers.say_list_changed(method, partial(self._is_news, news))

    def _is_news(self, news: dict[Key, int], asker: Asker, listed: dict[OfferKind, int]) -> bool:
        target = asker.session.target
        return any(
            target in (None, key[0])
            and version > listed.get(key[1], 0)
            and self._listings.concerns(key, asker)
            for key, version in news.items()
        )
