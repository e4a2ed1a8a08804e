"""The one path: every message is routed, judged, asked and settled exactly once."""

import asyncio
import json
from dataclasses import replace

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
from waiting import until

from callgate.model.error_codes import REFUSED_UNRECORDED, UPSTREAM_UNAVAILABLE
from callgate.model.errors import RefusedError, UpstreamError
from callgate.model.exchange import EndedBy, Outcome
from callgate.model.reply import Answer, Asking, Notice, Reply, Said, Undelivered, Unsolicited
from callgate.model.session import Session
from callgate.model.upstream_news import ServerMessage
from callgate.ports.answerer import Answering
from callgate.relay.lists.offer_rules import OfferRules
from callgate.relay.relay import Relay


@pytest.fixture
def sink() -> RememberingSink:
    return RememberingSink()


@pytest.fixture
def shop() -> StagedUpstream:
    return StagedUpstream("shop", tool("query", readOnlyHint=True), tool("wipe"))


@pytest.fixture
def mail() -> StagedUpstream:
    return StagedUpstream("mail", tool("send", destructiveHint=False))


@pytest.fixture
def relay(shop: StagedUpstream, mail: StagedUpstream, sink: RememberingSink) -> Relay:
    return Relay([shop, mail], sink=sink, session_gap_s=1800, bridge=BRIDGE)


async def test_the_aggregate_lists_every_tool_under_its_public_name(
    relay: Relay, sink: RememberingSink
) -> None:
    result = result_of(await reply_of(relay, arrival("tools/list")))
    assert [entry["name"] for entry in result["tools"]] == ["shop__query", "shop__wipe", "mail__send"]
    assert result["tools"][0]["x-unknown"] == 1
    assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
    (exchange,) = sink.settled
    assert exchange.server_name == "aggregate"
    assert [(hop.upstream, hop.cached) for hop in exchange.hops] == [("shop", False), ("mail", False)]


async def test_a_second_list_is_served_from_the_catalog_and_says_so(
    relay: Relay, shop: StagedUpstream, sink: RememberingSink
) -> None:
    first = result_of(await reply_of(relay, arrival("tools/list")))
    second = result_of(await reply_of(relay, arrival("tools/list")))
    assert first == second
    assert len(shop.asked) == 1
    assert [hop.cached for hop in sink.settled[1].hops] == [True, True]


async def test_one_server_alone_answers_with_its_own_names(relay: Relay) -> None:
    question = arrival("tools/list", envelope=LEGACY, target="shop")
    result = result_of(await reply_of(relay, question))
    assert [entry["name"] for entry in result["tools"]] == ["query", "wipe"]
    assert "resultType" not in result


async def test_a_dead_upstream_is_left_out_named_in_its_hop_and_asked_again(
    relay: Relay, mail: StagedUpstream, sink: RememberingSink
) -> None:
    mail.list_error = UpstreamError(UPSTREAM_UNAVAILABLE, "mail is down")
    result = result_of(await reply_of(relay, arrival("tools/list")))
    assert [entry["name"] for entry in result["tools"]] == ["shop__query", "shop__wipe"]
    assert [hop.error for hop in sink.settled[0].hops] == [None, "mail is down"]
    mail.list_error = None
    assert len(result_of(await reply_of(relay, arrival("tools/list")))["tools"]) == 3


async def test_a_call_reaches_its_upstream_under_the_native_name_with_the_rest_untouched(
    relay: Relay, shop: StagedUpstream, sink: RememberingSink
) -> None:
    await reply_of(
        relay, arrival("tools/call", {"arguments": {"n": 10**30}, "name": "shop__query", "x": 1.5})
    )
    method, params = shop.asked[-1]
    assert method == "tools/call"
    assert params == b'{"arguments":{"n": 1000000000000000000000000000000},"name":"query","x":1.5}'
    (exchange,) = sink.settled
    assert (exchange.server_name, exchange.tool_name) == ("shop", "shop__query")
    assert json.loads(exchange.annotations or b"") == {"readOnlyHint": True}
    assert exchange.settlement is not None
    assert (exchange.settlement.outcome, exchange.settlement.ended_by) == (Outcome.ANSWERED, EndedBy.UPSTREAM)


