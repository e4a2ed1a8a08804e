"""What each upstream said it offers, and the catalogs made of it.

Rules
1. A listing is asked when it is first needed and kept until the upstream says that it changed, its state
   changed, or its time to live is over.
2. An upstream that fails or dawdles is left out, its hop says why, and what it said before is used as long as
   there is something: a dead upstream neither breaks nor silently empties a list.
3. Lists are ours to keep for every client: they are asked without any client's token or trace.
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
from callgate.ports.upstream import Asker, Upstream
from callgate.relay.catalog import Catalog, Native, Page, build_catalog, read_page
from callgate.relay.hops import new_hop, run_hop

_log = logging.getLogger(__name__)

# A list waits this long for its slowest member; the others' clients must not.
_PATIENCE_S = 5.0
# How long we believe an upstream that says nothing about it. Changes that are announced are seen at once.
_DEFAULT_TTL_S = 60.0
# A paginator that never ends must not hang a list.
_MAX_PAGES = 100


@dataclass(frozen=True, slots=True)
class Listing:
    natives: tuple[Native, ...]
    fresh_until_mono: float
    ttl_ms: int
    is_public: bool


_NOTHING = Listing((), 0.0, 0, True)


class Listings:
    def __init__(self, upstreams: Mapping[str, Upstream]) -> None:
        self._upstreams = upstreams
        self._known: dict[tuple[str, Kind], Listing] = {}
        self._catalogs: dict[Kind, Catalog] = dict.fromkeys(Kind, Catalog())

    def catalog(self, kind: Kind) -> Catalog:
        """As far as it is known, without asking anybody."""
        return self._catalogs[kind]

    def outdate(self, upstream: str, kind: Kind | None = None) -> None:
        """Ask again the next time; until then what is known serves for routing."""
        for key, listing in self._known.items():
            if key[0] == upstream and kind in (None, key[1]):
                self._known[key] = replace(listing, fresh_until_mono=0.0)

    async def one(self, name: str, kind: Kind, asker: Asker) -> Catalog:
        """The catalog with at least this upstream's part in it, if it can be had."""
        if (name, kind) not in self._known:
            await self._refresh([name], kind, asker, [])
        return self._catalogs[kind]

    async def known(self, kind: Kind, asker: Asker) -> Catalog:
        """The catalog to route by; asks only those upstreams that never told theirs."""
        unknown = [name for name in self._upstreams if (name, kind) not in self._known]
        if unknown:
            await self._refresh(unknown, kind, asker, [])
        return self._catalogs[kind]

    async def all(self, kind: Kind, asker: Asker, hops: list[Hop]) -> tuple[Catalog, int, bool]:
        """The whole catalog, every upstream with its hop; and for how long, and by whom, it may be kept."""
        await self._refresh(list(self._upstreams), kind, asker, hops)
        listings = [self._known.get((name, kind)) for name in self._upstreams]
        told = [listing for listing in listings if listing is not None]
        ttl_ms = min((listing.ttl_ms for listing in told), default=0)
        complete = len(told) == len(listings)
        return self._catalogs[kind], ttl_ms if complete else 0, all(listing.is_public for listing in told)

    async def _refresh(self, names: list[str], kind: Kind, asker: Asker, hops: list[Hop]) -> None:
        now = time.monotonic()
        asking: dict[asyncio.Task[Listing], tuple[str, Hop]] = {}
        for name in names:
            hop = new_hop(self._upstreams[name], kind.method, b"")
            hops.append(hop)
            known = self._known.get((name, kind))
            if known is not None and known.fresh_until_mono > now:
                hop.cached, hop.ended_mono = True, hop.started_mono
            else:
                asking[asyncio.create_task(self._ask(name, kind, asker, hop))] = (name, hop)
        if not asking:
            return
        try:
            await asyncio.wait(asking, timeout=_PATIENCE_S)
        finally:
            for task in asking:
                task.cancel()  # of those that are done it is without effect
            await asyncio.gather(*asking, return_exceptions=True)
        for task, (name, hop) in asking.items():
            self._take(task, name, kind, hop)
        self._catalogs[kind] = build_catalog(
            kind, [(name, self._known.get((name, kind), _NOTHING).natives) for name in self._upstreams]
        )

    def _take(self, task: asyncio.Task[Listing], name: str, kind: Kind, hop: Hop) -> None:
        if task.cancelled():
            hop.error = UpstreamError(UPSTREAM_TIMEOUT, f"{name} took too long to list its offers").message
        elif (error := task.exception()) is None:
            self._known[name, kind] = task.result()
        elif isinstance(error, CallgateError):
            _log.warning("%s is missing from %s: %s", name, kind.method, error)
        else:
            raise error

    async def _ask(self, name: str, kind: Kind, asker: Asker, hop: Hop) -> Listing:
        envelope = replace(asker.envelope, progress_token=None, traceparent=None, log_level=None)
        anonymous = replace(asker, envelope=envelope)
        pages: list[Page] = []
        cursor: bytes | None = None
        while len(pages) < _MAX_PAGES:
            hop.params = b"" if cursor is None else b'{"cursor":%b}' % cursor
            result = await self._ask_page(name, kind, anonymous, hop)
            if result is None:
                break
            pages.append(read_page(kind, name, result))
            if pages[-1].next_cursor in (None, cursor):
                break
            cursor = pages[-1].next_cursor
        ttls = [page.ttl_ms for page in pages]
        ttl_ms = min((ttl for ttl in ttls if ttl is not None), default=None)
        lives_s = _DEFAULT_TTL_S if ttl_ms is None else ttl_ms / 1000
        return Listing(
            tuple(native for page in pages for native in page.natives),
            time.monotonic() + lives_s,
            ttl_ms or 0,
            all(page.is_public for page in pages),
        )

    async def _ask_page(self, name: str, kind: Kind, asker: Asker, hop: Hop) -> bytes | None:
        """The raw result; None when the upstream does not know the method, so offers nothing of the kind."""
        reply: Reply | None = None
        try:
            async with aclosing(run_hop(self._upstreams[name], hop, asker)) as items:
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
