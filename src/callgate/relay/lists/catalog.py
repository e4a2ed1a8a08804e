"""All we offer of one kind, in a fixed order, replaced whole: a reader never sees half of a change.

It is put together of parts, one for each upstream. A part is made once, when its list was read; putting them
together costs next to nothing, however long they are.
"""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from callgate.model.near_miss import did_you_mean_one_of
from callgate.model.offers import Offer, OfferKind, Route
from callgate.model.wording import clip
from callgate.relay.lists.public_names import public_uri
from callgate.relay.lists.territory import scheme_of
from callgate.relay.lists.tool_choice import ToolChoice, ToolRule
from callgate.wire.params import with_member

# Of addresses that another server had first: each needs a definition of its own, made on the loop.
_MAX_RENAMED = 1_000
_MAX_SHOWN_CHARS = 100

# By upstream the addresses that it had first.
Claims = MutableMapping[str, set[str]]


@dataclass(slots=True)
class Part:
    """What one upstream offers of one kind, under the names it has if nobody else has them already."""

    upstream: str
    offers: dict[str, Offer] = field(default_factory=dict[str, Offer])  # by public name
    by_route: dict[Route, Offer] = field(default_factory=dict[Route, Offer])
    trespassing: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])  # uri, whose it is
    left_out: int = 0  # entries beyond what we take
    not_chosen: list[str] = field(default_factory=list[str])  # those that the operator leaves out
    unused_rules: list[ToolRule] = field(default_factory=list[ToolRule])  # the operator's that fit no entry
    renamed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])  # native, public name
    hidden: frozenset[str] = frozenset()  # native names that callers must not know (`ports.Faces`)

    def chosen_by(self, choice: ToolChoice) -> "Part":
        """The same without the tools that this choice leaves out."""
        kept = {name: one for name, one in self.offers.items() if choice.takes(one.route.native_name)}
        return replace(self, offers=kept, by_route={one.route: one for one in kept.values()})


@dataclass(frozen=True, slots=True)
class Catalog:
    """Offers by upstream in the operator's order, and within one in the upstream's own."""

    offers: tuple[Offer, ...] = ()
    by_public_name: dict[str, Offer] = field(default_factory=dict[str, Offer])
    by_scheme: dict[str | None, list[Offer]] = field(default_factory=dict[str | None, list[Offer]])
    conflicts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # by upstream, in words

    def nearest(self, name: str, otherwise: str = "") -> str:
        """Advice for a name that does not exist; `otherwise`: when none is like it."""
        if not self.offers:
            return "Nothing of the kind is offered at the moment: see /healthz for what is down"
        known = (offer.public_name for offer in self.offers)
        return did_you_mean_one_of(name, known) or otherwise or f"The list names all {len(self.offers)}"


def build_catalog(kind: OfferKind, parts: Sequence[Part], claims: Claims) -> Catalog:
    """`parts`: in the operator's order, so that names stay the same from run to run.

    `claims`: the upstream that had an address first keeps it; new ones are added.
    """
    offers: dict[str, Offer] = {}
    conflicts: dict[str, list[str]] = {}
    for part in parts:
        own = part.offers
        if kind.key != "name":
            own, told = _settle(kind, part, claims)
            if told:
                conflicts[part.upstream] = told
        if taken := offers.keys() & own.keys():
            own = {name: offer for name, offer in own.items() if name not in taken}
        offers.update(own)
    by_scheme: dict[str | None, list[Offer]] = {}
    if kind is OfferKind.TEMPLATE:
        for name, offer in offers.items():
            by_scheme.setdefault(scheme_of(name), []).append(offer)
    return Catalog(tuple(offers.values()), offers, by_scheme, conflicts)


def _settle(kind: OfferKind, part: Part, claims: Claims) -> tuple[dict[str, Offer], list[str]]:
    """The part without addresses that another server had first, which get its name in front; and what is to
    be told of that."""
    upstream, own = part.upstream, part.offers
    shared: dict[str, str] = {}
    for other, claimed in claims.items():
        if other != upstream:
            shared.update(dict.fromkeys(own.keys() & claimed, other))
    claims.setdefault(upstream, set()).update(own.keys() - shared.keys())
    told = _told(kind, part, shared)
    if not shared:
        return own, told
    settled: dict[str, Offer] = {}
    renamed = 0
    for name, offer in own.items():
        if name not in shared:
            settled[name] = offer
        elif renamed < _MAX_RENAMED:
            renamed += 1
            moved = public_uri(upstream, offer.route.native_name)
            definition = with_member(offer.definition, offer.kind.key, msgspec.json.encode(moved))
            settled.setdefault(moved, replace(offer, public_name=moved, definition=definition))
    return settled, told


def _told(kind: OfferKind, part: Part, shared: dict[str, str]) -> list[str]:
    told: list[str] = []
    what = "resources" if kind is OfferKind.RESOURCE else "resource templates"
    for claims, how in ((part.trespassing, "belong to"), (list(shared.items()), "are also listed by")):
        if claims:
            uri, owner = min(claims)
            shown = clip(uri, _MAX_SHOWN_CHARS)
            told.append(
                f"{len(claims):,} of its {what} {how} {owner}, {shown} among them: "
                f"they are offered as {public_uri(part.upstream, '…')}"
            )
    open_ones = [name for name in part.offers if kind is OfferKind.TEMPLATE and scheme_of(name) is None]
    if open_ones:
        shown = clip(min(open_ones), _MAX_SHOWN_CHARS)
        told.append(f"Its template {shown} fits any address: it is asked for what no other server has")
    return told
