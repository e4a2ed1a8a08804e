"""A handshake client and a modern server that asks: `input_required` becomes a real question of the call.

Black box: raw messages over HTTP against a gateway process with the reference server, modern only, behind it.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from bridge.asking_client import ANSWERS
from bridge.driver_process import DEADLINE_S
from bridge.one_server import gateway, server
from end_to_end.raw_clients import Answering, LegacyClient

FORMS = {"elicitation": {}}
MISSING_CLIENT_CAPABILITY = -32021
Json = dict[str, Any]


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["modern-http", "modern-stdio"])
async def place(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> AsyncIterator[tuple[int, str]]:
    """A gateway's port, and the path of its only server."""
    async with server(tmp_path_factory.mktemp("place"), request.param) as config, gateway(config) as port:
        yield port, f"/servers/{request.param}/mcp"


@asynccontextmanager
async def own_place(folder: Path, *of_server: str, settings: str = "") -> AsyncIterator[LegacyClient]:
    """A client of a gateway that is configured otherwise."""
    async with (
        server(folder, "modern-http", *of_server, settings=settings) as config,
        gateway(config) as port,
        LegacyClient(port, "/servers/modern-http/mcp", capabilities=FORMS) as client,
    ):
        yield client


def text_of(answer: Json) -> str:
    return answer["result"]["content"][0]["text"]


async def begin(client: LegacyClient, tool: str, arguments: Json | None = None, rpc_id: int = 1) -> Answering:
    """A call whose stream is open."""
    params = {"name": tool, "arguments": arguments or {}}
    answering = await client.send("tools/call", params, b"%d" % rpc_id)
    async with asyncio.timeout(DEADLINE_S):
        await answering.read_head()
    return answering


async def test_questions_come_one_after_the_other_on_the_stream_of_their_call(place: tuple[int, str]) -> None:
    async with LegacyClient(*place, capabilities=FORMS) as client:
        stream = await begin(client, "ask_twice")
        for message, field, value in (
            ("What is your name?", "name", "Ada"),
            ("Which colour?", "colour", "green"),
        ):
            question = await stream.next()
            assert (question["method"], question["params"]["message"]) == ("elicitation/create", message)
            await client.respond(question, {"action": "accept", "content": {field: value}})
        assert text_of(await stream.next()) == "Ada likes green"


async def test_questions_of_one_round_come_together_and_may_be_answered_in_any_order(
    place: tuple[int, str],
) -> None:
    async with LegacyClient(*place, capabilities={**FORMS, "sampling": {}, "roots": {}}) as client:
        stream = await begin(client, "ask_at_once")
        questions = [await stream.next() for _ in range(3)]
        assert len({question["id"] for question in questions}) == 3
        for question in reversed(questions):
            await client.respond(question, ANSWERS[question["method"]])
        assert text_of(await stream.next()) == "heard, Ada of file:///root"


async def test_nobody_is_asked_what_it_did_not_declare(place: tuple[int, str]) -> None:
    async with LegacyClient(*place) as client:
        for tool, wanted in (("ask_name", "elicitation"), ("ask_roots", "roots")):
            error = (await client.call(tool))["error"]
            assert error["code"] == MISSING_CLIENT_CAPABILITY
            assert list(error["data"]["requiredCapabilities"]) == [wanted]
            assert error["data"]["hint"]


async def test_a_client_of_a_revision_before_pages_is_asked_forms_only(place: tuple[int, str]) -> None:
    """2025-06-18 knows no url mode, and `elicitation: {}` means forms in every later revision."""
    async with LegacyClient(*place, capabilities=FORMS) as client:
        client.hello["protocolVersion"] = "2025-06-18"
        client.session = ""
        async with client:
            assert client.introduced["result"]["protocolVersion"] == "2025-06-18"
            assert (await client.call("open_page"))["error"]["code"] == MISSING_CLIENT_CAPABILITY
            stream = await begin(client, "ask_name")
            await client.respond(await stream.next(), {"action": "accept", "content": {"name": "Old"}})
            assert text_of(await stream.next()) == "Hello, Old!"


