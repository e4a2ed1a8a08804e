"""Tools found by words: for the API, and for agents whose context the catalog would fill."""

import json

import pytest
from relay.stage import BRIDGE, RememberingSink, StagedUpstream, arrival, reply_of, result_of, tool

from callgate.model.offers import Offer, OfferKind, Route
from callgate.relay.lists.offer_rules import OfferRules
from callgate.relay.relay import Relay
from callgate.relay.search.search_tools import ToolIndex


def offer(name: str, **definition: object) -> Offer:
    return Offer(OfferKind.TOOL, name, Route("s", name), json.dumps({"name": name, **definition}).encode())


SYSTEM_CATALOG = ToolIndex(
    [
        offer("mail__send", description="Send an e-mail message to somebody"),
        offer("github__list_pull_requests", description="Open pull requests of a repository"),
        offer("github__createIssue", description="Report a problem"),
        offer(
            "weather__now",
            description="Current conditions",
            inputSchema={"properties": {"city": {"description": "Where to look"}}},
        ),
        offer("odd__one", description=["not", "a", "text"], inputSchema="neither"),
    ]
)


@pytest.mark.parametrize(
    ("words", "best"),
    [
        ("send mail", "mail__send"),
        ("pull request", "github__list_pull_requests"),
        ("requests", "github__list_pull_requests"),
        ("issue", "github__createIssue"),
        ("weather in a city", "weather__now"),
        ("reposit", "github__list_pull_requests"),
    ],
)
def test_the_tool_that_fits_best_comes_first(words: str, best: str) -> None:
    assert SYSTEM_CATALOG.find(words, 10)[0].public_name == best


@pytest.mark.parametrize("words", ['"', "* OR NEAR(", "name:x AND", "", "  ", "zebra", "'; DROP TABLE tools"])
def test_no_question_breaks_the_search(words: str) -> None:
    assert isinstance(SYSTEM_CATALOG.find(words, 10), list)


def test_no_more_than_the_limit_is_found() -> None:
    assert len(SYSTEM_CATALOG.find("send open report current", 2)) == 2


@pytest.fixture
def sink() -> RememberingSink:
    return RememberingSink()


@pytest.fixture
def relay(sink: RememberingSink) -> Relay:
    upstreams = [StagedUpstream("shop", tool("query"), tool("wipe")), StagedUpstream("mail", tool("send"))]
    return Relay(upstreams, sink=sink, session_gap_s=1800, bridge=BRIDGE, rules=OfferRules(tool_search=True))


async def test_the_list_is_a_search_and_what_it_finds_can_be_called_directly(
    relay: Relay, sink: RememberingSink
) -> None:
    listed = result_of(await reply_of(relay, arrival("tools/list")))
    assert [entry["name"] for entry in listed["tools"]] == ["find_tools", "call_tool"]
    params = {"name": "find_tools", "arguments": {"query": "send mail"}}
    found = result_of(await reply_of(relay, arrival("tools/call", params)))
    (first, *_) = json.loads(found["content"][0]["text"])["tools"]
    assert "structuredContent" not in found
    assert first["name"] == "mail__send"
    called = await reply_of(relay, arrival("tools/call", {"name": "mail__send", "arguments": {}}))
    assert called.fault is None
    assert [(exchange.server_name, exchange.tool_name) for exchange in sink.settled[1:]] == [
        ("aggregate", "find_tools"),
        ("mail", "mail__send"),
    ]


@pytest.mark.parametrize(
    "arguments", [{}, {"query": ""}, {"query": 1}, {"query": "x", "limit": 0}, {"q": "x"}]
)
async def test_wrong_arguments_of_the_search_are_named(relay: Relay, arguments: dict[str, object]) -> None:
    reply = await reply_of(relay, arrival("tools/call", {"name": "find_tools", "arguments": arguments}))
    assert reply.fault is not None
    assert reply.fault.data["code"] == "caller.bad_arguments"


async def test_a_name_as_the_question_has_the_whole_definition(relay: Relay) -> None:
    params = {"name": "find_tools", "arguments": {"query": "shop__wipe"}}
    found = result_of(await reply_of(relay, arrival("tools/call", params)))
    (definition,) = json.loads(found["content"][0]["text"])["tools"]
    assert definition == tool("wipe") | {"name": "shop__wipe"}
