"""The protocol's revisions and the words it reserves."""

from typing import Final

from callgate.model.envelope import Era

LEGACY_REVISIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN_REVISIONS: Final = ("2026-07-28",)

META_PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
META_CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
META_SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
META_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
META_RELATED_TASK: Final = "io.modelcontextprotocol/related-task"

# Our own key on results: the dotted code of a refused or failed statement.
META_CODE: Final = "callgate/code"


def era_of(revision: str | None) -> Era | None:
    """None when it is not known."""
    if revision is None:
        return None
    return Era.MODERN if revision in MODERN_REVISIONS else Era.LEGACY
