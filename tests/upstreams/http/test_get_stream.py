"""Legacy event streams over GET: what was interrupted goes on, and the listen stream comes back."""

import asyncio

import pytest
from upstreams.http_servers.scripted_http import (
    Seen,
    Wire,
    wait_for_hang_up,
)
from upstreams.http_servers.streamable_stage import answers, notice, stage

from callgate.model.envelope import Era
from callgate.upstreams.http.get_stream import pause_s

# ---- resuming (legacy)


def primed(*, retry: str | None = "10") -> dict[str, str]:
    return {"id": "e-1"} if retry is None else {"id": "e-1", "retry": retry}


async def test_an_interrupted_legacy_stream_goes_on_after_the_last_event() -> None:
    async def polls(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        if seen.method == "POST":
            await wire.event(None, **primed())
            await wire.event(notice("one"), id="e-2")
        elif seen.headers["last-event-id"] == "e-2":
            await wire.event(notice("two"), id="e-3")
        elif len(on.server.requests) < 5:
            pass  # an empty poll
        else:
            await wire.event({"jsonrpc": "2.0", "id": 1, "result": {}}, id="e-4")
        await wire.end_sse()

    async with stage(polls) as on:
        on.ask(1)
        told = [await on.receiver.next() for _ in range(7)]
        assert [what[0] for what in told] == [
            "received", "paused", "received", "paused", "paused", "paused", "received",
        ]  # fmt: skip
        assert told[1] == ("paused", 1, 10)
        assert told[-1][1:] == ({"jsonrpc": "2.0", "id": 1, "result": {}}, 1)
        assert [seen.headers.get("last-event-id") for seen in on.server.requests] == [
            None, "e-2", "e-3", "e-3", "e-3",
        ]  # fmt: skip
        resumed = on.server.requests[1]
        assert resumed.method == "GET"
        assert resumed.headers["accept"] == "text/event-stream"
        assert resumed.headers["authorization"] == "Bearer hidden-token"


async def test_a_legacy_stream_that_broke_is_resumed_without_being_called_a_pause() -> None:
    async def breaks(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        if seen.method == "POST":
            await wire.event(None, **primed())
            wire.reset()
        else:
            await wire.event({"jsonrpc": "2.0", "id": 1, "result": {}})

    async with stage(breaks) as on:
        on.ask(1)
        assert (await on.receiver.next())[0] == "received"


async def test_a_resume_that_is_refused_fails_the_request() -> None:
    async def refuses(seen: Seen, wire: Wire) -> None:
        if seen.method == "GET":
            await wire.answer(405)
            return
        await wire.start_sse()
        await wire.event(None, **primed())
        await wire.end_sse()

    async with stage(refuses) as on:
        on.ask(1)
        assert (await on.receiver.next())[0] == "paused"
        assert "405" in (await on.receiver.failure(1)).message


async def test_a_resume_is_given_up_after_a_few_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.upstreams.http.get_stream._PAUSE_S", 0.001)

    async def broken(seen: Seen, wire: Wire) -> None:
        if seen.method == "GET":
            await wire.answer(503)
            return
        await wire.start_sse()
        await wire.event(None, **primed(retry=None))
        await wire.end_sse()

    async with stage(broken) as on:
        on.ask(1)
        assert await on.receiver.next() == ("paused", 1, None)
        assert "503" in (await on.receiver.failure(1)).message
        assert len(on.server.requests) == 6


async def test_a_resumed_request_can_be_abandoned() -> None:
    async def polls(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        if seen.method == "GET":
            await wait_for_hang_up(wire)
        await wire.event(None, **primed())
        await wire.end_sse()

    async with stage(polls) as on:
        on.ask(1)
        assert (await on.receiver.next())[0] == "paused"
        await on.server.until(lambda: len(on.server.requests) == 2)
        on.transport.abandon(1)
        await on.server.until(lambda: on.server.open_now <= 1)


async def test_a_session_lost_while_resuming_loses_the_transport() -> None:
    async def forgets(seen: Seen, wire: Wire) -> None:
        if seen.method == "GET":
            await wire.answer(404)
        elif seen.json()["method"] == "initialize":
            await answers(seen, wire)
        else:
            await wire.start_sse()
            await wire.event(None, **primed())
            await wire.end_sse()

    async with stage(forgets) as on:
        await on.shake_hands()
        on.ask(1)
        assert (await on.receiver.next())[0] == "paused"
        assert (await on.receiver.next())[1].code.code == "upstream.session_lost"


async def test_a_modern_stream_is_never_resumed() -> None:
    async def primes(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        await wire.event(None, **primed())
        await wire.end_sse()

    async with stage(primes, Era.MODERN) as on:
        on.ask(1)
        assert "without the response" in (await on.receiver.failure(1)).message


# ---- the listen stream (legacy)


async def test_the_listen_stream_brings_the_servers_own_messages_and_comes_back() -> None:
    async def listens(seen: Seen, wire: Wire) -> None:
        if seen.method != "GET":
            await answers(seen, wire)
            return
        await wire.start_sse()
        if "last-event-id" not in seen.headers:
            await wire.event(notice("one"), id="g-1", retry="10")
            await wire.end_sse()
            return
        await wire.event(notice("two"), id="g-2")
        await wait_for_hang_up(wire)

    async with stage(listens) as on:
        await on.shake_hands()
        on.transport.listen()
        on.transport.listen()
        told = [await on.receiver.next(), await on.receiver.next()]
        assert [(what[0], what[1]["params"]["data"], what[2]) for what in told] == [
            ("received", "one", None), ("received", "two", None),
        ]  # fmt: skip
        gets = [seen for seen in on.server.requests if seen.method == "GET"]
        assert [seen.headers.get("last-event-id") for seen in gets] == [None, "g-1"]
        assert gets[0].headers["mcp-session-id"] == "session-1"
        assert gets[0].headers["mcp-protocol-version"] == "2025-11-25"
        on.ask(1)
        assert (await on.receiver.next())[2] == 1


async def test_a_server_without_a_listen_stream_is_asked_once() -> None:
    async with stage(answers) as on:
        await on.shake_hands()
        on.transport.listen()
        await on.server.until(lambda: len(on.server.requests) == 2)
        while not on.transport.is_listen_refused:
            await asyncio.sleep(0)
        on.transport.listen()
        on.ask(1)
        await on.receiver.next()
        assert [seen.method for seen in on.server.requests] == ["POST", "GET", "POST"]


async def test_a_listen_stream_in_trouble_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.upstreams.http.get_stream._PAUSE_S", 0.001)

    async def unsteady(seen: Seen, wire: Wire) -> None:
        number = len(on.server.requests)
        if number == 1:
            await wire.answer(503)
        elif number == 2:
            wire.reset()
            raise ConnectionError
        elif number == 3:
            await wire.start_sse()
            await wire.end_sse()
        else:
            await wire.start_sse()
            await wire.event(notice("finally"))
            await wait_for_hang_up(wire)

    async with stage(unsteady) as on:
        on.transport.listen()
        assert (await on.receiver.next())[1] == notice("finally")


async def test_a_modern_transport_has_no_listen_stream() -> None:
    async with stage(answers, Era.MODERN) as on:
        on.transport.listen()
        on.ask(1)
        await on.receiver.next()
        assert [seen.method for seen in on.server.requests] == ["POST"]


def test_a_server_that_wants_to_be_polled_without_pause_is_polled_less_and_less() -> None:
    pauses = [pause_s(0, polls) for polls in range(200)]
    assert pauses[0] <= 0.01, "an answer that is ready is fetched at once"
    assert pauses == sorted(pauses)
    assert sum(pauses) > 60, "some hundred polls take minutes"
    assert pauses[-1] <= 2, "it is never given up"
    assert {pause_s(2_000, polls) for polls in range(200)} == {2}, "an honest wish is heard"
