"""Who a server is, in the words of the other era: `initialize` results as `server/discover` ones, and back.

The bridge for introductions. Members that both eras know keep their bytes; what only one era has is left out,
because a client would use it.
"""

import msgspec

from callgate.wire.revisions import LEGACY_REVISIONS, META_SERVER_INFO, MODERN_REVISIONS

_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
# 2025-11-25 has tasks in its core and 2026-07-28 as an extension of another shape (changelog, major 6).
_LEGACY_ONLY = "tasks"
_MODERN_ONLY = "extensions"


def discover_of(initialize_result: bytes) -> bytes:
    said = _members_decoder.decode(initialize_result)
    members: dict[str, msgspec.Raw] = {
        "resultType": msgspec.Raw(b'"complete"'),
        "supportedVersions": msgspec.Raw(msgspec.json.encode(MODERN_REVISIONS)),
        "capabilities": _without(said.get("capabilities"), _LEGACY_ONLY),
    }
    if "instructions" in said:
        members["instructions"] = said["instructions"]
    # The server may be another one after its next start: not fresh beyond now, not to be shared.
    members["ttlMs"], members["cacheScope"] = msgspec.Raw(b"0"), msgspec.Raw(b'"private"')
    meta = _members_decoder.decode(_object(said.get("_meta")))
    if "serverInfo" in said:
        meta[META_SERVER_INFO] = said["serverInfo"]
    members["_meta"] = msgspec.Raw(msgspec.json.encode(meta))
    return msgspec.json.encode(members)


def initialize_of(discover_result: bytes) -> bytes:
    """Speaks the newest legacy revision; whoever hands it to a client says which one was agreed on."""
    said = _members_decoder.decode(discover_result)
    meta = _members_decoder.decode(_object(said.get("_meta")))
    info = meta.pop(META_SERVER_INFO, msgspec.Raw(b'{"name":"unknown","version":""}'))
    members: dict[str, msgspec.Raw] = {
        "protocolVersion": msgspec.Raw(msgspec.json.encode(LEGACY_REVISIONS[0])),
        "capabilities": _without(said.get("capabilities"), _MODERN_ONLY),
        "serverInfo": info,
    }
    if "instructions" in said:
        members["instructions"] = said["instructions"]
    if meta:
        members["_meta"] = msgspec.Raw(msgspec.json.encode(meta))
    return msgspec.json.encode(members)


def _without(capabilities: msgspec.Raw | None, member: str) -> msgspec.Raw:
    declared = _members_decoder.decode(_object(capabilities))
    declared.pop(member, None)
    return msgspec.Raw(msgspec.json.encode(declared))


def _object(raw: msgspec.Raw | None) -> bytes:
    data = bytes(raw) if raw is not None else b""
    return data if data[:1] == b"{" else b"{}"
