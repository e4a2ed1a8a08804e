"""Try a tool, or make a recorded call again. Each is a call like any client's: judged and recorded."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

import callgate
from callgate.api.operation import Asked, Operation
from callgate.api.record.replay import offered
from callgate.api.record.row_views import recorded_arguments
from callgate.api.record.short_ids import find_call
from callgate.api.shapes import CallAnswer, Json
from callgate.model.error_codes import CALLER_AMBIGUOUS_ID, CALLER_NOT_FOUND, CALLER_NOT_REPLAYABLE
from callgate.model.errors import CallerError
from callgate.model.identity import Role
from callgate.ports.caller import CLI_PROGRAM, Caller, Program, ToolCall
from callgate.ports.record_reader import RecordReader, Row
from callgate.ports.status import Status

# As the page (web/src/api/send.ts) and our commands (app/commands/api_client.py) name themselves.
_OWN_PROGRAMS: dict[str, Program] = {"callgate-page": "callgate-page", CLI_PROGRAM: CLI_PROGRAM}


class CallBody(msgspec.Struct, forbid_unknown_fields=True):
    tool: Annotated[str, Meta(min_length=1, max_length=500, description="A public name, of /api/v1/tools.")]
    arguments: dict[str, Any] = {}


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
        called = await self._caller.call(ToolCall(tool, arguments, asked.principal, client, program, server))
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
