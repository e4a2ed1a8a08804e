"""The HTTP API behind the gateway's one listener: health, metrics, the operations of its rooms, the web page.

The gate (Host, Origin, token) is edge's, before a request comes here. Every operation names the role that it
needs (docs/decisions/0014-read-side.md). Must not know how rows are stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import callgate
from callgate.api.about_api import AboutApi, ShownSettings
from callgate.api.calling_api import CallingApi
from callgate.api.changing.config_api import ConfigApi
from callgate.api.changing.probe_api import ProbeApi
from callgate.api.clients_api import ClientsApi
from callgate.api.dbhub import DbhubApi
from callgate.api.events.events_api import EventsApi
from callgate.api.merged_health import problems_of_workers
from callgate.api.metrics import METRICS_TYPE, CallMeter, by_worker, fleet_lines, record_lines, status_lines
from callgate.api.openapi import openapi_document
from callgate.api.operation import Operation, admitted, json_response, routes_of
from callgate.api.page_files import PageFiles
from callgate.api.record.analysis_api import AnalysisApi
from callgate.api.record.facets_api import FacetsApi
from callgate.api.record.files_api import FilesApi
from callgate.api.record.record_api import RecordApi
from callgate.api.record.stats_api import StatsApi
from callgate.api.replicas_api import ReplicasApi, SharedStatus, replica_in_short
from callgate.api.schema_api import SchemaApi
from callgate.api.servers_api import ServersApi, ServersParts, health_of
from callgate.api.settings_api import SettingsApi, told_to_record
from callgate.api.tool_views import ToolViews
from callgate.api.trust_api import TrustApi
from callgate.model.error_codes import CALLER_NOT_FOUND, CALLER_TOO_MANY_READS, CALLER_WRONG_HTTP_METHOD
from callgate.model.errors import CallerError, CallgateError
from callgate.model.events import Aside
from callgate.model.health import State
from callgate.model.identity import Principal, Role
from callgate.ports.caller import Caller
from callgate.ports.faces import TrustDesk
from callgate.ports.fleet import Fleet
from callgate.ports.http_app import HttpApp
from callgate.ports.peers import OtherWorkers
from callgate.ports.record_queries import RecordQueries, RecordSnapshots
from callgate.ports.record_reader import RecordReader
from callgate.ports.row_feed import RowFeed
from callgate.ports.server_care import ServerCare
from callgate.ports.settings import SettingsNews
from callgate.ports.source_schema import SourceSchema
from callgate.ports.status import SourceFacts, Status
from callgate.wire.problem_of import PROBLEM_TYPE, bug_problem, problem_of

_RETRY_AFTER_S = "5"  # by then most reads are over
# Open to everyone: probes have no token.
_HEALTH = "/healthz"
_READINESS = "/readyz"


@dataclass(frozen=True, slots=True)
class ApiParts:
    """What the API asks: each is somebody else's, known by its port."""

    status: Status
    caller: Caller
    record: RecordReader | None = None  # None: nothing is recorded
    queries: RecordQueries | None = None  # None: as above
    snapshots: RecordSnapshots | None = None  # None: as above, or it is not in files
    feed: RowFeed | None = None
    meter: CallMeter | None = None
    sources: Callable[[], Sequence[SourceFacts]] = tuple  # as they are configured now
    schema_of: Callable[[str], SourceSchema | None] = lambda name: None
    trust: TrustDesk | None = None  # None: no server's words are pinned
    care: ServerCare | None = None  # None: as of a server that nobody configured
    setup: Callable[[], ShownSettings] = ShownSettings  # what the operator chose, now
    problems: Callable[[], Sequence[str]] = tuple  # what of our own does not run as it should
    obstacle: Callable[[], str | None] = lambda: None  # why nobody should send us requests now
    reads_record: bool = True  # False: another worker reads it
    others: OtherWorkers | None = None  # None: there are none, or another worker answers for all
    fleet: Fleet | None = None  # None: this gateway is alone
    count_tokens: Callable[[str], int] = len
    redact: Callable[[str], str] = str
    redact_document: Callable[[bytes], bytes] = bytes  # the same for JSON
    page: PageFiles | None = None  # None: nobody comes with a browser
    tell: Callable[[Aside], None] = lambda aside: None  # what an operator did