async def test_notices_come_before_the_reply(relay: Relay, shop: StagedUpstream) -> None:
    shop.notices = [Notice("notifications/progress", b"{}")] * 2
    listening = Listening(relay, arrival("tools/call", {"name": "shop__query"}))
    await listening.reply
    assert [await listening.next() for _ in shop.notices] == shop.notices


async def test_an_unknown_tool_is_answered_with_the_nearest_names(
    relay: Relay, sink: RememberingSink
) -> None:
    reply = await reply_of(relay, arrival("tools/call", {"name": "shop__qery"}))
    assert reply.fault is not None
    assert (reply.fault.code, reply.fault.data["code"]) == (-32602, "caller.unknown_tool")
    assert "shop__query" in reply.fault.data["hint"]
    assert sink.settled[0].settlement is not None
    assert sink.settled[0].settlement.ended_by is EndedBy.GATEWAY


@pytest.mark.parametrize(
    ("method", "name", "server"),
    [
        ("tools/call", "shop__nothing", "shop"),
        ("tools/call", "nothing", None),
        ("tools/call", "mail__send", "mail"),
        ("prompts/get", "mail__greet", "mail"),
    ],
)
async def test_what_was_asked_for_is_kept_though_nobody_could_be_asked(
    relay: Relay, mail: StagedUpstream, sink: RememberingSink, method: str, name: str, server: str | None
) -> None:
    mail.list_error = mail.error = UpstreamError(UPSTREAM_UNAVAILABLE, "mail is down")
    reply = await reply_of(relay, arrival(method, {"name": name}))
    assert reply.fault is not None
    (exchange,) = sink.settled
    assert exchange.server_name == server
    assert exchange.tool_name == (name if method == "tools/call" else None)
    assert json.loads(exchange.arrival.params) == {"name": name}


@pytest.mark.parametrize("target", [None, "shop"])
async def test_a_name_of_any_length_is_kept_shortened(
    relay: Relay, sink: RememberingSink, target: str | None
) -> None:
    await reply_of(relay, arrival("tools/call", {"name": "shop__" + "q" * 100_000}, target=target))
    (exchange,) = sink.settled
    assert exchange.server_name == "shop"
    assert exchange.tool_name is not None
    assert len(exchange.tool_name) <= 200


async def test_what_the_record_refuses_is_kept_with_its_name(
    shop: StagedUpstream, sink: RememberingSink
) -> None:
    class Full:
        refuses = True
        is_refusing = True

        def admit(self) -> None:
            raise RefusedError(REFUSED_UNRECORDED, "The record cannot be written")

        def written(self) -> None:
            return None

        def when_written(self, reply: object, argument: object) -> bool:
            raise AssertionError("no call is made while the record refuses")

    relay = Relay([shop], sink=sink, session_gap_s=1, bridge=BRIDGE, record_gate=Full())
    await reply_of(relay, arrival("tools/call", {"name": "shop__query"}))
    (exchange,) = sink.settled
    assert (exchange.server_name, exchange.tool_name) == ("shop", "shop__query")


ASKABLE = replace(MODERN, capabilities=b'{"elicitation":{},"tasks":{}}')


