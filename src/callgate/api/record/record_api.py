"""Sessions, tool calls and exchanges: the record, page by page. Newest first."""

from dataclasses import replace

from callgate.api.operation import Asked, Operation
from callgate.api.record.queries import (
    ExchangesQuery,
    PageQuery,
    SessionsQuery,
    TimelineQuery,
    given,
    sessions_of,
)
from callgate.api.record.replay import replay_of
from callgate.api.record.required_record import required
from callgate.api.record.row_views import exchange_of, lane_event_of, session_of, whole_exchange_of
from callgate.api.record.short_ids import find_call, find_exchange, find_filter, find_session
from callgate.api.shapes import (
    ExchangeList,
    SessionList,
    SessionShape,
    SessionTimeline,
    ToolCallList,
    WholeExchange,
)
from callgate.model.error_codes import CALLER_AMBIGUOUS_ID, CALLER_NOT_FOUND, CALLER_UNKNOWN_SESSION
from callgate.model.identity import Role
from callgate.ports.record_reader import TOOL_CALL, TOOL_CALLS, RecordPage, RecordReader, Row
from callgate.ports.status import Status


class RecordApi:
    def __init__(self, record: RecordReader | None, status: Status) -> None:
        """`status`: of what is offered today, a recorded call may be made again."""
        self._record = record
        self._status = status

    def operations(self) -> list[Operation]:
        v1, unknown = "/api/v1", (CALLER_NOT_FOUND, CALLER_AMBIGUOUS_ID)
        no_session = (CALLER_UNKNOWN_SESSION, CALLER_AMBIGUOUS_ID)
        several = (CALLER_AMBIGUOUS_ID,)
        return [
            Operation(
                f"{v1}/sessions",
                "listSessions",
                "Sessions",
                self.sessions,
                SessionList,
                SessionsQuery,
                role=Role.WATCH,
            ),
            Operation(
                f"{v1}/sessions/{{session_id}}",
                "getSession",
                "One session",
                self.session,
                SessionShape,
                errors=no_session,
                role=Role.WATCH,
            ),
            Operation(
                f"{v1}/sessions/{{session_id}}/tool-calls",
                "listSessionToolCalls",
                "The tool calls of a session",
                self.session_calls,
                ToolCallList,
                PageQuery,
                errors=no_session,
                role=Role.WATCH,
            ),
            Operation(
                f"{v1}/sessions/{{session_id}}/timeline",
                "getSessionTimeline",
                "What happened in a session, in short: a lane for each server",
                self.timeline,
                SessionTimeline,
                TimelineQuery,
                errors=no_session,
                role=Role.WATCH,
            ),
            Operation(
                f"{v1}/tool-calls",
                "listToolCalls",
                "Tool calls",
                self.tool_calls,
                ToolCallList,
                ExchangesQuery,
                errors=several,
                role=Role.WATCH,
            ),
            Operation(
                f"{v1}/tool-calls/{{call_id}}",
                "getToolCall",
                "One tool call, with its payloads, hops, SQL and verdict",
                self.tool_call,
                WholeExchange,
                errors=unknown,
                role=Role.WATCH,
            ),
            Operation(
                f"{v1}/exchanges",
                "listExchanges",
                "Requests and notifications of all methods, both ways",
                self.exchanges,
                ExchangeList,
                ExchangesQuery,
                errors=several,
                role=Role.WATCH,
            ),
            Operation(
                f"{v1}/exchanges/{{exchange_id}}",
                "getExchange",
                "One exchange, with its payloads and hops",
                self.exchange,
                WholeExchange,
                errors=unknown,
                role=Role.WATCH,
            ),
        ]

    async def sessions(self, asked: Asked[SessionsQuery, None]) -> SessionList:
        query = asked.query
        page = await required(self._record).sessions(
            sessions_of(query), query.limit, query.offset, given(query.cursor)
        )
        return SessionList(
            [session_of(row) for row in page.rows], page.total, page.next_cursor, page.total_is_at_least
        )

    async def session(self, asked: Asked[None, None]) -> SessionShape:
        return session_of(await find_session(self._record, asked.path["session_id"]))

    async def session_calls(self, asked: Asked[PageQuery, None]) -> ToolCallList:
        session = await find_session(self._record, asked.path["session_id"])
        which = replace(TOOL_CALLS, only={**TOOL_CALLS.only, "session_id": (session["session_id"],)})
        query = asked.query
        return _calls(await required(self._record).events(which, query.limit, given(query.cursor)))

    async def timeline(self, asked: Asked[TimelineQuery, None]) -> SessionTimeline:
        session = session_of(await find_session(self._record, asked.path["session_id"]))
        page = await required(self._record).lanes(session.session_id, asked.query.limit)
        return SessionTimeline(
            session, [lane_event_of(row, session.created_at) for row in page.rows], page.total
        )

    async def tool_calls(self, asked: Asked[ExchangesQuery, None]) -> ToolCallList:
        query = asked.query
        if query.method and TOOL_CALL not in query.method:  # a tool call has no other
            return ToolCallList([], 0, None)
        which = await find_filter(self._record, query)
        which = replace(which, only={**which.only, **TOOL_CALLS.only})
        return _calls(
            await required(self._record).events(which, query.limit, given(query.cursor), query.order)
        )

    async def tool_call(self, asked: Asked[None, None]) -> WholeExchange:
        return await self._whole(await find_call(self._record, asked.path["call_id"]))

    async def exchanges(self, asked: Asked[ExchangesQuery, None]) -> ExchangeList:
        query = asked.query
        which = await find_filter(self._record, query)
        page = await required(self._record).events(which, query.limit, given(query.cursor), query.order)
        return ExchangeList(
            [exchange_of(row) for row in page.rows], page.total, page.next_cursor, page.total_is_at_least
        )

    async def exchange(self, asked: Asked[None, None]) -> WholeExchange:
        return await self._whole(await find_exchange(self._record, asked.path["exchange_id"]))

    async def _whole(self, row: Row) -> WholeExchange:
        return whole_exchange_of(row, replay_of(row, await self._status.tools(), self._status.lacking))


def _calls(page: RecordPage) -> ToolCallList:
    return ToolCallList(
        [exchange_of(row) for row in page.rows], page.total, page.next_cursor, page.total_is_at_least
    )
