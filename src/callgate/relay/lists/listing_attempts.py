"""Asking for lists: one question at a time for each list, however many want it, and again when it failed.

Rules
1. A question does not end with the patience of those who wait for it: what it brings later is taken over.
2. A server that is up and fails to list is asked again, each time later, until it tells. One that is down
   is asked when it comes up. What only some clients are shown is asked again when one of them lists: each
   time may cost a process.
3. A server that says it changed while it is asked is asked once more at once, and then ever later.
4. For a list that only some clients are shown a process may have to be started: few of those run at a time.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Container, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field

from callgate.model.error_codes import UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from callgate.model.errors import CallgateError, UpstreamError
from callgate.model.exchange import Hop
from callgate.model.offers import OfferKind
from callgate.model.view import COMMON, View
from callgate.ports.upstream import Asker
from callgate.relay.lists.ask_listing import ListAsk, Listing, ask_listing
from callgate.wire.connection.backoff import Backoff

_log = logging.getLogger(__name__)

Key = tuple[str, OfferKind, View]

# A list that takes longer is not worth waiting for: the server is asked again.
_MAX_ASK_S = 60.0
# Each may be a process that is started only to list.
_MAX_OF_SOME_CLIENTS = 2


@dataclass(slots=True, eq=False)
class Attempt:
    """One question that is under way, or was."""

    hop: Hop
    began_up: bool
    is_outdated: bool = False  # the server said meanwhile that it changed
    is_replaced: bool = False  # another one, or none, has its place: ask again
    listing: Listing | None = None
    error: CallgateError | None = None
    task: asyncio.Task[None] = field(init=False)  # from its start on

    @property
    def is_running(self) -> bool:
        return self.listing is None and self.error is None


@dataclass(slots=True)
class ListFailure:
    """Why a list could not be had the last time. Not the error itself: its traceback keeps the connection."""

    code: str
    message: str
    lasted_s: float  # until it failed
    backoff: Backoff
    retry: asyncio.TimerHandle | None = None


@dataclass(slots=True)
class Attempts:
    make: Callable[[Key, Asker | None, Hop], ListAsk]  # the question
    take: Callable[[Key, Listing], None]  # who keeps the answer
    # Whether this upstream is to be asked again by the clock; else its coming up is told.
    comes_back: Callable[[str], bool]
    _running: dict[Key, Attempt] = field(default_factory=dict[Key, Attempt])
    _troubles: dict[Key, ListFailure] = field(default_factory=dict[Key, ListFailure])
    # Said that they changed each time they were asked.
    _restless: dict[Key, Backoff] = field(default_factory=dict[Key, Backoff])
    _few: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_OF_SOME_CLIENTS))
    _is_closed: bool = False

    def start(self, key: Key, asker: Asker | None, *, is_up: bool) -> Attempt:
        """The one that is under way, or a new one. `asker`: whose connection a session's own list is of."""
        attempt = self._running.get(key)
        if attempt is None:
            attempt = Attempt(Hop(key[0], key[1].method, b"", time.monotonic()), is_up)
            self._running[key] = attempt
            trouble = self._troubles.get(key)
            if trouble is not None and trouble.retry is not None:
                trouble.retry.cancel()
                trouble.retry = None
            attempt.task = asyncio.create_task(self._run(key, attempt, asker))
        return attempt

    async def ask(self, key: Key) -> Listing | None:
        """In our own name, of a server that is up; None: it failed."""
        attempt = self.start(key, None, is_up=True)
        await asyncio.wait([attempt.task])
        return attempt.listing

    def running(self, key: Key) -> Attempt | None:
        return self._running.get(key)

    def trouble(self, key: Key) -> ListFailure | None:
        return self._troubles.get(key)

    async def wait(self, attempts: Iterable[tuple[Key, Attempt, float]]) -> None:
        """Until all are over that are worth waiting for: not those that others waited for in vain.

        Each comes with the seconds, from its beginning, that it is waited for."""
        now = time.monotonic()
        deadlines: dict[asyncio.Task[None], float] = {}
        for key, attempt, patience_s in attempts:
            deadline = attempt.hop.started_mono + patience_s
            trouble = self._troubles.get(key)
            was_slow = trouble is not None and trouble.lasted_s > patience_s
            if attempt.is_running and deadline > now and not was_slow:
                deadlines[attempt.task] = deadline
        while deadlines:
            await asyncio.wait(deadlines, timeout=min(deadlines.values()) - now)
            now = time.monotonic()
            deadlines = {task: at for task, at in deadlines.items() if at > now and not task.done()}

    def forget(self, is_gone: Callable[[Key], bool], *, is_replaced: bool = False) -> None:
        for key in [key for key in self._running if is_gone(key)]:
            attempt = self._running.pop(key)
            attempt.is_replaced = is_replaced
            attempt.task.cancel()
        for key in [key for key in self._troubles if is_gone(key)]:
            self._end_trouble(key)
        for key in [key for key in self._restless if is_gone(key)]:
            del self._restless[key]

    async def close(self) -> None:
        self._is_closed = True
        tasks = [attempt.task for attempt in self._running.values()]
        self.forget(lambda key: True)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, key: Key, attempt: Attempt, asker: Asker | None) -> None:
        name, kind, view = key
        try:
            async with self._few if view.declared and not view.session_id else nullcontext():
                async with asyncio.timeout(_MAX_ASK_S):
                    listing = await ask_listing(self.make(key, asker, attempt.hop))
        except CallgateError as error:
            self._failed(key, attempt, error)
        except TimeoutError:
            text = f"{name} did not answer {kind.method} within {_MAX_ASK_S:g} s"
            self._failed(key, attempt, UpstreamError(UPSTREAM_TIMEOUT, text))
        except Exception:  # noqa: BLE001 - a list that we cannot read must not end the others
            _log.exception("listing the offers of %s failed", name)
            text = f"{name} sent a list of its offers that cannot be read"
            self._failed(key, attempt, UpstreamError(UPSTREAM_FAILED, text))
        else:
            attempt.listing = listing
            self._running.pop(key, None)
            self._end_trouble(key)
            self.take(key, listing)
            if attempt.is_outdated:
                self._ask_anew(key, asker)
            else:
                self._restless.pop(key, None)

    def _failed(self, key: Key, attempt: Attempt, error: CallgateError) -> None:
        # Whether it is down is told once, in the log of states (`app.state_log`).
        _log.debug("%s is missing from %s: %s", key[0], key[1].method, error)
        attempt.error = error
        attempt.hop.error = error.message
        self._running.pop(key, None)
        before = self._troubles.get(key)
        backoff = before.backoff if before is not None else Backoff(random.random)
        lasted_s = time.monotonic() - attempt.hop.started_mono
        trouble = ListFailure(error.code.code, error.message, lasted_s, backoff)
        self._troubles[key] = trouble
        if attempt.is_outdated:  # it came up, or said that it changed, while we asked
            self._ask_anew(key, None)
        elif key[2] == COMMON and self.comes_back(key[0]):
            delay_s = backoff.next_delay_s()
            loop = asyncio.get_running_loop()
            trouble.retry = loop.call_later(delay_s, self._start_if, self._troubles, key, None)

    def _ask_anew(self, key: Key, asker: Asker | None) -> None:
        backoff = self._restless.get(key)
        if backoff is None:
            self._restless[key] = Backoff(random.random)
            self.start(key, asker, is_up=True)
            return
        loop = asyncio.get_running_loop()
        loop.call_later(backoff.next_delay_s(), self._start_if, self._restless, key, asker)

    def _start_if(self, among: Container[Key], key: Key, asker: Asker | None) -> None:
        if not self._is_closed and key in among:
            self.start(key, asker, is_up=True)

    def _end_trouble(self, key: Key) -> None:
        trouble = self._troubles.pop(key, None)
        if trouble is not None and trouble.retry is not None:
            trouble.retry.cancel()
