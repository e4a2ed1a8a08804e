"""Hearing of changes from a modern server: it tells only those who ask, by `subscriptions/listen`.

One subscription a link, for the lists and for every resource that anybody wants to hear of. What it says
goes on as if it were an unsolicited message of a legacy server. (2026-07-28, basic/patterns/subscriptions.)
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from callgate.model.errors import UpstreamError
from callgate.model.reply import Notice, Said
from callgate.task_set import TaskSet
from callgate.upstreams.link.call import Call
from callgate.upstreams.link.link import Link
from callgate.wire.connection.request_table import NO_TIMEOUT
from callgate.wire.eras.params import with_envelope
from callgate.wire.eras.subscription import (
    ACKNOWLEDGED,
    LIST_CHANGED,
    read_filter,
    watched_uris,
    without_subscription,
)

_log = logging.getLogger(__name__)

_LISTS = dict.fromkeys(LIST_CHANGED, True)
# A proxy on the way may cut a stream that is silent for long: ask again, but not in a hurry.
_PAUSE_S = 1.0
_MAX_PAUSE_S = 60.0
# A server that has not acknowledged by then will not send anything.
_PATIENCE_S = 5.0


class Listening:
    def __init__(self, link: Link, on_notice: Callable[[Notice], None]) -> None:
        self._link = link
        self._loop = asyncio.get_running_loop()
        self._on_notice = on_notice
        self._task: asyncio.Task[None] | None = None
        self._replaced = TaskSet()

    async def watch(self, uris: Iterable[str]) -> frozenset[str]:
        """Hear of the lists and these resources from now on; those that the server agreed to tell of.

        The subscription before this one ends when this one is there: nothing is missed between them.
        """
        acknowledged: asyncio.Future[frozenset[str]] = self._loop.create_future()
        before = self._task
        self._task = asyncio.create_task(self._listen(sorted(uris), acknowledged))
        try:
            return await asyncio.wait_for(asyncio.shield(acknowledged), _PATIENCE_S)
        except TimeoutError:
            return frozenset()
        finally:
            if before is not None:
                self._end(before)

    @property
    def is_open(self) -> bool:
        """A request of our own is, or is about to be, under way on the link."""
        return self._task is not None and not self._task.done()

    def stop(self) -> None:
        if self._task is not None:
            self._end(self._task)
            self._task = None

    async def close(self) -> None:
        self.stop()
        await self._replaced.wait()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._replaced.keep(task)
        task.cancel()

    async def _listen(self, uris: list[str], acknowledged: "asyncio.Future[frozenset[str]]") -> None:
        """Ends with the link, or a plain no."""
        wanted: dict[str, Any] = {**_LISTS, "resourceSubscriptions": uris} if uris else dict(_LISTS)
        params = with_envelope(msgspec.json.encode({"notifications": wanted}), None)
        pause_s = _PAUSE_S
        try:
            while self._link.is_ready:
                began = self._loop.time()
                try:
                    if not await self._listen_once(params, acknowledged):
                        break
                except UpstreamError:
                    pass
                except Exception:  # noqa: BLE001 - a bug of ours must not end the listening for good
                    _log.exception("listening to changes failed")
                if self._loop.time() - began > _MAX_PAUSE_S:
                    pause_s = _PAUSE_S  # it went well for long
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, _MAX_PAUSE_S)
        finally:
            if not acknowledged.done():
                acknowledged.set_result(frozenset())

    async def _listen_once(self, params: bytes, acknowledged: "asyncio.Future[frozenset[str]]") -> bool:
        """Whether it is worth asking again."""

        async def hear(said: Said) -> None:
            if not isinstance(said, Notice):
                return
            if said.method != ACKNOWLEDGED:
                self._on_notice(Notice(said.method, without_subscription(said.params)))
            elif acknowledged.done():
                self._missed()
            else:
                acknowledged.set_result(frozenset(watched_uris(read_filter(said.params))))

        reply = await self._link.ask(Call(), "subscriptions/listen", params, hear, NO_TIMEOUT)
        return reply.fault is None

    def _missed(self) -> None:
        """The stream was cut and is there again: what changed meanwhile nobody told us."""
        for method in LIST_CHANGED.values():
            self._on_notice(Notice(method, b""))
