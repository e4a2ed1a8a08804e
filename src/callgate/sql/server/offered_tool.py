"""OfferedTool: what the server needs of any of its tools, whichever it is."""

from collections.abc import Mapping
from typing import Any, Protocol

from callgate.model.exchange import Hop
from callgate.sql.guard.judgement import Bound
from callgate.sql.server.arguments import Parameter


class OfferedTool(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    def definition(self) -> dict[str, Any]:
        """As `tools/list` shows it."""
        ...

    async def call(self, arguments: Mapping[str, Bound], hop: Hop) -> bytes:
        """The raw result; `arguments` fit `parameters`, defaults filled in. Raises `CallgateError`."""
        ...
