"""From the pages of an upstream's list to offers under their public names, in slices.

A hostile server may list as much as it likes: entries past the bounds are counted and left out.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import UPSTREAM_FAILED
from callgate.model.errors import UpstreamError
from callgate.model.offers import Offer, OfferKind, Route
from callgate.model.trust import Extent
from callgate.ports.faces import Faces, ShownEntries
from callgate.relay.lists.catalog import Part
from callgate.relay.lists.public_names import SEPARATOR, public_name, public_uri
from callgate.relay.lists.slices import in_slices
from callgate.relay.lists.territory import Territory
from callgate.relay.lists.tool_choice import ToolChoice
from callgate.wire.eras.result_shape import definition_across
from callgate.wire.param_headers import may_declare_headers
from callgate.wire.params import entries_decoder, members_decoder, peek, text_of

# Whatever an upstream promises, a day is long enough.
_MAX_TTL_MS = 86_400_000
_MAX_TTL_DIGITS = 12
# What one server may list of one kind, in all its pages.
MAX_LISTING_BYTES = 16 * 1024 * 1024
# Every address that nobody lists is held against the templates, one by one.
_MAX_TEMPLATES = 1_000


@dataclass(frozen=True, slots=True)
class ListPage:
    entries: msgspec.Raw  # a JSON array, still to be read
    next_cursor: bytes | None  # raw JSON string
    ttl_ms: int | None
    is_public: bool


@dataclass(frozen=True, slots=True)
class ListReading:
    """How one upstream's list of one kind is read."""

    kind: OfferKind
    upstream: str
    territory: Territory
    max_offers: int
    separator: str = SEPARATOR
    era: Era | None = None  # in which the list was written; None: as both know it
    short: str | None = None  # the upstream's short name, for tools with long ones
    choice: ToolChoice | None = None  # which tools are let through; None: all
    faces: Faces | None = None  # what of it may be shown; None: all
    is_kept: bool = False  # as it was told: the operator's word may be another one later
    faces_version: int = 0  # of that word, when this was made
    extent: Extent = "part"


def read_page(kind: OfferKind, upstream: str, result: bytes) -> ListPage:
    try:
        members = members_decoder.decode(result)
        entries = members[kind.member]
    except (msgspec.DecodeError, KeyError) as problem:
        raise _odd(kind, upstream, problem) from problem
    cursor = bytes(members.get("nextCursor", b""))
    ttl = bytes(members.get("ttlMs", b""))
    return ListPage(
        entries,
        cursor if cursor[:1] == b'"' else None,
        min(int(ttl), _MAX_TTL_MS) if ttl.isdigit() and len(ttl) <= _MAX_TTL_DIGITS else None,
        bytes(members.get("cacheScope", b"")) == b'"public"',
    )


async def read_part(reading: ListReading, pages: Sequence[ListPage]) -> Part:
    """One entry without a name does not hide the others; one that is listed twice counts once."""
    kind = reading.kind
    try:
        entries = [entry for page in pages for entry in entries_decoder.decode(page.entries)]
    except msgspec.DecodeError as problem:
        raise _odd(kind, reading.upstream, problem) from problem
    taken = _within_bounds(reading, entries)
    part = Part(reading.upstream, left_out=len(entries) - len(taken))
    has_all = not part.left_out and (not pages or pages[-1].next_cursor is None)
    if reading.choice is not None and has_all:  # else a rule may fit what we did not read
        part.unused_rules = reading.choice.rules
    if reading.faces is not None:
        shown = await asyncio.to_thread(_shown, reading, reading.faces, taken)
        taken, part.hidden = [msgspec.Raw(entry) for entry in shown.entries], shown.hidden
    async for entry in in_slices(taken):
        _add(part, reading, bytes(entry))
    return part


def _shown(reading: ListReading, faces: Faces, taken: Sequence[msgspec.Raw]) -> ShownEntries:
    """What the operator leaves out is nobody's to accept."""
    judged: list[bytes] = []
    left_out: list[bytes] = []
    for entry in map(bytes, taken):
        (judged if _is_chosen(reading.choice, entry) else left_out).append(entry)
    shown = faces.show(reading.upstream, reading.kind, judged, reading.extent)
    return replace(shown, entries=[*shown.entries, *left_out])


def _is_chosen(choice: ToolChoice | None, entry: bytes) -> bool:
    if choice is None or choice.takes_all:
        return True
    name = text_of(peek(entry).name) if entry[:1] == b"{" else None
    return name is None or choice.takes(name)


def _within_bounds(reading: ListReading, entries: list[msgspec.Raw]) -> list[msgspec.Raw]:
    is_template = reading.kind is OfferKind.TEMPLATE
    most = min(reading.max_offers, _MAX_TEMPLATES) if is_template else reading.max_offers
    size_bytes = 0
    for at, entry in enumerate(entries[:most]):
        size_bytes += memoryview(entry).nbytes
        if size_bytes > MAX_LISTING_BYTES:
            return entries[:at]
    return entries[:most]


def _add(part: Part, reading: ListReading, definition: bytes) -> None:
    kind = reading.kind
    try:
        members = members_decoder.decode(definition)
        native = msgspec.json.decode(members[kind.key], type=str)
    except (msgspec.DecodeError, KeyError):
        return
    if part.unused_rules:
        part.unused_rules = [rule for rule in part.unused_rules if not rule.fits(native)]
    if reading.choice is not None and not reading.choice.takes(native):
        part.not_chosen.append(native)
        return
    name = _public(part, reading, native)
    if name in part.offers:  # a paginator that repeats itself
        return
    annotations = bytes(members.get("annotations", b"")) if kind is OfferKind.TOOL else b""
    if name != native:
        members[kind.key] = msgspec.Raw(msgspec.json.encode(name))
        definition = msgspec.json.encode(members)
    route = Route(reading.upstream, native)
    offer = Offer(
        kind,
        name,
        route,
        definition,
        annotations or None,
        may_declare_headers(definition),
        reading.era,
        definition_across(kind, definition, reading.era),
    )
    part.offers[name] = part.by_route[route] = offer


def _public(part: Part, reading: ListReading, native: str) -> str:
    if reading.kind.key == "name":
        name = public_name(reading.upstream, native, reading.separator, reading.territory, reading.short)
        if name != f"{reading.upstream}{reading.separator}{native}":
            part.renamed.append((native, name))
        return name
    owners = reading.territory.owners(native)
    if owners is None or reading.upstream in owners:
        return native
    part.trespassing.append((native, min(owners)))
    return public_uri(reading.upstream, native)


def _odd(kind: OfferKind, upstream: str, problem: Exception) -> UpstreamError:
    return UpstreamError(
        UPSTREAM_FAILED, f"{upstream} answered {kind.method} with an invalid result: {problem}"
    )
