"""One process of a server, started before it is needed: a Python child takes over a second to import.

Owns the spare until it is taken. Must not know what it is taken for. Counterpart: `child.py`, which can start
a process without speaking to it (the handshake has to name the client it is for, and nobody knows that yet).

Rules
1. Nothing is started before the second `take` within a minute: a person with one client needs no spare.
2. What was taken is replaced at once, what died after a pause that doubles each time until one is taken.
3. A spare that nobody came for within a minute is ended, and so is one whose place another process needs
   (`slots`), or when no client is left (`rest`); the next `take` begins again.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from callgate.model.errors import UpstreamError
from callgate.upstreams.child.child import ChildTransport
from callgate.upstreams.child.slots import Expendable, Need

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SparePatience:
    # Clients that come less often can wait a second; a spare has the memory of a whole server.
    idle_s: float = 60.0
    # Some servers end when nobody speaks to them. Doubling, they are started 6 times in `idle_s`, not more.
    first_pause_s: float = 1.0


class SpareChild:
    def __init__(
        self, name: str, make: Callable[[], ChildTransport], patience: SparePatience | None = None
    ) -> None:
        self._name = name
        self._make = make
        self._patience = patience or SparePatience()
        self._waiting: ChildTransport | None = None
        self._taken = asyncio.Event()
        self._asked_at: float | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._is_closed = False

    def take(self) -> ChildTransport | None:
        """The spare, from now on the caller's to close, or None. If they are wanted, another waits soon."""
        if self._is_closed:
            return None
        are_wanted = self._left_s() > 0
        self._asked_at = asyncio.get_running_loop().time()
        if are_wanted and (self._keeping is None or self._keeping.done()):
            self._keeping = asyncio.create_task(self._keep())
        child = self._waiting
        if child is None or child.exited.is_set():
            return None
        self._waiting = None
        self._taken.set()
        return child

    def expendable(self) -> list[Expendable]:
        """The spare, whose slot another process needs."""
        if self._waiting is None or self._keeping is None:
            return []
        return [Expendable(Need.SPARE, self._asked_at or 0.0, self.rest)]

    def rest(self) -> None:
        """Nobody is expected: the spare ends, and the next `take` begins again."""
        self._asked_at = None
        if self._keeping is not None:
            self._keeping.cancel()  # which closes it

    @property
    def pid(self) -> int | None:
        return self._waiting.pid if self._waiting is not None else None

    async def close(self) -> None:
        self._is_closed = True
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)

    async def _keep(self) -> None:
        pause_s = self._patience.first_pause_s
        while self._left_s() > 0:
            if await self._offer_one():
                pause_s = self._patience.first_pause_s
            else:
                await asyncio.sleep(pause_s)
                pause_s *= 2

    async def _offer_one(self) -> bool:
        """False: it died or did not start."""
        self._taken.clear()
        child = self._make()
        try:
            await child.warm_up()
            self._waiting = child
            return await self._wait_with(child)
        except UpstreamError as error:
            _log.info("a spare process could not be started: %s", error.message)
            return False
        finally:
            self._waiting = None
            if not self._taken.is_set():
                await child.close()

    async def _wait_with(self, child: ChildTransport) -> bool:
        """Until it is taken, or nobody came for long; False: it died."""
        exited = asyncio.ensure_future(child.exited.wait())
        taken = asyncio.ensure_future(self._taken.wait())
        try:
            await asyncio.wait((exited, taken), timeout=self._left_s(), return_when=asyncio.FIRST_COMPLETED)
        finally:
            exited.cancel()
            taken.cancel()
        if self._taken.is_set() or not child.exited.is_set():
            return True
        _log.info("%s: a spare process ended before it was needed", self._name)
        return False

    def _left_s(self) -> float:
        if self._asked_at is None:
            return 0.0
        return self._asked_at + self._patience.idle_s - asyncio.get_running_loop().time()
