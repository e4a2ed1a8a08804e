"""One upstream's names may be joined by a single underscore: seed 003 calls its tool `mysql_query`."""

import json

import pytest
from relay.stage import RememberingSink, StagedUpstream, arrival, reply_of, result_of, tool

from callgate.relay.lists.offer_rules import OfferRules
from callgate.relay.parked_calls import BridgeSettings
from callgate.relay.relay import Relay


@pytest.fixture
def relay() -> Relay:
    upstreams = [StagedUpstream("mysql", tool("query")), StagedUpstream("mail", tool("send"))]
    bridge = BridgeSettings(60.0, b"k" * 32)
    return Relay(
        upstreams,
        sink=RememberingSink(),
        session_gap_s=60,
        bridge=bridge,
        rules=OfferRules(briefly_named="mysql"),
    )


async def test_only_that_upstream_is_named_briefly(relay: Relay) -> None:
    listed = result_of(await reply_of(relay, arrival("tools/list")))
    assert [entry["name"] for entry in listed["tools"]] == ["mysql_query", "mail__send"]


@pytest.mark.parametrize(("public", "native"), [("mysql_query", "query"), ("mail__send", "send")])
async def test_a_call_reaches_its_tool_without_a_list_before_it(
    relay: Relay, public: str, native: str
) -> None:
    reply = await reply_of(relay, arrival("tools/call", {"name": public, "arguments": {}}))
    assert reply.result is not None
    upstream = relay._upstreams[public.replace("__", "_").partition("_")[0]]
    assert isinstance(upstream, StagedUpstream)
    method, params = upstream.asked[-1]
    assert (method, json.loads(params)["name"]) == ("tools/call", native)


async def test_the_long_name_is_unknown_and_told_the_short_one(relay: Relay) -> None:
    reply = await reply_of(relay, arrival("tools/call", {"name": "mysql__query", "arguments": {}}))
    assert reply.fault is not None
    assert "mysql_query" in reply.fault.data["hint"]
