"""What the gateway answers in its own name: who it is, what it can do, and merged lists."""

from collections.abc import Collection
from typing import Any

import msgspec

import callgate
from callgate.model.envelope import Envelope, Era
from callgate.model.offers import OfferKind
from callgate.relay.lists.catalog import Catalog
from callgate.wire.revisions import META_SERVER_INFO, MODERN_REVISIONS

_SERVER_INFO = {"name": "callgate", "title": "Callgate", "version": callgate.__version__}
# Our own SQL server: nobody is told when a schema changes, but the operator's file may while we run.
_BUILT_IN: dict[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"listChanged": True},
    "completions": {},
}
# With MCP servers behind us anything may come, and come later: what none of them offers is an empty list.
_EVERYTHING: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
}
_INSTRUCTIONS = (
    "Callgate stands in front of databases and MCP servers. A tool's name begins with its server's. "
    "A database's tables and columns can be read as resources, or found with search_objects. "
    "A refused statement says why and what to do instead."
)
_SEARCH_INSTRUCTIONS = (
    f"{_INSTRUCTIONS} Most tools are not listed: find_tools finds them, call_tool calls them by their name."
)
# It changes only with the operator's file; a client may keep it for five minutes.
_DISCOVER_TTL_MS = 300_000


def introduction(envelope: Envelope, mcp_servers: Collection[str] = (), *, has_search: bool = False) -> bytes:
    """The result of `initialize` for a legacy client, of `server/discover` for a modern one. `mcp_servers`:
    those behind us. `has_search`: tools are found, not listed."""
    # With a search too: what a session found is listed for it from then on, so the list of tools changes.
    capabilities = _EVERYTHING if mcp_servers else _BUILT_IN
    instructions = _SEARCH_INSTRUCTIONS if has_search else _INSTRUCTIONS
    if envelope.era is Era.LEGACY:
        told: dict[str, Any] = {
            "protocolVersion": envelope.revision,
            "capabilities": capabilities,
            "serverInfo": _SERVER_INFO,
            "instructions": instructions,
        }
    else:
        told = {
            "resultType": "complete",
            # Those a request may name in its `_meta`; the older ones begin with `initialize`.
            "supportedVersions": list(MODERN_REVISIONS),
            "capabilities": capabilities,
            "instructions": instructions,
            "ttlMs": _DISCOVER_TTL_MS,
            "cacheScope": "public",
            "_meta": {META_SERVER_INFO: _SERVER_INFO},
        }
    return msgspec.json.encode(told)


def list_result(kind: OfferKind, catalog: Catalog, era: Era, hints: tuple[int, bool]) -> bytes:
    """`hints`: how long, and whether by anybody, it may be kept; modern clients are told."""
    definitions = b",".join([offer.definition_in(era) for offer in catalog.offers])
    if era is Era.LEGACY:
        return b'{"%b":[%b]}' % (kind.member.encode(), definitions)
    ttl_ms, is_public = hints
    return b'{"resultType":"complete","%b":[%b],"ttlMs":%d,"cacheScope":"%b"}' % (
        kind.member.encode(),
        definitions,
        ttl_ms,
        b"public" if is_public else b"private",
    )
