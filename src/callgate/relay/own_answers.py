"""What the gateway answers in its own name: who it is and what it can do."""

from typing import Any

import msgspec

import callgate
from callgate.model.envelope import Envelope
from callgate.wire.revisions import META_SERVER_INFO, SUPPORTED_REVISIONS

_SERVER_INFO = {"name": "callgate", "title": "Callgate", "version": callgate.__version__}
_CAPABILITIES: dict[str, Any] = {"tools": {}}
_INSTRUCTIONS = (
    "Callgate stands in front of databases and MCP servers. Tools are named <server>__<tool>. "
    "A refused statement says why and what to do instead."
)
# Nothing here changes while we run; a client may keep it for an hour.
_DISCOVER_TTL_MS = 3_600_000


def initialize_result(envelope: Envelope) -> bytes:
    return msgspec.json.encode(
        {
            "protocolVersion": envelope.revision,
            "capabilities": _CAPABILITIES,
            "serverInfo": _SERVER_INFO,
            "instructions": _INSTRUCTIONS,
        }
    )


def discover_result() -> bytes:
    return msgspec.json.encode(
        {
            "resultType": "complete",
            "supportedVersions": list(SUPPORTED_REVISIONS),
            "capabilities": _CAPABILITIES,
            "instructions": _INSTRUCTIONS,
            "ttlMs": _DISCOVER_TTL_MS,
            "cacheScope": "public",
            "_meta": {META_SERVER_INFO: _SERVER_INFO},
        }
    )


def tools_result(definitions: list[bytes]) -> bytes:
    return b'{"tools":[%b]}' % b",".join(definitions)
