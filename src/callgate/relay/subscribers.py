"""Subscribers: legacy sessions with their outlets and subscriptions, and modern listeners.

What an upstream says of its own accord comes in through `publish` and goes to exactly those who may know it:
a connection that serves one session speaks to that session only.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from callgate.model.offers import OfferKind, Route
from callgate.model.reply import Answer, Asking, Notice, Undelivered, Unsolicited
from callgate.model.session import Session
from callgate.model.upstream_news import ServerMessage
from callgate.ports.outlet import Outlet
from callgate.ports.upstream import Asker
from callgate.relay.lists.listing_attempts import Key
from callgate.relay.lists.listings import Listings
from callgate.wire.eras.subscription import ACKNOWLEDGED, LIST_CHANGED, UPDATED
from callgate.wire.params import peek, text_of, with_member

_NOBODY = Answer(error=b'{"code":-32601,"message":"No client of this connection answers questions"}')
# A listener that does not read loses the oldest: a list that changed twice is still a list that changed.
_MAX_WAITING = 256


@dataclass(slots=True)
class _Subscriber:
    session: Session
    outlet: Outlet
    on_end: Callable[[], None]
    listed: dict[OfferKind, int]  # by the kind of list, the version of the catalog that it was given
    subscribed: dict[Route, str] = field(default_factory=dict[Route, str])  # to the public uri


SayNotice = Callable[[Notice], Awaitable[None]]  # waits while the client cannot take more


class Subscribers:
    def __init__(self) -> None:
        self._subscribers: dict[str, _Subscriber] = {}
        # Modern listeners, each with whose it is.
        self._listeners: dict[asyncio.Queue[Notice | None], Asker] = {}

    # ---- legacy sessions

    def attach(self, session: Session, outlet: Outlet, on_end: Callable[[], None], version: int) -> None:
        """`version`: of the catalog; what changed before it came is not news to it."""
        self._subscribers[session.session_id] = _Subscriber(
            session, outlet, on_end, dict.fromkeys(OfferKind, version)
        )

    def end(self, session: Session) -> None:
        subscriber = self._subscribers.pop(session.session_id, None)
        if subscriber is not None:
            subscriber.on_end()

    def subscribe(self, session: Session, route: Route, public_uri: str) -> None:
        if subscriber := self._subscribers.get(session.session_id):
            subscriber.subscribed[route] = public_uri

    def is_subscribed(self, session: Session, route: Route) -> bool:
        subscriber = self._subscribers.get(session.session_id)
        return subscriber is not None and route in subscriber.subscribed

    def unsubscribe(self, session: Session, route: Route) -> None:
        if subscriber := self._subscribers.get(session.session_id):
            subscriber.subscribed.pop(route, None)

    def subscriptions_at(self, upstream: str) -> list[tuple[Session, Route]]:
        return [
            (subscriber.session, route)
            for subscriber in self._subscribers.values()
            for route in subscriber.subscribed
            if route.upstream == upstream
        ]

    # ---- what upstreams say

    def session_of(self, message: ServerMessage) -> Session | None:
        """Whom the connection that it came on serves, if that one can be told anything."""
        subscriber = self._subscribers.get(message.session_id) if message.session_id is not None else None
        return None if subscriber is None else subscriber.session

    def publish(self, message: ServerMessage) -> bool:
        """Whether it was for somebody: a client, or all who listen to a list."""
        item = message.item
        if isinstance(item, Undelivered):
            return False
        if message.session_id is not None and (subscriber := self._subscribers.get(message.session_id)):
            return self._pass_on(subscriber, message.upstream, item)
        if isinstance(item, Asking):
            item.respond(_NOBODY)  # a shared connection declared no capability: it must not ask
        if not isinstance(item, Notice):
            return False
        if item.method in LIST_CHANGED.values():
            if message.session_id is None:
                self._pass_on_to(self._subscribers, message.upstream, item)
            self.announce(item.method, message.session_id)
            return True
        if message.session_id is None and item.method == UPDATED:
            return self._pass_on_to(self._subscribers, message.upstream, item)
        # Anything else may speak of one client's call: nobody else is to know.
        return self._pass_on_to(message.wanted_by, message.upstream, item)

    @contextmanager
    def listing(self, session: Session, kind: OfferKind, version: Callable[[], int]) -> Generator[None]:
        """While a legacy client is given the list of this kind, as it is at the end: what changes meanwhile
        is in it. `version`: of the catalog."""
        subscriber = self._subscribers.get(session.session_id)
        if subscriber is None:
            yield
            return
        before, subscriber.listed[kind] = subscriber.listed[kind], sys.maxsize
        try:
            yield
            before = version()
        finally:
            subscriber.listed[kind] = before

    def say_list_changed(self, method: str, is_news: Callable[[Asker, dict[OfferKind, int]], bool]) -> None:
        """We noticed it ourselves. `is_news`: for whom, with what a legacy client was given already.

        Modern clients of one name share a session: which of them was given what, nobody knows.
        """
        for subscriber in list(self._subscribers.values()):
            if is_news(Asker(subscriber.session.envelope, subscriber.session, b"null"), subscriber.listed):
                subscriber.outlet.say(Notice(method, b""))
        for queue, asker in self._listeners.items():
            if is_news(asker, {}):
                _push(queue, Notice(method, b"{}"))

    def say_to_one(self, session: Session, method: str) -> None:
        """A list changed for this session only, and through us."""
        if subscriber := self._subscribers.get(session.session_id):
            subscriber.outlet.say(Notice(method, b""))
        self.announce(method, session.session_id)

    def _pass_on_to(self, session_ids: Iterable[str], upstream: str, item: Notice) -> bool:
        found = [self._subscribers.get(session_id) for session_id in session_ids]
        passed_on = [self._pass_on(one, upstream, item) for one in found if one is not None]
        return any(passed_on)

    def _pass_on(self, subscriber: _Subscriber, upstream: str, item: Unsolicited) -> bool:
        if subscriber.session.target not in (None, upstream):
            return False
        if isinstance(item, Notice) and item.method == UPDATED:
            uri = text_of(peek(item.params).uri)
            public = subscriber.subscribed.get(Route(upstream, uri)) if uri is not None else None
            if public is None:
                return False
            if public != uri:
                item = Notice(item.method, with_member(item.params, "uri", msgspec.json.encode(public)))
        subscriber.outlet.say(item)
        return True

    # ---- modern listeners of the aggregate

    def announce(self, method: str, session_id: str | None = None) -> None:
        """To everybody, or to the one session that a connection serves."""
        for queue, listener in self._listeners.items():
            if session_id in (None, listener.session.session_id):
                _push(queue, Notice(method, b"{}"))

    def close(self) -> None:
        """Every listener's subscription ends gracefully."""
        for queue in self._listeners:
            _push(queue, None)

    async def listen(self, asker: Asker, wanted: dict[str, Any], uris: list[str], say: SayNotice) -> None:
        """Says the acknowledgment, then the list changes that were asked for; ends with `close`.

        `uris`: the resources that are watched, for the acknowledgment.
        """
        granted: dict[str, Any] = {member: True for member in LIST_CHANGED if wanted.get(member) is True}
        methods = {LIST_CHANGED[member] for member in granted}
        if uris:
            granted["resourceSubscriptions"] = uris
        queue: asyncio.Queue[Notice | None] = asyncio.Queue(_MAX_WAITING)
        self._listeners[queue] = asker
        try:
            await say(Notice(ACKNOWLEDGED, b'{"notifications":%b}' % msgspec.json.encode(granted)))
            while (notice := await queue.get()) is not None:
                if notice.method in methods:
                    await say(notice)
        finally:
            del self._listeners[queue]


