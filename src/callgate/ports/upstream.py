"""Relay asks upstreams and sql: whatever stands behind us answers MCP methods."""

from collections.abc import AsyncGenerator
from typing import Protocol

from callgate.model.envelope import Envelope
from callgate.model.exchange import Hop
from callgate.model.health import Health
from callgate.model.reply import Item


class Upstream(Protocol):
    @property
    def name(self) -> str:
        """The id the operator gave it; also the prefix of its public names."""
        ...

    def ask(self, hop: Hop, envelope: Envelope) -> AsyncGenerator[Item]:
        """Ask `hop.method` with `hop.params` (raw JSON with native names): notices, then one `Reply`.

        Closing the generator early cancels at the upstream. A failure raises `UpstreamError` or
        `SourceError`; the upstream may fill in `hop.facts`, `hop.server_version` and `hop.server_protocol`.
        """
        ...

    def health(self) -> Health: ...

    async def close(self) -> None: ...