async def test_a_tool_for_clients_that_can_be_asked_is_not_unknown_to_others(
    relay: Relay, shop: StagedUpstream
) -> None:
    """Which capability is missing is told, and to our own page too."""
    await reply_of(relay, arrival("tools/list"))
    shop.has_views = True
    session = Session("s", arrival("x").principal, "http", ASKABLE, 0, 0)
    shop.tools.append(tool("ask"))
    asked = arrival("tools/list", envelope=ASKABLE, session=session)
    assert len(result_of(await reply_of(relay, asked))["tools"]) == 4
    shop.has_views = False
    shop.tools.pop()
    reply = await reply_of(relay, arrival("tools/call", {"name": "shop__ask"}))
    assert reply.fault is not None
    assert (reply.fault.code, reply.fault.data["code"]) == (-32021, "caller.missing_capability")
    assert reply.fault.data["requiredCapabilities"] == {"elicitation": {}}
    assert "shop__ask is offered to clients that declare elicitation" in reply.fault.message
    assert [relay.lacking("shop", name) for name in ("shop__ask", "ask", "nothing")] == [
        ["elicitation"],
        ["elicitation"],
        [],
    ]


async def test_a_native_name_does_not_work_on_the_aggregate(relay: Relay) -> None:
    reply = await reply_of(relay, arrival("tools/call", {"name": "query"}))
    assert reply.fault is not None


async def test_one_server_alone_is_asked_even_for_what_it_does_not_list(
    relay: Relay, shop: StagedUpstream, mail: StagedUpstream
) -> None:
    await reply_of(relay, arrival("tools/call", {"name": "unlisted"}, target="shop"))
    await reply_of(relay, arrival("made/up", {"x": 1.50}, target="shop"))
    assert shop.asked[-2:] == [("tools/call", b'{"name": "unlisted"}'), ("made/up", b'{"x": 1.5}')]
    assert mail.asked == []


@pytest.mark.parametrize(
    ("result", "outcome", "code"),
    [
        (b'{"content":[],"isError":false}', Outcome.ANSWERED, None),
        (b'{"content":[{"type":"text","text":"no"}],"isError":true}', Outcome.TOOL_ERROR, None),
        (b'{"isError":true,"_meta":{"callgate/code":"source.syntax"}}', Outcome.TOOL_ERROR, "source.syntax"),
        (
            b'{"isError":true,"_meta":{"callgate/code":"refused.read_only"}}',
            Outcome.REFUSED,
            "refused.read_only",
        ),
        (b'{"isError":"what","content":7}', Outcome.ANSWERED, None),
        (b'{"isError":true,"structuredContent":{"isError":false}}', Outcome.TOOL_ERROR, None),
        (b'{"isError":true,"content":[],"isError":false}', Outcome.ANSWERED, None),
        (b'{"structuredContent":{"isError":true},"content":[],"isError":false}', Outcome.ANSWERED, None),
    ],
)
async def test_the_outcome_is_read_from_the_result(
    relay: Relay,
    shop: StagedUpstream,
    sink: RememberingSink,
    result: bytes,
    outcome: Outcome,
    code: str | None,
) -> None:
    shop.result, shop.is_built_in = result, True
    await reply_of(relay, arrival("tools/call", {"name": "shop__query"}))
    settlement = sink.settled[0].settlement
    assert settlement is not None
    assert (settlement.outcome, settlement.error_code) == (outcome, code)


async def test_a_code_of_ours_in_somebody_elses_result_is_not_believed(
    relay: Relay, shop: StagedUpstream, sink: RememberingSink
) -> None:
    shop.result = b'{"isError":true,"_meta":{"callgate/code":"refused.read_only"}}'
    await reply_of(relay, arrival("tools/call", {"name": "shop__query"}))
    settlement = sink.settled[0].settlement
    assert settlement is not None
    assert (settlement.outcome, settlement.error_code) == (Outcome.TOOL_ERROR, None)


async def test_a_failed_handshake_leaves_no_session_behind(relay: Relay, shop: StagedUpstream) -> None:
    shop.error = UpstreamError(UPSTREAM_UNAVAILABLE, "gone")
    reply = await reply_of(relay, arrival("initialize", {}, envelope=LEGACY, target="shop"))
    assert reply.opened is None
    assert len(shop.forgotten) == 1


