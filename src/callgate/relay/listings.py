"""What each upstream said it offers, and the catalogs made of it.

Rules
1. A listing is asked when it is first needed and kept until the upstream says that it changed, its state
   changed, or its time to live is over.
2. An upstream that fails or dawdles is left out, its hop says why, and what it said before is used as long as
   there is something: a dead upstream neither breaks nor silently empties a list.
3. Lists are kept for every client that has the same view: they are asked without a client's token or trace.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace

from callgate.model.error_codes import METHOD_NOT_FOUND, UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from callgate.model.errors import CallerError, CallgateError, UpstreamError
from callgate.model.exchange import Hop
from callgate.model.offers import Kind
from callgate.model.reply import Reply
from callgate.model.session import Session
from callgate.ports.upstream import Asker, Upstream
from callgate.relay.catalog import Catalog, Native, Page, build_catalog, read_page
from callgate.relay.hops import new_hop, run_hop
from callgate.relay.public_names import SEPARATOR, SHORT_SEPARATOR

_log = logging.getLogger(__name__)

# A list waits this long for its slowest member; the others' clients must not.
_PATIENCE_S = 5.0
# How long we believe an upstream that says nothing about it. Changes that are announced are seen at once.
_DEFAULT_TTL_S = 60.0
# Who just failed to list is not waited for by every request that might be meant for somebody else.
_FAILED_S = 30.0
# A paginator that never ends must not hang a list.
_MAX_PAGES = 100
_MAX_LISTING_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Listing:
    natives: tuple[Native, ...]
    told_at_mono: float  # for routing: 0 once it is outdated
    fresh_until_mono: float  # for listing: the upstream's own word
    ttl_ms: int
    is_public: bool


Views = tuple[str | None, ...]  # each upstream's view of one session, in their order


class Listings:
    def __init__(
        self, upstreams: Mapping[str, Upstream], is_strict: bool, briefly_named: str | None = None
    ) -> None:
        """`is_strict`: a policy judges by what is listed, so an outdated list is as good as none.

        `briefly_named`: the upstream, if any, whose names are joined by one underscore (`public_names`).
        """
        self._briefly_named = briefly_named
        self._upstreams = upstreams
        self._is_strict = is_strict
        self._common: Views = (None,) * len(upstreams)
        self._known: dict[tuple[str, Kind, str | None], Listing] = {}
        self._failed_until: dict[tuple[str, Kind, str | None], float] = {}
        self._catalogs: dict[tuple[Kind, Views], Catalog] = {}  # made of what is known
        # Who had a uri first keeps it, whoever else comes up with the same later.
        self._owners: dict[tuple[Kind, str], str] = {}
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
        server = public_name.partition(SEPARATOR)[0]
        if server in self._upstreams:
            return server
        brief = self._briefly_named
        return brief if brief and public_name.startswith(f"{brief}{SHORT_SEPARATOR}") else None

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
        return known is None or known.told_at_mono + _DEFAULT_TTL_S < now

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
            listings = [(name, self._known.get((name, kind, view))) for name, view in wanted]
            catalog = build_catalog(
                kind,
                [(name, listing.natives) for name, listing in listings if listing is not None],
                self._owners,
                self._briefly_named,
            )
            self._catalogs[kind, views] = catalog
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
                asking[asyncio.create_task(self._ask(name, kind, asker, hop))] = (name, hop)
        if not asking:
            return {}
        try:
            await asyncio.wait(asking, timeout=_PATIENCE_S)
        finally:
            for task in asking:
                task.cancel()  # of those that are done it is without effect
            await asyncio.gather(*asking, return_exceptions=True)
        failed: dict[str, CallgateError] = {}
        for task, (name, hop) in asking.items():
            listing = _outcome(task, name, hop)
            if isinstance(listing, Listing):
                self._known[name, kind, wanted[name]] = listing
                self._release_uris(name, kind, listing)
            else:
                # Whether it is down is told once, in the log of states (app/state_log).
                _log.debug("%s is missing from %s: %s", name, kind.method, listing)
                failed[name] = listing
                self._failed_until[name, kind, wanted[name]] = time.monotonic() + _FAILED_S
        for key in [key for key in self._catalogs if key[0] is kind]:
            del self._catalogs[key]
        return failed

    def _release_uris(self, name: str, kind: Kind, listing: Listing) -> None:
        """A uri that its owner no longer lists is anybody's again."""
        if kind.key == "name":
            return
        listed = {native.name for native in listing.natives}
        for uri in [uri for (of, uri), owner in self._owners.items() if of is kind and owner == name]:
            if uri not in listed:
                del self._owners[kind, uri]

    async def _ask(self, name: str, kind: Kind, asker: Asker, hop: Hop) -> Listing:
        # What is asked is what the view stands for: a later request of the session may declare other things.
        capabilities = asker.session.envelope.capabilities
        envelope = replace(
            asker.envelope, capabilities=capabilities, progress_token=None, traceparent=None, log_level=None
        )
        anonymous = Asker(envelope, asker.session, asker.rpc_id)
        pages: list[Page] = []
        cursor: bytes | None = None
        size_bytes = 0
        while len(pages) < _MAX_PAGES and size_bytes < _MAX_LISTING_BYTES:
            hop.params = b"" if cursor is None else b'{"cursor":%b}' % cursor
            result = await self._ask_page(name, kind, anonymous, hop)
            if result is None:
                break
            size_bytes += len(result)
            pages.append(read_page(kind, name, result))
            if pages[-1].next_cursor in (None, cursor):
                break
            cursor = pages[-1].next_cursor
        if pages and pages[-1].next_cursor is not None and pages[-1].next_cursor != cursor:
            _log.warning("%s lists more than we take: the rest of %s is left out", name, kind.method)
        ttls = [page.ttl_ms for page in pages]
        ttl_ms = min((ttl for ttl in ttls if ttl is not None), default=None)
        lives_s = _DEFAULT_TTL_S if ttl_ms is None else ttl_ms / 1000
        return Listing(
            tuple(native for page in pages for native in page.natives),
            time.monotonic(),
            time.monotonic() + lives_s,
            ttl_ms or 0,
            all(page.is_public for page in pages),
        )

    async def _ask_page(self, name: str, kind: Kind, asker: Asker, hop: Hop) -> bytes | None:
        """The raw result; None when the upstream does not know the method, so offers nothing of the kind."""
        reply: Reply | None = None
        try:
            async with aclosing(run_hop(hop, self._upstreams[name].ask(hop, asker))) as items:
                async for item in items:
                    if isinstance(item, Reply):
                        reply = item
        except CallerError:
            hop.error = None
            return None
        if reply is not None and reply.result is not None:
            return reply.result
        if reply is not None and reply.fault is not None and reply.fault.code == METHOD_NOT_FOUND:
            hop.error = None
            return None
        raise UpstreamError(UPSTREAM_FAILED, f"{name} did not answer {kind.method}: {hop.error}")


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
