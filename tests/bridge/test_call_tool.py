"""`call_tool` in front of real servers of both eras: questions, progress, cancellation and errors pass as
they do for the tool itself, and the record has the tool's own name.

Black box: raw messages over HTTP against a gateway process with `tool_search = true`.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from bridge.asking_client import AskingClient
from bridge.driver_process import DEADLINE_S
from bridge.one_server import gateway, server, until_marked
from end_to_end.gateway_process import get_json
from end_to_end.raw_clients import Answering, LegacyClient, ModernClient

Json = dict[str, Any]
SERVERS = ["legacy-stdio", "modern-http"]
CHANGED = "notifications/tools/list_changed"

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Place:
    """A gateway with one server behind it."""

    def __init__(self, port: int, name: str, marks: Path) -> None:
        self.port, self.name, self.marks = port, name, marks

    def through(self, tool: str, **arguments: Any) -> Json:
        return {"name": f"{self.name}__{tool}", "arguments": arguments}

    def legacy(self, **capabilities: Any) -> LegacyClient:
        return LegacyClient(self.port, "/mcp", capabilities=capabilities)

    def modern(self) -> AskingClient:
        return AskingClient(self.port, "/mcp")

    async def recorded(self) -> Json:
        """The newest call."""
        url = f"http://127.0.0.1:{self.port}/api/v1/tool-calls?limit=1"
        return (await asyncio.to_thread(get_json, url))["tool_calls"][0]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SERVERS)
async def place(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> AsyncIterator[Place]:
    folder = tmp_path_factory.mktemp("place")
    async with (
        server(folder, request.param, settings="tool_search = true") as config,
        gateway(config) as port,
    ):
        yield Place(port, request.param, folder)


def text_of(answer: Json) -> str:
    return answer["result"]["content"][0]["text"]


async def begin(client: LegacyClient | ModernClient, arguments: Json, rpc_id: int = 1) -> Answering:
    """A call whose stream is open."""
    params = {"name": "call_tool", "arguments": arguments, "_meta": {"progressToken": "steps"}}
    answering = await client.send("tools/call", params, b"%d" % rpc_id)
    async with asyncio.timeout(DEADLINE_S):
        await answering.read_head()
    return answering


async def test_a_modern_client_is_asked_and_resumes_the_call(place: Place) -> None:
    async with place.modern() as client:
        arguments = place.through("ask_back", word="found")
        parked = (await client.ask("call_tool", arguments))["result"]
        assert parked["resultType"] == "input_required"
        answers = {key: {"action": "accept", "content": {"name": "Ada"}} for key in parked["inputRequests"]}
        more = {"inputResponses": answers, "requestState": parked["requestState"]}
        assert text_of(await client.ask("call_tool", arguments, **more)) == "found is Ada"


async def test_a_handshake_client_is_asked_on_the_stream_of_its_call(place: Place) -> None:
    async with place.legacy(elicitation={}) as client:
        stream = await begin(client, place.through("ask_name"))
        question = await stream.until_method("elicitation/create")
        await client.respond(question, {"action": "accept", "content": {"name": "Ada"}})
        assert text_of(await stream.next()) == "Hello, Ada!"
    call = await place.recorded()
    tool = f"{place.name}__ask_name"
    assert (call["server"], call["tool"], call["via"]) == (place.name, tool, "call_tool")
    assert json.loads(call["arguments"]) == {}
    assert call["principal"] == "local"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_progress_and_errors_are_the_tools_own(place: Place, era: str) -> None:
    async with place.modern() if era == "modern" else place.legacy() as client:
        stream = await begin(client, place.through("count"))
        for step in (1, 2, 3):
            told = await stream.until_method("notifications/progress")
            assert (told["params"]["progressToken"], told["params"]["progress"]) == ("steps", step)
        assert text_of(await stream.next()) == "counted"

        failed = (await client.call("call_tool", place.through("fail")))["result"]
        assert (failed["isError"], failed["content"][0]["text"]) == (True, "it broke")
        direct = await client.call(f"{place.name}__echo")
        assert direct["error"]["data"] == {"missing": "text"}
        assert await client.call("call_tool", place.through("echo")) == direct
        sum_ = (await client.call("call_tool", place.through("add", a=2, b=3)))["result"]
        assert sum_["structuredContent"] == {"sum": 5}


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(place: Place, era: str) -> None:
    mark = f"cancelled by {era}"
    async with place.modern() if era == "modern" else place.legacy() as client:
        stream = await begin(client, place.through("wait", mark=mark), rpc_id=7)
        await until_marked(place.marks, f"{mark} began")
        if isinstance(client, LegacyClient):
            await client.notify("notifications/cancelled", {"requestId": 7})
        else:
            await stream.hang_up()
        await until_marked(place.marks, mark)


async def test_what_was_found_is_listed_for_that_client_and_it_is_told(place: Place) -> None:
    async with place.legacy() as client, place.legacy() as other:
        assert await client.names() == ["find_tools", "call_tool"]
        news = await client.listen()
        await client.call("find_tools", {"query": "echo", "limit": 1})
        await news.until_method(CHANGED)
        assert await client.names() == ["find_tools", "call_tool", f"{place.name}__echo"]
        assert await other.names() == ["find_tools", "call_tool"]
        assert client.introduced["result"]["capabilities"]["tools"] == {"listChanged": True}
