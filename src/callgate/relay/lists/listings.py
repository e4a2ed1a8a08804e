"""What each upstream offers, for those who list and those who route: asked, kept and told when it changes.

Rules
1. A list answers with what is known. Only what is not known yet, or said to have changed, is waited for, and
   only shortly: `listing_attempts` goes on asking, and what comes later is told (`on_change`).
2. An upstream that fails or dawdles is left out, its hop and its health say why, and what it said before is
   used as long as there is something: a dead upstream neither breaks nor silently empties a list.
3. Lists are kept for every client that has the same view: they are asked without a client's token or trace.
   Until the list of a view is known, that of the common view stands for it, and is asked for too if need be.
4. A list is read in slices, and only when it is not the one that is known already. What is past the bounds is
   left out, which health tells.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from callgate.model.error_codes import UPSTREAM_TIMEOUT
from callgate.model.errors import UpstreamError, unknown_server
from callgate.model.exchange import Hop
from callgate.model.health import Health, State
from callgate.model.offers import OfferKind
from callgate.model.session import Session
from callgate.model.view import COMMON
from callgate.ports.faces import Faces
from callgate.ports.upstream import Asker, Upstream
from callgate.relay.lists.ask_listing import ListAsk, Listing, in_our_name
from callgate.relay.lists.capability_survey import CapabilitySurvey
from callgate.relay.lists.catalog import Catalog, Part
from callgate.relay.lists.judged_lists import JudgedLists
from callgate.relay.lists.known_lists import KnownLists, is_old
from callgate.relay.lists.list_reports import hop_of, judged
from callgate.relay.lists.listing_attempts import Attempt, Attempts, Key
from callgate.relay.lists.offer_rules import FACED_KINDS, Naming, OfferRules
from callgate.relay.lists.read_listing import ListReading

# A list waits this long, once, for an upstream that has not told yet: some clients give up after seconds.
DEFAULT_PATIENCE_S = 0.6
# A server that is up, and not known to list the same to all clients, is given longer the first time that one
# which declares something lists: some clients never list again. It has to start a process for it.
_VIEW_PATIENCE_S = 3.0
# Of more servers than these the processes do not start in that time (`listing_attempts`, rule 4).
_MOST_NEW_VIEWS = 4
# A call of a tool that is not known yet may wait longer: it is meant for that upstream alone.
_CALL_PATIENCE_S = 5.0
Prepared = dict[Key, Listing]  # what upstreams told before they were served


class Listings:
    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        rules: OfferRules,
        *,
        patience_s: float = DEFAULT_PATIENCE_S,
        faces: Faces | None = None,
    ) -> None:
        """`upstreams`: changes while we run, and we are told (`replaced`). `patience_s`: how long a list
        waits for an upstream that has not told yet. `faces`: what of the lists may be shown; None: all."""
        self.faces = faces
        self.naming = Naming(upstreams, rules, faces)
        self._upstreams = upstreams
        self._patience_s = patience_s
        self.on_change: Callable[[Key], None] = lambda key: None  # a list is another one than before
        self._known = self.known_lists = KnownLists()
        self.some_clients_only = self._known.some_clients_only
        self.wanted: set[OfferKind] = {OfferKind.TOOL}  # kinds that somebody was told of: changes are news
        self._attempts = Attempts(self._list_ask, self._take, self._comes_back)
        self._judged = JudgedLists(faces, self._known, self._reading, self._take, self.outdated)
        self.judge_again = self._judged.judge_again
        self._survey = CapabilitySurvey(self._attempts.ask, self._show_alike, faces)
        self.version = 0  # how often something offered became another

    async def close(self) -> None:
        await self._judged.close()
        await self._survey.close()
        await self._attempts.close()

    # ---- what happens to upstreams and sessions

    def came_up(self, name: str) -> None:
        """It may be another one now: everything of it that anybody may have been told is asked again."""
        self._survey.came_up(name)
        keys = self._known.shared_keys(name)
        for key in keys:
            self._known.outdate(key)
        for key in dict.fromkeys([(name, kind, COMMON) for kind in self.wanted] + keys):
            self._ask_anew(key)

    def changed(self, name: str, kind: OfferKind, session_id: str | None) -> None:
        """It said that it changed, on the connection of all or of this session. Asked the next time, or
        soon if its words are pinned: what it changed is told to the operator, although nobody lists."""
        self._known.changed(name, kind, session_id)
        attempt = self._attempts.running((name, kind, COMMON)) if session_id is None else None
        if attempt is not None:
            attempt.is_outdated = True
        self._judged.announced((name, kind, COMMON))

    async def answered(self, name: str) -> None:
        """The operator answered what this server says by now, of which clients may have older lists: asked
        the next time, whatever the server told of its changes."""
        for kind in FACED_KINDS:
            self._known.changed(name, kind, None)
        await self.judge_again()

    def outdated(self, key: Key) -> None:
        """It is another one by now: asked at once."""
        if key[0] in self._upstreams:
            self._known.outdate(key)
            self._ask_anew(key)

    def replaced(
        self, rules: OfferRules, gone: Iterable[str], replaced: Iterable[str], prepared: Prepared
    ) -> None:
        """The upstreams, or the rules, are others now. `replaced`: names that stand for another one.
        `prepared`: what new ones told."""
        before, self.naming = self.naming, Naming(self._upstreams, rules, self.faces)
        others = {*gone, *replaced}
        for name in others:
            self._attempts.forget(lambda key, name=name: key[0] == name, is_replaced=True)
            self._survey.forget(name)
        for name in gone:
            for key in self._known.forget_upstream(name):
                self._tell_change(key)
        for name in replaced:
            self._known.replace_upstream(name)
        for name in (name for name in self._upstreams if name in before.schemes and name not in others):
            for kind in (kind for kind in OfferKind if not self.naming.reads_alike(before, name, kind)):
                choice = self.naming.choices.get(name) if kind is OfferKind.TOOL else None
                for key in self._known.reread(name, kind, choice):
                    self._tell_change(key)
                    self._ask_anew(key)
        self._known.version += 1  # who remembers routes finds them again
        for key, listing in prepared.items():
            self._survey.came_up(key[0])
            self._take(key, listing)

    def _tell_change(self, key: Key) -> None:
        self.version += 1
        self.on_change(key)

    def _ask_anew(self, key: Key) -> None:
        attempt = self._attempts.running(key)
        if attempt is None:
            self._attempts.start(key, None, is_up=True)
        elif attempt.began_up:  # it asks who is gone, or what was true before
            attempt.is_outdated = True

    def forget(self, session: Session) -> None:
        """What only this session was shown."""
        self._known.forget_session(session.session_id)
        self._attempts.forget(lambda key: key[2].session_id == session.session_id)

    # ---- for routing

    def server_of(self, public_name: str) -> str | None:
        return self.naming.server_of(public_name)

    def listing(self, name: str, kind: OfferKind, asker: Asker) -> Listing | None:
        """What is known of this upstream's part; None when it has to be asked first (`ask_part`)."""
        key = (name, kind, self._upstream(name).view_of(asker))
        listing = self._known.get(key) or self._known.standing_in(key)
        if listing is None or not listing.told_at_mono or self._known.is_changed_at_own(key):
            return None
        if is_old(listing):
            if self.naming.rules.deny_destructive:
                return None
            shared = (name, kind, key[2].shared)
            if self._attempts.trouble(shared) is None:  # else it is asked again by the clock
                self._attempts.start(shared, None, is_up=True)
        return listing

    def is_settled(self, name: str, kind: OfferKind, asker: Asker) -> bool:
        """Whether asking again would bring nothing new: this client's own view is known, and fresh."""
        return self._known.is_fresh((name, kind, self._upstream(name).view_of(asker)), time.monotonic())

    async def ask_part(self, name: str, kind: OfferKind, asker: Asker) -> Part:
        """Asks for it, of the connection that serves this very client if there is one.

        Raises what the upstream raised, unless what it said before will do.
        """
        while True:
            key = (name, kind, self._upstream(name).view_of(asker))
            attempt = self._attempts.start(key, asker, is_up=self._is_up(name))
            await self._attempts.wait([(key, attempt, _CALL_PATIENCE_S)])
            if not attempt.is_replaced:
                break
        if attempt.listing is not None:
            return attempt.listing.part
        known = self._known.standing_in(key)
        if known is not None and not self.naming.rules.deny_destructive:
            return known.part
        raise attempt.error or UpstreamError(UPSTREAM_TIMEOUT, f"{name} took too long to list its offers")

    def current(self, kind: OfferKind, asker: Asker) -> Catalog:
        """As far as it is known, without asking anybody."""
        return self._known.catalog(kind, self._keys(kind, asker))

    async def known(self, kind: OfferKind, asker: Asker, patience_s: float | None = None) -> Catalog:
        """The catalog; asks only those upstreams that never told theirs, or long ago."""
        keys = self._keys(kind, asker)
        stale = [key for key in keys if (listing := self._known.get(key)) is None or is_old(listing)]
        if stale:
            await self._ask(stale, asker, self._patience_s if patience_s is None else patience_s)
        return self._known.catalog(kind, keys)

    async def to_route_by(self, kind: OfferKind, asker: Asker) -> Catalog:
        """Like `known`, for an address that nobody may have only because its server has not told yet."""
        return await self.known(kind, asker, _CALL_PATIENCE_S)

    # ---- for lists

    async def all(self, kind: OfferKind, asker: Asker, hops: list[Hop]) -> tuple[Catalog, int, bool]:
        """The whole catalog, every upstream with its hop; and for how long, and by whom, it may be kept."""
        self.wanted.add(kind)
        keys = self._keys(kind, asker)
        now = time.monotonic()
        old = [key for key in keys if not self._known.is_fresh(key, now)]
        asked = await self._ask(old, asker, self._patience_s) if old else {}
        hops += [hop_of(key, asked.get(key)) for key in keys]
        listings = [self._known.standing_in(key) for key in keys]
        told = [listing for listing in listings if listing is not None]
        ttl_ms = min((listing.ttl_ms for listing in told), default=0)
        is_whole = len(told) == len(keys) and not any(attempt.is_running for attempt in asked.values())
        is_public = all(listing.is_public for listing in told)
        return self._known.catalog(kind, keys), ttl_ms if is_whole else 0, is_public

    def concerns(self, key: Key, asker: Asker) -> bool:
        """Whether this list is what the client is shown."""
        name, kind, _ = key
        if name not in self._upstreams:
            return True  # everybody was shown it
        shown = self._known.standing_in((name, kind, self._upstreams[name].view_of(asker)))
        return shown is not None and shown is self._known.get(key)

    async def _ask(self, keys: list[Key], asker: Asker, patience_s: float) -> dict[Key, Attempt]:
        asked = {key: self._attempts.start(key, asker, is_up=self._is_up(key[0])) for key in keys}
        new_views = {
            key for key, attempt in asked.items() if self._known.is_new_view(key) and attempt.began_up
        }
        if len(new_views) > _MOST_NEW_VIEWS:
            new_views.clear()
        # What is known of an upstream that is not there is the best that can be had.
        waited = [
            (key, attempt, max(patience_s, _VIEW_PATIENCE_S) if key in new_views else patience_s)
            for key, attempt in asked.items()
            if attempt.began_up or self._known.standing_in(key) is None
        ]
        # The common list is there sooner than one for which a process may have to be started.
        for name, kind, view in keys:
            common = (name, kind, COMMON)
            if view != COMMON and self._known.standing_in((name, kind, view)) is None:
                attempt = self._attempts.start(common, None, is_up=self._is_up(name))
                waited.append((common, attempt, patience_s))
        await self._attempts.wait(waited)
        return asked

    def _keys(self, kind: OfferKind, asker: Asker) -> list[Key]:
        return [(name, kind, upstream.view_of(asker)) for name, upstream in self._upstreams.items()]

    # ---- asking

    def _upstream(self, name: str) -> Upstream:
        """Raises CallerError: it may have been removed while somebody waited."""
        if (upstream := self._upstreams.get(name)) is None:
            raise unknown_server(name, self._upstreams)
        return upstream

    def _is_up(self, name: str) -> bool:
        return self._upstream(name).health().state is State.UP

    def _comes_back(self, name: str) -> bool:
        """A database does not tell that it came up; a server that is down does."""
        upstream = self._upstreams.get(name)
        health = upstream.health() if upstream is not None else None
        return health is not None and (health.kind == "sql" or health.state is State.UP)

    def _list_ask(self, key: Key, asker: Asker | None, hop: Hop) -> ListAsk:
        name, _, view = key
        if asker is None or not view.session_id:
            asker = in_our_name(view)
        known = self._known.all_standing_in(key)
        reading_now = partial(self._reading, key)
        return ListAsk(self._upstream(name), asker, hop, self._reading(key), known, reading_now)

    def _reading(self, key: Key) -> ListReading:
        return self.naming.reading(*key)

    def _take(self, key: Key, listing: Listing) -> None:
        name, kind, view = key
        if self._known.take(key, listing):
            self._tell_change(key)
        if kind is OfferKind.TOOL and view == COMMON:
            self._survey.listed(name, listing.digest)
        self._judged.taken(listing)

    def _show_alike(self, name: str, is_alike: bool) -> None:
        if name in self._upstreams:
            self._upstreams[name].show_alike(is_alike)
        self._known.version += 1
        if is_alike:
            self._known.forget_declared(name)

    def judge(self, health: Health) -> Health:
        return judged(health, self._known, self._attempts, self.naming.rules.max_offers, self.faces)
