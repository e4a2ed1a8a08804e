"""`call_tool`: for clients that call only what is listed. It is the tool's own call in every respect."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from relay.stage import (
    BRIDGE,
    LEGACY,
    MODERN,
    Listening,
    RememberingSink,
    StagedUpstream,
    arrival,
    reply_of,
    result_of,
    tool,
)

from callgate.model.envelope import Era
from callgate.model.reply import Notice, Unsolicited
from callgate.model.session import Session
from callgate.relay.lists.offer_rules import OfferRules
from callgate.relay.relay import Relay

CHANGED = "notifications/tools/list_changed"
ERAS = {Era.LEGACY: LEGACY, Era.MODERN: MODERN}


class Stage:
    def __init__(self, *, deny_destructive: bool = False) -> None:
        self.sink = RememberingSink()
        self.shop = StagedUpstream("shop", tool("query", readOnlyHint=True), tool("wipe"))
        self.mail = StagedUpstream("mail", tool("send"))
        self.relay = Relay(
            [self.shop, self.mail],
            sink=self.sink,
            session_gap_s=1800,
            bridge=BRIDGE,
            rules=OfferRules(tool_search=True, deny_destructive=deny_destructive),
        )

    async def call(self, name: str, arguments: Any, **more: Any) -> Any:
        params = {"name": name, "arguments": arguments, **more.pop("params", {})}
        return await reply_of(self.relay, arrival("tools/call", params, **more))

    async def names(self, **more: Any) -> list[str]:
        listed = result_of(await reply_of(self.relay, arrival("tools/list", **more)))
        return [entry["name"] for entry in listed["tools"]]

    async def open(self) -> tuple[Session, list[Unsolicited]]:
        """A handshake session, and what it is told out of turn."""
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "old"}}
        opened = (await reply_of(self.relay, arrival("initialize", params, envelope=LEGACY))).opened
        assert opened is not None
        told: list[Unsolicited] = []

        class Outlet:
            def say(self, item: Unsolicited) -> None:
                told.append(item)

        self.relay.attach(opened, Outlet(), lambda: None)
        return opened, told


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def test_a_call_through_it_is_asked_answered_and_recorded_as_the_tools_own(stage: Stage) -> None:
    stage.mail.result = b'{"content":[{"type":"text","text":"sent"}],"isError":true}'
    meta = {"_meta": {"progressToken": 7}}
    direct = await stage.call("mail__send", {"to": "Ada"}, params=meta)
    through = await stage.call("call_tool", {"name": "mail__send", "arguments": {"to": "Ada"}}, params=meta)
    assert through == direct
    (_, asked_directly), (_, asked_through) = [one for one in stage.mail.asked if one[0] == "tools/call"]
    assert asked_through == asked_directly
    first, second = stage.sink.settled
    assert (second.server_name, second.tool_name, second.via) == ("mail", "mail__send", "call_tool")
    assert (first.server_name, first.tool_name, first.via) == ("mail", "mail__send", None)
    assert json.loads(second.arrival.params) == json.loads(first.arrival.params)
    assert second.settlement == first.settlement


async def test_the_real_tools_annotations_decide(stage: Stage) -> None:
    strict = Stage(deny_destructive=True)
    allowed = await strict.call("call_tool", {"name": "shop__query", "arguments": {}})
    assert allowed.fault is None
    refused = await strict.call("call_tool", {"name": "shop__wipe", "arguments": {}})
    assert refused.fault is not None
    assert refused.fault.data["code"] == "refused.destructive"
    query, wipe = strict.sink.settled
    assert (query.annotations, wipe.annotations) == (b'{"readOnlyHint": true}', None)
    assert (wipe.server_name, wipe.tool_name, wipe.via) == ("shop", "shop__wipe", "call_tool")
    assert all(method != "tools/call" or b"wipe" not in params for method, params in strict.shop.asked)


async def test_a_tool_without_arguments_needs_none(stage: Stage) -> None:
    assert (await stage.call("call_tool", {"name": "mail__send"})).fault is None
    assert stage.mail.asked[-1] == ("tools/call", b'{"name":"send","arguments":{}}')


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "caller.bad_arguments"),
        ({"name": 1}, "caller.bad_arguments"),
        ({"name": "mail__send", "to": "Ada"}, "caller.bad_arguments"),
        ({"name": "mail__send", "arguments": "to"}, "caller.bad_arguments"),
        ({"name": "mail__send", "arguments": [1]}, "caller.bad_arguments"),
        ({"name": "call_tool", "arguments": {"name": "mail__send"}}, "caller.bad_arguments"),
        ({"name": "find_tools", "arguments": {"query": "mail"}}, "caller.bad_arguments"),
        ({"name": "mail__sent"}, "caller.unknown_tool"),
        ({"name": "nothing_like_it"}, "caller.unknown_tool"),
        (None, "caller.bad_arguments"),
        ("mail__send", "caller.bad_arguments"),
    ],
)
async def test_what_is_wrong_is_named_with_advice(stage: Stage, arguments: Any, code: str) -> None:
    reply = await stage.call("call_tool", arguments)
    assert reply.fault is not None
    assert (reply.fault.data["code"], bool(reply.fault.data["hint"])) == (code, True)
    (settled,) = stage.sink.settled
    assert settled.settlement is not None
    assert settled.settlement.error_code == code
    assert not [params for method, params in stage.mail.asked if method == "tools/call"]


async def test_without_the_search_there_is_no_such_tool() -> None:
    relay = Relay(
        [StagedUpstream("mail", tool("send"))], sink=RememberingSink(), session_gap_s=1, bridge=BRIDGE
    )
    reply = await reply_of(
        relay, arrival("tools/call", {"name": "call_tool", "arguments": {"name": "mail__send"}})
    )
    assert reply.fault is not None
    assert reply.fault.data["code"] == "caller.unknown_tool"


async def test_a_cancelled_call_is_cancelled_at_the_server(stage: Stage) -> None:
    stage.mail.block = asyncio.Event()
    task = asyncio.create_task(stage.call("call_tool", {"name": "mail__send"}))
    await stage.mail.reached.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    (settled,) = stage.sink.settled
    assert settled.settlement is not None
    assert (settled.tool_name, settled.settlement.outcome) == ("mail__send", "cancelled")


async def test_what_a_session_found_is_listed_for_it_alone_and_it_is_told(stage: Stage) -> None:
    one, told = await stage.open()
    other, not_told = await stage.open()
    old = {"envelope": LEGACY, "session": one}
    assert await stage.names(**old) == ["find_tools", "call_tool"]
    await stage.call("find_tools", {"query": "send mail"}, **old)
    assert await stage.names(**old) == ["find_tools", "call_tool", "mail__send"]
    assert told == [Notice(CHANGED, b"")]
    await stage.call("find_tools", {"query": "send a mail"}, **old)
    assert told == [Notice(CHANGED, b"")], "nothing new was found"
    assert await stage.names(envelope=LEGACY, session=other) == ["find_tools", "call_tool"]
    assert not_told == []
    stage.relay.end_session(one)
    assert await stage.names(envelope=LEGACY, session=other) == ["find_tools", "call_tool"]


async def test_a_modern_session_is_told_by_its_subscription_and_its_list_is_private(stage: Stage) -> None:
    watching = Listening(
        stage.relay, arrival("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    )
    stranger = arrival(
        "subscriptions/listen",
        {"notifications": {"toolsListChanged": True}},
        envelope=replace(MODERN, client_name="another"),
    )
    unmoved = Listening(stage.relay, stranger)
    await watching.next()  # acknowledged
    await unmoved.next()
    await stage.call("find_tools", {"query": "query the shop"})
    assert (await watching.next()).method == CHANGED
    listed = result_of(await reply_of(stage.relay, arrival("tools/list")))
    assert "shop__query" in [entry["name"] for entry in listed["tools"]]
    assert listed["cacheScope"] == "private"
    stage.relay.retire()
    await asyncio.gather(watching.reply, unmoved.reply)
    assert unmoved.is_silent, "the other client heard nothing before the end"


async def test_the_list_of_a_session_stays_short(stage: Stage) -> None:
    stage.mail.tools = [tool(f"send_{word}{number}") for word in "ab" for number in range(60)]
    for word in "ab":
        await stage.call("find_tools", {"query": f"send {word}", "limit": 50})
    names = await stage.names()
    assert len(names) == 52
    assert "mail__send_b7" in names


async def test_a_found_tool_that_is_gone_is_not_listed(stage: Stage) -> None:
    from callgate.model.upstream_news import ServerMessage

    await stage.call("find_tools", {"query": "send"})
    assert "mail__send" in await stage.names()
    stage.mail.tools = [tool("post")]
    stage.mail.say(ServerMessage("mail", None, Notice(CHANGED, b"")))
    assert await stage.names() == ["find_tools", "call_tool"]
