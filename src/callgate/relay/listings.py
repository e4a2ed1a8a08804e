"""What each upstream said it offers, and the catalogs made of it.

Rules
1. A listing is asked when it is first needed and kept until the upstream says that it changed, its state
   changed, or its time to live is over.
2. An upstream that fails or dawdles is left out, its hop says why, and what it said before is used as long as
   there is something: a dead upstream neither breaks nor silently empties a list.
3. Lists are kept for every client that has the same view: they are asked without a client's token or trace.
4. A list is read in slices, and only when it is not the one that is known already. What is past the bounds is
   left out, which health tells.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import replace

from callgate.model.error_codes import UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from callgate.model.errors import CallgateError, UpstreamError
from callgate.model.exchange import Hop
from callgate.model.offers import Kind
from callgate.model.session import Session
from callgate.ports.upstream import Asker, Upstream
from callgate.relay.ask_listing import DEFAULT_TTL_S, ListAsk, Listing, ask_listing, words_for
from callgate.relay.catalog import Catalog, build_catalog
from callgate.relay.hops import new_hop
from callgate.relay.listing_notes import listing_notes
from callgate.relay.public_names import SEPARATOR, SHORT_SEPARATOR, server_of, short_servers
from callgate.relay.read_listing import MAX_LISTING_BYTES, Reading
from callgate.relay.some_clients_only import SomeClientsOnly
from callgate.relay.territory import Territory
from callgate.relay.tool_choice import ToolChoice

_log = logging.getLogger(__name__)

# A list waits this long for its slowest member; the others' clients must not.
_PATIENCE_S = 5.0
# Who just failed to list is not waited for by every request that might be meant for somebody else.
_FAILED_S = 30.0
# More than any person's servers have; `[server] max_offers`.
DEFAULT_MAX_OFFERS = 10_000


Views = tuple[str | None, ...]  # each upstream's view of one session, in their order


class Listings:
    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        is_strict: bool,
        briefly_named: str | None = None,
        max_offers: int = DEFAULT_MAX_OFFERS,
        choices: Mapping[str, ToolChoice] | None = None,
    ) -> None:
        """`is_strict`: a policy judges by what is listed, so an outdated list is as good as none.

        `briefly_named`: the upstream, if any, whose names are joined by one underscore (`public_names`).
        `max_offers`: what is taken of one upstream and kind.
        `choices`: of upstreams whose tools are not all let through.
        """
        self._briefly_named = briefly_named
        self._max_offers = max_offers
        self.choices = choices or {}
        self._short = short_servers(upstreams)
        self._by_short_name = {short: name for name, short in self._short.items()}
        self.territory = Territory(
            list(upstreams), {name: upstream.schemes for name, upstream in upstreams.items()}
        )
        self.some_clients_only = SomeClientsOnly()
        self._upstreams = upstreams
        self._is_strict = is_strict
        self._common: Views = (None,) * len(upstreams)
        self._known: dict[tuple[str, Kind, str | None], Listing] = {}
        self._failed_until: dict[tuple[str, Kind, str | None], float] = {}
        self._catalogs: dict[tuple[Kind, Views], Catalog] = {}  # made of what is known
        # Who had a uri first keeps it, whoever else comes up with the same later.
        self._claims: dict[Kind, dict[str, set[str]]] = {kind: {} for kind in Kind}
        self._conflicts: dict[Kind, dict[str, list[str]]] = {}
        self.version = 0  # how often somebody said that theirs changed

    def outdate(self, upstream: str, kind: Kind | None, view: str | None) -> None:
        """Ask again the next time; until then what is known serves. No kind: everything, of every view."""
        self.version += 1
        for key, listing in self._known.items():
            if key[0] == upstream and (kind is None or key[1:] == (kind, view)):
                self._known[key] = replace(listing, told_at_mono=0.0, fresh_until_mono=0.0)
        for key in [key for key in self._failed_until if key[0] == upstream]:
            del self._failed_until[key]

    def forget(self, session: Session) -> None:
        """What only this session was shown."""
        for key in [key for key in self._known if key[2] == session.session_id]:
            del self._known[key]
        for key in [key for key in self._failed_until if key[2] == session.session_id]:
            del self._failed_until[key]
        for key in [key for key in self._catalogs if session.session_id in key[1]]:
            del self._catalogs[key]

    def server_of(self, public_name: str) -> str | None:
        """Whose a tool or prompt of that name would be."""
        server = server_of(public_name, self._upstreams, self._by_short_name)
        if server is not None:
            return server
        brief = self._briefly_named
        return brief if brief and public_name.startswith(f"{brief}{SHORT_SEPARATOR}") else None

    def check_chosen(self, public_name: str) -> None:
        """Of a tool that is in no catalog: raises RefusedError if that is the operator's choice."""
        server = self.server_of(public_name)
        choice = self.choices.get(server) if server is not None else None
        if server is not None and choice is not None:
            choice.check(server, public_name.partition(SEPARATOR)[2])

    def current(self, kind: Kind, asker: Asker) -> Catalog:
        """As far as it is known, without asking anybody."""
        return self._catalog(kind, self._views(asker))

    def fresh(self, name: str, kind: Kind, asker: Asker) -> Catalog | None:
        """The catalog with this upstream's part in it, if that is not older than it should be."""
        views = self._views(asker)
        view = self._upstreams[name].view_of(asker.session) if views is not self._common else None
        return None if self._is_stale((name, kind, view), time.monotonic()) else self._catalog(kind, views)

    async def one(self, name: str, kind: Kind, asker: Asker) -> Catalog:
        """Like `fresh`; a part that is too old is asked for.

        Raises what the upstream raised, unless what it said before will do.
        """
        catalog = self.fresh(name, kind, asker)
        if catalog is not None:
            return catalog
        views, view = self._views(asker), self._upstreams[name].view_of(asker.session)
        failed = await self._refresh({name: view}, kind, asker, [])
        if name in failed and (self._is_strict or (name, kind, view) not in self._known):
            raise failed[name]
        return self._catalog(kind, views)

    def _is_stale(self, key: tuple[str, Kind, str | None], now: float) -> bool:
        known = self._known.get(key)
        return known is None or known.told_at_mono + DEFAULT_TTL_S < now

    async def perhaps(self, name: str, kind: Kind, asker: Asker) -> Catalog:
        """Like `one`, for whom a part that cannot be had is no obstacle."""
        try:
            return await self.one(name, kind, asker)
        except CallgateError:
            return self.current(kind, asker)

    async def known(self, kind: Kind, asker: Asker) -> Catalog:
        """The catalog to route by; asks only those upstreams that never told theirs, or long ago."""
        views = self._views(asker)
        now = time.monotonic()
        unknown = {
            name: view
            for name, view in zip(self._upstreams, views, strict=True)
            if self._is_stale((name, kind, view), now)
            and self._failed_until.get((name, kind, view), 0.0) < now
        }
        if unknown:
            await self._refresh(unknown, kind, asker, [])
        return self._catalog(kind, views)

    async def all(self, kind: Kind, asker: Asker, hops: list[Hop]) -> tuple[Catalog, int, bool]:
        """The whole catalog, every upstream with its hop; and for how long, and by whom, it may be kept."""
        views = self._views(asker)
        wanted = dict(zip(self._upstreams, views, strict=True))
        await self._refresh(wanted, kind, asker, hops)
        listings = [self._known.get((name, kind, view)) for name, view in wanted.items()]
        told = [listing for listing in listings if listing is not None]
        ttl_ms = min((listing.ttl_ms for listing in told), default=0)
        complete = len(told) == len(listings)
        return (
            self._catalog(kind, views),
            ttl_ms if complete else 0,
            all(listing.is_public for listing in told),
        )

    def _views(self, asker: Asker) -> Views:
        session = asker.session
        views = tuple([upstream.view_of(session) for upstream in self._upstreams.values()])
        return self._common if views == self._common else views

    def _catalog(self, kind: Kind, views: Views) -> Catalog:
        catalog = self._catalogs.get((kind, views))
        if catalog is None:
            wanted = list(zip(self._upstreams, views, strict=True))
            listings = [self._known.get((name, kind, view)) for name, view in wanted]
            parts = [listing.part for listing in listings if listing is not None]
            catalog = build_catalog(kind, parts, self._claims[kind])
            self._catalogs[kind, views] = catalog
            self._conflicts[kind] = catalog.conflicts
        return catalog

    async def _refresh(
        self, wanted: Mapping[str, str | None], kind: Kind, asker: Asker, hops: list[Hop]
    ) -> dict[str, CallgateError]:
        """`wanted`: upstreams, each with the view that is asked for. Returns those that could not tell."""
        now = time.monotonic()
        asking: dict[asyncio.Task[Listing], tuple[str, Hop]] = {}
        for name, view in wanted.items():
            hop = new_hop(self._upstreams[name], kind.method, b"")
            hops.append(hop)
            known = self._known.get((name, kind, view))
            if known is not None and known.fresh_until_mono > now:
                hop.cached, hop.ended_mono = True, hop.started_mono
            else:
                asked = ask_listing(self._list_ask(name, kind, view, asker, hop))
                asking[asyncio.create_task(asked)] = (name, hop)
        if not asking:
            return {}
        try:
            await asyncio.wait(asking, timeout=_PATIENCE_S)
        finally:
            for task in asking:
                task.cancel()  # of those that are done it is without effect
            await asyncio.gather(*asking, return_exceptions=True)
        failed: dict[str, CallgateError] = {}
        is_changed = False
        for task, (name, hop) in asking.items():
            listing = _outcome(task, name, hop)
            if isinstance(listing, Listing):
                view = wanted[name]
                before = self._known.get((name, kind, view))
                self._known[name, kind, view] = listing
                if before is None or before.part is not listing.part:
                    is_changed = True
                    self._take_over(name, kind, listing, asker if view is not None else None)
            else:
                # Whether it is down is told once, in the log of states (app/state_log).
                _log.debug("%s is missing from %s: %s", name, kind.method, listing)
                failed[name] = listing
                self._failed_until[name, kind, wanted[name]] = time.monotonic() + _FAILED_S
        for key in [key for key in self._catalogs if is_changed and key[0] is kind]:
            del self._catalogs[key]
        return failed

    def _list_ask(self, name: str, kind: Kind, view: str | None, asker: Asker, hop: Hop) -> ListAsk:
        separator = SHORT_SEPARATOR if name == self._briefly_named else SEPARATOR
        reading = Reading(
            kind,
            name,
            self.territory,
            self._max_offers,
            separator,
            short=self._short[name],
            choice=self.choices.get(name) if kind is Kind.TOOL else None,
        )
        keys = dict.fromkeys([(name, kind, view), (name, kind, None)])
        known = tuple(listing for key in keys if (listing := self._known.get(key)) is not None)
        return ListAsk(self._upstreams[name], asker, hop, reading, known)

    def _take_over(self, name: str, kind: Kind, listing: Listing, only_for: Asker | None) -> None:
        """`only_for`: whom it was shown to, if not to everybody."""
        if kind.key != "name":  # a uri that its owner no longer lists is anybody's again
            self._claims[kind].get(name, set()).intersection_update(listing.part.offers)
        if kind is Kind.TOOL and only_for is not None:
            common = self._known.get((name, kind, None))
            shown_to_all = common.part.offers if common is not None else {}
            self.some_clients_only.note(listing.part, shown_to_all, only_for.session.envelope.capabilities)

    def notes(self, name: str) -> tuple[str, ...]:
        """What the operator is to know of what this upstream lists."""
        told: list[str] = []
        for kind in Kind:
            views = [known for (of, what, _), known in self._known.items() if of == name and what is kind]
            told += dict.fromkeys(
                self._left_out(kind, known) for known in views if known.has_more or known.part.left_out
            )
            told += dict.fromkeys(
                note for known in views for note in listing_notes(known.part, words_for(kind))
            )
            told += self._conflicts.get(kind, {}).get(name, ())
        return tuple(told)

    def _left_out(self, kind: Kind, listing: Listing) -> str:
        part = listing.part
        listed = len(part.offers) + part.left_out
        more = "more than " if listing.has_more else ""
        return (
            f"It lists {more}{listed:,} {words_for(kind)}, of which {len(part.offers):,} are offered: see "
            f"[server] max_offers ({self._max_offers:,}; at most {MAX_LISTING_BYTES // 1024**2} MiB)"
        )


def _outcome(task: asyncio.Task[Listing], name: str, hop: Hop) -> Listing | CallgateError:
    if task.cancelled():
        error = UpstreamError(UPSTREAM_TIMEOUT, f"{name} took too long to list its offers")
        hop.error = error.message
        return error
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, CallgateError):
        return error
    _log.error("listing the offers of %s failed", name, exc_info=error)
    hop.error = f"{name} lists its offers in a way we cannot read"
    return UpstreamError(UPSTREAM_FAILED, hop.error)
