"""Names under `tools` of a server's entry that fit none of its tools: the operator is told."""

import json
from dataclasses import replace

from relay.stage import (
    BRIDGE,
    MODERN,
    RememberingSink,
    StagedUpstream,
    arrival,
    reply_of,
    result_of,
    tool,
)

from callgate.model.session import Session
from callgate.relay.lists.offer_rules import OfferRules
from callgate.relay.lists.tool_choice import ToolChoice
from callgate.relay.relay import Relay

ASKABLE = replace(MODERN, capabilities=b'{"elicitation":{}}')


def relay_of(upstream: StagedUpstream, choice: ToolChoice) -> Relay:
    return Relay(
        [upstream],
        sink=RememberingSink(),
        session_gap_s=1800,
        bridge=BRIDGE,
        rules=OfferRules(tool_choices={upstream.name: choice}, max_offers=3),
    )


async def notes_of(relay: Relay) -> list[str]:
    await reply_of(relay, arrival("tools/list"))
    return [note for note in relay.health()[0].notes if "fits no tool" in note]


async def test_rules_that_fit_no_tool_are_told_with_their_key() -> None:
    many = StagedUpstream("many", tool("delete_one"), tool("slow"))
    choice = ToolChoice(
        only=["*", "bmp"], leave_out=["delete_*", "typo_*"], timed=["slow", "slow_thing", "slo*"]
    )
    assert await notes_of(relay_of(many, choice)) == [
        'tools.only: "bmp" fits no tool that many lists',
        'tools.leave_out: "typo_*" fits no tool that many lists',
        'tools.timeout_s: "slow_thing" fits no tool that many lists',
        'tools.timeout_s: "slo*" fits no tool that many lists',
    ]


async def test_a_choice_that_leaves_nothing_is_told() -> None:
    images = StagedUpstream("images", tool("png"))
    assert await notes_of(relay_of(images, ToolChoice(only=["bmp"]))) == [
        'tools.only: "bmp" fits no tool that images lists'
    ]


async def test_rules_that_fit_are_not_told() -> None:
    many = StagedUpstream("many", tool("a"), tool("b"), tool("c"))
    assert await notes_of(relay_of(many, ToolChoice(["a", "b*"], ["b"], ["b"]))) == []


async def test_nothing_is_said_of_a_list_that_was_not_read_to_its_end() -> None:
    many = StagedUpstream("many", *(tool(f"t{n}") for n in range(4)))
    assert await notes_of(relay_of(many, ToolChoice(leave_out=["t3"]))) == []
    endless = StagedUpstream("endless")
    endless.list_raw = json.dumps({"tools": [tool("a")], "nextCursor": "again"}).encode()
    assert await notes_of(relay_of(endless, ToolChoice(leave_out=["b"]))) == []


async def test_a_rule_that_fits_a_tool_of_some_clients_only_is_in_use() -> None:
    shop = StagedUpstream("shop", tool("buy"))
    relay = relay_of(shop, ToolChoice(leave_out=["ask", "never"]))
    assert len(await notes_of(relay)) == 2
    shop.has_views = True
    shop.tools.append(tool("ask"))
    session = Session("s", arrival("x").principal, "http", ASKABLE, 0, 0)
    await reply_of(relay, arrival("tools/list", envelope=ASKABLE, session=session))
    assert await notes_of(relay) == ['tools.leave_out: "never" fits no tool that shop lists']


async def test_a_server_with_time_limits_only_is_served_as_one_without_rules() -> None:
    shop = StagedUpstream("shop", tool("buy"), {"title": "without a name"})
    relay = relay_of(shop, ToolChoice(timed=["buy"]))
    listed = result_of(await reply_of(relay, arrival("tools/list", envelope=MODERN, target="shop")))
    assert listed["tools"] == shop.tools
