"""A result as the era of the client that gets it has it: what it must carry, and what it must not.

Only for answers that crossed from one era to the other, and for our own: within one era a server's words are
its own. Errors and questions that cross are `faults`. (2026-07-28, changelog; the two schemas compared.)
"""

from typing import Any, cast

import msgspec

from callgate.model.envelope import Era
from callgate.model.offers import KIND_BY_METHOD, OfferKind
from callgate.wire.json_rpc import NOT_READABLE
from callgate.wire.params import drop_meta, members_decoder
from callgate.wire.revisions import META_RELATED_TASK, META_SERVER_INFO, META_SUBSCRIPTION_ID

CACHEABLE_METHODS = frozenset({"server/discover", "resources/read", *KIND_BY_METHOD})
# Members of `_meta` that only one era knows.
_MODERN_META = (META_SERVER_INFO, META_SUBSCRIPTION_ID)
_LEGACY_META = (META_RELATED_TASK,)
# How most results of the modern era begin: nothing is missing.
_SAYS_COMPLETE = (b'{"resultType":"complete",', b'{"resultType": "complete",')
_LEGACY_MARK = b"related-task"  # without the slash before it, which some encoders escape
# Any name can be spelled with escapes: only what is decoded decides.
_ESCAPE = b"\\u"


class _Shape(msgspec.Struct):
    resultType: msgspec.Raw = msgspec.Raw()  # noqa: N815 - the protocol's own spelling
    ttlMs: msgspec.Raw = msgspec.Raw()  # noqa: N815
    cacheScope: msgspec.Raw = msgspec.Raw()  # noqa: N815


_shape_decoder = msgspec.json.Decoder(_Shape)


def to_modern(result: bytes, method: str) -> bytes:
    """Adds `resultType`, and on cacheable methods `ttlMs` and `cacheScope`, where they are missing.

    What an upstream did not say, we do not promise: not fresh beyond now, not to be shared.
    """
    if result.startswith(_SAYS_COMPLETE) and method not in CACHEABLE_METHODS:
        return result
    shape = _shape_decoder.decode(result)
    missing: list[bytes] = []
    if not shape.resultType:
        missing.append(b'"resultType":"complete"')
    if method in CACHEABLE_METHODS and bytes(shape.resultType) in (b"", b'"complete"'):
        if not shape.ttlMs:
            missing.append(b'"ttlMs":0')
        if not shape.cacheScope:
            missing.append(b'"cacheScope":"private"')
    if not missing:
        return result
    body = result.lstrip()[1:]
    separator = b"" if body.lstrip()[:1] == b"}" else b","
    return b"{" + b",".join(missing) + separator + body


def without_other_era(result: bytes, method: str, era: Era) -> bytes:
    """A result of the other era, without the members that a client of this era does not know.

    The tools in a list are each for `definition_across`.
    """
    is_legacy = era is Era.LEGACY
    if not is_legacy and result.find(_ESCAPE) < 0 and result.find(_LEGACY_MARK) < 0:
        return result
    try:
        members = members_decoder.decode(result)
    except msgspec.DecodeError:  # half a surrogate in a name: the client may make of it what it can
        return result
    before = len(members)
    if is_legacy:
        members.pop("resultType", None)
        if method in CACHEABLE_METHODS:
            members.pop("ttlMs", None)
            members.pop("cacheScope", None)
        # 2026-07-28 allows any JSON value (changelog, minor 10); the text content says the same in words.
        content = bytes(members.get("structuredContent", b"{"))
        if method == "tools/call" and content[:1] != b"{":
            del members["structuredContent"]
    has_other_meta = drop_meta(members, _MODERN_META if is_legacy else _LEGACY_META)
    return msgspec.json.encode(members) if has_other_meta or len(members) < before else result


def definition_across(kind: OfferKind, definition: bytes, era: Era | None) -> bytes | None:
    """A tool's definition, written in that era, for clients of the other one; None: it may pass as it is.

    `execution` (tasks) is gone in 2026-07-28. An output schema that is no object is refused by legacy
    clients, who could not be given such content either.
    """
    if kind is not OfferKind.TOOL or era is None:
        return None
    member = "outputSchema" if era is Era.MODERN else "execution"
    if member.encode() not in definition and _ESCAPE not in definition:
        return None
    members = members_decoder.decode(definition)
    if member not in members or (era is Era.MODERN and _is_object_schema(members[member])):
        return None
    del members[member]
    return msgspec.json.encode(members)


def _is_object_schema(schema: msgspec.Raw) -> bool:
    try:
        read: Any = msgspec.json.decode(schema)
    except NOT_READABLE:
        return False
    return isinstance(read, dict) and cast(dict[str, Any], read).get("type") == "object"
