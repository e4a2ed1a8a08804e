"""Legacy streams: the GET stream, resumption, and questions put to the client."""

import asyncio
import json
from typing import Any

import pytest
from edge.conftest import Door
from edge.http_probe import HttpProbe

from callgate.model.reply import Answer, Asking, Notice

SSE = {"accept": "text/event-stream"}


async def head(http: HttpProbe) -> dict[str, str]:
    """The head of an answer whose body goes on."""
    text = (await http.read_until(b"\r\n\r\n")).decode()
    return {
        name.lower(): value
        for name, _, value in (line.partition(": ") for line in text.strip().split("\r\n"))
    }


async def event(http: HttpProbe) -> dict[str, str]:
    """The next event of an open SSE stream, as its fields."""
    text = await http.read_chunk()
    return {
        name: value.strip()
        for name, _, value in (line.partition(":") for line in text.decode().splitlines())
        if name
    }


def message_of(fields: dict[str, str]) -> Any:
    return json.loads(fields["data"])


async def open_get(http: HttpProbe, session: str, **headers: str) -> dict[str, str]:
    sent = (
        SSE | {"mcp-session-id": session} | {name.replace("_", "-"): value for name, value in headers.items()}
    )
    await http.send_request("GET", "/mcp", sent)
    return await head(http)


async def test_what_is_said_out_of_turn_comes_on_the_get_stream_even_if_it_opens_later(door: Door) -> None:
    async with door.probe() as http:
        session = await http.initialize()
        outlet = door.answerer.outlets["session-0"]
        outlet.say(Notice("notifications/tools/list_changed", b"{}"))
        headers = await open_get(http, session)
        assert headers["content-type"] == "text/event-stream"
        primed = await event(http)
        assert (primed["id"], primed["data"]) == ("0.0", "")
        assert message_of(await event(http))["method"] == "notifications/tools/list_changed"
        outlet.say(Notice("notifications/message", b'{"data":1}'))
        later = await event(http)
        assert (later["id"], message_of(later)["params"]) == ("0.2", {"data": 1})


async def test_a_second_get_is_409_and_a_wrong_accept_406(door: Door) -> None:
    async with door.probe() as http, door.probe() as other:
        session = await http.initialize()
        await open_get(http, session)
        second = await other.request("GET", "/mcp", SSE | {"mcp-session-id": session})
        assert (second.status, second.json()["error"]["data"]["code"]) == (409, "caller.conflict")
        wrong = await other.request("GET", "/mcp", {"accept": "text/html", "mcp-session-id": session})
        assert wrong.status == 406
        assert (await other.request("GET", "/mcp", SSE)).status == 400
        assert (await other.request("GET", "/mcp", SSE | {"mcp-session-id": "x"})).status == 404


async def test_ending_the_session_ends_its_stream(door: Door) -> None:
    async with door.probe() as http, door.probe() as other:
        session = await http.initialize()
        await open_get(http, session)
        await event(http)
        assert (await other.request("DELETE", "/mcp", {"mcp-session-id": session})).status == 200
        assert await http.read_chunk() == b"", "the last chunk"


async def test_the_get_stream_can_be_left_and_taken_up_again_without_loss_or_doubles(door: Door) -> None:
    async with door.probe() as http:
        session = await http.initialize()
        outlet = door.answerer.outlets["session-0"]
        await open_get(http, session)
        await event(http)
        outlet.say(Notice("one", b"{}"))
        last = await event(http)
    outlet.say(Notice("two", b"{}"))
    async with door.probe() as http:
        while (await open_get(http, session, last_event_id=last["id"])).get(
            "content-type"
        ) != "text/event-stream":
            await http.hang_up()  # the server has not noticed the first one's end yet
            await http.__aenter__()
        outlet.say(Notice("three", b"{}"))
        assert [message_of(await event(http))["method"] for _ in range(2)] == ["two", "three"]


async def test_a_new_get_brings_only_what_nobody_was_given(door: Door) -> None:
    async with door.probe() as http:
        session = await http.initialize()
        outlet = door.answerer.outlets["session-0"]
        outlet.say(Notice("old", b"{}"))
        await open_get(http, session)
        await event(http)
        assert message_of(await event(http))["method"] == "old"
    outlet.say(Notice("new", b"{}"))
    async with door.probe() as http:
        while (await open_get(http, session)).get("content-type") != "text/event-stream":
            await http.hang_up()
            await http.__aenter__()
        await event(http)
        assert message_of(await event(http))["method"] == "new"


async def test_a_question_is_asked_on_the_calls_stream_and_answered_by_a_post(door: Door) -> None:
    async with door.probe() as http, door.probe() as other:
        session = await http.initialize()
        await http.send_legacy("test/ask", rpc_id=5, session=session)
        assert (await head(http))["content-type"] == "text/event-stream"
        await event(http)
        question = message_of(await event(http))
        assert (question["method"], question["params"]) == ("elicitation/create", {"message": "?"})
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}
        assert (await other.post_message(answer, session)).status == 202
        assert message_of(await event(http)) == {"jsonrpc": "2.0", "id": 5, "result": {"asked": True}}
        assert (await other.post_message(answer, session)).status == 202, "a second answer is ignored"
    assert door.answerer.answers == [Answer(result=b'{"action": "accept"}')]