async def test_a_form_that_the_client_could_not_show_counts_as_cancelled(place: tuple[int, str]) -> None:
    """`inputResponses` has no place for an error (2026-07-28, basic/patterns/mrtr)."""
    async with LegacyClient(*place, capabilities=FORMS) as client:
        stream = await begin(client, "ask_decline")
        question = await stream.next()
        error = {"code": -32603, "message": "no window"}
        body = json.dumps({"jsonrpc": "2.0", "id": question["id"], "error": error}).encode()
        answering = await client.post(body)
        await answering.read_head()
        assert answering.status == 202
        await answering.hang_up()
        assert text_of(await stream.next()) == "answered cancel"


async def test_a_call_cancelled_while_it_asks_is_over_and_its_question_is_nobodys(
    place: tuple[int, str],
) -> None:
    async with LegacyClient(*place, capabilities=FORMS) as client:
        stream = await begin(client, "ask_name", rpc_id=7)
        question = await stream.next()
        await client.notify("notifications/cancelled", {"requestId": 7})
        await client.respond(question, {"action": "accept", "content": {"name": "late"}})
        assert text_of(await client.call("echo", {"text": "still there"})) == "still there"


async def test_a_person_may_think_longer_than_the_server_may_take(tmp_path: Path) -> None:
    async with own_place(tmp_path, "timeout_s = 2") as client:
        stream = await begin(client, "ask_name")
        question = await stream.next()
        await asyncio.sleep(2.5)  # not a wait for something: the passing of time is what is tested
        await client.respond(question, {"action": "accept", "content": {"name": "Slow"}})
        assert text_of(await stream.next()) == "Hello, Slow!"


async def test_a_question_that_is_never_answered_ends_its_call(tmp_path: Path) -> None:
    async with own_place(tmp_path, settings="answer_timeout_s = 1") as client:
        stream = await begin(client, "ask_name")
        question = await stream.next()
        withdrawn = await stream.until_method("notifications/cancelled")
        assert withdrawn["params"]["requestId"] == question["id"]
        assert (await stream.next())["error"]["data"]["code"] == "caller.unanswered"


async def test_what_ended_with_the_handshake_era_is_answered_by_the_gateway(place: tuple[int, str]) -> None:
    async with LegacyClient(*place) as client:
        assert (await client.request("ping"))["result"] == {}
        assert (await client.request("logging/setLevel", {"level": "error"}))["result"] == {}
        assert "error" in await client.request("logging/setLevel", {"level": "loud"})


async def test_a_resource_that_is_no_longer_followed_is_silent(place: tuple[int, str]) -> None:
    async with LegacyClient(*place) as client:
        name = place[1].split("/")[2]
        uris = [f"bridge://{name}/text", f"bridge://{name}/pixel"]
        hearing = await client.listen()
        for uri in uris:
            assert (await client.request("resources/subscribe", {"uri": uri}))["result"] == {}
        assert (await client.request("resources/unsubscribe", {"uri": uris[0]}))["result"] == {}
        for uri in uris:
            await client.call("touch", {"uri": uri})
        told = await hearing.until_method("notifications/resources/updated")
        assert told["params"]["uri"] == uris[1]


async def test_resources_followed_at_the_same_moment_are_all_heard(place: tuple[int, str]) -> None:
    async with LegacyClient(*place) as client:
        root = f"bridge://{place[1].split('/')[2]}"
        uris = [f"{root}/{name}" for name in ("text", "pixel", "asks", "items/1", "items/2")]
        hearing = await client.listen()
        answers = await asyncio.gather(
            *(
                client.request("resources/subscribe", {"uri": uri}, b"%d" % number)
                for number, uri in enumerate(uris, 100)
            )
        )
        assert [answer["result"] for answer in answers] == [{}] * len(uris)
        for uri in uris:
            await client.call("touch", {"uri": uri})
        told = [await hearing.until_method("notifications/resources/updated") for _ in uris]
        assert {each["params"]["uri"] for each in told} == set(uris)
