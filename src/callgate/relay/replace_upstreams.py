"""Other upstreams, or other rules for what they offer, while requests are under way.

Rules
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
from callgate.model.health import State
from callgate.model.offers import OfferKind
from callgate.model.view import COMMON
from callgate.ports.upstream import Upstream
from callgate.relay.hearing import Hearing
from callgate.relay.lists.ask_listing import ListAsk, ask_listing, in_our_name
from callgate.relay.lists.listings import Listings, Prepared
from callgate.relay.lists.offer_rules import Naming, OfferRules
from callgate.relay.path import Path
from callgate.relay.subscribers import ListNews


class UpstreamReplacing(msgspec.Struct, frozen=True):
    upstreams: MutableMapping[str, Upstream]  # the one that all parts of the relay look into
    path: Path
    listings: Listings
    news: ListNews
    hearing: Hearing

    def begin(self) -> None:
        """With the upstreams that are there."""
        for upstream in self.upstreams.values():
            upstream.hear(partial(self.hearing.hear, upstream))
        self.path.look_at_upstreams()

    async def prepare(
        self, new: Sequence[Upstream], among: Sequence[Upstream], rules: OfferRules, patience_s: float
    ) -> dict[str, Prepared]:
        """What new upstreams offer, by their names, before they are served among all these. One that does
        not tell in time, or fails, is not in it."""
        naming = Naming({upstream.name: upstream for upstream in among}, rules, self.listings.faces)

        async def ask(upstream: Upstream) -> Prepared | None:
            try:
                async with asyncio.timeout(patience_s):
                    return await self._ask(upstream, naming)
            except (CallgateError, TimeoutError):
                return None

        told = await asyncio.gather(*(ask(upstream) for upstream in new))
        return {one.name: lists for one, lists in zip(new, told, strict=True) if lists is not None}

    async def _ask(self, upstream: Upstream, naming: Naming) -> Prepared:
        """As far as anybody was told of such offers. Waits for it to start. Raises what it raises when it is
        asked for its tools."""
        listings, name = self.listings, upstream.name
        prepared: Prepared = {}
        for kind in sorted(listings.wanted, key=list(OfferKind).index):
            key = (name, kind, COMMON)
            is_alike = name in listings.naming.schemes and naming.reads_alike(listings.naming, name, kind)
            known = listings.known_lists.all_standing_in(key) if is_alike else ()
            hop = Hop(name, kind.method, b"", time.monotonic())
            ask = ListAsk(upstream, in_our_name(COMMON), hop, naming.reading(name, kind), known)
            try:
                prepared[key] = await ask_listing(ask)
            except CallgateError:
                if kind is OfferKind.TOOL:
                    raise
        return prepared

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
            self.hearing.forget(name)
        for upstream in new:
            upstream.hear(partial(self.hearing.hear, upstream))
        lists = {key: listing for one in new for key, listing in prepared.get(one.name, {}).items()}
        had_search = self.listings.naming.rules.tool_search
        self.listings.replaced(rules, gone, replaced, lists)
        if had_search is not rules.tool_search:
            self.news.changed_for_all(OfferKind.TOOL)
        self.path.look_at_upstreams()
        for upstream in new:
            if upstream.name not in prepared and upstream.health().state is State.UP:
                self.listings.came_up(upstream.name)
        self.path.subscribe_again(replaced)