async def test_a_session_cannot_answer_another_sessions_question(door: Door) -> None:
    async with door.probe() as http, door.probe() as other:
        mine, theirs = await http.initialize(), await other.initialize()
        await http.send_legacy("test/ask", session=mine)
        await door.answerer.waiting.wait()
        await other.post_message({"jsonrpc": "2.0", "id": "callgate-1", "result": {}}, theirs)
        assert door.answerer.answers == []


async def test_a_paused_answer_goes_on_after_a_reconnect(door: Door) -> None:
    async with door.probe() as http:
        session = await http.initialize()
        await http.send_legacy("test/pause", rpc_id=9, session=session)
        await head(http)
        await event(http)
        assert message_of(await event(http))["params"] == {"data": "before"}
        closing = await event(http)
        assert (closing["retry"], closing["data"]) == ("10", "")
        assert await http.read_chunk() == b""
        door.answerer.release.set()
        await open_get(http, session, last_event_id=closing["id"])
        assert message_of(await event(http))["params"] == {"data": "after"}
        assert message_of(await event(http)) == {"jsonrpc": "2.0", "id": 9, "result": {"resumed": True}}
        assert await http.read_chunk() == b"", "the stream ends with its response"


async def test_an_answer_whose_connection_broke_can_be_fetched(door: Door) -> None:
    async with door.probe() as http:
        session = await http.initialize()
        await http.send_legacy("test/ask", rpc_id=5, session=session)
        await head(http)
        primed = await event(http)
    async with door.probe() as http, door.probe() as other:
        await other.post_message({"jsonrpc": "2.0", "id": "callgate-1", "result": {}}, session)
        await open_get(http, session, last_event_id=primed["id"])
        question, reply = message_of(await event(http)), message_of(await event(http))
        assert (question["method"], reply["result"]) == ("elicitation/create", {"asked": True})


async def test_a_streaming_answer_can_be_cancelled(door: Door) -> None:
    async with door.probe() as http, door.probe() as other:
        session = await http.initialize()
        await http.send_legacy("test/pause", rpc_id=9, session=session)
        await head(http)
        await other.legacy("notifications/cancelled", {"requestId": 9}, rpc_id=None, session=session)
        while await http.read_chunk():
            pass
        assert (await http.legacy("x", rpc_id=9, session=session)).status == 200, "the id is free again"


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-03-26", "2024-11-05"])
async def test_older_clients_get_no_event_without_data(door: Door, revision: str) -> None:
    async with door.probe() as http:
        answer = await http.legacy("initialize", {"protocolVersion": revision, "capabilities": {}})
        answer = await http.legacy("test/notices", session=answer.headers["mcp-session-id"])
        assert [entry["params"]["progress"] for entry in answer.events()[:2]] == [1, 2]


async def test_a_batch_is_answered_in_the_one_revision_that_has_them(door: Door) -> None:
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"n": 1}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "test/notices"},
        {"jsonrpc": "2.0", "id": None},
    ]
    async with door.probe() as http:
        old = await http.legacy("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}})
        new = await http.initialize()
        answer = await http.post_message(batch, old.headers["mcp-session-id"])
        assert [entry["id"] for entry in answer.json()] == [1, 2, None]
        assert answer.json()[1]["result"] == {"done": True}
        assert (await http.post_message(batch[1:2], old.headers["mcp-session-id"])).status == 202
        assert (await http.post_message(batch, new)).status == 400
        assert (await http.post_message(batch)).status == 400


async def test_a_session_opened_on_one_address_does_not_work_on_another(door: Door) -> None:
    async with door.probe() as http:
        session = await http.initialize()
        answer = await http.request("GET", "/servers/shop/mcp", SSE | {"mcp-session-id": session})
        assert answer.status == 404


async def test_closing_the_listener_ends_open_get_streams_at_once(door: Door) -> None:
    async with door.probe() as http:
        session = await http.initialize()
        await open_get(http, session)
        await event(http)
        closing = asyncio.create_task(door.listener.close())
        assert await http.read_chunk() == b""
        await closing


async def test_a_question_out_of_turn_reaches_the_get_stream(door: Door) -> None:
    async with door.probe() as http, door.probe() as other:
        session = await http.initialize()
        answers: list[Answer] = []
        door.answerer.outlets["session-0"].say(Asking("roots/list", b"", answers.append))
        await open_get(http, session)
        await event(http)
        question = message_of(await event(http))
        await other.post_message(
            {"jsonrpc": "2.0", "id": question["id"], "error": {"code": 1, "message": "no"}}, session
        )
        assert answers[0].error is not None
