"""All we offer, in a fixed order, replaced whole: a reader never sees half of a change."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from callgate.model.error_codes import CALLER_UNKNOWN_TOOL, UPSTREAM_FAILED
from callgate.model.errors import CallerError, UpstreamError
from callgate.model.offers import Offer, Route
from callgate.relay.public_names import public_name
from callgate.wire.params import with_member


class _ListResult(msgspec.Struct):
    tools: list[msgspec.Raw]


class _Tool(msgspec.Struct):
    name: str
    annotations: msgspec.Raw = msgspec.Raw()


_list_decoder = msgspec.json.Decoder(_ListResult)
_tool_decoder = msgspec.json.Decoder(_Tool)


@dataclass(frozen=True, slots=True)
class Catalog:
    """Offers by upstream in the operator's order, and within one in the upstream's own."""

    offers: tuple[Offer, ...] = ()
    by_public_name: dict[str, Offer] = field(default_factory=dict[str, Offer])
    by_route: dict[Route, Offer] = field(default_factory=dict[Route, Offer])

    def find(self, name: str, target: str | None) -> Offer:
        """By its public name, or by its native one on /servers/<target>/mcp. Raises CallerError."""
        offer = self.by_public_name.get(name) if target is None else self.by_route.get(Route(target, name))
        if offer is None:
            known = [
                o.public_name if target is None else o.route.native_name
                for o in self.offers
                if target is None or o.route.upstream == target
            ]
            raise CallerError(CALLER_UNKNOWN_TOOL, f"Unknown tool: {name[:100]}", hint=_advice(name, known))
        return offer


def build_catalog(listings: Sequence[Sequence[Offer]]) -> Catalog:
    offers = tuple(offer for listed in listings for offer in listed)
    return Catalog(
        offers,
        {offer.public_name: offer for offer in offers},
        {offer.route: offer for offer in offers},
    )


def read_tools(upstream: str, result: bytes) -> list[Offer]:
    """The offers in one upstream's `tools/list` result; one bad tool does not hide the others' upstream."""
    try:
        raw_tools = _list_decoder.decode(result).tools
    except msgspec.DecodeError as problem:
        raise UpstreamError(UPSTREAM_FAILED, f"{upstream} answered tools/list with {problem}") from problem
    offers: list[Offer] = []
    for raw in raw_tools:
        try:
            tool = _tool_decoder.decode(raw)
        except msgspec.DecodeError:
            continue
        name = public_name(upstream, tool.name)
        offers.append(
            Offer(
                public_name=name,
                route=Route(upstream, tool.name),
                definition=with_member(bytes(raw), "name", msgspec.json.encode(name)),
                annotations=bytes(tool.annotations) or None,
            )
        )
    return offers


def _advice(name: str, known: list[str]) -> str:
    if not known:
        return "No tool is offered at the moment: see /healthz for what is down"
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(near)}?" if near else f"tools/list names all {len(known)} tools"
