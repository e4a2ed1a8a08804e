"""The upstreams behind us: what they say of their own accord, how each is doing since when, and others in
their place.

What they say goes to the lists, to the clients that may hear it, and to the record.

Rules for other upstreams, or other rules for what they offer, while requests are under way
1. It happens in one turn of the loop: a request sees all of the old or all of the new. One that waits for
   something meanwhile (a list, a turn) finds the new one by its name, or that there is none.
2. An upstream that stays is the same object. Nothing of it is asked again, unless its offers are named in
   another way.
3. What new ones offer is asked for before (`prepare`), so that clients hear of all changes at once.
4. Calls under way go on at the upstream that has them. Whoever made it waits for that, and closes it.
"""

import asyncio
import time
from collections.abc import Mapping, MutableMapping, Sequence
from functools import partial

import msgspec

from callgate.model.errors import CallgateError
from callgate.model.exchange import Hop
from callgate.model.health import Health, State, StateHistory
from callgate.model.offers import OfferKind
from callgate.model.reply import Notice, Undelivered
from callgate.model.upstream_news import News, StateChanged, ViewChanged
from callgate.model.view import COMMON
from callgate.ports.upstream import Upstream
from callgate.relay.lists.ask_listing import ListAsk, ask_listing, in_our_name
from callgate.relay.lists.judged_lists import judged_again
from callgate.relay.lists.listings import Prepared
from callgate.relay.lists.offer_rules import Naming, OfferRules
from callgate.relay.path import Path
from callgate.relay.side_messages import SideMessages
from callgate.relay.subscribers import METHOD_OF, ListNews

_CHANGED_KINDS = {
    method: tuple(kind for kind in OfferKind if METHOD_OF[kind] == method) for method in METHOD_OF.values()
}


class UpstreamSet(msgspec.Struct, frozen=True):
    upstreams: MutableMapping[str, Upstream]  # the one that all parts of the relay look into
    path: Path
    news: ListNews
    side_messages: SideMessages
    histories: dict[str, StateHistory] = {}  # msgspec makes a new one for each

    def begin(self) -> None:
        """With the upstreams that are there."""
        for upstream in self.upstreams.values():
            upstream.hear(partial(self._hear, upstream))
        self.path.look_at_upstreams()

    def look(self, upstream: Upstream) -> Health:
        history = self.histories.setdefault(upstream.name, StateHistory())
        return history.look(self.path.listings.judge(upstream.health()), time.time())

    def _hear(self, upstream: Upstream, news: News) -> None:
        listings = self.path.listings
        is_leaving = self.upstreams.get(upstream.name) is not upstream
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
        subscribers = self.path.subscribers
        session = subscribers.session_of(news)
        was_for_somebody = subscribers.publish(self.side_messages.ask_out_of_turn(news, session))
        if isinstance(news.item, (Notice, Undelivered)) or session is None:
            self.side_messages.said_out_of_turn(news, was_for_somebody, session)

    async def prepare(
        self, new: Sequence[Upstream], among: Sequence[Upstream], rules: OfferRules, patience_s: float
    ) -> dict[str, Prepared]:
        """What new upstreams offer, by their names, before they are served among all these. One that does
        not tell in time, or fails, is not in it."""
        naming = Naming({upstream.name: upstream for upstream in among}, rules, self.path.listings.faces)

        async def ask(upstream: Upstream) -> Prepared | None:
            try:
                async with asyncio.timeout(patience_s):
                    return await self._ask(upstream, naming)
            except (CallgateError, TimeoutError):
                return None

        told = await asyncio.gather(*(ask(upstream) for upstream in new))
        prepared = {one.name: lists for one, lists in zip(new, told, strict=True) if lists is not None}
        await self._judge_again(prepared, naming)
        return prepared

    async def _ask(self, upstream: Upstream, naming: Naming) -> Prepared:
        """As far as anybody was told of such offers. Waits for it to start. Raises what it raises when it is
        asked for its tools."""
        listings, name = self.path.listings, upstream.name
        prepared: Prepared = {}
        for kind in sorted(listings.wanted, key=list(OfferKind).index):
            key = (name, kind, COMMON)
            is_alike = name in listings.naming.schemes and naming.reads_alike(listings.naming, name, kind)
            known = listings.known_lists.all_standing_in(key) if is_alike else ()
            hop = Hop(name, kind.method, b"", time.monotonic())
            reading = partial(naming.reading, name, kind)
            ask = ListAsk(upstream, in_our_name(COMMON), hop, reading(), known, reading)
            try:
                prepared[key] = await ask_listing(ask)
            except CallgateError:
                if kind is OfferKind.TOOL:
                    raise
        return prepared

    async def _judge_again(self, prepared: Mapping[str, Prepared], naming: Naming) -> None:
        """What was told before the operator's last word: some servers are waited for longer than others."""
        faces = self.path.listings.faces
        while faces is not None:
            readings = [
                (lists, key, naming.reading(key[0], key[1]))
                for lists in prepared.values()
                for key, listing in lists.items()
                if listing.pages and listing.faces_version != faces.version
            ]
            pinned = [one for one in readings if one[2].faces is not None]
            if not pinned:
                return
            for lists, key, reading in pinned:
                lists[key] = await judged_again(lists[key], reading)

    def replace(
        self, upstreams: Sequence[Upstream], rules: OfferRules, prepared: Mapping[str, Prepared]
    ) -> None:
        """Serves these from now on, in this order."""
        before = dict(self.upstreams)
        self.upstreams.clear()
        self.upstreams.update({upstream.name: upstream for upstream in upstreams})
        gone = [name for name in before if name not in self.upstreams]
        new = [one for one in upstreams if before.get(one.name) is not one]
        replaced = [one.name for one in new if one.name in before]
        for name in (*gone, *replaced):
            self.histories.pop(name, None)
        for upstream in new:
            upstream.hear(partial(self._hear, upstream))
        lists = {key: listing for one in new for key, listing in prepared.get(one.name, {}).items()}
        had_search = self.path.listings.naming.rules.tool_search
        self.path.listings.replaced(rules, gone, replaced, lists)
        if had_search is not rules.tool_search:
            self.news.changed_for_all(OfferKind.TOOL)
        self.path.look_at_upstreams()
        for upstream in new:
            if upstream.name not in prepared and upstream.health().state is State.UP:
                self.path.listings.came_up(upstream.name)
        self.path.subscribe_again(replaced)
