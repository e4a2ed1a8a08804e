"""Try a tool, make a recorded call again, or ask a server for what it offers beside tools.

Each is a request like any client's: judged and recorded.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

import callgate
from callgate.api.operation import Asked, Operation
from callgate.api.record.replay import offered
from callgate.api.record.row_views import recorded_arguments
from callgate.api.record.short_ids import find_call
from callgate.api.shapes import CallAnswer, Json
from callgate.model.error_codes import (
    CALLER_AMBIGUOUS_ID,
    CALLER_NOT_FOUND,
    CALLER_NOT_REPLAYABLE,
    CALLER_UNKNOWN_SERVER,
)
from callgate.model.errors import CallerError, unknown_server
from callgate.model.identity import Role
from callgate.ports.caller import CLI_PROGRAM, CalledTool, Caller, Program, ServerQuestion, ToolCall
from callgate.ports.record_reader import RecordReader, Row
from callgate.ports.status import Status

# As the page (web/src/api/send.ts) and our commands (app/commands/api_client.py) name themselves.
_OWN_PROGRAMS: dict[str, Program] = {"callgate-page": "callgate-page", CLI_PROGRAM: CLI_PROGRAM}


class CallBody(msgspec.Struct, forbid_unknown_fields=True):
    tool: Annotated[str, Meta(min_length=1, max_length=500, description="A public name, of /api/v1/tools.")]
    arguments: dict[str, Any] = {}


class AskBody(msgspec.Struct, forbid_unknown_fields=True):
    """Only what reads: tools are called with `callTool`."""

    method: Literal[
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
    ]
    params: Annotated[dict[str, Any], Meta(description="As MCP has them, with the server's own names.")] = {}


class ReplayBody(msgspec.Struct, forbid_unknown_fields=True):
    arguments: (
        Annotated[dict[str, Any], Meta(description="Instead of those of the recorded call.")] | UnsetType
    ) = UNSET


class CallingApi:
    def __init__(self, record: RecordReader | None, status: Status, caller: Caller) -> None:
        self._record = record
        self._status = status
        self._caller = caller

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/call",
                "callTool",
                "Call a tool, recorded",
                self.call,
                CallAnswer,
                takes=CallBody,
                role=Role.WATCH,
            ),
            Operation(
                "/api/v1/servers/{name}/ask",
                "askServer",
                "Ask a server for its resources or prompts, recorded",
                self.ask,
                CallAnswer,
                takes=AskBody,
                errors=(CALLER_UNKNOWN_SERVER,),
                role=Role.WATCH,
            ),
            Operation(
                "/api/v1/tool-calls/{call_id}/replay",
                "replayToolCall",
                "Make a recorded call again, with its own arguments or with others",
                self.replay,
                CallAnswer,
                takes=ReplayBody,
                errors=(CALLER_NOT_FOUND, CALLER_AMBIGUOUS_ID, CALLER_NOT_REPLAYABLE),
                role=Role.WATCH,
            ),
        ]

    async def call(self, asked: Asked[None, CallBody]) -> CallAnswer:
        body = asked.body
        return await self._call(asked, body.tool, body.arguments)

    async def ask(self, asked: Asked[None, AskBody]) -> CallAnswer:
        name, body = asked.path["name"], asked.body
        known = [entry.name for entry in self._status.health()]
        if name not in known:
            raise unknown_server(name, known)
        client, program = _client(asked)
        question = ServerQuestion(body.method, body.params, name, asked.principal, client, program)
        return _answer(await self._caller.ask(question))

    async def replay(self, asked: Asked[None, ReplayBody]) -> CallAnswer:
        row = await find_call(self._record, asked.path["call_id"])
        arguments = asked.body.arguments
        if isinstance(arguments, UnsetType):
            arguments = _recorded(row)
        tool = row["tool_name"]
        if tool is None:
            raise CallerError(CALLER_NOT_REPLAYABLE, "The recorded call does not name a tool that exists")
        # A call through /servers/<name>/mcp has the server's own name for the tool.
        offer, server = offered(row, await self._status.tools()), row["server_name"]
        is_public = offer.public_name == tool if offer is not None else tool.startswith(f"{server}__")
        return await self._call(asked, tool, arguments, None if is_public else server)

    async def _call(
        self, asked: Asked[None, Any], tool: str, arguments: Json, server: str | None = None
    ) -> CallAnswer:
        client, program = _client(asked)
        call = ToolCall(tool, arguments, asked.principal, client, program, server)
        return _answer(await self._caller.call(call))


def _answer(called: CalledTool) -> CallAnswer:
    return CallAnswer(called.exchange_id, _object(called.result), _object(called.error))


def _recorded(row: Row) -> Json:
    arguments = recorded_arguments(row)
    if arguments is None:
        raise CallerError(
            CALLER_NOT_REPLAYABLE,
            "Secrets were removed from the recorded arguments, or the arguments were too long to be recorded",
            hint='Send the arguments again: {"arguments": {…}}',
        )
    return arguments


def _client(asked: Asked[Any, Any]) -> tuple[str, Program]:
    """As a client's name is found elsewhere: its own word, then its program. And as what it calls."""
    headers = asked.headers
    named = headers.get("x-callgate-client-id") or headers.get("user-agent") or asked.peer or "callgate-api"
    program = _OWN_PROGRAMS.get(named)
    if program is None:
        return named[:200], "callgate-api"
    return f"{program}/{callgate.__version__}", program


def _object(raw: bytes | None) -> Json | None:
    return None if raw is None else msgspec.json.decode(raw, type=Json)
