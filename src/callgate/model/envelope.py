"""What a request carries beside its params: revision, client, capabilities, trace, progress token.

Read from `_meta` (modern) or remembered from `initialize` (legacy); `wire` does the reading.
"""

from dataclasses import dataclass
from enum import StrEnum


class Era(StrEnum):
    """The specification's own words: handshake (to 2025-11-25) or per-request metadata (2026-07-28 on)."""

    LEGACY = "legacy"
    MODERN = "modern"


@dataclass(frozen=True, slots=True)
class Envelope:
    era: Era
    revision: str
    client_name: str | None = None
    client_version: str | None = None
    client_info: bytes = b""  # raw JSON as the client wrote it; b"" when it said nothing
    # Raw JSON as the client wrote it: what an upstream is shown must be what the client declared.
    capabilities: bytes = b"{}"
    progress_token: bytes | None = None
    log_level: str | None = None
    traceparent: str | None = None

    @property
    def client_label(self) -> str | None:
        """What the client calls itself, for people."""
        if not self.client_name or not self.client_version:
            return self.client_name or None
        return f"{self.client_name}/{self.client_version}"
