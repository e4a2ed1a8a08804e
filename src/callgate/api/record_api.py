"""Sessions, tool calls and exchanges: the record, page by page. Newest first."""

from dataclasses import replace
from typing import TypeVar

from callgate.api.operation import Asked, Operation
from callgate.api.queries import (
    ExchangesQuery,
    PageQuery,
    SessionsQuery,
    TimelineQuery,
    filter_of,
    given,
    sessions_of,
)
from callgate.api.replay import replay_of
from callgate.api.shapes import (
    ExchangeList,
    SessionList,
    SessionShape,
    SessionTimeline,
    ToolCallList,
    WholeExchange,
)
from callgate.api.told_rows import exchange_of, lane_event_of, session_of, whole_exchange_of
from callgate.model.error_codes import CALLER_NOT_FOUND, CALLER_UNKNOWN_SESSION, SETUP_RECORD_OFF
from callgate.model.errors import CallerError, SetupError
from callgate.ports.record_reader import TOOL_CALL, TOOL_CALLS, Page, RecordReader, Row
from callgate.ports.status import Status

_Part = TypeVar("_Part")


class RecordApi:
    def __init__(self, record: RecordReader | None, status: Status) -> None:
        """`status`: of what is offered today, a recorded call may be made again."""
        self._record = record
        self._status = status

    def operations(self) -> list[Operation]:
        v1, unknown = "/api/v1", (CALLER_NOT_FOUND,)
        no_session = (CALLER_UNKNOWN_SESSION,)
        return [
            Operation(
                f"{v1}/sessions", "listSessions", "Sessions", self.sessions, SessionList, SessionsQuery
            ),
            Operation(
                f"{v1}/sessions/{{session_id}}",
                "getSession",
                "One session",
                self.session,
                SessionShape,
                errors=no_session,
            ),
            Operation(
                f"{v1}/sessions/{{session_id}}/tool-calls",
                "listSessionToolCalls",
                "The tool calls of a session",
                self.session_calls,
                ToolCallList,
                PageQuery,
                errors=no_session,
            ),
            Operation(
                f"{v1}/sessions/{{session_id}}/timeline",
                "getSessionTimeline",
                "What happened in a session, in short: a lane for each server",
                self.timeline,
                SessionTimeline,
                TimelineQuery,
                errors=no_session,
            ),
            Operation(
                f"{v1}/tool-calls",
                "listToolCalls",
                "Tool calls",
                self.tool_calls,
                ToolCallList,
                ExchangesQuery,
            ),
            Operation(
                f"{v1}/tool-calls/{{call_id}}",
                "getToolCall",
                "One tool call, with its payloads, hops, SQL and verdict",
                self.tool_call,
                WholeExchange,
                errors=unknown,
            ),
            Operation(
                f"{v1}/exchanges",
                "listExchanges",
                "Requests and notifications of all methods, both ways",
                self.exchanges,
                ExchangeList,
                ExchangesQuery,
            ),
            Operation(
                f"{v1}/exchanges/{{exchange_id}}",
                "getExchange",
                "One exchange, with its payloads and hops",
                self.exchange,
                WholeExchange,
                errors=unknown,
            ),
        ]

    async def sessions(self, asked: Asked[SessionsQuery, None]) -> SessionList:
        query = asked.query
        page = await required(self._record).sessions(
            sessions_of(query), query.limit, query.offset, given(query.cursor)
        )
        return SessionList([session_of(row) for row in page.rows], page.total, page.next_cursor)

    async def session(self, asked: Asked[None, None]) -> SessionShape:
        return session_of(await self._session(asked.path["session_id"]))

    async def session_calls(self, asked: Asked[PageQuery, None]) -> ToolCallList:
        session_id = asked.path["session_id"]
        await self._session(session_id)
        which = replace(TOOL_CALLS, only={**TOOL_CALLS.only, "session_id": (session_id,)})
        query = asked.query
        return _calls(await required(self._record).events(which, query.limit, given(query.cursor)))

    async def timeline(self, asked: Asked[TimelineQuery, None]) -> SessionTimeline:
        session = session_of(await self._session(asked.path["session_id"]))
        page = await required(self._record).lanes(session.session_id, asked.query.limit)
        return SessionTimeline(
            session, [lane_event_of(row, session.created_at) for row in page.rows], page.total
        )

    async def tool_calls(self, asked: Asked[ExchangesQuery, None]) -> ToolCallList:
        query = asked.query
        which = filter_of(query)
        if query.method and TOOL_CALL not in query.method:  # a tool call has no other
            return ToolCallList([], 0, None)
        which = replace(which, only={**which.only, **TOOL_CALLS.only})
        return _calls(
            await required(self._record).events(which, query.limit, given(query.cursor), query.order)
        )

    async def tool_call(self, asked: Asked[None, None]) -> WholeExchange:
        return await self._whole(await find_call(self._record, asked.path["call_id"]))

    async def exchanges(self, asked: Asked[ExchangesQuery, None]) -> ExchangeList:
        query = asked.query
        page = await required(self._record).events(
            filter_of(query), query.limit, given(query.cursor), query.order
        )
        return ExchangeList([exchange_of(row) for row in page.rows], page.total, page.next_cursor)

    async def exchange(self, asked: Asked[None, None]) -> WholeExchange:
        row = await required(self._record).event(asked.path["exchange_id"])
        if row is None:
            raise CallerError(CALLER_NOT_FOUND, "The record has no exchange of that id")
        return await self._whole(row)

    async def _whole(self, row: Row) -> WholeExchange:
        return whole_exchange_of(row, replay_of(row, await self._status.tools()))

    async def _session(self, session_id: str) -> Row:
        row = await required(self._record).session(session_id)
        if row is None:
            raise CallerError(CALLER_UNKNOWN_SESSION, "The record has no session of that id")
        return row


def _calls(page: Page) -> ToolCallList:
    return ToolCallList([exchange_of(row) for row in page.rows], page.total, page.next_cursor)


async def find_call(record: RecordReader | None, call_id: str) -> Row:
    row = await required(record).event(call_id)
    if row is None or row["method"] != TOOL_CALL:
        raise CallerError(CALLER_NOT_FOUND, "The record has no tool call of that id")
    return row


def required(record: _Part | None) -> _Part:
    """What there is only where calls are recorded."""
    if record is None:
        raise SetupError(
            SETUP_RECORD_OFF, "Calls are not recorded here", hint="Set [record] enabled = true to keep them"
        )
    return record