def _push(queue: "asyncio.Queue[Notice | None]", notice: Notice | None) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(notice)


# Servers come up one after the other: a client that lists again for each of them has nothing of it.
_MOMENT_S = 0.2

METHOD_OF = {
    OfferKind.TOOL: "notifications/tools/list_changed",
    OfferKind.PROMPT: "notifications/prompts/list_changed",
    OfferKind.RESOURCE: "notifications/resources/list_changed",
    OfferKind.TEMPLATE: "notifications/resources/list_changed",
}


class ListNews:
    """Telling clients that a list changed: once a moment and kind, however many upstreams changed theirs.

    What a server announces itself passes at once. This is for what we noticed: a server came up, or told its
    list at last. A client that was given the new list meanwhile is not told.
    """

    def __init__(self, subscribers: Subscribers, listings: Listings) -> None:
        self._subscribers = subscribers
        self._listings = listings
        self._changed: dict[Key, int] = {}  # and the version since which it is so
        self._for_all: set[OfferKind] = set()
        self._timer: asyncio.TimerHandle | None = None

    def changed(self, key: Key) -> None:
        self._changed[key] = self._listings.version
        self._tell_soon()

    def changed_for_all(self, kind: OfferKind) -> None:
        """What clients of the aggregate are shown is another, whoever offers it."""
        self._for_all.add(kind)
        self._tell_soon()

    def _tell_soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_MOMENT_S, self._tell)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tell(self) -> None:
        changed, self._changed, self._timer = self._changed, {}, None
        for_all, self._for_all = {METHOD_OF[kind] for kind in self._for_all}, set()
        for method in dict.fromkeys(METHOD_OF.values()):
            news = {key: version for key, version in changed.items() if METHOD_OF[key[1]] == method}
            if news or method in for_all:
                is_news = partial(self._is_news, news, method in for_all)
                self._subscribers.say_list_changed(method, is_news)

    def _is_news(
        self, news: dict[Key, int], is_for_all: bool, asker: Asker, listed: dict[OfferKind, int]
    ) -> bool:
        target = asker.session.target
        if is_for_all and target is None:
            return True
        return any(
            target in (None, key[0])
            and version > listed.get(key[1], 0)
            and self._listings.concerns(key, asker)
            for key, version in news.items()
        )
