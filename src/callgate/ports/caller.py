"""Api tries a tool, makes a recorded call again, or asks a server for a list, a resource or a prompt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from callgate.model.identity import Principal

Program = Literal["callgate-api", "callgate-page", "callgate-cli"]
# What our own commands are called, however they reach the gateway.
CLI_PROGRAM: Final = "callgate-cli"


@dataclass(frozen=True, slots=True)
class ToolCall:
    tool: str
    arguments: Mapping[str, Any]
    principal: Principal
    client: str  # who asked for it, for people
    program: Program = "callgate-api"  # as what it introduces itself to servers
    server: str | None = None  # the tool is this server's own name for it; None: a public name


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """Any other request of a client's, to one server."""

    method: str
    params: Mapping[str, Any]
    server: str
    principal: Principal
    client: str
    program: Program = "callgate-api"


@dataclass(frozen=True, slots=True)
class CalledTool:
    """What came of it: a raw result, or a JSON-RPC error object."""

    exchange_id: str
    result: bytes | None
    error: bytes | None


class Caller(Protocol):
    async def call(self, call: ToolCall) -> CalledTool:
        """Goes the way of every client's call: judged, routed and recorded. Cancelling cancels it."""
        ...

    async def ask(self, question: ServerQuestion) -> CalledTool:
        """Likewise."""
        ...