async def test_a_call_is_judged_by_what_the_server_says_now(
    shop: StagedUpstream, mail: StagedUpstream, sink: RememberingSink
) -> None:
    relay = Relay(
        [shop, mail], sink=sink, session_gap_s=1, bridge=BRIDGE, rules=OfferRules(deny_destructive=True)
    )
    call = arrival("tools/call", {"name": "shop__query"})
    assert (await reply_of(relay, call)).fault is None
    shop.tools = [tool("query", destructiveHint=True)]
    shop.say(ServerMessage("shop", None, Notice("notifications/tools/list_changed", b"")))
    refused = await reply_of(relay, call)
    assert refused.fault is not None
    assert refused.fault.data["code"] == "refused.destructive"


async def test_one_servers_odd_list_does_not_break_the_others(relay: Relay, mail: StagedUpstream) -> None:
    mail.list_raw = b'{"tools":[],"ttlMs":' + b"9" * 400 + b"}"
    result = result_of(await reply_of(relay, arrival("tools/list")))
    assert [entry["name"] for entry in result["tools"]] == ["shop__query", "shop__wipe"]


async def test_two_tools_that_would_have_one_name_have_two(sink: RememberingSink) -> None:
    """Whose a name is does not depend on who lists what, nor on who comes first."""
    one, other = StagedUpstream("a_", tool("t")), StagedUpstream("a", tool("_t"))
    for order in ([one, other], [other, one]):
        relay = Relay(order, sink=sink, session_gap_s=1, bridge=BRIDGE)
        result = result_of(await reply_of(relay, arrival("tools/list")))
        names = {entry["name"] for entry in result["tools"]}
        (short,) = names - {"a___t"}
        assert short.startswith("a__t_")
        for name, upstream, native in (("a___t", one, "t"), (short, other, "_t")):
            await reply_of(relay, arrival("tools/call", {"name": name}))
            assert upstream.asked[-1] == ("tools/call", b'{"name":"%b"}' % native.encode())


async def test_an_upstream_that_fails_is_a_typed_error(
    relay: Relay, shop: StagedUpstream, sink: RememberingSink
) -> None:
    shop.error = UpstreamError(UPSTREAM_UNAVAILABLE, "gone", hint="wait")
    reply = await reply_of(relay, arrival("tools/call", {"name": "shop__query"}))
    assert reply.fault is not None
    assert reply.fault.data == {"code": "upstream.unavailable", "hint": "wait"}
    (exchange,) = sink.settled
    assert exchange.settlement is not None
    assert (exchange.settlement.outcome, exchange.settlement.ended_by) == (Outcome.FAILED, EndedBy.UPSTREAM)
    assert (exchange.hops[0].error, exchange.hops[0].ended_mono is not None) == ("gone", True)


