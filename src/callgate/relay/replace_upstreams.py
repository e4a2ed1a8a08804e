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

from callgate.model.errors import CallgateError
from callgate.model.exchange import Hop
from callgate.model.health import State
from callgate.model.offers import OfferKind
from callgate.model.view import COMMON
from callgate.ports.upstream import Upstream
from callgate.relay.hearing import Hearing
from callgate.relay.lists.ask_listing import ListAsk, ask_listing, in_our_name
from callgate.relay.lists.judged_lists import judged_again
from callgate.relay.lists.listings import Prepared
from callgate.relay.lists.offer_rules import Naming, OfferRules
from callgate.relay.path import Path
from callgate.relay.subscribers import ListNews


class UpstreamReplacing:
    def __init__(
        self,
        upstreams: MutableMapping[str, Upstream],
        path: Path,
        news: ListNews,
        hearing: Hearing,
    ) -> None:
        """`upstreams`: the one mapping that all parts of the relay look into."""
        self._upstreams = upstreams
        self._path = path
        self._listings = path.listings
        self._news = news
        self._hearing = hearing

    def begin(self) -> None:
        """With the upstreams that are there."""
        for upstream in self._upstreams.values():
            upstream.hear(partial(self._hearing.hear, upstream))
        self._path.look_at_upstreams()

    async def prepare(
        self, new: Sequence[Upstream], among: Sequence[Upstream], rules: OfferRules, patience_s: float
    ) -> dict[str, Prepared]:
        """What new upstreams offer, by their names, before they are served among all these. One that does
        not tell in time, or fails, is not in it."""
        naming = Naming({upstream.name: upstream for upstream in among}, rules, self._listings.faces)

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
        listings, name = self._listings, upstream.name
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
        faces = self._listings.faces
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
        before = dict(self._upstreams)
        self._upstreams.clear()
        self._upstreams.update({upstream.name: upstream for upstream in upstreams})
        gone = [name for name in before if name not in self._upstreams]
        new = [one for one in upstreams if before.get(one.name) is not one]
        replaced = [one.name for one in new if one.name in before]
        for name in (*gone, *replaced):
            self._hearing.forget(name)
        for upstream in new:
            upstream.hear(partial(self._hearing.hear, upstream))
        lists = {key: listing for one in new for key, listing in prepared.get(one.name, {}).items()}
        had_search = self._listings.naming.rules.tool_search
        self._listings.replaced(rules, gone, replaced, lists)
        if had_search is not rules.tool_search:
            self._news.changed_for_all(OfferKind.TOOL)
        self._path.look_at_upstreams()
        for upstream in new:
            if upstream.name not in prepared and upstream.health().state is State.UP:
                self._listings.came_up(upstream.name)
        self._path.subscribe_again(replaced)
