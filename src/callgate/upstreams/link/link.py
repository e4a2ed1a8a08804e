"""One living connection to an upstream: it starts, shakes hands, lives, is lost, backs off and starts again.

`attempted` says that an attempt is over, well or not. What goes over the connection is `traffic`'s business,
how hands are shaken `handshake`'s, and what moves the bytes is a transport.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import UPSTREAM_FAILED, UPSTREAM_SESSION_LOST, UPSTREAM_STARTING
from callgate.model.errors import UpstreamError
from callgate.model.health import Failure
from callgate.model.reply import Reply, Undelivered, Unsolicited
from callgate.model.stderr_text import quoted, telling_line
from callgate.upstreams.link.call_limits import CallLimits
from callgate.upstreams.link.handshake import Introduction, shake_hands
from callgate.upstreams.link.traffic import Traffic
from callgate.upstreams.transport import Opener
from callgate.wire.connection.errors import copy_of
from callgate.wire.connection.request_table import START_TIMEOUT_S

_log = logging.getLogger(__name__)

# A server that forgets our session again so soon is not asked again at once.
_SESSION_PATIENCE_S = 5.0
_DOUBTFUL_STATUSES = frozenset({400, 404, 405})

DEFAULT_ANSWER_TIMEOUT_S = 600.0

OnUnsolicited = Callable[[Unsolicited | Undelivered], None]
OnState = Callable[[bool], None]  # whether it is up


@dataclass(frozen=True, slots=True)
class LinkPlan:
    name: str
    opener: Opener
    era: Era | None  # None: whichever the upstream prefers
    client: Envelope | None  # the one client it serves; None when it is shared
    timeout_s: float
    # How long a person may think about a question of the server's.
    answer_timeout_s: Callable[[], float] = lambda: DEFAULT_ANSWER_TIMEOUT_S
    call_limits: CallLimits = field(default_factory=CallLimits)
    start_timeout_s: float = START_TIMEOUT_S  # until it has answered `initialize`


class Link:
    """Implements `transport.Receiver`."""

    def __init__(self, plan: LinkPlan, on_unsolicited: OnUnsolicited, on_state: OnState) -> None:
        self._plan = plan
        # Also for an item of a call that its asker does not want for itself.
        self.unsolicited = on_unsolicited
        self._on_state = on_state
        self._loop = asyncio.get_running_loop()
        traffic = Traffic(plan.name, plan.client, plan.timeout_s, plan.answer_timeout_s, on_unsolicited)
        self._traffic = traffic
        # What is only passed on, for every call, is the traffic's own.
        self.ask, self.begin, self.tell = traffic.ask, traffic.begin, traffic.tell
        self.received, self.answered, self.stream_paused = traffic.received, traffic.answered, traffic.paused
        self._tail_before: list[str] = []
        self._doubting: asyncio.Task[None] | None = None
        self._era = plan.era
        self._is_probing = False
        self._session_lost_at = -_SESSION_PATIENCE_S
        self._gone = asyncio.Event()
        self._hurried = asyncio.Event()  # somebody asked to start again before the back-off is over
        self._closing = False
        self.attempted = asyncio.Event()
        self.used_at = self._loop.time()
        self.introduction: Introduction | None = None  # the last one
        self.ready: Introduction | None = None  # the same while it is up
        self.error: UpstreamError | None = None
        self.trouble = ""  # the same for people, with what the process said at its end
        self.last_failure: Failure | None = None
        self._started_at: float | None = None
        self._life = asyncio.create_task(self._live())

    @property
    def is_ready(self) -> bool:
        return self._traffic.is_ready

    @property
    def starting_s(self) -> float | None:
        """For how long it has been starting; None when it is not."""
        return None if self._started_at is None else self._loop.time() - self._started_at

    @property
    def state(self) -> str:
        return self._traffic.connection.state.value

    @property
    def in_flight(self) -> int:
        return self._traffic.connection.in_flight

    @property
    def is_pipe(self) -> bool:
        """All requests share one stream, so that what the server says carries no address."""
        return self._traffic.over is not None and self._traffic.over.is_pipe

    @property
    def is_shared(self) -> bool:
        return self._plan.client is None

    @property
    def stderr_tail(self) -> list[str]:
        """Of the process that runs; until it says something, of the one before it."""
        return self._tail or self._tail_before

    @property
    def _tail(self) -> list[str]:
        return self._traffic.over.transport.stderr_tail if self._traffic.over is not None else []

    # ---- what it is for

    async def until_ready(self, timeout_s: float) -> Introduction:
        """What the upstream said of itself, once it did. Raises UpstreamError."""
        if not self.is_ready:
            try:
                await asyncio.wait_for(self.attempted.wait(), timeout_s)
            except TimeoutError as problem:
                raise self._still_starting(timeout_s) from problem
        if self.introduction is None or not self.is_ready:
            raise copy_of(self.error or UpstreamError(UPSTREAM_FAILED, f"{self._plan.name} is not ready"))
        return self.introduction

    async def retry(self) -> None:
        """End the back-off, if there is one. Returns when the attempt is over, well or not."""
        if self._traffic.connection.retry_at is not None:
            self.attempted.clear()
            self._hurried.set()
        await self.attempted.wait()

    def _still_starting(self, waited_s: float) -> UpstreamError:
        since = f"for {self.starting_s:.0f} s" if self.starting_s is not None else "again"
        text = f"{self._plan.name} is still starting ({since}); this request waited {waited_s:g} s for it"
        said = telling_line(self.stderr_tail)
        words = f" It says on stderr: {said}" if said else ""
        hint = f"Try again in a moment: it has {self._plan.start_timeout_s:g} s (start_timeout_s).{words}"
        return UpstreamError(UPSTREAM_STARTING, text, hint=hint)

    @property
    def has_server_session(self) -> bool:
        """The server gave this connection an `Mcp-Session-Id`."""
        return self._traffic.over is not None and self._traffic.over.transport.has_session

    async def close(self) -> None:
        self._closing = True
        self._traffic.close()
        self.attempted.set()  # callers that wait for it to be ready need not wait any longer
        tasks = [task for task in (self._life, self._doubting) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._traffic.over is not None:
            await self._traffic.over.transport.close()

    # ---- life

    async def _live(self) -> None:
        while not self._closing:
            try:
                await self._live_once()
            except Exception:  # noqa: BLE001 - a bug of ours must not end the upstream for good
                _log.exception("connecting to %s failed", self._plan.name)
                self._started_at = None
                self._lose(UpstreamError(UPSTREAM_FAILED, f"Connecting to {self._plan.name} failed"))
                self.attempted.set()
            retry_at = self._traffic.connection.retry_at
            if retry_at is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._hurried.wait(), max(0.0, retry_at - self._loop.time()))
            self._hurried.clear()
            self._traffic.connection.retrying()

    async def _live_once(self) -> None:
        self._gone.clear()
        self.attempted.clear()
        self._started_at = self._loop.time()
        try:
            await self._start()
        except UpstreamError as error:
            self._started_at = None
            # Some legacy servers end when they are asked anything before `initialize`. And what was true
            # of a server that is gone need not be true of the one that comes back.
            self._era = Era.LEGACY if self._is_probing and self._plan.era is None else self._plan.era
            if not self._gone.is_set():  # else the transport told the cause, and this only follows from it
                self._lose(error)
            self.attempted.set()
        else:
            self._started_at = None
            if not self._gone.is_set():
                self.error = None
                self._tail_before = []
                self.ready = self.introduction
                self.attempted.set()
            self._on_state(True)
            await self._gone.wait()
            self._on_state(False)
        finally:
            if self._traffic.over is not None:
                await self._traffic.over.transport.close()

    async def _start(self) -> None:
        self._is_probing = False
        self._tail_before = self.stderr_tail
        opened = await self._plan.opener(self, self._era)
        self._traffic.use(opened)
        await opened.transport.start()
        self._traffic.connection.opened()
        self.introduction = await shake_hands(
            self._plan.name, self._plan.client, opened, self._ask_handshake, self._plan.start_timeout_s
        )
        self._era = self.introduction.era
        self._traffic.server = self.introduction.server_version, self.introduction.revision
        self._traffic.ready()

    async def _ask_handshake(self, method: str, params: bytes, timeout_s: float) -> Reply:
        # Until it is answered: a server that is slow to start reads it, and perhaps ends, only later.
        self._is_probing = self._is_probing or method == "server/discover"
        reply = await self._traffic.ask_handshake(method, params, timeout_s)
        self._is_probing = False
        return reply

    def _lose(self, error: UpstreamError) -> None:
        self._note(error)
        self.last_failure = Failure(time.time(), self.trouble, error.code.code)
        self._traffic.lost(error)

    def _note(self, error: UpstreamError) -> None:
        # Only of this process, and written down now: the next one says nothing at first.
        self.error, self.trouble = error, error.message + quoted(self._tail)

    # ---- Receiver

    def stream_failed(self, about: int, error: UpstreamError) -> None:
        self._traffic.failed(about, error)
        is_doubtful = error.data.get("status") in _DOUBTFUL_STATUSES
        recheck = self._traffic.over.recheck if self._traffic.over is not None and is_doubtful else None
        # Nobody accepts connections, and nobody is still being answered: the server is gone, not busy.
        if self.is_ready and error.data.get("reason") == "unreachable" and self.in_flight == 0:
            self.lost(error)
        elif recheck is not None and self._doubting is None:
            self._doubting = asyncio.create_task(self._doubt(recheck))

    async def _doubt(self, recheck: Callable[[], Awaitable[Era]]) -> None:
        """An answer that no server of this era gives: perhaps another one stands there now."""
        try:
            if await recheck() is not self._era and self.is_ready:
                text = f"{self._plan.name} came back with another era of the protocol"
                self._era = self._plan.era
                self.lost(UpstreamError(UPSTREAM_FAILED, text))
        except UpstreamError:
            pass
        finally:
            self._doubting = None

    def lost(self, error: UpstreamError) -> None:
        now = self._loop.time()
        if self.ready is not None:
            # Callers that ask from now on wait for the next attempt, a second away: see `until_ready`.
            self.ready = None
            self.attempted.clear()
        if error.code is UPSTREAM_SESSION_LOST and now - self._session_lost_at >= _SESSION_PATIENCE_S:
            self._session_lost_at = now
            self._note(error)
            self._traffic.renew(error)  # no back-off: the server is there, it only forgot us
        else:
            self._lose(error)
        self._gone.set()
