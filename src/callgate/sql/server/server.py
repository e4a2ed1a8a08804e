"""SqlServer: one source as an MCP server behind us. Implements `ports.upstream`: Upstream, PlainUpstream.

The path of a call: arguments > judge > driver > results. A failed or refused statement is an *answer* with
isError, its code and what to do instead; only what never reached a statement raises. Resources, their
templates and completions come from the schema_reader.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

import msgspec

from callgate.model import error_codes as codes
from callgate.model.errors import CallerError, CallgateError, SourceError
from callgate.model.exchange import Hop
from callgate.model.health import Health, State
from callgate.model.near_miss import did_you_mean_one_of
from callgate.model.reply import Reply, Tell
from callgate.ports.source_schema import SourceSchema
from callgate.ports.upstream import Asker, CallListener
from callgate.sql.drivers.driver import Driver, LimitedDriver
from callgate.sql.drivers.posture import Posture
from callgate.sql.guard.judgement import Bound, Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.results.answer import answer_error
from callgate.sql.schema.queries import SchemaQueries
from callgate.sql.schema.reader import SchemaReader
from callgate.sql.server.arguments import Parameter, read_arguments, read_params
from callgate.sql.server.begun_calls import BegunPlainRead, BegunSourceCall, SourceToolCaller
from callgate.sql.server.completion import complete
from callgate.sql.server.custom_tools import CustomTool, PreparedTool
from callgate.sql.server.explain_tool import ExplainTool
from callgate.sql.server.resource_uris import ResourceUris
from callgate.sql.server.resources import Resources
from callgate.sql.server.schema_view import SchemaView
from callgate.sql.server.search_objects import SearchTool
from callgate.sql.server.stateless import StatelessUpstream
from callgate.sql.server.statement_runner import JudgedRequest, StatementRunner
from callgate.sql.server.tool import QueryTool
from callgate.sql.settings import SourceSettings


class SqlServer(StatelessUpstream):
    def __init__(
        self,
        settings: SourceSettings,
        policy: Policy,
        driver: Driver,
        schema_queries: SchemaQueries,
        tools: Sequence[PreparedTool] = (),
    ) -> None:
        self._source_id = settings.source_id
        self._under_way = 0
        self._plain_reads: set[BegunPlainRead] = set()
        self._policy = policy
        self._driver = driver
        self._schema_reader = schema_reader = SchemaReader(driver, policy, schema_queries)
        self._runner = StatementRunner(settings.source_id, policy, driver, schema_reader)
        self._query_tool = QueryTool(self._runner)
        offered: list[_OfferedTool] = [
            self._query_tool,
            ExplainTool(self._runner),
            SearchTool(policy, schema_reader),
            *(CustomTool(tool, self._runner) for tool in tools),
        ]
        self._tools = {tool.name: tool for tool in offered}
        self._listed = msgspec.json.encode({"tools": [tool.definition() for tool in offered]})
        self._uris = ResourceUris(policy.dialect.name, settings.source_id, settings.has_siblings)
        self._resources = Resources(self._uris, policy.dialect.display_name, schema_reader)

    @property
    def name(self) -> str:
        return self._source_id

    @property
    def schemes(self) -> frozenset[str]:
        return self._uris.schemes

    @property
    def policy(self) -> Policy:
        return self._policy

    def limit_connections(self, most: int) -> None:
        if isinstance(self._driver, LimitedDriver):
            self._driver.limit_connections(most)

    def load_parser(self) -> None:
        self._runner.load_parser()

    async def ask(self, hop: Hop, asker: Asker, tell: Tell) -> Reply:
        self._introduce(hop)
        self._under_way += 1
        try:
            return await self._answer(hop)
        finally:
            self._under_way -= 1

    async def _answer(self, hop: Hop) -> Reply:
        match hop.method:
            case "tools/list":
                return Reply(result=self._listed)
            case "tools/call":
                return Reply(result=await self._call(hop))
            case "resources/list":
                return Reply(result=await self._resources.list())
            case "resources/templates/list":
                return Reply(result=self._resources.templates())
            case "resources/read":
                return Reply(result=await self._resources.read(hop.params))
            case "completion/complete":
                return Reply(result=await complete(hop.params, self._uris, self._schema_reader))
            case _:
                raise CallerError(
                    codes.CALLER_UNKNOWN_METHOD,
                    f"The SQL source {self._source_id} does not answer {hop.method[:100]}.",
                    hint="It has tools, resources and completions.",
                )

    def tool_caller(self, native_name: str, asker: Asker) -> SourceToolCaller | None:
        """Implements `ports.PlainUpstream`."""
        return SourceToolCaller(self) if native_name in self._tools else None

    def begin(self, hop: Hop, listener: CallListener) -> BegunSourceCall:
        """A call of a tool. Implements `begun_calls.CallingServer`."""
        request = None
        if self._runner.begins:
            with suppress(Exception):  # whatever it is: the task that calls the tool tells of it
                request = self._query_tool.judged_at_once(hop.params)
        if request is not None:
            read = BegunPlainRead(self._runner, request, hop, listener, self._plain_reads)
            if read.begin():
                self._introduce(hop)
                return read
        call = BegunSourceCall(listener)
        call.answer(partial(self._begun, hop, request))
        return call

    def health(self) -> Health:
        label = f"{self._policy.dialect.display_name}, {self._policy.mode.label}"
        trouble = self._driver.trouble()
        if trouble is None:
            return Health(self._source_id, "sql", State.UP, label, version=self._driver.version)
        code = codes.SOURCE_UNAVAILABLE.code
        return Health(self._source_id, "sql", State.DOWN, f"{label}: {trouble}", code)

    @property
    def schema(self) -> SourceSchema:
        """What is in the database, for readers outside of MCP: the page and the API."""
        return SchemaView(self._schema_reader)

    def trouble(self) -> str | None:
        """Why it is down, in words for the operator."""
        return self._driver.trouble()

    async def posture(self) -> Posture:
        """What the account may really do; asks the database. Raises SourceError when it is down."""
        return await self._driver.posture()

    async def retry(self) -> None:
        """Implements `ports.RetryingUpstream`: a statement finds out, and the driver remembers what came."""
        with suppress(CallgateError):
            await self._driver.run([Statement("SELECT 1", "SELECT")])

    def is_busy(self) -> bool:
        return bool(self._under_way or self._plain_reads)

    async def close(self) -> None:
        await self._driver.close()
        self._runner.close()

    async def _begun(self, hop: Hop, request: JudgedRequest | None) -> bytes:
        """`request`: what was asked of the query tool, where that is known already."""
        self._introduce(hop)
        self._under_way += 1
        try:
            return await (self._call(hop) if request is None else self._runner.answer(request, hop))
        finally:
            self._under_way -= 1

    def _introduce(self, hop: Hop) -> None:
        hop.server_version = self._driver.version
        hop.is_built_in = True

    async def _call(self, hop: Hop) -> bytes:
        params = read_params(hop.params)
        tool = self._tools.get(params.name)
        if tool is None:
            near = did_you_mean_one_of(params.name, self._tools)
            raise CallerError(
                codes.CALLER_UNKNOWN_TOOL,
                f"The SQL source {self._source_id} has no tool {params.name[:100]!r}.",
                hint=near or f"Its tools are {', '.join(self._tools)}.",
            )
        arguments = read_arguments(tool.parameters, params.arguments)
        if isinstance(arguments, list):
            problems = "\n".join(f"- {problem}" for problem in arguments)
            return answer_error(f"Error: Invalid input parameters.\n\n{problems}", codes.CALLER_BAD_ARGUMENTS)
        try:
            return await tool.call(arguments, hop)
        except SourceError as error:
            return answer_error(f"Error: {error.message}\n\n{error.hint}".strip(), error.code)


class _OfferedTool(Protocol):
    """What the server needs of each of its tools."""

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