async def test_a_bug_is_answered_without_its_words(
    relay: Relay, shop: StagedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    shop.error = ZeroDivisionError("secret")
    reply = await reply_of(relay, arrival("tools/call", {"name": "shop__query"}))
    assert reply.fault is not None
    assert reply.fault.code == -32603
    assert "secret" not in str(reply.fault)
    assert "ZeroDivisionError" in caplog.text


async def test_plain_answers_leave_when_the_turn_is_over_and_one_that_fails_keeps_no_other_back(
    relay: Relay,
) -> None:
    told: list[str] = []

    class Client:
        def __init__(self, name: str) -> None:
            self.name = name

        def replied(self, reply: Reply) -> None:
            if self.name == "gone":
                raise OSError("the client's socket is gone")
            told.append(self.name)

        def said_more(self, go_on: Answering) -> None:
            raise AssertionError("nothing more is said")

    for name in ("one", "gone", "two"):
        relay._plain.reply_soon(Client(name), Reply(result=b"{}"))
    assert told == []
    await until(lambda: told == ["one", "two"])


@pytest.mark.parametrize("how", ["cancel the task", "close the generator"])
async def test_a_client_that_leaves_cancels_and_settles_once(
    relay: Relay, shop: StagedUpstream, sink: RememberingSink, how: str
) -> None:
    if how == "cancel the task":
        shop.block = asyncio.Event()
        task = asyncio.create_task(reply_of(relay, arrival("tools/call", {"name": "shop__query"})))
        await shop.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        shop.notices = [Notice("n", b"{}")]

        async def is_gone(said: Said) -> None:
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await relay.answer(arrival("tools/call", {"name": "shop__query"}), is_gone)
    (exchange,) = sink.settled
    assert exchange.settlement is not None
    assert (exchange.settlement.outcome, exchange.settlement.ended_by) == (Outcome.CANCELLED, EndedBy.CLIENT)
    assert exchange.hops[0].ended_mono is not None


async def test_each_era_has_its_own_methods(relay: Relay) -> None:
    for method, envelope_is_legacy, known in (
        ("ping", True, True),
        ("ping", False, False),
        ("server/discover", False, True),
        ("server/discover", True, False),
        ("made/up", False, False),
    ):
        question = arrival(method, envelope=LEGACY) if envelope_is_legacy else arrival(method)
        reply = await reply_of(relay, question)
        assert (reply.fault is None) is known, method
        if reply.fault is not None:
            assert reply.fault.code == -32601


async def test_discover_and_initialize_say_who_we_are(relay: Relay) -> None:
    discovered = result_of(await reply_of(relay, arrival("server/discover")))
    assert discovered["supportedVersions"][0] == "2026-07-28"
    assert discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "callgate"
    reply = await reply_of(relay, arrival("initialize", {}, envelope=LEGACY))
    assert result_of(reply)["protocolVersion"] == "2025-11-25"
    assert reply.opened is not None


async def test_a_list_is_asked_in_nobodys_name(relay: Relay, shop: StagedUpstream) -> None:
    await reply_of(relay, arrival("tools/list"))
    assert shop.envelopes[0].progress_token is None


async def test_a_list_is_asked_as_the_view_says_whatever_a_later_request_declares(
    relay: Relay, shop: StagedUpstream
) -> None:
    """Else what a connection of one client's own shows would be stored as everybody's list."""
    await reply_of(relay, arrival("prompts/list"))
    asking = replace(MODERN, capabilities=b'{"elicitation":{}}')
    await reply_of(relay, arrival("tools/list", envelope=asking))
    assert [envelope.capabilities for envelope in shop.envelopes] == [b"{}", b"{}"]


@pytest.mark.parametrize(
    ("name", "allowed"), [("shop__query", True), ("mail__send", True), ("shop__wipe", False)]
)
async def test_a_policy_against_destruction_stops_what_may_destroy(
    shop: StagedUpstream, mail: StagedUpstream, sink: RememberingSink, name: str, allowed: bool
) -> None:
    relay = Relay(
        [shop, mail], sink=sink, session_gap_s=1, bridge=BRIDGE, rules=OfferRules(deny_destructive=True)
    )
    reply = await reply_of(relay, arrival("tools/call", {"name": name}))
    assert (reply.fault is None) is allowed
    if reply.fault is not None:
        assert reply.fault.data["code"] == "refused.destructive"
        assert not [method for method, _ in shop.asked if method == "tools/call"]
        assert sink.settled[0].settlement is not None
        assert sink.settled[0].settlement.outcome is Outcome.REFUSED


async def session_of(relay: Relay) -> Session:
    reply = await reply_of(relay, arrival("initialize", {}, envelope=LEGACY))
    assert reply.opened is not None
    return reply.opened


async def test_what_a_server_shows_to_one_session_stays_with_that_session(
    relay: Relay, shop: StagedUpstream
) -> None:
    first, second = await session_of(relay), await session_of(relay)
    shop.has_views = shop.has_own_lines = True

    async def names(session: Session) -> list[str]:
        result = result_of(await reply_of(relay, arrival("tools/list", envelope=LEGACY, session=session)))
        return [entry["name"] for entry in result["tools"]]

    shop.tools = [tool("only_for_first")]
    assert "shop__only_for_first" in await names(first)
    shop.tools = [tool("only_for_second")]
    assert "shop__only_for_second" in await names(second)
    assert "shop__only_for_second" not in await names(first)
    call = arrival("tools/call", {"name": "shop__only_for_first"}, envelope=LEGACY, session=second)
    assert (await reply_of(relay, call)).fault is not None
    relay.end_session(first)
    assert shop.forgotten == [first.session_id]


class RememberingOutlet:
    def __init__(self) -> None:
        self.said: list[Unsolicited] = []

    def say(self, item: Unsolicited) -> None:
        self.said.append(item)


async def test_a_list_change_is_told_to_everybody_and_the_list_asked_anew(
    relay: Relay, shop: StagedUpstream
) -> None:
    session = await session_of(relay)
    outlet = RememberingOutlet()
    relay.attach(session, outlet, lambda: None)
    await reply_of(relay, arrival("tools/list"))
    shop.tools.append(tool("new"))
    shop.say(ServerMessage("shop", None, Notice("notifications/tools/list_changed", b"")))
    (said,) = outlet.said
    assert isinstance(said, Notice)
    assert said.method == "notifications/tools/list_changed"
    result = result_of(await reply_of(relay, arrival("tools/list")))
    assert "shop__new" in [entry["name"] for entry in result["tools"]]


async def test_what_one_sessions_connection_says_reaches_that_session_only(
    relay: Relay, shop: StagedUpstream
) -> None:
    mine, theirs = await session_of(relay), await session_of(relay)
    my_outlet, their_outlet = RememberingOutlet(), RememberingOutlet()
    relay.attach(mine, my_outlet, lambda: None)
    relay.attach(theirs, their_outlet, lambda: None)
    answers: list[Answer] = []
    shop.say(ServerMessage("shop", mine.session_id, Asking("roots/list", b"", answers.append)))
    assert (len(my_outlet.said), len(their_outlet.said), answers) == (1, 0, [])


async def test_a_question_on_a_shared_connection_is_answered_by_us(
    relay: Relay, shop: StagedUpstream
) -> None:
    answers: list[Answer] = []
    shop.say(ServerMessage("shop", None, Asking("roots/list", b"", answers.append)))
    assert answers[0].error is not None


async def test_a_modern_listener_hears_what_it_asked_for_until_we_retire(
    relay: Relay, shop: StagedUpstream
) -> None:
    wanted = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["nobody://has/it"]}}
    listening = Listening(relay, arrival("subscriptions/listen", wanted))
    acknowledged = await listening.next()
    assert acknowledged.method == "notifications/subscriptions/acknowledged"
    said = json.loads(acknowledged.params)
    assert said["notifications"] == {"toolsListChanged": True}
    assert said["_meta"] == {"io.modelcontextprotocol/subscriptionId": 1}
    shop.say(ServerMessage("shop", None, Notice("notifications/prompts/list_changed", b"")))
    shop.say(ServerMessage("shop", None, Notice("notifications/tools/list_changed", b"")))
    changed = await listening.next()
    assert changed.method == "notifications/tools/list_changed"
    relay.retire()
    assert result_of(await listening.reply)["_meta"] == {"io.modelcontextprotocol/subscriptionId": 1}


