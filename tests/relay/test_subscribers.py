"""Who hears what an upstream says of its own accord."""

import asyncio
import json

from callgate.model.envelope import Envelope, Era
from callgate.model.identity import LOCAL
from callgate.model.offers import Route
from callgate.model.reply import Answer, Asking, Notice, Unsolicited
from callgate.model.session import Session
from callgate.model.upstream_news import ServerMessage
from callgate.ports.upstream import Asker
from callgate.relay.subscribers import Subscribers

TOOLS_CHANGED = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


class Outlet:
    def __init__(self) -> None:
        self.said: list[Unsolicited] = []

    def say(self, item: Unsolicited) -> None:
        self.said.append(item)


def session(name: str, target: str | None = None) -> Session:
    return Session(
        session_id=name,
        principal=LOCAL,
        transport="http",
        envelope=Envelope(Era.LEGACY, "2025-11-25"),
        created_at=0.0,
        last_seen_at=0.0,
        target=target,
    )


def asker(name: str) -> Asker:
    return Asker(Envelope(Era.MODERN, "2026-07-28"), session(name), b"1")


def attach(subscribers: Subscribers, name: str, target: str | None = None) -> Outlet:
    outlet = Outlet()
    subscribers.attach(session(name, target), outlet, lambda: None, 0)
    return outlet


def updated(uri: str) -> Notice:
    return Notice(UPDATED, json.dumps({"uri": uri}).encode())


def test_a_change_on_a_shared_connection_is_for_all_but_those_of_another_server() -> None:
    subscribers = Subscribers()
    everything, same, other = (
        attach(subscribers, "a"),
        attach(subscribers, "b", "one"),
        attach(subscribers, "c", "two"),
    )
    subscribers.publish(ServerMessage("one", None, Notice(TOOLS_CHANGED, b"")))
    assert [len(outlet.said) for outlet in (everything, same, other)] == [1, 1, 0]


def test_what_the_connection_of_one_session_says_is_for_that_session() -> None:
    subscribers = Subscribers()
    mine, other = attach(subscribers, "a"), attach(subscribers, "b")
    subscribers.publish(ServerMessage("one", "a", Notice("notifications/message", b'{"data":"secret"}')))
    assert (len(mine.said), other.said) == (1, [])


def test_an_update_is_for_subscribers_under_the_uri_each_knows() -> None:
    subscribers = Subscribers()
    aggregate, direct, other = (
        attach(subscribers, "a"),
        attach(subscribers, "b", "two"),
        attach(subscribers, "c"),
    )
    subscribers.subscribe(session("a"), Route("two", "x://y"), "two+x://y")
    subscribers.subscribe(session("b", "two"), Route("two", "x://y"), "x://y")
    subscribers.publish(ServerMessage("two", None, updated("x://y")))
    subscribers.publish(ServerMessage("one", None, updated("x://y")))
    assert aggregate.said == [Notice(UPDATED, b'{"uri":"two+x://y"}')]
    assert direct.said == [updated("x://y")]
    assert other.said == []


def test_an_update_without_a_uri_is_nobodys() -> None:
    subscribers = Subscribers()
    outlet = attach(subscribers, "a")
    for params in (b"", b"{}", b'{"uri":5}', b'{"uri":null}'):
        subscribers.publish(ServerMessage("one", None, Notice(UPDATED, params)))
    assert outlet.said == []


def test_who_unsubscribed_hears_no_more_and_the_others_do() -> None:
    subscribers, route = Subscribers(), Route("one", "x://y")
    left, stays = attach(subscribers, "a"), attach(subscribers, "b")
    for name in ("a", "b"):
        subscribers.subscribe(session(name), route, "x://y")
    subscribers.unsubscribe(session("a"), route)
    subscribers.publish(ServerMessage("one", None, updated("x://y")))
    assert (left.said, len(stays.said)) == ([], 1)


def test_a_session_that_ended_hears_nothing_and_frees_its_subscriptions() -> None:
    subscribers, route = Subscribers(), Route("one", "x://y")
    gone, stays = attach(subscribers, "a"), attach(subscribers, "b")
    for name in ("a", "b"):
        subscribers.subscribe(session(name), route, "x://y")
    subscribers.end(session("a"))
    subscribers.publish(ServerMessage("one", None, updated("x://y")))
    assert (gone.said, len(stays.said)) == ([], 1)


def test_a_question_on_a_shared_connection_is_refused_for_everybody() -> None:
    subscribers = Subscribers()
    outlet = attach(subscribers, "a")
    answers: list[Answer] = []
    subscribers.publish(ServerMessage("one", None, Asking("elicitation/create", b"{}", answers.append)))
    subscribers.publish(ServerMessage("one", "nobody", Asking("roots/list", b"{}", answers.append)))
    assert outlet.said == []
    assert [answer.error is not None for answer in answers] == [True, True]


async def test_a_listener_hears_what_it_asked_for_until_the_close() -> None:
    subscribers = Subscribers()
    heard: asyncio.Queue[Notice] = asyncio.Queue()
    wanted = {"toolsListChanged": True, "promptsListChanged": False}
    listening = asyncio.create_task(subscribers.listen(asker("a"), wanted, ["x://y"], heard.put))
    acknowledged = await heard.get()
    assert json.loads(acknowledged.params)["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["x://y"],
    }
    subscribers.publish(ServerMessage("one", None, Notice("notifications/prompts/list_changed", b"")))
    subscribers.say_list_changed(TOOLS_CHANGED, lambda asker, listed: asker.session.session_id == "b")
    subscribers.say_list_changed(TOOLS_CHANGED, lambda asker, listed: asker.session.session_id == "a")
    subscribers.close()
    await listening
    assert (heard.get_nowait().method, heard.qsize()) == (TOOLS_CHANGED, 0)
