"""What each upstream said it offers, and the catalog made of it.

An upstream is asked when its listing is first needed and the answer is kept. One that fails is left out and
asked again the next time: a dead upstream neither breaks nor silently empties the list, its hop says why.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace

from callgate.model.envelope import Envelope
from callgate.model.error_codes import UPSTREAM_FAILED
from callgate.model.errors import CallgateError, UpstreamError
from callgate.model.exchange import Hop
from callgate.model.offers import Offer
from callgate.model.reply import Reply
from callgate.ports.upstream import Upstream
from callgate.relay.catalog import Catalog, build_catalog, read_tools
from callgate.relay.hops import new_hop, run_hop

_log = logging.getLogger(__name__)
_METHOD = "tools/list"


@dataclass(frozen=True, slots=True)
class Listing:
    result: bytes  # the upstream's own `tools/list` result
    offers: tuple[Offer, ...]


class Listings:
    def __init__(self, upstreams: Mapping[str, Upstream]) -> None:
        self._upstreams = upstreams
        self._known: dict[str, Listing] = {}
        self._catalog = Catalog()

    async def one(self, name: str, envelope: Envelope, hops: list[Hop]) -> Listing:
        """One upstream's listing, with its hop added to `hops`. Raises what the upstream raised."""
        upstream = self._upstreams[name]
        hop = new_hop(upstream, _METHOD, b"")
        hops.append(hop)
        known = self._known.get(name)
        if known is not None:
            hop.cached, hop.result, hop.ended_mono = True, known.result, hop.started_mono
            return known
        return await self._ask(upstream, hop, envelope)

    async def all(self, envelope: Envelope, hops: list[Hop]) -> Catalog:
        """The whole catalog, every upstream with its hop, the failed ones too."""
        results = await asyncio.gather(
            *(self.one(name, envelope, hops) for name in self._upstreams), return_exceptions=True
        )
        for name, result in zip(self._upstreams, results, strict=True):
            if isinstance(result, CallgateError):
                _log.warning("%s is missing from the catalog: %s", name, result)
            elif isinstance(result, BaseException):
                raise result
        return self._catalog

    async def catalog(self, envelope: Envelope) -> Catalog:
        """The catalog to route by; asks only those upstreams that have not told theirs yet."""
        if len(self._known) < len(self._upstreams):
            await self.all(envelope, [])
        return self._catalog

    async def _ask(self, upstream: Upstream, hop: Hop, envelope: Envelope) -> Listing:
        # Lists are ours to keep for every client: no client's token or trace goes with the question.
        anonymous = replace(envelope, progress_token=None, traceparent=None)
        result: bytes | None = None
        async with aclosing(run_hop(upstream, hop, anonymous)) as items:
            async for item in items:
                if isinstance(item, Reply):
                    result = item.result
        if result is None:
            raise UpstreamError(UPSTREAM_FAILED, f"{upstream.name} did not answer {_METHOD}: {hop.error}")
        listing = Listing(result, tuple(read_tools(upstream.name, result)))
        self._known[upstream.name] = listing
        self._catalog = build_catalog(
            [self._known[name].offers for name in self._upstreams if name in self._known]
        )
        return listing