async def test_a_call_that_our_own_end_cuts_off_says_who_ended_it(
    relay: Relay, shop: StagedUpstream, sink: RememberingSink
) -> None:
    shop.block = asyncio.Event()
    task = asyncio.create_task(reply_of(relay, arrival("tools/call", {"name": "shop__query"})))
    await shop.reached.wait()
    relay.retire()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert sink.settled[0].settlement is not None
    assert sink.settled[0].settlement.ended_by is EndedBy.GATEWAY


async def test_what_a_server_says_out_of_turn_is_recorded_with_whether_anybody_was_told(
    relay: Relay, shop: StagedUpstream, sink: RememberingSink
) -> None:
    session = await session_of(relay)
    relay.attach(session, RememberingOutlet(), lambda: None)
    shop.say(ServerMessage("shop", None, Notice("notifications/tools/list_changed", b"")))
    shop.say(ServerMessage("shop", None, Notice("notifications/message", b'{"data":"whose?"}')))
    shop.say(ServerMessage("shop", session.session_id, Notice("notifications/message", b'{"data":"mine"}')))
    shop.say(ServerMessage("shop", None, Notice("notifications/message", b"x" * 100_000)))
    told = [(aside.method, aside.session_id, aside.settlement.outcome.value) for aside in sink.asides]
    assert told == [
        ("notifications/tools/list_changed", None, "answered"),
        ("notifications/message", None, "refused"),
        ("notifications/message", session.session_id, "answered"),
        ("notifications/message", None, "refused"),
    ]
    assert {(aside.sender, aside.server_name, aside.is_notification) for aside in sink.asides} == {
        ("server", "shop", True)
    }
    assert (sink.asides[-1].params, sink.asides[-1].size_bytes) == (b"", 100_000)


