"""Asking one upstream what it offers of one kind: every page, within bounds, read only when it is news."""

import asyncio
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from callgate.model.envelope import Era
from callgate.model.error_codes import METHOD_NOT_FOUND, UPSTREAM_FAILED
from callgate.model.errors import CallerError, UpstreamError
from callgate.model.exchange import Hop
from callgate.model.identity import LOCAL
from callgate.model.offers import OfferKind
from callgate.model.reply import tell_nobody
from callgate.model.session import Session
from callgate.model.view import View
from callgate.ports.upstream import Asker, Upstream
from callgate.relay.hops import run_hop
from callgate.relay.lists.catalog import Part
from callgate.relay.lists.read_listing import MAX_LISTING_BYTES, ListPage, ListReading, read_page, read_part
from callgate.wire.eras.params import our_envelope
from callgate.wire.revisions import era_of

# How long we believe an upstream that says nothing about it. Changes that are announced are seen at once.
DEFAULT_TTL_S = 60.0
# A paginator that never ends must not hang a list.
_MAX_PAGES = 100
# Past this a digest is made in a thread: it would take the loop a millisecond.
_LONG_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class Listing:
    part: Part
    digest: bytes  # of what it was read from
    has_more: bool  # there were pages that we did not ask for
    told_at_mono: float  # for routing: 0 once it is outdated
    fresh_until_mono: float  # for listing: the upstream's own word
    ttl_ms: int
    is_public: bool
    pages: tuple[ListPage, ...] = ()  # where it may have to be judged again: what it was read from
    era: Era | None = None
    faces_version: int = 0  # by which it was judged


@dataclass(frozen=True, slots=True)
class ListAsk:
    upstream: Upstream
    asker: Asker
    hop: Hop
    reading: ListReading
    known: tuple[Listing, ...]  # what it may say once more
    reading_now: Callable[[], ListReading] | None = None  # how, when it has answered; None: as above


async def ask_listing(ask: ListAsk) -> Listing:
    """Raises what the upstream raises."""
    asker = ask.asker
    envelope = replace(asker.envelope, progress_token=None, traceparent=None, log_level=None)
    pages, has_more = await _pages(ask, Asker(envelope, asker.session, asker.rpc_id))
    digest = await _digest(pages)
    ttl_ms = min((page.ttl_ms for page in pages if page.ttl_ms is not None), default=None)
    lives_s = DEFAULT_TTL_S if ttl_ms is None else ttl_ms / 1000
    era = era_of(ask.hop.server_protocol)
    reading = ask.reading
    while True:
        part, version = await _read(ask, reading, era, pages, digest)
        # A server that lets us wait must not be shown by what the operator said before.
        by_now = reading if ask.reading_now is None else ask.reading_now()
        if by_now.faces is None or by_now.faces.version == version:
            break
        reading = by_now
    now = time.monotonic()
    is_public = all(page.is_public for page in pages)
    kept = tuple(pages) if ask.reading.is_kept else ()
    return Listing(part, digest, has_more, now, now + lives_s, ttl_ms or 0, is_public, kept, era, version)


async def _read(
    ask: ListAsk, reading: ListReading, era: Era | None, pages: list[ListPage], digest: bytes
) -> tuple[Part, int]:
    """With the version of the operator's word by which it was judged."""
    faces, is_kept = reading.faces, reading.is_kept  # else no word of the operator's changes how it is read
    version = faces.version if faces is not None else reading.faces_version
    alike = (one for one in ask.known if one.digest == digest)
    part = next((one.part for one in alike if not is_kept or one.faces_version == version), None)
    if part is None:
        part = await read_part(replace(reading, era=era), pages)
        if is_kept:  # what callers see may be the same, whatever the server changed
            part = next((one.part for one in ask.known if one.part == part), part)
    return part, version


async def _pages(ask: ListAsk, asker: Asker) -> tuple[list[ListPage], bool]:
    """All pages that we take, and whether there are more."""
    kind, name = ask.reading.kind, ask.upstream.name
    pages: list[ListPage] = []
    cursor: bytes | None = None
    size_bytes = 0
    while len(pages) < _MAX_PAGES and size_bytes < MAX_LISTING_BYTES:
        ask.hop.params = b"" if cursor is None else b'{"cursor":%b}' % cursor
        result = await _page(ask, asker)
        if result is None:
            return pages, False
        size_bytes += len(result)
        pages.append(read_page(kind, name, result))
        if pages[-1].next_cursor in (None, cursor):
            return pages, False
        cursor = pages[-1].next_cursor
    return pages, True


async def _page(ask: ListAsk, asker: Asker) -> bytes | None:
    """The raw result; None when the upstream does not know the method, so offers nothing of the kind."""
    hop = ask.hop
    try:
        reply = await run_hop(hop, partial(ask.upstream.ask, hop, asker, tell_nobody))
    except CallerError:
        hop.error = None
        return None
    if reply.result is not None:
        return reply.result
    if reply.fault is not None and reply.fault.code == METHOD_NOT_FOUND:
        hop.error = None
        return None
    name, method = ask.upstream.name, ask.reading.kind.method
    raise UpstreamError(UPSTREAM_FAILED, f"{name} did not answer {method}: {hop.error}")


async def _digest(pages: list[ListPage]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for page in pages:
        if memoryview(page.entries).nbytes > _LONG_BYTES:
            await asyncio.to_thread(digest.update, page.entries)
        else:
            digest.update(page.entries)
    return digest.digest()


def words_for(kind: OfferKind) -> str:
    return "resource templates" if kind is OfferKind.TEMPLATE else kind.member


@lru_cache(maxsize=256)
def in_our_name(view: View) -> Asker:
    """Who asks for a list that many are shown: a client that declares what the view stands for."""
    envelope = our_envelope(view.declared)
    return Asker(envelope, Session("callgate", LOCAL, "http", envelope, 0.0, 0.0), b"null")
