"""Other upstreams while requests are under way: who asks what, and who is told."""

import asyncio
from typing import Any

import pytest
from relay.stage import (
    BRIDGE,
    LEGACY,
    Listening,
    RememberingSink,
    StagedUpstream,
    arrival,
    reply_of,
    result_of,
    tool,
)
from waiting import until

from callgate.model.exchange import Hop
from callgate.model.reply import Notice, Reply, Tell
from callgate.model.upstream_news import ServerMessage, StateChanged
from callgate.ports.upstream import Asker, Upstream
from callgate.relay.lists.offer_rules import OfferRules
from callgate.relay.lists.tool_choice import ToolChoice
from callgate.relay.relay import Relay

CHANGED = "notifications/tools/list_changed"
CALL = {"name": "shop__query"}


class Told:
    def __init__(self) -> None:
        self.methods: list[str] = []

    def say(self, item: Any) -> None:
        assert isinstance(item, Notice)
        self.methods.append(item.method)


@pytest.fixture
def shop() -> StagedUpstream:
    return StagedUpstream("shop", tool("query"))


@pytest.fixture
def relay(shop: StagedUpstream) -> Relay:
    mail = StagedUpstream("mail", tool("send"))
    return Relay([shop, mail], sink=RememberingSink(), session_gap_s=1800, bridge=BRIDGE)


async def change(relay: Relay, *upstreams: Upstream, rules: OfferRules | None = None) -> None:
    rules = rules or OfferRules()
    new = [one for one in upstreams if not relay.has_server(one.name) or one.name == "shop"]
    prepared = await relay.prepare(new, upstreams, rules, 1.0)
    relay.replace(upstreams, rules, prepared)


class Silent(StagedUpstream):
    """Never answers."""

    async def ask(self, hop: Hop, asker: Asker, tell: Tell) -> Reply:
        self.reached.set()
        await asyncio.Event().wait()
        raise AssertionError


def silent(relay: Relay) -> Silent:
    """In the place of the shop."""
    shop = Silent("shop")
    relay.replace([shop], OfferRules(), {})
    return shop


async def names(relay: Relay) -> list[str]:
    return [entry["name"] for entry in result_of(await reply_of(relay, arrival("tools/list")))["tools"]]


async def test_a_call_under_way_ends_where_it_was_made_and_the_next_is_the_new_ones(
    relay: Relay, shop: StagedUpstream
) -> None:
    shop.block = asyncio.Event()
    shop.result = b'{"content":[],"from":"old"}'
    waiting = Listening(relay, arrival("tools/call", CALL))
    await shop.reached.wait()
    other = StagedUpstream("shop", tool("query"))
    other.result = b'{"content":[],"from":"new"}'
    await change(relay, other)
    assert result_of(await reply_of(relay, arrival("tools/call", CALL)))["from"] == "new"
    shop.block.set()
    assert result_of(await waiting.reply)["from"] == "old"


async def test_a_call_that_waits_for_the_old_ones_list_goes_to_the_new_one(relay: Relay) -> None:
    shop = silent(relay)
    waiting = Listening(relay, arrival("tools/call", CALL))
    await shop.reached.wait()
    other = StagedUpstream("shop", tool("query"))
    await change(relay, other)
    assert (await waiting.reply).fault is None
    assert "tools/call" in [method for method, _ in other.asked]


async def test_what_waits_for_a_list_of_one_that_is_removed_is_told_so(relay: Relay) -> None:
    shop = silent(relay)
    waiting = Listening(relay, arrival("tools/call", CALL))
    await shop.reached.wait()
    await change(relay, StagedUpstream("mail", tool("send")))
    fault = (await waiting.reply).fault
    assert fault is not None
    assert fault.data["code"] == "caller.unknown_server"
    later = (await reply_of(relay, arrival("tools/call", CALL))).fault
    assert later is not None
    assert later.data["code"] == "caller.unknown_tool"
    direct = (await reply_of(relay, arrival("tools/call", {"name": "query"}, target="shop"))).fault
    assert direct is not None
    assert direct.data["code"] == "caller.unknown_server"


async def test_adding_changing_and_removing_at_once_is_told_once(relay: Relay) -> None:
    hello = arrival("initialize", {}, envelope=LEGACY)
    session = (await reply_of(relay, hello)).opened
    assert session is not None
    await names(relay)
    told = Told()
    relay.attach(session, told, lambda: None)
    await change(relay, StagedUpstream("shop", tool("asked")), StagedUpstream("more", tool("one")))
    await until(lambda: told.methods)
    await asyncio.sleep(0.5)
    assert told.methods == [CHANGED]
    assert await names(relay) == ["shop__asked", "more__one"]


async def test_one_that_offers_the_same_is_no_news(relay: Relay) -> None:
    session = (await reply_of(relay, arrival("initialize", {}, envelope=LEGACY))).opened
    assert session is not None
    before, version = await names(relay), relay.catalog_version
    told = Told()
    relay.attach(session, told, lambda: None)
    await change(relay, StagedUpstream("shop", tool("query")), StagedUpstream("mail", tool("send")))
    assert (await names(relay), relay.catalog_version) == (before, version)
    assert told.methods == []


async def test_what_the_operator_leaves_out_is_refused_before_the_server_was_asked_again(
    relay: Relay, shop: StagedUpstream
) -> None:
    await names(relay)
    mail = StagedUpstream("mail", tool("send"))
    asked = len(shop.asked)
    relay.replace([shop, mail], OfferRules(tool_choices={"shop": ToolChoice(leave_out=["query"])}), {})
    fault = (await reply_of(relay, arrival("tools/call", CALL))).fault
    assert fault is not None
    assert fault.data["code"] == "refused.left_out"
    assert "tools/call" not in [method for method, _ in shop.asked[asked:]]


async def test_one_that_left_changes_no_list_by_what_it_still_says(
    relay: Relay, shop: StagedUpstream
) -> None:
    await names(relay)
    await change(relay, StagedUpstream("shop", tool("asked")))
    version = relay.catalog_version
    shop.say(ServerMessage("shop", None, Notice(CHANGED, b"{}")))
    shop.say(StateChanged("shop", is_up=False))
    assert relay.catalog_version == version
    assert await names(relay) == ["shop__asked"]
