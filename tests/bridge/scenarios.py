"""The requirements of the matrix as data: what a client must be able to do, and how it is tried.

A scenario knows a `Seat` and nothing of eras, but for what the revisions themselves say differently.
`FEATURES` is the table; `docs/bridge.md` shows it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest
from bridge.driver_process import DEADLINE_S, ServerRefusedError
from bridge.seat import Seat

INVALID_PARAMS = -32602
LEGACY_RESOURCE_NOT_FOUND = -32002  # renumbered in 2026-07-28: changelog, minor change 6

Scenario = Callable[[Seat], Awaitable[None]]


async def introduction(seat: Seat) -> None:
    offered = seat.introduced["capabilities"]
    assert all(offered[kind]["listChanged"] for kind in ("tools", "prompts", "resources"))
    assert offered["resources"]["subscribe"]
    assert {"logging", "completions"} <= set(offered)
    if seat.way == "direct":
        name, era = (seat.upstream.name, "handshake") if seat.upstream.kind == "legacy" else ("refserver", "")
        assert seat.introduced["name"] == name
        assert era in seat.introduced["instructions"]


async def tools(seat: Seat) -> None:
    names = await seat.names("tools")
    assert {seat.named(name) for name in ("echo", "add", "ask_name")} <= set(names)
    # The second one is also a member of the modern envelope: words in arguments are only words.
    for text in ("ünï 😀", '"io.modelcontextprotocol/protocolVersion"'):
        assert await seat.said("echo", text=text) == text
    assert (await seat.call("add", a=2, b=3))["structuredContent"] == {"sum": 5}


async def any_json(seat: Seat) -> None:
    """2026-07-28 allows structured content that is no object (changelog, minor change 10)."""
    result = await seat.call("numbers")
    assert result["content"][0]["text"] == "[1, 2, 3]"
    both_modern = seat.is_modern and "modern" in seat.upstream.eras
    assert result.get("structuredContent") == ([1, 2, 3] if both_modern else None)


async def prompts(seat: Seat) -> None:
    assert seat.named("greet") in await seat.names("prompts")
    got = await seat.do("prompt", name=seat.named("greet"), arguments={"name": "Grace"})
    assert got["messages"][0]["content"]["text"] == "Greet Grace"


async def resources(seat: Seat) -> None:
    assert {f"{seat.root}/text", f"{seat.root}/pixel"} <= set(await seat.names("resources"))
    (content,) = (await seat.do("read", uri=f"{seat.root}/text"))["contents"]
    assert (content["uri"], content["text"]) == (f"{seat.root}/text", "plain words")
    (content,) = (await seat.do("read", uri=f"{seat.root}/pixel"))["contents"]
    assert content["blob"].startswith("iVBOR")


async def templates(seat: Seat) -> None:
    assert f"{seat.root}/items/{{id}}" in await seat.names("resourceTemplates")
    (content,) = (await seat.do("read", uri=f"{seat.root}/items/7"))["contents"]
    assert content["text"] == "item 7"


async def completion(seat: Seat) -> None:
    prompt = {"type": "ref/prompt", "name": seat.named("greet")}
    found = await seat.do("complete", ref=prompt, argument={"name": "name", "value": "a"})
    assert found["completion"]["values"] == ["ada", "alan"]
    template = {"type": "ref/resource", "uri": f"{seat.root}/items/{{id}}"}
    found = await seat.do("complete", ref=template, argument={"name": "id", "value": "1"})
    assert found["completion"]["values"] == ["1", "10"]


async def progress(seat: Seat) -> None:
    steps = (await seat.call("count"))["progress"]
    assert steps == [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]]


async def cancellation(seat: Seat) -> None:
    mark = uuid4().hex
    ended = await seat.do("cancel", name=seat.named("wait"), arguments={"mark": mark})
    assert ended == {"cancelled": True}
    async with asyncio.timeout(DEADLINE_S):
        while not (seat.marks / mark).exists():  # the server was told
            await asyncio.sleep(0.01)
    assert await seat.said("echo", text="still there") == "still there"


async def logging(seat: Seat) -> None:
    for level, expected in (
        ("warning", ["warning", "error"]),
        ("debug", ["debug", "info", "warning", "error"]),
    ):
        logged = await seat.do("log", level=level, name=seat.named("log"))
        assert [entry["level"] for entry in logged] == expected
        assert [entry["data"] for entry in logged] == [f"said at {each}" for each in expected]


async def resource_updates(seat: Seat) -> None:
    uri = f"{seat.root}/text"
    await seat.do("follow", uri=uri)
    try:
        await seat.said("touch", uri=uri)
        assert (await seat.do("event", method="notifications/resources/updated", uri=uri))["uri"] == uri
    finally:
        await seat.do("leave", uri=uri)


async def _list_changes(seat: Seat, kind: str) -> None:
    new = uuid4().hex
    shown = f"{seat.root}/{new}" if kind == "resources" else seat.named(new)
    await seat.do("follow", uri=f"{seat.root}/text")
    try:
        await seat.said("rename", kind=kind, name=new)
        async with asyncio.timeout(DEADLINE_S):
            # One that was on its way from another seat's change may come first.
            await seat.do("event", method=f"notifications/{kind}/list_changed")
            while shown not in await seat.names(kind):
                await seat.do("event", method=f"notifications/{kind}/list_changed")
    finally:
        await seat.do("leave", uri=f"{seat.root}/text")


async def tool_list_changes(seat: Seat) -> None:
    await _list_changes(seat, "tools")


async def prompt_list_changes(seat: Seat) -> None:
    await _list_changes(seat, "prompts")


async def resource_list_changes(seat: Seat) -> None:
    await _list_changes(seat, "resources")


async def elicitation_form(seat: Seat) -> None:
    assert await seat.said("ask_name") == "Hello, Ada!"
    (question,) = await seat.questions()
    assert question["method"] == "elicitation/create"
    asked = question["params"]
    assert (asked.get("mode", "form"), asked["message"]) == ("form", "What is your name?")
    assert asked["requestedSchema"]["properties"]["name"]["type"] == "string"


async def elicitation_declined(seat: Seat) -> None:
    assert await seat.said("ask_decline") == "answered decline"


async def elicitation_twice(seat: Seat) -> None:
    assert await seat.said("ask_twice") == "Ada likes green"
    assert [q["params"]["message"] for q in await seat.questions()] == ["What is your name?", "Which colour?"]


async def elicitation_at_once(seat: Seat) -> None:
    assert await seat.said("ask_at_once") == "heard Greet, Ada of file:///driver/root"
    asked = {question["method"] for question in await seat.questions()}
    assert asked == {"elicitation/create", "sampling/createMessage", "roots/list"}


async def elicitation_and_progress(seat: Seat) -> None:
    """Progress goes on behind a question; the modern era begins the call anew, and its first step with it."""
    result = await seat.call("ask_between")
    assert result["content"][0]["text"] == "asked between"
    # The TypeScript SDK tells its user of the question by a progress of its own.
    steps = [message for _, _, message in result["progress"] if not message.startswith("Fulfilling")]
    assert steps in (["before", "after"], ["before", "before", "after"])


async def elicitation_url(seat: Seat) -> None:
    assert await seat.said("open_page") == "answered accept"
    (question,) = await seat.questions()
    asked = question["params"]
    assert (asked["mode"], asked["url"]) == ("url", "https://example.com/sign-in?x=1")
    # 2025-11-25 requires the id, 2026-07-28 has none (changelog, minor change 11).
    assert seat.is_modern or asked["elicitationId"]


async def elicitation_in_prompt(seat: Seat) -> None:
    got = await seat.do("prompt", name=seat.named("greet_asked"), arguments={})
    assert got["messages"][0]["content"]["text"] == "Greet Ada"


async def elicitation_in_resource(seat: Seat) -> None:
    (content,) = (await seat.do("read", uri=f"{seat.root}/asks"))["contents"]
    assert content["text"] == "read by Ada"


async def sampling(seat: Seat) -> None:
    assert await seat.said("ask_model", prompt="Capital?") == "driver: heard Capital?"
    (question,) = await seat.questions()
    assert question["method"] == "sampling/createMessage"
    assert question["params"]["maxTokens"] == 10


async def roots(seat: Seat) -> None:
    assert await seat.said("ask_roots") == "file:///driver/root"


async def tool_error(seat: Seat) -> None:
    result = await seat.call("fail")
    assert result["isError"] is True
    assert result["content"][0]["text"] == "it broke"


async def unknown_tool(seat: Seat) -> None:
    with pytest.raises(ServerRefusedError) as refused:
        await seat.call("no_such_tool")
    assert refused.value.code == INVALID_PARAMS


async def invalid_params(seat: Seat) -> None:
    with pytest.raises(ServerRefusedError) as refused:
        await seat.call("add", a=1)
    assert (refused.value.code, refused.value.data) == (INVALID_PARAMS, {"missing": "b"})
    assert "add needs b" in refused.value.message


async def unknown_resource(seat: Seat) -> None:
    with pytest.raises(ServerRefusedError) as refused:
        await seat.do("read", uri=f"{seat.root}/nothing/here")
    assert refused.value.code == (INVALID_PARAMS if seat.is_modern else LEGACY_RESOURCE_NOT_FOUND)


FEATURES: dict[str, Scenario] = {
    "introduction": introduction,
    "tools": tools,
    "tools: any JSON": any_json,
    "prompts": prompts,
    "resources": resources,
    "templates": templates,
    "completion": completion,
    "progress": progress,
    "cancellation": cancellation,
    "logging": logging,
    "subscription: resource": resource_updates,
    "subscription: tool list": tool_list_changes,
    "subscription: prompt list": prompt_list_changes,
    "subscription: resource list": resource_list_changes,
    "elicitation: form": elicitation_form,
    "elicitation: declined": elicitation_declined,
    "elicitation: two in a row": elicitation_twice,
    "elicitation: amid progress": elicitation_and_progress,
    "elicitation, sampling and roots at once": elicitation_at_once,
    "elicitation: url": elicitation_url,
    "elicitation: in a prompt": elicitation_in_prompt,
    "elicitation: in a resource": elicitation_in_resource,
    "sampling": sampling,
    "roots": roots,
    "error: of a tool": tool_error,
    "error: unknown tool": unknown_tool,
    "error: invalid params": invalid_params,
    "error: unknown resource": unknown_resource,
}
