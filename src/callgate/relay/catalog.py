"""All we offer of one kind, in a fixed order, replaced whole: a reader never sees half of a change."""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field

import msgspec

from callgate.model.error_codes import UPSTREAM_FAILED
from callgate.model.errors import UpstreamError
from callgate.model.near_miss import did_you_mean_one_of
from callgate.model.offers import Kind, Offer, Route
from callgate.relay.public_names import SEPARATOR, SHORT_SEPARATOR, public_name, public_uri, short_name
from callgate.wire.param_headers import may_declare_headers
from callgate.wire.params import with_member

# Whatever an upstream promises, a day is long enough.
_MAX_TTL_MS = 86_400_000
_MAX_TTL_DIGITS = 12

_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list_decoder = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Native:
    """One entry of an upstream's own list."""

    name: str
    definition: bytes
    annotations: bytes | None


@dataclass(frozen=True, slots=True)
class Page:
    natives: tuple[Native, ...]
    next_cursor: bytes | None  # raw JSON string
    ttl_ms: int | None
    is_public: bool


@dataclass(frozen=True, slots=True)
class Catalog:
    """Offers by upstream in the operator's order, and within one in the upstream's own."""

    offers: tuple[Offer, ...] = ()
    by_public_name: dict[str, Offer] = field(default_factory=dict[str, Offer])
    by_route: dict[Route, Offer] = field(default_factory=dict[Route, Offer])

    def nearest(self, name: str, target: str | None) -> str:
        """Advice for a name that does not exist."""
        known = [
            offer.public_name if target is None else offer.route.native_name
            for offer in self.offers
            if target is None or offer.route.upstream == target
        ]
        if not known:
            return "Nothing of the kind is offered at the moment: see /healthz for what is down"
        return did_you_mean_one_of(name, known) or f"The list names all {len(known)}"


def build_catalog(
    kind: Kind,
    listings: Sequence[tuple[str, Sequence[Native]]],
    owners: MutableMapping[tuple[Kind, str], str],
    briefly_named: str | None = None,
) -> Catalog:
    """`listings`: by upstream, in the operator's order, so that names stay the same from run to run.

    `owners`: of each uri the upstream that had it first; new ones are added. `briefly_named`: the upstream,
    if any, whose names are joined by one underscore.
    """
    offers: dict[str, Offer] = {}
    by_route: dict[Route, Offer] = {}
    for upstream, natives in listings:
        for native in natives:
            route = Route(upstream, native.name)
            if route in by_route:  # a paginator that repeats itself
                continue
            separator = SHORT_SEPARATOR if upstream == briefly_named else SEPARATOR
            name = _public(kind, route, separator, owners)
            if name in offers:  # `a_` + `t` and `a` + `_t`
                name = short_name(upstream, native.name)
            definition = native.definition
            if name != native.name:
                definition = with_member(definition, kind.key, msgspec.json.encode(name))
            offers[name] = by_route[route] = Offer(
                kind, name, route, definition, native.annotations, may_declare_headers(definition)
            )
    return Catalog(tuple(offers.values()), offers, by_route)


def _public(kind: Kind, route: Route, separator: str, owners: MutableMapping[tuple[Kind, str], str]) -> str:
    upstream, native = route.upstream, route.native_name
    if kind.key == "name":
        return public_name(upstream, native, separator)
    # A uri is kept where it can be: tool results and other servers refer to it.
    owner = owners.setdefault((kind, native), upstream)
    return native if owner == upstream else public_uri(upstream, native)


def read_page(kind: Kind, upstream: str, result: bytes) -> Page:
    """One page of an upstream's list; one entry without a name does not hide the others."""
    try:
        members = _members_decoder.decode(result)
        entries = _list_decoder.decode(members[kind.member])
    except (msgspec.DecodeError, KeyError) as problem:
        raise UpstreamError(
            UPSTREAM_FAILED, f"{upstream} answered {kind.method} with something else: {problem}"
        ) from problem
    natives = tuple(native for entry in entries if (native := _native(kind, entry)) is not None)
    cursor = bytes(members.get("nextCursor", b""))
    ttl = bytes(members.get("ttlMs", b""))
    return Page(
        natives,
        cursor if cursor[:1] == b'"' else None,
        min(int(ttl), _MAX_TTL_MS) if ttl.isdigit() and len(ttl) <= _MAX_TTL_DIGITS else None,
        bytes(members.get("cacheScope", b"")) == b'"public"',
    )


def _native(kind: Kind, entry: msgspec.Raw) -> Native | None:
    try:
        members = _members_decoder.decode(entry)
        name = msgspec.json.decode(members[kind.key], type=str)
    except (msgspec.DecodeError, KeyError):
        return None
    annotations = bytes(members.get("annotations", b"")) if kind is Kind.TOOL else b""
    return Native(name, bytes(entry), annotations or None)
