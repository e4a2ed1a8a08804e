"""What stands behind us and what it offers, as it is now; the record is `record_api`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast

from callgate.api.about_api import ShownSettings
from callgate.api.merged_health import on_replicas
from callgate.api.operation import Asked, NoBody, Operation
from callgate.api.recent_past import Known, RecentPast
from callgate.api.record.queries import ToolsQuery, given
from callgate.api.server_shapes import (
    ExaminedServer,
    FailureShape,
    FindingShape,
    RecentCalls,
    ServerList,
    ServerReplicas,
    ServerShape,
    ToolList,
    ToolShape,
)
from callgate.api.shapes import Era
from callgate.api.tool_views import ToolViews
from callgate.model.error_codes import CALLER_UNKNOWN_SERVER
from callgate.model.errors import unknown_server
from callgate.model.health import Health
from callgate.model.identity import Role
from callgate.ports.faces import TrustDesk
from callgate.ports.fleet import Fleet
from callgate.ports.record_reader import RecordReader
from callgate.ports.server_care import ServerCare
from callgate.ports.status import SourceFacts, Status

# No definitions have a token for each two bytes: these are far from what anybody has to be told of.
_FEW_BYTES = 40_000


@dataclass(frozen=True, slots=True)
class ServersParts:
    status: Status
    teller: ToolViews
    record: RecordReader | None
    sources: Callable[[], Sequence[SourceFacts]]
    setup: Callable[[], ShownSettings]
    redact: Callable[[str], str]  # a child writes what it likes to its stderr, its own credentials too
    fleet: Fleet | None = None  # None: there are no replicas
    care: ServerCare | None = None  # None: nothing is known beside what a server says itself
    trust: TrustDesk | None = None  # None: no server's words are pinned


class ServersApi:
    def __init__(self, parts: ServersParts) -> None:
        self._status = parts.status
        self._teller = parts.teller
        self._past = RecentPast(parts.record)
        self._sources = parts.sources
        self._setup = parts.setup
        self._redact = parts.redact
        self._fleet = parts.fleet
        self._care = parts.care
        self._trust = parts.trust

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/tools",
                "listTools",
                "The tools on offer, with their annotations",
                self.tools,
                ToolList,
                ToolsQuery,
                role=Role.WATCH,
            ),
            Operation(
                "/api/v1/servers",
                "listServers",
                "Sources and MCP servers: health, era, version, last lines of stderr, tools",
                self.servers,
                ServerList,
                role=Role.WATCH,
            ),
            Operation(
                "/api/v1/servers/{name}",
                "getServer",
                "One source or MCP server",
                self.server,
                ServerShape,
                errors=(CALLER_UNKNOWN_SERVER,),
                role=Role.WATCH,
            ),
            Operation(
                "/api/v1/servers/{name}/retry",
                "retryServer",
                "Connect again now to a source or MCP server that is down, and wait up to 10 s for it",
                self.retry,
                ServerShape,
                takes=NoBody,
                errors=(CALLER_UNKNOWN_SERVER,),
                role=Role.OPERATE,
            ),
            Operation(
                "/api/v1/servers/{name}/examine",
                "examineServer",
                "What `callgate doctor` says of one source or MCP server",
                self.examine,
                ExaminedServer,
                takes=NoBody,
                errors=(CALLER_UNKNOWN_SERVER,),
                role=Role.WATCH,
            ),
        ]

    async def tools(self, asked: Asked[ToolsQuery, None]) -> ToolList:
        query, server = given(asked.query.q), given(asked.query.server)
        offers = await self._status.tools()
        total = len(offers)
        if query is not None:
            offers = await self._status.find_tools(query, total)
        offers = [offer for offer in offers if server in (None, offer.route.upstream)]
        known = await self._past.ask()
        told = await self._teller.tell(offers, known.writes)
        tokens = sum(tool.tokens for tool in told)
        return ToolList(told[: asked.query.limit], len(told), None, tokens, self._setup().tool_search)

    async def servers(self, asked: Asked[None, None]) -> ServerList:
        await self._look()
        servers = await self._told(self._status.health())
        tokens = sum(server.tokens for server in servers)
        return ServerList(servers, len(servers), None, tokens, self._setup().tool_search)

    async def cost(self) -> tuple[int, int]:
        """How many tools there are, and their tokens: of few, roughly, without loading a vocabulary."""
        offers = await self._status.tools()
        size = sum(len(offer.definition) for offer in offers)
        if size < _FEW_BYTES:
            return len(offers), size // 4
        told = await self._teller.tell(offers, {})
        return len(told), sum(tool.tokens for tool in told)

    async def server(self, asked: Asked[None, None]) -> ServerShape:
        await self._look()
        return (await self._told([self._find(asked.path["name"])]))[0]

    async def retry(self, asked: Asked[None, NoBody]) -> ServerShape:
        name = self._find(asked.path["name"]).name
        if self._care is not None:
            await self._care.retry(name)
            await self._status.tools()  # a server whose list failed before is up once it has listed
        await self._look()
        return (await self._told([self._find(name)]))[0]

    async def examine(self, asked: Asked[None, NoBody]) -> ExaminedServer:
        name = self._find(asked.path["name"]).name
        found = await self._care.examine(name) if self._care is not None else ()
        # A child or a database says what is wrong in its own words.
        findings = [
            FindingShape(cast(Any, one.severity), self._redact(one.text), self._redact(one.advice))
            for one in found
        ]
        return ExaminedServer(name, findings)

    def _find(self, name: str) -> Health:
        health = self._status.health()
        for entry in health:
            if entry.name == name:
                return entry
        raise unknown_server(name, [entry.name for entry in health])

    async def _look(self) -> None:
        if self._fleet is not None:
            await self._fleet.look()

    async def _told(self, health: list[Health]) -> list[ServerShape]:
        known = await self._past.ask()
        names = {entry.name for entry in health}
        offers = [offer for offer in await self._status.tools() if offer.route.upstream in names]
        tools = await self._teller.tell(offers, known.writes)
        return [
            self._server(entry, [tool for tool in tools if tool.server == entry.name], known)
            for entry in health
        ]

    def _server(self, entry: Health, tools: list[ToolShape], known: Known) -> ServerShape:
        facts = next((one for one in self._sources() if one.source_id == entry.name), None)
        failure = entry.last_failure
        configured = self._care.facts(entry.name) if self._care is not None else None
        news = self._trust.news if self._trust is not None else ()
        trust = next((one for one in news if one.server == entry.name), None)
        return ServerShape(
            name=entry.name,
            title=entry.title or entry.name,
            kind="sql" if entry.kind == "sql" else "mcp",
            state=entry.state.value,
            since=None if entry.since is None else _moment(entry.since),
            detail=self._redact(entry.detail),
            code=entry.error_code,
            last_failure=failure
            and FailureShape(_moment(failure.at), self._redact(failure.message), failure.error_code),
            era=cast(Era | None, entry.era),
            protocol=entry.protocol and self._redact(entry.protocol),
            version=entry.version and self._redact(entry.version),
            address=configured and self._redact(configured.address),
            limits=dict(configured.limits) if configured is not None else {},
            engine=facts and facts.engine,
            mode=_mode(entry, facts),
            stderr_tail=[self._redact(line) for line in entry.stderr_tail],
            notes=[self._redact(note) for note in entry.notes],
            recent=None
            if known.calls is None
            else known.calls.get(entry.name, RecentCalls(0, 0, 0, None, None)),
            tools=tools,
            tokens=sum(tool.tokens for tool in tools),
            seen_to_write=[tool.name for tool in tools if tool.seen_to_write is not None],
            replicas=self._replicas(entry.name),
            trust=trust and trust.mode,
            changed=trust.changed if trust is not None else 0,
            held=trust.held if trust is not None else 0,
        )

    def _replicas(self, name: str) -> ServerReplicas | None:
        if self._fleet is None:
            return None
        told = on_replicas(name, self._fleet.replicas())
        for one in told.not_up:
            one.detail = self._redact(one.detail)
        return told


def _mode(entry: Health, facts: SourceFacts | None) -> Literal["read_only", "write"] | None:
    if facts is not None:
        return "read_only" if facts.is_read_only else "write"
    # The record, which nobody configures as a source, can only be read.
    return "read_only" if entry.kind == "sql" else None


def _moment(unix_s: float) -> datetime:
    return datetime.fromtimestamp(unix_s, UTC)


def health_of(entry: Health, redact: Callable[[str], str]) -> dict[str, Any]:
    """In short. What is wrong may be told in a child's own words."""
    detail = redact(entry.detail)
    body: dict[str, Any] = {
        "name": entry.name, "kind": entry.kind, "state": entry.state.value, "detail": detail,
    }  # fmt: skip
    if entry.title is not None:
        body["title"] = entry.title
    if entry.error_code is not None:
        body["code"] = entry.error_code
    if entry.notes:
        body["notes"] = [redact(note) for note in entry.notes]
    return body
