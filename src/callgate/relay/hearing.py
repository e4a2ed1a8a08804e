"""What upstreams say of their own accord: it goes to the lists, to the clients that may hear it, and to the
record. And how each of them is doing, since when."""

import time
from collections.abc import Mapping

from callgate.model.health import Health, StateHistory
from callgate.model.offers import OfferKind
from callgate.model.reply import Notice, Undelivered
from callgate.model.upstream_news import News, StateChanged, ViewChanged
from callgate.ports.upstream import Upstream
from callgate.relay.path import Path
from callgate.relay.side_messages import SideMessages
from callgate.relay.subscribers import METHOD_OF

_CHANGED_KINDS = {
    method: tuple(kind for kind in OfferKind if METHOD_OF[kind] == method) for method in METHOD_OF.values()
}


class Hearing:
    def __init__(self, upstreams: Mapping[str, Upstream], path: Path, side_messages: SideMessages) -> None:
        self._upstreams = upstreams
        self._listings = path.listings
        self._subscribers = path.subscribers
        self._side_messages = side_messages
        self._histories: dict[str, StateHistory] = {}

    def look(self, upstream: Upstream) -> Health:
        history = self._histories.setdefault(upstream.name, StateHistory())
        return history.look(self._listings.judge(upstream.health()), time.time())

    def forget(self, name: str) -> None:
        """Another one has this name now, or none."""
        self._histories.pop(name, None)

    def hear(self, upstream: Upstream, news: News) -> None:
        listings = self._listings
        is_leaving = self._upstreams.get(upstream.name) is not upstream
        if isinstance(news, StateChanged):
            if not is_leaving:
                self.look(upstream)
                if news.is_up:  # an upstream that is down keeps its entries in the lists
                    listings.came_up(news.upstream)
            return
        if isinstance(news, ViewChanged):
            for kind in () if is_leaving else _CHANGED_KINDS.get(news.method, ()):
                listings.outdated((news.upstream, kind, news.view))
            return
        kinds = _CHANGED_KINDS.get(news.item.method, ()) if isinstance(news.item, Notice) else ()
        if kinds and is_leaving:
            return
        for kind in kinds:
            listings.changed(news.upstream, kind, news.session_id)
        session = self._subscribers.session_of(news)
        was_for_somebody = self._subscribers.publish(self._side_messages.ask_out_of_turn(news, session))
        if isinstance(news.item, (Notice, Undelivered)) or session is None:
            self._side_messages.said_out_of_turn(news, was_for_somebody, session)
