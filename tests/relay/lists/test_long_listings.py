"""A server may list as much as it likes: what is taken has bounds, and nobody waits while it is read."""

import asyncio
import json
from collections.abc import Awaitable
from typing import Any

import pytest
from relay.stage import (
    BRIDGE,
    LEGACY,
    RememberingSink,
    StagedUpstream,
    arrival,
    reply_of,
    result_of,
    tool,
)
from waiting import until

from callgate.model.reply import Notice
from callgate.model.upstream_news import ServerMessage
from callgate.relay.lists.offer_rules import OfferRules
from callgate.relay.relay import Relay


def relay_of(*upstreams: StagedUpstream, **rules: Any) -> Relay:
    return Relay(
        upstreams, sink=RememberingSink(), session_gap_s=1800, bridge=BRIDGE, rules=OfferRules(**rules)
    )


async def turns_of_others(work: Awaitable[object]) -> int:
    """How often another task had its turn on the loop meanwhile."""
    turns = 0

    async def neighbour() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(neighbour())
    await work
    beside.cancel()
    return turns


async def test_of_very_many_tools_as_many_are_taken_as_the_operator_allows_and_health_says_so() -> None:
    relay = relay_of(StagedUpstream("many", *(tool(f"t{n}") for n in range(200))), max_offers=50)
    listed = result_of(await reply_of(relay, arrival("tools/list")))["tools"]
    assert [entry["name"] for entry in listed] == [f"many__t{n}" for n in range(50)]
    (note,) = relay.health()[0].notes
    assert "lists 200 tools, of which 50 are offered" in note
    assert "max_offers" in note


async def test_of_very_long_definitions_sixteen_megabytes_are_taken() -> None:
    long = StagedUpstream("long", *({"name": f"t{n}", "description": "x" * 2**20} for n in range(20)))
    relay = relay_of(long)

    async def tools() -> list[object]:
        return result_of(await reply_of(relay, arrival("tools/list")))["tools"]

    listed = await until(tools)  # a list does not wait until so much is read
    assert len(listed) == 15
    assert "lists 20 tools, of which 15 are offered" in relay.health()[0].notes[0]


async def test_a_paginator_without_end_is_cut_and_health_says_so() -> None:
    endless = StagedUpstream("endless")
    relay = relay_of(endless)
    pages = 0

    def next_page() -> bytes:
        nonlocal pages
        pages += 1
        return json.dumps({"tools": [tool(f"t{pages}")], "nextCursor": str(pages)}).encode()

    endless.next_page = next_page
    assert len(result_of(await reply_of(relay, arrival("tools/list")))["tools"]) == 100
    assert "lists more than 100 tools" in relay.health()[0].notes[0]


async def test_an_honest_list_has_no_notes() -> None:
    relay = relay_of(StagedUpstream("shop", tool("query")))
    await reply_of(relay, arrival("tools/list"))
    assert relay.health()[0].notes == ()


async def test_others_have_their_turn_while_a_long_list_is_read() -> None:
    relay = relay_of(StagedUpstream("many", *(tool(f"t{n}", readOnlyHint=True) for n in range(9_000))))
    assert await turns_of_others(reply_of(relay, arrival("tools/list"))) > 0


@pytest.mark.parametrize("count", [9_000])
async def test_others_have_their_turn_while_a_long_list_crosses_the_eras(count: int) -> None:
    many = StagedUpstream(
        "many", *({"name": f"t{n}", "outputSchema": {"type": "array"}} for n in range(count))
    )
    many.protocol = "2026-07-28"
    relay = relay_of(many)
    question = arrival("tools/list", envelope=LEGACY, target="many")
    assert await turns_of_others(reply_of(relay, question)) > 40


async def test_others_have_their_turn_while_many_tools_are_searched() -> None:
    relay = relay_of(StagedUpstream("many", *(tool(f"find_thing_{n}") for n in range(3_000))))
    await relay.tools()
    # A thread searches, and how often it lets others have the interpreter is the machine's affair.
    # A search on the loop would leave them none.
    assert await turns_of_others(relay.find_tools("thing 7", 5)) > 0


async def test_a_list_that_is_the_same_again_is_not_read_again() -> None:
    shop = StagedUpstream("shop", tool("query"))
    relay = relay_of(shop)
    before = await relay.tools()
    shop.say(ServerMessage("shop", None, Notice("notifications/tools/list_changed", b"")))
    assert await relay.tools() is before
    assert len(shop.asked) == 2
    shop.tools = [tool("other")]
    shop.say(ServerMessage("shop", None, Notice("notifications/tools/list_changed", b"")))
    assert [offer.public_name for offer in await relay.tools()] == ["shop__other"]
