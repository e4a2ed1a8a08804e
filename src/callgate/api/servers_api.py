"""What stands behind us and what it offers, as it is now; the record is `record_api`."""

from collections.abc import Callable
from typing import Any

from callgate.api.operation import Asked, Operation
from callgate.api.queries import ToolsQuery, given
from callgate.api.shapes import ServerList, ServerShape, ToolList, ToolShape
from callgate.api.told_tools import ToolTeller
from callgate.model.health import Health
from callgate.ports.status import Status


class ServersApi:
    def __init__(self, status: Status, teller: ToolTeller, redact: Callable[[str], str]) -> None:
        """`redact`: a child writes what it likes to its stderr, its own credentials too."""
        self._status = status
        self._teller = teller
        self._redact = redact

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/tools",
                "listTools",
                "The tools on offer, with their annotations",
                self.tools,
                ToolList,
                ToolsQuery,
            ),
            Operation(
                "/api/v1/servers",
                "listServers",
                "Sources and MCP servers: health, era, version, last lines of stderr, tools",
                self.servers,
                ServerList,
            ),
        ]

    async def tools(self, asked: Asked[ToolsQuery, None]) -> ToolList:
        query, server = given(asked.query.q), given(asked.query.server)
        offers = await self._status.tools()
        total = len(offers)
        if query is not None:
            offers = await self._status.find_tools(query, total)
        offers = [offer for offer in offers if server in (None, offer.route.upstream)]
        return ToolList(await self._teller.tell(offers[: asked.query.limit]), len(offers), None)

    async def servers(self, asked: Asked[None, None]) -> ServerList:
        told = await self._teller.tell(await self._status.tools())
        servers = [self._server(entry, told) for entry in self._status.health()]
        return ServerList(servers, len(servers), None)

    def _server(self, entry: Health, tools: list[ToolShape]) -> ServerShape:
        own = [tool for tool in tools if tool.server == entry.name]
        return ServerShape(
            name=entry.name,
            kind=entry.kind,
            state=entry.state.value,
            detail=self._redact(entry.detail),
            code=entry.error_code,
            era=entry.era,
            version=entry.version,
            stderr_tail=[self._redact(line) for line in entry.stderr_tail],
            tools=own,
            tokens=sum(tool.tokens for tool in own),
        )


def health_of(entry: Health, redact: Callable[[str], str]) -> dict[str, Any]:
    """In short. What is wrong may be told in a child's own words."""
    detail = redact(entry.detail)
    body = {"name": entry.name, "kind": entry.kind, "state": entry.state.value, "detail": detail}
    return body if entry.error_code is None else {**body, "code": entry.error_code}
