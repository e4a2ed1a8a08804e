"""The feed over a shared store: what all gateways record, in one order; implements `ports.RowFeed`.

Settled calls come from the store, with the numbers that it gives them, so that a listener which is cut can go
on at any other gateway. What is known here sooner (that a call of our own began, that a session began or
ended) is told at once, without a number of its own. While nobody listens, nothing is read.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol

from callgate.model.errors import CallgateError
from callgate.ports.record_reader import Row, UnknownSeqError
from callgate.ports.row_feed import FeedRow, Missed
from callgate.recorder.feed import Feed
from callgate.recorder.listeners import Listeners

_log = logging.getLogger(__name__)

_EVERY_S = 0.25
_LEAST_PAUSE = 0.2  # of it: the store is never asked without a pause
# While the store is away: its writer tries too, and says what is wrong.
_AWAY_S = 2.0
_AT_ONCE = 1_000
_MAX_KNOWN_SESSIONS = 10_000


class RowPage(Protocol):
    @property
    def rows(self) -> list[Row]: ...

    @property
    def reached(self) -> int:
        """Where to go on."""
        ...

    @property
    def has_more(self) -> bool: ...


class StoredRows(Protocol):
    """Settled rows of all gateways, numbered. What they raise is a CallgateError."""

    async def end(self) -> int:
        """The number of the last that is stored now."""
        ...

    async def after(self, seq: int, limit: int) -> RowPage:
        """Raises UnknownSeqError, when the store forgot its last numbers."""
        ...

    async def sessions(self, session_ids: Sequence[str]) -> list[Row]: ...


class SharedFeed:
    """On the event loop."""

    def __init__(self, own: Feed, stored: StoredRows) -> None:
        self._own = own
        self._stored = stored
        self._listeners = Listeners()
        self._following: asyncio.Task[None] | None = None
        self._was_tried = asyncio.Event()
        self.reached: int | None = None  # the number up to which everything was told
        self._known_sessions: set[str] = set()

    @property
    def has_listeners(self) -> bool:
        return bool(self._listeners)

    @property
    def is_reading(self) -> bool:
        """Whether the store is asked, now and then."""
        return self._following is not None

    def listen(self) -> AsyncGenerator[FeedRow | Missed]:
        listening = self._listeners.listen()
        if self._following is None:
            self._following = asyncio.create_task(self._follow())
        return listening

    async def ready(self) -> None:
        await self._was_tried.wait()

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def _follow(self) -> None:
        own = asyncio.create_task(self._tell_own())
        try:
            loop = asyncio.get_running_loop()
            while self._listeners:
                begun = loop.time()
                pause_s = await self._read_on()
                self._was_tried.set()
                # From one reading's beginning to the next: a slow one must not make everything later still.
                await asyncio.sleep(max(_LEAST_PAUSE * pause_s, pause_s - (loop.time() - begun)))
        finally:
            own.cancel()
            self._following = self.reached = None
            self._was_tried.clear()

    async def _read_on(self) -> float:
        """How long to wait for the next time."""
        try:
            if self.reached is None:
                self.reached = await self._stored.end()
                if self._was_tried.is_set():  # it was away, and some listen for longer
                    self._listeners.tell([], is_behind=True)
            has_more = True
            while has_more:
                has_more = await self._tell_stored(self.reached)
        except UnknownSeqError:
            self.reached = None
            return _EVERY_S
        except CallgateError as error:
            _log.debug("the live stream is late: %s", error)
            return _AWAY_S
        except Exception:  # noqa: BLE001 - whoever listens must not wait for ever
            _log.exception("The live stream could not be read")
            return _AWAY_S
        return _EVERY_S

    async def _tell_stored(self, seq: int) -> bool:
        """Whether there is more."""
        page = await self._stored.after(seq, _AT_ONCE)
        touched = dict.fromkeys(row["session_id"] for row in page.rows if row["session_id"] is not None)
        new = [one for one in touched if self._is_new(one)]
        told = [
            FeedRow(seq, "session_created", session)
            for session in (await self._stored.sessions(new) if new else ())
        ]
        told += [FeedRow(row["seq"], "exchange_settled", row) for row in page.rows]
        told += [FeedRow(page.reached, "session_updated", {"session_id": one}) for one in touched]
        self._listeners.tell(told)
        self.reached = page.reached
        return page.has_more

    async def _tell_own(self) -> None:
        async with aclosing(self._own.listen()) as rows:
            async for row in rows:
                if isinstance(row, Missed):
                    continue  # of what the store will tell, or of beginnings
                seq = self.reached or 0
                if row.happening == "exchange_started":
                    # It has the number of an end that is to come.
                    self._listeners.tell([FeedRow(seq + 1, row.happening, row.row)])
                elif row.happening in ("session_created", "session_closed"):
                    self._is_new(row.row["session_id"])
                    self._listeners.tell([FeedRow(seq, row.happening, row.row)])

    def _is_new(self, session_id: str) -> bool:
        if session_id in self._known_sessions:
            return False
        if len(self._known_sessions) >= _MAX_KNOWN_SESSIONS:
            self._known_sessions.clear()
        self._known_sessions.add(session_id)
        return True
