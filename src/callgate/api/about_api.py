"""`GET /api/v1/about`: what a page's frame and its empty states need to know, in one cheap answer; and who
asks (`GET /api/v1/me`).

No path on disk and no address: the page knows where it came from, and who may read the record need not know
where it lies.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

import msgspec

import callgate
from callgate.api.operation import Asked, Operation
from callgate.model.errors import CallgateError
from callgate.model.health import State
from callgate.model.identity import Role, RoleWord
from callgate.ports.record_reader import RecordReader
from callgate.ports.record_store import SqlDialect
from callgate.ports.status import Status

MCP_PATH = "/mcp"
_SERVER_MCP_PATH = "/servers/{name}/mcp"


@dataclass(frozen=True, slots=True)
class ShownSettings:
    """What the operator chose, as far as a page shows it."""

    needs_token: bool = False
    is_demo: bool = False
    keep_s: float | None = None
    max_size_bytes: int | None = None
    tool_search: bool = False
    dialect: SqlDialect = "duckdb"  # of SQL over the record
    program: str = "callgate"  # what starts us; for clients on this machine
    started_s: float = field(default_factory=time.time)


class RecordAbout(msgspec.Struct, kw_only=True):
    enabled: bool
    problem: str | None  # what keeps it from being written or read now, and what to do
    events: int | None  # these are null when the record is off, or cannot be read now
    sessions: int | None
    size_bytes: int | None
    oldest_day: date | None
    gaps: int | None
    gap_events: int | None  # events that the record says it could not keep
    keep_s: float | None
    max_size_bytes: int | None
    dialect: SqlDialect  # of SQL over the record


class ServersAbout(msgspec.Struct):
    total: int
    up: int
    tools: int


class AboutShape(msgspec.Struct, kw_only=True):
    name: str
    version: str
    now: datetime
    started_at: datetime
    uptime_s: float
    needs_token: bool  # a bearer token is wanted from everybody
    principal: str  # who the gate took the asker for
    is_demo: bool  # nothing is configured, so the demo shop is served
    mcp_path: str  # of all servers together
    server_mcp_path: str  # of one, {name} is its name
    servers: ServersAbout
    record: RecordAbout


class Me(msgspec.Struct):
    principal: str
    role: RoleWord


class AboutApi:
    def __init__(
        self, record: RecordReader | None, status: Status, setup: Callable[[], ShownSettings]
    ) -> None:
        self._record = record
        self._status = status
        self._setup = setup

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/about",
                "getAbout",
                "Version, uptime, and how the record is doing",
                self.about,
                AboutShape,
                role=Role.WATCH,
            ),
            Operation("/api/v1/me", "getMe", "Who the gateway takes you for", self.me, Me, role=Role.CALL),
        ]

    async def me(self, asked: Asked[None, None]) -> Me:
        return Me(asked.principal.name, asked.principal.role.word)

    async def about(self, asked: Asked[None, None]) -> AboutShape:
        now = datetime.now(UTC)
        setup = self._setup()
        started_at = datetime.fromtimestamp(setup.started_s, UTC)
        health = self._status.health()
        up = sum(entry.state is State.UP for entry in health)
        return AboutShape(
            name="callgate",
            version=callgate.__version__,
            now=now,
            started_at=started_at,
            uptime_s=round((now - started_at).total_seconds(), 3),
            needs_token=setup.needs_token,
            principal=asked.principal.name,
            is_demo=setup.is_demo,
            mcp_path=MCP_PATH,
            server_mcp_path=_SERVER_MCP_PATH,
            servers=ServersAbout(len(health), up, len(await self._status.tools())),
            record=await self._record_about(setup),
        )

    async def _record_about(self, setup: ShownSettings) -> RecordAbout:
        record, extent, problem = self._record, None, None
        if record is not None:
            problem = record.problem()
            try:
                extent = await record.extent()
            except CallgateError as error:
                problem = problem or f"{error.message}. {error.hint}".strip()
        return RecordAbout(
            enabled=record is not None,
            problem=problem,
            events=extent and extent.events,
            sessions=extent and extent.sessions,
            size_bytes=extent and extent.size_bytes,
            oldest_day=extent and extent.oldest_day,
            gaps=extent and extent.gaps,
            gap_events=extent and extent.gap_events,
            keep_s=setup.keep_s,
            max_size_bytes=setup.max_size_bytes,
            dialect=setup.dialect,
        )