class HttpApi:
    def __init__(self, parts: ApiParts) -> None:
        self._record = parts.record
        self._own_status = parts.status
        self._fleet = parts.fleet
        self._status = parts.status if parts.fleet is None else SharedStatus(parts.status, parts.fleet)
        self._meter = parts.meter
        self._redact = parts.redact
        self._problems = parts.problems
        self._obstacle = parts.obstacle
        self._reads_record = parts.reads_record
        self._others = parts.others
        self._page = parts.page or PageFiles({})
        self.settings_api = SettingsApi()
        self.config_api = ConfigApi()
        self._events = EventsApi(
            parts.record, parts.feed, self._status, parts.redact, parts.fleet, self._news, parts.trust
        )
        teller = ToolViews(parts.count_tokens, parts.redact_document)
        self.probe_api = ProbeApi(teller, parts.redact)
        servers = ServersApi(
            ServersParts(
                self._status,
                teller,
                parts.record,
                parts.sources,
                parts.setup,
                parts.redact,
                parts.fleet,
                parts.care,
                parts.trust,
            )
        )
        self.cost_of_tools = servers.cost
        rooms = (
            DbhubApi(parts.record, parts.status, parts.sources, parts.redact_document),
            RecordApi(parts.record, parts.status),
            StatsApi(parts.record),
            FacetsApi(parts.record),
            AnalysisApi(parts.record, parts.queries),
            FilesApi(parts.snapshots),
            servers,
            ReplicasApi(parts.fleet, parts.redact),
            AboutApi(parts.record, self._status, parts.setup),
            ClientsApi(parts.setup),
            SchemaApi(parts.status, parts.schema_of, parts.redact),
            CallingApi(parts.record, parts.status, parts.caller),
            self.probe_api,
            TrustApi(parts.trust, parts.redact_document),
            self.config_api,
            self.settings_api,
            self._events,
        )
        self.operations: list[Operation] = [
            told_to_record(one, parts.tell) if one.role >= Role.OPERATE and one.takes is not None else one
            for room in rooms
            for one in room.operations()
        ]

    def _news(self) -> SettingsNews:
        settings = self.settings_api.settings
        return SettingsNews() if settings is None else settings.news

    @cached_property
    def _openapi(self) -> dict[str, Any]:
        """Made when somebody asks for it: it would be a sixth of the CPU time of every start."""
        return openapi_document(self.operations)

    def app(self) -> HttpApp:
        return Starlette(
            routes=[
                Route(_HEALTH, self.healthz),
                Route(_READINESS, self.readyz),
                Route("/metrics", self.metrics),
                Route("/api/v1/openapi.json", self.openapi),
                *routes_of(self.operations),
                *self._page.routes(),
            ],
            exception_handlers={
                CallgateError: _on_error,
                HTTPException: self._on_http_exception,
                Exception: _on_bug,
            },
        )

    def is_open(self, path: str) -> bool:
        """See MountedApp."""
        return path in (_HEALTH, _READINESS) or self._page.is_open(path)

    def is_answered_by_each(self, path: str) -> bool:
        """Of a path: whether every worker answers by itself. The rest is about all of them."""
        return self.is_open(path) and path != _HEALTH

    def retire(self) -> None:
        """Before the listener closes: what would stream for ever ends."""
        self._events.retire()

    async def openapi(self, request: Request) -> Response:
        admitted(request, Role.WATCH)
        return json_response(self._openapi)

    async def healthz(self, request: Request) -> Response:
        """200 as long as we serve at all: one dead upstream is no reason to restart the gateway."""
        is_watcher = _may_watch(request)
        if self._fleet is not None and is_watcher:
            await self._fleet.look()
        health = self._status.health()
        record_problem = self._record.problem() if self._record is not None else None
        problems = [*self._problems(), *(self._fleet.problems() if self._fleet is not None else ())]
        if (problem := self._news().problem) is not None:
            problems.append(problem)
        if self._others is not None:
            told = await self._others.ask(_HEALTH, request.state.principal)
            problems += problems_of_workers(told)
        is_well = record_problem is None and not problems
        degraded = not is_well or any(entry.state is not State.UP for entry in health)
        body: dict[str, Any] = {"status": "degraded" if degraded else "ok", "version": callgate.__version__}
        if is_watcher:  # names and reasons are for those who may read the record too
            body["servers"] = [health_of(entry, self._redact) for entry in health]
            if record_problem is not None:
                body["record"] = record_problem
            if problems:
                body["problems"] = problems
            if self._fleet is not None:
                body["replicas"] = [replica_in_short(one) for one in self._fleet.replicas()]
        return json_response(body)

    async def readyz(self, request: Request) -> Response:
        """For balancers: 503 means that requests should go to another gateway."""
        obstacle = self._obstacle()
        body = {"status": "ready" if obstacle is None else "not ready"}
        if obstacle is not None and _may_watch(request):
            body["reason"] = obstacle
        return json_response(body, 200 if obstacle is None else 503)

    async def metrics(self, request: Request) -> Response:
        admitted(request, Role.WATCH)
        lines = [*status_lines(self._own_status)]
        if self._meter is not None:
            lines += self._meter.lines()
        if self._record is not None:
            lines += await record_lines(self._record, reads=self._reads_record)
        if self._fleet is not None:
            lines += fleet_lines(self._fleet.counts())
        text = "\n".join(lines) + "\n"
        if self._others is not None:
            told = await self._others.ask("/metrics", request.state.principal)
            text = by_worker({0: text.encode(), **told})
        return Response(text, media_type=METRICS_TYPE)

    async def _on_http_exception(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 405:
            allowed = (error.headers or {}).get("Allow", "GET")
            problem = CallerError(
                CALLER_WRONG_HTTP_METHOD, f"{request.method} is not offered here; use {allowed}"
            )
        elif page := await self._page.not_found(request):
            return page
        else:
            problem = CallerError(CALLER_NOT_FOUND, f"There is nothing at {request.url.path[:100]}")
        status, body = problem_of(problem)
        return Response(body, status, headers=error.headers, media_type=PROBLEM_TYPE)


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, CallgateError)
    status, body = problem_of(error)
    headers = {"retry-after": _RETRY_AFTER_S} if error.code is CALLER_TOO_MANY_READS else None
    return Response(body, status, headers, media_type=PROBLEM_TYPE)


def _may_watch(request: Request) -> bool:
    principal: Principal | None = request.state.principal
    return principal is not None and principal.role >= Role.WATCH


async def _on_bug(request: Request, error: Exception) -> Response:
    # Starlette raises the error on after this answer; the listener logs it.
    status, body = bug_problem()
    return Response(body, status, media_type=PROBLEM_TYPE)
