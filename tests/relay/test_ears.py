"""Who hears what an upstream says of its own accord."""

import json

from callgate.model.envelope import Envelope, Era
from callgate.model.heard import Heard
from callgate.model.identity import LOCAL
from callgate.model.offers import Route
from callgate.model.reply import Answer, Asking, Notice, Unasked
from callgate.model.session import Session
from callgate.ports.upstream import Asker
from callgate.relay.ears import Ears

TOOLS_CHANGED = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


class Outlet:
    def __init__(self) -> None:
        self.said: list[Unasked] = []

    def say(self, item: Unasked) -> None:
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


def attach(ears: Ears, name: str, target: str | None = None) -> Outlet:
    outlet = Outlet()
    ears.attach(session(name, target), outlet, lambda: None, 0)
    return outlet


def updated(uri: str) -> Notice:
    return Notice(UPDATED, json.dumps({"uri": uri}).encode())


def test_a_change_on_a_shared_connection_is_for_all_but_those_of_another_server() -> None:
    ears = Ears()
    everything, same, other = attach(ears, "a"), attach(ears, "b", "one"), attach(ears, "c", "two")
    ears.hear(Heard("one", None, Notice(TOOLS_CHANGED, b"")))
    assert [len(outlet.said) for outlet in (everything, same, other)] == [1, 1, 0]


def test_what_the_connection_of_one_session_says_is_for_that_session() -> None:
    ears = Ears()
    mine, other = attach(ears, "a"), attach(ears, "b")
    ears.hear(Heard("one", "a", Notice("notifications/message", b'{"data":"secret"}')))
    assert (len(mine.said), other.said) == (1, [])


def test_an_update_is_for_subscribers_under_the_uri_each_knows() -> None:
    ears = Ears()
    aggregate, direct, other = attach(ears, "a"), attach(ears, "b", "two"), attach(ears, "c")
    ears.subscribe(session("a"), Route("two", "x://y"), "two+x://y")
    ears.subscribe(session("b", "two"), Route("two", "x://y"), "x://y")
    ears.hear(Heard("two", None, updated("x://y")))
    ears.hear(Heard("one", None, updated("x://y")))
    assert aggregate.said == [Notice(UPDATED, b'{"uri":"two+x://y"}')]
    assert direct.said == [updated("x://y")]
    assert other.said == []


def test_an_update_without_a_uri_is_nobodys() -> None:
    ears = Ears()
    outlet = attach(ears, "a")
    for params in (b"", b"{}", b'{"uri":5}', b'{"uri":null}'):
        ears.hear(Heard("one", None, Notice(UPDATED, params)))
    assert outlet.said == []


def test_who_unsubscribed_hears_no_more_and_the_others_do() -> None:
    ears, route = Ears(), Route("one", "x://y")
    left, stays = attach(ears, "a"), attach(ears, "b")
    for name in ("a", "b"):
        ears.subscribe(session(name), route, "x://y")
    ears.unsubscribe(session("a"), route)
    ears.hear(Heard("one", None, updated("x://y")))
    assert (left.said, len(stays.said)) == ([], 1)


def test_a_session_that_ended_hears_nothing_and_frees_its_subscriptions() -> None:
    ears, route = Ears(), Route("one", "x://y")
    gone, stays = attach(ears, "a"), attach(ears, "b")
    for name in ("a", "b"):
        ears.subscribe(session(name), route, "x://y")
    ears.end(session("a"))
    ears.hear(Heard("one", None, updated("x://y")))
    assert (gone.said, len(stays.said)) == ([], 1)


def test_a_question_on_a_shared_connection_is_refused_for_everybody() -> None:
    ears = Ears()
    outlet = attach(ears, "a")
    answers: list[Answer] = []
    ears.hear(Heard("one", None, Asking("elicitation/create", b"{}", answers.append)))
    ears.hear(Heard("one", "nobody", Asking("roots/list", b"{}", answers.append)))
    assert outlet.said == []
    assert [answer.error is not None for answer in answers] == [True, True]


async def test_a_listener_hears_what_it_asked_for_until_the_close() -> None:
    ears = Ears()
    heard = ears.listen(asker("a"), {"toolsListChanged": True, "promptsListChanged": False}, ["x://y"])
    acknowledged = await anext(heard)
    assert json.loads(acknowledged.params)["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["x://y"],
    }
    ears.hear(Heard("one", None, Notice("notifications/prompts/list_changed", b"")))
    ears.say_list_changed(TOOLS_CHANGED, lambda asker, listed: asker.session.session_id == "b")
    ears.say_list_changed(TOOLS_CHANGED, lambda asker, listed: asker.session.session_id == "a")
    ears.close()
    assert [notice.method async for notice in heard] == [TOOLS_CHANGED]
