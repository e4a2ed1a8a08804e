"""The same params in the words of either era: what `_meta` carries in one, the handshake said in the other.

The bridge for requests. (2026-07-28, basic, `_meta`.)
"""

import msgspec

import callgate
from callgate.model.envelope import Envelope, Era
from callgate.wire.eras.capabilities import capabilities_across
from callgate.wire.params import drop_meta, members_decoder
from callgate.wire.revisions import (
    LEGACY_REVISIONS,
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_PROTOCOL_VERSION,
    MODERN_REVISIONS,
)

OUR_INFO = msgspec.json.encode({"name": "callgate", "title": "Callgate", "version": callgate.__version__})
# Of what we ask ourselves, where the other side speaks the modern era.
OUR_MODERN_ENVELOPE = Envelope(Era.MODERN, MODERN_REVISIONS[0], client_info=OUR_INFO)
_MODERN_KEYS = (META_PROTOCOL_VERSION, META_CLIENT_INFO, META_CLIENT_CAPABILITIES, META_LOG_LEVEL)
# Without its slash, which some encoders escape. Only a hint: what is decoded decides.
_MARK = b"protocolVersion"


def our_envelope(capabilities: str) -> Envelope:
    """Of what we ask ourselves, as a client that declares these: a legacy one, which may declare more."""
    return Envelope(
        Era.LEGACY, LEGACY_REVISIONS[0], client_info=OUR_INFO, capabilities=capabilities.encode() or b"{}"
    )


def meta_of(envelope: Envelope | None) -> bytes:
    """The modern `_meta` for a request made on a client's behalf, or on our own."""
    envelope = envelope or OUR_MODERN_ENVELOPE
    capabilities = envelope.capabilities
    if envelope.era is Era.LEGACY:
        capabilities = capabilities_across(capabilities, Era.LEGACY)
    level = b""
    if envelope.log_level is not None:
        level = b',"%b":%b' % (META_LOG_LEVEL.encode(), msgspec.json.encode(envelope.log_level))
    return b'{"%b":"%b","%b":%b,"%b":%b%b}' % (
        META_PROTOCOL_VERSION.encode(),
        MODERN_REVISIONS[0].encode(),
        META_CLIENT_INFO.encode(),
        envelope.client_info or OUR_INFO,
        META_CLIENT_CAPABILITIES.encode(),
        capabilities,
        level,
    )


def with_envelope(params: bytes, envelope: Envelope | None) -> bytes:
    """The same params with the modern envelope beside what `_meta` holds already; one that is there stays."""
    members = members_decoder.decode(params) if params else {}
    raw_meta = bytes(members.get("_meta", b""))  # as `meta_members`, for each call between the eras
    meta = members_decoder.decode(raw_meta) if raw_meta[:1] == b"{" else {}
    if META_PROTOCOL_VERSION in meta:
        return params
    members["_meta"] = msgspec.Raw(msgspec.json.encode({**meta, **members_decoder.decode(meta_of(envelope))}))
    return msgspec.json.encode(members)


def without_task(params: bytes) -> bytes:
    """The params of a legacy client's call for a modern server, whose tasks are another thing."""
    if params.find(b'"task"') < 0 and params.find(b"\\u") < 0:
        return params
    members = members_decoder.decode(params)
    if members.pop("task", None) is None:
        return params
    return msgspec.json.encode(members)


def without_envelope(params: bytes) -> bytes:
    """The same params as a legacy server expects them: the modern members of `_meta` were said at
    `initialize`.

    Tokens, trace and whatever else `_meta` holds stay; every other member keeps its bytes and its place.
    """
    if params.find(_MARK) < 0 and params.find(b"\\u") < 0:
        return params
    members = members_decoder.decode(params)
    if not drop_meta(members, _MODERN_KEYS):
        return params
    return msgspec.json.encode(members) if members else b""
