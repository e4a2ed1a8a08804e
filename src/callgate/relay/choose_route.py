"""Which upstream a request on the aggregate is meant for, and what it is called there. Pure.

Each returns the route, and the params with the native name.
"""

import re
from functools import lru_cache

import msgspec

from callgate.model.error_codes import (
    CALLER_BAD_PARAMS,
    CALLER_UNKNOWN_PROMPT,
    CALLER_UNKNOWN_RESOURCE,
    CALLER_UNKNOWN_TOOL,
)
from callgate.model.errors import CallerError
from callgate.model.offers import Offer, OfferKind, Route
from callgate.relay.lists.catalog import Catalog
from callgate.relay.lists.territory import Territory, scheme_of
from callgate.wire.json_rpc import read_if_readable
from callgate.wire.params import peek, renaming, text_of, with_member

# Longer ones are held against no template: there may be a thousand.
_MAX_URI_CHARS = 16 * 1024
_UNKNOWN = {
    OfferKind.TOOL: (CALLER_UNKNOWN_TOOL, "tool"),
    OfferKind.PROMPT: (CALLER_UNKNOWN_PROMPT, "prompt"),
}
_EXPRESSION = re.compile(r"(?:\{[^{}]*\})+")


def to_offer(offer: Offer, params: bytes) -> tuple[Route, bytes]:
    """A tool or a prompt."""
    return offer.route, renaming(offer.public_name, offer.route.native_name).of(params)


def unknown_name(name: str, kind: OfferKind, hint: str) -> CallerError:
    """Of a tool or a prompt."""
    code, what = _UNKNOWN[kind]
    return CallerError(code, f"Unknown {what}: {name[:100]}", hint=hint)


def by_uri(
    params: bytes, resources: Catalog, templates: Catalog, territory: Territory
) -> tuple[Route, bytes]:
    """A resource that is listed, or one that a template describes."""
    uri = text_of(peek(params).uri)
    if uri is None:
        raise CallerError(CALLER_BAD_PARAMS, 'The param "uri" must be a string')
    if len(uri) > _MAX_URI_CHARS:
        raise CallerError(CALLER_BAD_PARAMS, f"A uri may have at most {_MAX_URI_CHARS:,} characters")
    route = _route_of_uri(territory.with_plain_scheme(uri), resources, templates, territory)
    if route is None:
        hint = resources.nearest(uri)
        raise CallerError(CALLER_UNKNOWN_RESOURCE, "Resource not found", hint=hint, data={"uri": uri})
    if route.native_name != uri:
        params = with_member(params, "uri", msgspec.json.encode(route.native_name))
    return route, params


def _route_of_uri(uri: str, resources: Catalog, templates: Catalog, territory: Territory) -> Route | None:
    """Which upstream is asked for it: see the rules of `territory`."""
    listed = resources.by_public_name.get(uri)
    for template in templates.by_scheme.get(scheme_of(uri), ()):
        rank = territory.rank(template.route.upstream)
        if listed is not None and rank >= territory.rank(listed.route.upstream):
            break  # they are in the operator's order too
        if _matches(template.public_name, uri):
            return _route_by(template, uri)
    if listed is not None:
        return listed.route
    owners = territory.owners(uri)
    for template in templates.by_scheme.get(None, ()):
        if (owners is None or template.route.upstream in owners) and _matches(template.public_name, uri):
            return _route_by(template, uri)
    return None


def _route_by(template: Offer, uri: str) -> Route:
    prefix = template.public_name.removesuffix(template.route.native_name)
    return Route(template.route.upstream, uri.removeprefix(prefix))


@lru_cache(maxsize=4096)
def _parts(template: str) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """The literal parts of a template (RFC 6570) around its expressions, and which of those have an operator.

    Expressions without anything between them count as one.
    """
    expressions = [match[0] for match in _EXPRESSION.finditer(template)]
    has_operator = tuple(any(f"{{{sign}" in text for sign in "+#/.;?&") for text in expressions)
    return tuple(_EXPRESSION.split(template)), has_operator


def _matches(template: str, uri: str) -> bool:
    """As far as routing needs it: {x} is something within one segment, one with an operator anything at all.

    By hand and without going back: a regular expression made of a server's template could be made to take
    for ever.
    """
    literals, has_operator = _parts(template)
    first, last = literals[0], literals[-1]
    if not has_operator:
        return uri == first
    at, end = len(first), len(uri) - len(last)
    if not uri.startswith(first) or not uri.endswith(last) or end < at:
        return False
    for number, anything in enumerate(has_operator):
        is_final = number == len(has_operator) - 1
        least = 0 if anything else 1
        found = end if is_final else uri.find(literals[number + 1], at + least, end)
        if found < at + least or (not anything and "/" in uri[at:found]):
            return False
        at = found + (0 if is_final else len(literals[number + 1]))
    return True


class Reference(msgspec.Struct):
    """What is to be completed."""

    type: msgspec.Raw = msgspec.Raw()
    name: msgspec.Raw = msgspec.Raw()
    uri: msgspec.Raw = msgspec.Raw()


_reference_decoder = msgspec.json.Decoder(Reference)


def read_reference(raw: bytes) -> Reference:
    return read_if_readable(_reference_decoder, raw) or Reference()


def by_reference(params: bytes, prompts: Catalog, templates: Catalog) -> tuple[Route, bytes]:
    """`completion/complete`: what its `ref` points at."""
    raw_ref = bytes(peek(params).ref)
    ref = read_reference(raw_ref)
    kind = text_of(ref.type)
    if kind == "ref/prompt":
        catalog, key, named = prompts, "name", text_of(ref.name)
    elif kind == "ref/resource":
        catalog, key, named = templates, "uri", text_of(ref.uri)
    else:
        raise CallerError(
            CALLER_BAD_PARAMS, 'completion/complete needs a "ref" of type ref/prompt or ref/resource'
        )
    if named is None:
        raise CallerError(CALLER_BAD_PARAMS, f'A "ref" of type {kind} needs a "{key}", a string')
    offer = catalog.by_public_name.get(named)
    if offer is None:
        code = CALLER_UNKNOWN_PROMPT if key == "name" else CALLER_UNKNOWN_RESOURCE
        raise CallerError(code, f"Unknown reference: {named[:100]}", hint=catalog.nearest(named))
    native = with_member(raw_ref, key, msgspec.json.encode(offer.route.native_name))
    return offer.route, with_member(params, "ref", native)