async def test_a_question_out_of_turn_is_recorded_until_the_client_answers_or_leaves(
    relay: Relay, shop: StagedUpstream, sink: RememberingSink
) -> None:
    session, outlet = await session_of(relay), RememberingOutlet()
    relay.attach(session, outlet, lambda: None)
    answers: list[Answer] = []
    for params in (b"{}", b'{"again":true}'):
        shop.say(ServerMessage("shop", session.session_id, Asking("roots/list", params, answers.append)))
    first = outlet.said[0]
    assert isinstance(first, Asking)
    first.respond(Answer(result=b'{"roots":[]}'))
    relay.end_session(session)
    asked = [one for one in sink.all_settled if one.sender == "server"]
    assert [
        (one.arrival.method, one.session, one.settlement and one.settlement.outcome) for one in asked
    ] == [
        ("roots/list", session, Outcome.ANSWERED),
        ("roots/list", session, Outcome.CANCELLED),
    ]
    assert answers == [Answer(result=b'{"roots":[]}')]


async def test_a_question_that_nobody_can_be_asked_is_recorded_as_refused(
    relay: Relay, shop: StagedUpstream, sink: RememberingSink
) -> None:
    answers: list[Answer] = []
    shop.say(ServerMessage("shop", None, Asking("sampling/createMessage", b"{}", answers.append)))
    (aside,) = sink.asides
    assert (aside.method, aside.is_notification) == ("sampling/createMessage", False)
    assert aside.settlement.outcome is Outcome.REFUSED
    assert answers[0].error is not None


async def test_notifications_that_are_for_us_alone_are_passed_to_no_server_and_only_the_handshakes_is_no_row(
    relay: Relay, shop: StagedUpstream, sink: RememberingSink
) -> None:
    session = await session_of(relay)
    for method in ("notifications/initialized", "notifications/cancelled"):
        relay.notice(arrival(method, {"requestId": 1}, envelope=LEGACY, session=session))
    told = [(one.arrival.method, one.server_name, one.hops) for one in sink.settled[1:]]
    assert told == [("notifications/cancelled", None, [])]
    assert not shop.told


async def test_what_was_answered_for_the_client_is_recorded_and_never_put_to_it(
    relay: Relay, shop: StagedUpstream, sink: RememberingSink
) -> None:
    session, outlet = await session_of(relay), RememberingOutlet()
    relay.attach(session, outlet, lambda: None)
    for item in (
        Undelivered("ping", b"", Answer(result=b"{}")),
        Undelivered("sampling/createMessage", b"{}", Answer(error=b'{"code":-32601}')),
        Undelivered("notifications/progress", b'{"progressToken":9}'),
    ):
        shop.say(ServerMessage("shop", session.session_id, item))
    told = [(one.method, one.is_notification, one.settlement.outcome.value) for one in sink.asides]
    assert told == [
        ("ping", False, "answered"),
        ("sampling/createMessage", False, "refused"),
        ("notifications/progress", True, "refused"),
    ]
    assert sink.asides[1].settlement.reply == b'{"code":-32601}'
    assert not outlet.said
