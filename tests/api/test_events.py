"""`GET /api/v1/events`: what is recorded reaches who listens, and who comes back gets the rest."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from api.conftest import Stage
from recorder.happenings import NOW_S, a_session, opened, settled

from callgate.model.error_codes import SETUP_RECORD_OFF
from callgate.model.errors import SetupError
from callgate.model.events import SessionClosed
from callgate.model.health import State
from callgate.model.identity import LOCAL
from callgate.recorder import listeners
from callgate.wire.framing.sse import KEEP_ALIVE, SseDecoder, SseEvent

PATIENCE_S = 120.0  # only against a hang


@dataclass
class Listener:
    """A reader of the stream, as slow as it likes to be."""

    stage: Stage
    headers: dict[str, str] = field(default_factory=dict[str, str])
    query: str = ""
    decoder: SseDecoder = field(default_factory=SseDecoder)
    events: list[SseEvent] = field(default_factory=list[SseEvent])
    status: int = 0
    raw: bytes = b""
    is_slow: bool = False

    def __post_init__(self) -> None:
        self.is_reading = asyncio.Event()
        self.heard = asyncio.Condition()
        if not self.is_slow:
            self.is_reading.set()

    async def run(self) -> None:
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1",
            "method": "GET", "scheme": "http", "path": "/api/v1/events", "raw_path": b"/api/v1/events",
            "root_path": "", "query_string": self.query.encode(), "client": None, "server": None,
            "headers": [(name.encode(), value.encode()) for name, value in self.headers.items()],
            "state": {"principal": LOCAL},
        }  # fmt: skip
        await self.stage.app(scope, self._receive, self._send)

    async def until(self, is_enough: Callable[[list[SseEvent]], bool]) -> list[SseEvent]:
        async with asyncio.timeout(PATIENCE_S), self.heard:
            await self.heard.wait_for(lambda: is_enough(self.events))
        return self.events

    async def types(self, *wanted: str) -> list[Any]:
        """Waits until each was heard; their data."""
        events = await self.until(lambda events: {one.event for one in events} >= set(wanted))
        return [json.loads(next(one for one in events if one.event == kind).data)["data"] for kind in wanted]

    async def _receive(self) -> Any:
        await asyncio.Event().wait()

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        async with self.heard:
            self.raw += message.get("body", b"")
            self.events += [
                one for one in self.decoder.feed(message.get("body", b"")) if one.data or one.retry_ms
            ]
            self.heard.notify_all()
        await self.is_reading.wait()


@asynccontextmanager
async def listening(stage: Stage, **options: Any) -> AsyncIterator[Listener]:
    listener = Listener(stage, **options)
    running = asyncio.create_task(listener.run())
    await listener.until(lambda events: events[0].retry_ms is not None if events else False)
    try:
        yield listener
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_call_is_told_when_it_starts_and_when_it_is_settled_in_the_envelope(stage: Stage) -> None:
    async with listening(stage) as listener:
        event = settled(stage.session, sql="SELECT 7")
        stage.emit(event)
        started, ended = await listener.types("tool_calls.started", "tool_calls.settled")
    assert started["id"] == ended["id"] == event.exchange.exchange_id
    assert (started["outcome"], ended["outcome"], ended["sql"]) == (None, "answered", "SELECT 7")
    envelope = json.loads(next(one for one in listener.events if one.event == "tool_calls.settled").data)
    assert envelope.keys() == {"type", "data", "timestamp"}
    assert envelope["type"] == "tool_calls.settled"


async def test_a_session_is_told_when_it_begins_changes_and_ends_with_its_sums(stage: Stage) -> None:
    await stage.get("/api/v1/sessions")  # the stage's own session is recorded before anybody listens
    async with listening(stage) as listener:
        session = a_session("s-2")
        stage.emit(opened(session))
        stage.emit(settled(session))
        created, updated = await listener.types("sessions.created", "sessions.updated")
        session.ended_at = NOW_S + 5
        stage.emit(SessionClosed(session))
        (closed,) = await listener.types("sessions.closed")
    assert created["session_id"] == updated["session_id"] == closed["session_id"] == "s-2"
    assert (created["tool_call_count"], updated["tool_call_count"], closed["tool_call_count"]) == (0, 1, 1)
    assert (updated["status"], closed["status"]) == ("open", "closed")


async def test_who_comes_back_gets_exactly_what_was_settled_meanwhile(stage: Stage) -> None:
    def call(number: int) -> None:
        stage.emit(settled(stage.session, NOW_S + number, sql=f"SELECT {number}"))

    def told(events: list[SseEvent]) -> list[str]:
        return [json.loads(one.data)["data"]["sql"] for one in events if one.event == "tool_calls.settled"]

    async with listening(stage) as first:
        call(1)
        await first.types("tool_calls.settled")
    last_id = next(one.event_id for one in reversed(first.events) if one.event_id)
    for number in (2, 3):
        call(number)
    async with listening(stage, headers={"last-event-id": last_id}) as second:
        await second.until(lambda events: len(told(events)) == 2)
        call(4)
        await second.until(lambda events: len(told(events)) == 3)
    assert told(second.events) == ["SELECT 2", "SELECT 3", "SELECT 4"]
    ids = [int(one.event_id) for one in second.events if one.event_id]
    assert ids == sorted(ids)


async def test_a_slow_reader_gets_what_it_missed_from_the_record_and_nobody_else_is_held_up(
    stage: Stage,
) -> None:
    def settled_ids(events: list[SseEvent]) -> list[str]:
        return [one.event_id for one in events if one.event == "tool_calls.settled" and one.event_id]

    session = a_session("s-2")
    async with listening(stage) as quick, listening(stage, is_slow=True) as slow:
        for number in range(3_000):
            stage.emit(settled(stage.session, NOW_S + number))
            if number % 200 == 0:
                await asyncio.sleep(0)
        stage.emit(opened(session))
        stage.emit(settled(session, NOW_S + 3_000))
        await stage.get("/api/v1/tool-calls?limit=1")  # everything is recorded now
        assert settled_ids(quick.events)
        slow.is_reading.set()
        await slow.until(lambda events: len(events) >= 3_001 <= len(settled_ids(events)))
        stage.emit(settled(stage.session, NOW_S + 4_000))  # and it is live again
        await slow.until(lambda events: len(events) >= 3_002 <= len(settled_ids(events)))
        await slow.until(
            lambda events: any(b'"s-2"' in one.data for one in events if one.event == "sessions.updated")
        )
    ids = settled_ids(slow.events)
    assert len(ids) == len(set(ids)) == 3_002
    assert ids == sorted(ids, key=int)
    assert not any(one.event == "events.missed" for one in slow.events)


@pytest.mark.parametrize("room", [1, 2, 3, 4])  # one of them ends behind the call's start
async def test_a_reader_that_missed_the_end_of_a_call_whose_start_it_was_told_gets_that_end(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(listeners, "_MAX_WAITING", room)
    session = a_session("s-2")
    async with listening(stage, is_slow=True) as slow:
        stage.emit(opened(session))
        stage.emit(settled(session))
        await stage.get("/api/v1/tool-calls?limit=1")
        slow.is_reading.set()
        (ended,) = await slow.types("tool_calls.settled")
    assert ended["session_id"] == "s-2"


async def test_a_slow_reader_is_told_how_much_it_missed_where_the_record_cannot_be_read(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def in_trouble(*_: Any) -> Any:
        raise SetupError(SETUP_RECORD_OFF, "The record is in trouble")

    async with listening(stage, is_slow=True) as slow:
        for number in range(3_000):
            stage.emit(settled(stage.session, NOW_S + number))
        await stage.get("/api/v1/tool-calls?limit=1")
        monkeypatch.setattr(stage.record.reader, "events_after", in_trouble)
        slow.is_reading.set()
        (missed,) = await slow.types("events.missed")
        stage.emit(settled(stage.session, NOW_S + 4_000))
        told = sum(one.event == "tool_calls.settled" for one in slow.events)
        await slow.until(lambda events: sum(one.event == "tool_calls.settled" for one in events) > told)
    assert missed["count"] > 0


async def test_a_server_that_goes_down_and_a_changed_catalogue_are_told(stage: Stage) -> None:
    async with listening(stage) as listener:
        stage.server.state = State.DOWN
        stage.server.catalog_version += 1
        servers, catalogue = await listener.types("servers.changed", "catalog.changed")
    assert [(one["name"], one["state"]) for one in servers["servers"]] == [("demo", "down")]
    assert catalogue == {"version": 1}


async def test_streams_end_when_the_gateway_is_about_to_stop(stage: Stage) -> None:
    listener = Listener(stage)
    running = asyncio.create_task(listener.run())
    await listener.until(bool)
    stage.api.retire()
    async with asyncio.timeout(PATIENCE_S):
        await running


@pytest.mark.parametrize("last_id", ["-1", "x", "9" * 30, "²"])
async def test_an_id_that_is_not_ours_is_refused(stage: Stage, last_id: str) -> None:
    answered = await stage.ask("/api/v1/events", last_event_id=last_id)
    assert (answered.status, answered.json["code"]) == (400, "caller.bad_params")


async def test_a_child_that_only_talks_on_its_stderr_has_not_changed(stage: Stage) -> None:
    async with listening(stage) as listener:
        stage.server.stderr_tail = ("still here",)
        stage.server.catalog_version += 1  # is told in the same round
        await listener.types("catalog.changed")
    assert not any(one.event == "servers.changed" for one in listener.events)


async def test_a_reader_too_many_is_sent_away_for_a_while_and_the_others_are_not(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.api.events.events_api._MAX_READERS", 2)
    async with listening(stage) as first:
        async with listening(stage):
            refused = await stage.ask("/api/v1/events")
            assert (refused.status, refused.json["code"]) == (429, "caller.too_many_readers")
            assert int(refused.headers["retry-after"]) > 0
            assert refused.headers["content-type"] == "application/problem+json"
        async with listening(stage) as third:  # there is room again
            stage.emit(settled(stage.session))
            for reader in (first, third):
                await reader.types("tool_calls.settled")


async def test_silence_is_broken_by_a_comment(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("events_api", "reader_stream"):
        monkeypatch.setattr(f"callgate.api.events.{module}.TICK_S", 0.01)
    monkeypatch.setattr("callgate.api.events.reader_stream._SILENCE_S", 0.02)
    async with listening(stage) as listener, asyncio.timeout(PATIENCE_S), listener.heard:
        await listener.heard.wait_for(lambda: listener.raw.count(KEEP_ALIVE) >= 2)


async def test_who_does_not_follow_gets_what_is_recorded_and_the_end(stage: Stage) -> None:
    for number in range(700):  # more than one page
        stage.emit(settled(stage.session, NOW_S + number))
    for after, told in (("last_event_id=0&", 700), ("", 0)):
        listener = Listener(stage, query=f"{after}follow=false")
        async with asyncio.timeout(PATIENCE_S):
            await listener.run()
        ids = [one.event_id for one in listener.events if one.event == "tool_calls.settled"]
        assert (len(ids), len(set(ids))) == (told, told)


async def test_a_long_absence_misses_nothing_although_much_happens_meanwhile(stage: Stage) -> None:
    """More than waits for one reader comes while it still reads the record."""
    for number in range(3_000):
        stage.emit(settled(stage.session, NOW_S + number))
    await stage.get("/api/v1/tool-calls?limit=1")
    async with listening(stage, headers={"last-event-id": "0"}, is_slow=True) as reader:
        for number in range(3_000):
            stage.emit(settled(stage.session, NOW_S + 5_000 + number))
        await stage.get("/api/v1/tool-calls?limit=1")
        reader.is_reading.set()
        await reader.until(lambda events: sum(one.event == "tool_calls.settled" for one in events) >= 6_000)
    ids = [one.event_id for one in reader.events if one.event == "tool_calls.settled"]
    assert len(set(ids)) == len(ids) == 6_000
    assert not any(one.event == "events.missed" for one in reader.events)
