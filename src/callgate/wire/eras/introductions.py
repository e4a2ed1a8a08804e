"""Who a server is, in the words of the other era: `initialize` results as `server/discover` ones, and back.

The bridge for introductions. Members that both eras know keep their bytes; what only one era has is left out,
because a client would use it.
"""

import msgspec

from callgate.model.envelope import Era
from callgate.wire.eras.capabilities import capabilities_across
from callgate.wire.revisions import LEGACY_REVISIONS, META_SERVER_INFO, MODERN_REVISIONS

_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def discover_of(initialize_result: bytes) -> bytes:
    said = _members_decoder.decode(initialize_result)
    members: dict[str, msgspec.Raw] = {
        "resultType": msgspec.Raw(b'"complete"'),
        "supportedVersions": msgspec.Raw(msgspec.json.encode(MODERN_REVISIONS)),
        "capabilities": _across(said.get("capabilities"), Era.LEGACY),
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
        "capabilities": _across(said.get("capabilities"), Era.MODERN),
        "serverInfo": info,
    }
    if "instructions" in said:
        members["instructions"] = said["instructions"]
    if meta:
        members["_meta"] = msgspec.Raw(msgspec.json.encode(meta))
    return msgspec.json.encode(members)


def _across(capabilities: msgspec.Raw | None, written_in: Era) -> msgspec.Raw:
    return msgspec.Raw(capabilities_across(_object(capabilities), written_in))


def _object(raw: msgspec.Raw | None) -> bytes:
    data = bytes(raw) if raw is not None else b""
    return data if data[:1] == b"{" else b"{}"
