"""What both paths share: asking one upstream as a hop of the exchange, and the verdict on a tool call."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec

from callgate.model.envelope import Era
from callgate.model.errors import RefusedError
from callgate.model.exchange import Exchange
from callgate.model.offers import Kind, Offer
from callgate.model.reply import Item
from callgate.model.verdict import Deny
from callgate.ports.upstream import Asker, Upstream
from callgate.relay.ears import Ears
from callgate.relay.hops import new_hop, run_hop
from callgate.relay.judge_call import judge_call
from callgate.relay.listings import Listings
from callgate.wire.param_headers import check_headers, declared_headers, make_headers


class Path:
    def __init__(self, upstreams: Mapping[str, Upstream], deny_destructive: bool) -> None:
        self.upstreams = upstreams
        self.listings = Listings(upstreams, is_strict=deny_destructive)
        self.ears = Ears()
        self.denies = deny_destructive

    def ask(
        self,
        exchange: Exchange,
        upstream: str,
        params: bytes,
        asker: Asker,
        param_headers: tuple[tuple[str, str], ...] = (),
    ) -> AsyncGenerator[Item]:
        hop = new_hop(self.upstreams[upstream], exchange.arrival.method, params)
        hop.param_headers = param_headers
        exchange.server_name = upstream
        exchange.hops.append(hop)
        return run_hop(self.upstreams[upstream], hop, asker)

    def admit(self, exchange: Exchange, offer: Offer) -> tuple[tuple[str, str], ...]:
        """The verdict on a call of this offer, and the snapshot of its annotations.

        Raises RefusedError, or CallerError for headers that disagree with the arguments. Returns the headers
        that the same call has to carry to an HTTP upstream.
        """
        if offer.kind is not Kind.TOOL:
            return ()
        arrival = exchange.arrival
        exchange.annotations = offer.annotations
        verdict = judge_call(offer, self.denies)
        if isinstance(verdict, Deny):
            raise RefusedError(verdict.code, verdict.reason, hint=verdict.hint)
        declared = declared_headers(offer.definition)
        if not declared:
            return ()
        params: dict[str, Any] = msgspec.json.decode(arrival.params)
        arguments = params.get("arguments")
        if arrival.headers is not None and arrival.envelope.era is Era.MODERN:
            check_headers(declared, arguments, arrival.headers)
        return make_headers(declared, arguments)
