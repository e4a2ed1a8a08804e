"""A link to an upstream with what clients keep on it: watched resources, listeners, and the level of its log.

On a legacy line a modern listener hears the unsolicited messages of the connection; nothing is invented for
it. After a restart of the server the level is set again, and what is watched asked for again (`watches`).
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, cast

import msgspec

from callgate.model.envelope import Era
from callgate.model.errors import UpstreamError
from callgate.model.reply import Notice, Reply, Tell, Undelivered, Unsolicited, tell_nobody
from callgate.task_set import TaskSet
from callgate.upstreams.link.call import Call
from callgate.upstreams.link.link import Link, LinkPlan, OnState, OnUnsolicited
from callgate.upstreams.link.listening import Listening
from callgate.upstreams.link.log_levels import LEVELS, level_in, rank_of
from callgate.upstreams.link.watches import Watches
from callgate.wire.eras.subscription import (
    ACKNOWLEDGED,
    LIST_CHANGED,
    UPDATED,
    read_filter,
    watched_uris,
    with_subscription,
)
from callgate.wire.params import peek, text_of

# A listener that does not read loses the oldest: what changed twice is still what changed.
_MAX_WAITING = 256
# What a server logs before anybody told it a level is its own choice; a stricter level is kept by us.
_UNSET_RANK = rank_of("notice")


class Line:
    def __init__(self, plan: LinkPlan, on_unsolicited: OnUnsolicited, on_state: OnState) -> None:
        self._on_unsolicited = on_unsolicited
        self._on_state = on_state
        self._listeners: set[asyncio.Queue[Notice | None]] = set()
        self._level: str | None = None  # what we told a legacy server last
        self._tasks = TaskSet()
        # At most one call at a time may be asked something, where questions carry no address (see OwnLines).
        self.turn = asyncio.Lock()
        self.parked = 0  # calls that wait for a person
        self.call_limits = plan.call_limits
        self.is_moved_in = False  # what its one client asked of shared lines before was taken over
        self.users = 0  # requests that were given this line, and may not have asked yet
        self.link = Link(plan, self._unsolicited, self._changed)
        self._listening = Listening(self.link, self._unsolicited)
        self.watches = Watches(self._ask, self._listening.watch, lambda: self.era is Era.MODERN)

    @property
    def era(self) -> Era | None:
        return self.link.introduction.era if self.link.introduction is not None else None

    @property
    def is_used(self) -> bool:
        """Somebody waits for it, something is under way on it, or a modern client listens."""
        is_asked = self.link.in_flight > int(self._listening.is_open)
        return bool(is_asked or self.turn.locked() or self.users or self._listeners)

    @property
    def is_busy(self) -> bool:
        """It is used, or starting: perhaps by itself, after its process died."""
        return self.is_used or bool(self.link.starting_s)

    @property
    def is_idle(self) -> bool:
        """Nothing is under way, nobody listens."""
        return not self.is_busy and self.watches.is_empty

    async def close(self) -> None:
        for queue in self._listeners:
            _push(queue, None)
        await self._listening.close()
        self._tasks.cancel()
        await self.link.close()

    def forget(self, who: str) -> None:
        """It is gone, and with it what only it wanted to hear of."""
        left = self.watches.forget(who)
        if left and self.link.is_ready:
            self._spawn(self.watches.drop(left))

    # ---- a modern listener on a legacy line

    async def listen(self, params: bytes, rpc_id: bytes, tell: Tell) -> Reply:
        """`subscriptions/listen` of a modern client, served by a legacy server's unsolicited notices."""
        wanted = read_filter(params)
        queue: asyncio.Queue[Notice | None] = asyncio.Queue(_MAX_WAITING)
        self._listeners.add(queue)
        who = f"listener-{id(queue)}"
        granted: dict[str, Any] = {
            member: True for member in LIST_CHANGED if wanted.get(member) is True and self._announces(member)
        }
        methods = {LIST_CHANGED[member] for member in granted}
        try:
            asked = [(uri, msgspec.json.encode({"uri": uri})) for uri in watched_uris(wanted)]
            uris = [uri for uri, params in asked if (await self.watches.add(params, who)).fault is None]
            if uris:
                granted["resourceSubscriptions"] = uris
            said = msgspec.json.encode({"notifications": granted})
            await tell(Notice(ACKNOWLEDGED, with_subscription(said, rpc_id)))
            while (notice := await queue.get()) is not None:
                is_watched = notice.method == UPDATED and text_of(peek(notice.params).uri) in uris
                if notice.method in methods or is_watched:
                    await tell(Notice(notice.method, with_subscription(notice.params, rpc_id)))
        finally:
            self._listeners.discard(queue)
            self.forget(who)
        return Reply(result=with_subscription(b"{}", rpc_id))

    def _announces(self, member: str) -> bool:
        """Whether the server said that it tells of this list's changes."""
        introduction = self.link.introduction
        offers = member.removesuffix("ListChanged")
        declared: Any = introduction.capabilities.get(offers) if introduction is not None else None
        return isinstance(declared, dict) and cast(dict[str, Any], declared).get("listChanged") is True

    # ---- the log

    async def set_level(self, params: bytes) -> Reply:
        """`logging/setLevel` of one of those who share a legacy line: only what shows more is passed on.

        What shows less is left out on each client's own way (`log_levels`). Raises UpstreamError.
        """
        level = level_in(params)
        current = rank_of(self._level) if self._level is not None else _UNSET_RANK
        known = level in LEVELS and self._has_log
        if known and (rank_of(level) > current or level == self._level):
            return Reply(result=b"{}")
        return await (self.pass_level(params) if known else self._ask("logging/setLevel", params))

    async def pass_level(self, params: bytes) -> Reply:
        """`logging/setLevel` of the one client that the line serves. Raises UpstreamError."""
        reply = await self._ask("logging/setLevel", params)
        if reply.fault is None:
            self._level = level_in(params)
        return reply

    async def take_over(self, who: str, level: str | None, others: Iterable["Line"]) -> None:
        """The line is `who`'s from now on: what it asked of lines that it shared is asked here instead."""
        with suppress(UpstreamError):
            if level is not None and self._has_log and self.era is Era.LEGACY:
                await self.pass_level(msgspec.json.encode({"level": level}))
            for other in others:
                if uris := other.watches.of(who):
                    await self.watches.add_all(uris, who)
                other.forget(who)

    async def show(self, level: str) -> None:
        """See to it that messages of this level are sent; a server without a log sends none."""
        if self._has_log:
            with suppress(UpstreamError):  # a call is worth more than its log
                await self.set_level(msgspec.json.encode({"level": level}))

    @property
    def _has_log(self) -> bool:
        introduction = self.link.introduction
        return introduction is not None and "logging" in introduction.capabilities

    # ---- what the link says

    def _unsolicited(self, item: Unsolicited | Undelivered) -> None:
        self._on_unsolicited(item)
        if isinstance(item, Notice):
            for queue in self._listeners:
                _push(queue, item)

    def _changed(self, is_up: bool) -> None:
        self._on_state(is_up)
        if not is_up:
            self._listening.stop()
        else:
            self._spawn(self._renew())

    async def _renew(self) -> None:
        if self._level is not None and self.era is Era.LEGACY:
            await self._ask("logging/setLevel", msgspec.json.encode({"level": self._level}))
        await self.watches.renew()

    async def _ask(self, method: str, params: bytes) -> Reply:
        return await self.link.ask(Call(), method, params, tell_nobody)

    def _spawn(self, work: Any) -> None:
        async def quietly() -> None:
            with suppress(UpstreamError):  # the line went down again: the next start asks for it all
                await work

        self._tasks.start(quietly())


def _push(queue: "asyncio.Queue[Notice | None]", notice: Notice | None) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(notice)
