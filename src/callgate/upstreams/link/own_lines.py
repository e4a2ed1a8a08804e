"""Lines that serve one client alone: what a process remembers is its own, and it may be asked something.

Rules (docs/decisions/0021-a-process-for-each-client.md)
1. A legacy client has one line, which declares exactly what that client does.
2. A modern client's requests each declare what it can answer: at a legacy server one line for each
   declaration of a session.
3. On a pipe a question does not say which call it belongs to. A modern client's calls therefore take
   turns: one runs, others wait. A line with a parked call, or whose call runs for long, is left alone while
   a further one can be had, a few at most; where the operator wants one process a session, there is one.
4. A line ends with its session, or soon after its client has left: when the stream that it kept open closed
   and it did not come back, or, where it keeps none open, when nothing was heard of it for some minutes.
5. There is a ceiling on all of them, and on those of one principal: past it the one that was idle longest
   goes. Processes have both over all servers too (`child.slots`, `Shares`).
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import UPSTREAM_BUSY, UPSTREAM_STARTING
from callgate.model.errors import UpstreamError
from callgate.model.session import Session
from callgate.task_set import TaskSet
from callgate.upstreams.child.slots import Expendable, Need
from callgate.upstreams.link.handshake import Introduction
from callgate.upstreams.link.line import Line
from callgate.upstreams.link.link import DEFAULT_ANSWER_TIMEOUT_S
from callgate.upstreams.link.turn import Turn

# Each is perhaps a process: past this the machine is at risk, not the client.
_MAX_LINES = 100
# Half is left for everybody else, whatever one of them does.
_MAX_LINES_OF_ONE = 50
# Of one client: agents call a few tools at once.
_MAX_TURNS = 4
# Most calls are over by then, and a further process takes longer to start.
_TURN_PATIENCE_S = 0.25
_MODERN = Era.MODERN


@dataclass(slots=True)
class OwnPatience:
    """With clients. All servers have the same one, and it changes with the operator's file."""

    # A stream that broke is opened again within seconds by a client that is still there.
    grace_s: float = 10.0
    # A client that keeps no stream open says nothing while its model, or its user, thinks.
    idle_s: float = 300.0
    sweep_s: float = 1.0
    answer_s: float = DEFAULT_ANSWER_TIMEOUT_S  # for a person who is asked something by a server


class Shares:
    """How many own processes each principal has, over all servers: nobody may have them all."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.servers: list[OwnLines] = []

    def make_room(self, principal: str) -> bool:
        """What was idle longest goes. False: all that it may have are in use."""
        while sum(server.count(principal) for server in self.servers) >= self.limit:
            idle = [entry for server in self.servers for entry in server.idle(principal)]
            if not idle:
                return False
            min(idle, key=lambda entry: entry.used_at).end()
        return True


# Principal, session, what a modern request declares (a legacy client did it once), and the client's folder
# where that is where its process runs.
_Key = tuple[str, str, bytes, str | None]


@dataclass(slots=True)
class _Owned:
    session: Session
    lines: list[Line]


class OwnLines:
    def __init__(
        self,
        name: str,
        open_line: Callable[[Envelope, Session], Line],
        patience: OwnPatience,
        *,
        one_each: bool,
        by_folder: bool,
        on_empty: Callable[[], None],
        shares: Shares | None,
    ) -> None:
        """`on_empty`: the last of them ended. `shares`: of processes, which all servers have together."""
        self._name = name
        self._open_line = open_line
        self._patience = patience
        self._max_turns = 1 if one_each else _MAX_TURNS
        self._by_folder = by_folder
        self._on_empty = on_empty
        self._shares = shares
        if shares is not None:
            shares.servers.append(self)
        self._owned: dict[_Key, _Owned] = {}
        self._turns_given = 0
        # Of a legacy server: one handshake declares one thing. Modern requests carry it to any line.
        self.by_declaration = True
        self._sweep: asyncio.TimerHandle | None = None
        self._ending = TaskSet()

    def all(self) -> list[Line]:
        return [line for _, _, line in self._each()]

    def of_session(self, session_id: str) -> list[Line]:
        return [line for _, session, line in self._each() if session.session_id == session_id]

    def find(self, client: Envelope, session: Session) -> Line | None:
        """The client's line if it has one that is up; none is opened."""
        if not self._owned:
            return None
        # As `_key`, for each call of a client that has its own.
        declared = client.capabilities if self.by_declaration and client.era is _MODERN else b""
        folder = session.workspace if self._by_folder else None
        owned = self._owned.get((session.principal.name, session.session_id, declared, folder))
        return owned.lines[0] if owned is not None and owned.lines[0].link.ready is not None else None

    def has(self, client: Envelope, session: Session) -> bool:
        return self._key(client, session) in self._owned

    def expendable(self) -> list[Expendable]:
        """Lines that nothing runs on: the slots of their processes can be given to others."""
        return [
            self._expendable(key, line, Need.CLIENT_LEFT if _has_left(session) else Need.IDLE)
            for key, session, line in self._each()
            # One whose process has died holds no slot until it starts again.
            if line.link.is_ready and (line.is_idle or (_has_left(session) and not line.is_busy))
        ]

    def get(self, client: Envelope, session: Session) -> Line:
        """The client's line, opened if need be. Raises UpstreamError when there are too many."""
        owned = self._owned.get(self._key(client, session))
        line = owned.lines[0] if owned is not None else self._open(client, session)
        line.link.used_at = asyncio.get_running_loop().time()
        return line

    async def take_turn(self, client: Envelope, session: Session, timeout_s: float) -> Turn:
        """On a line of this client's on which nothing runs. Raises UpstreamError.

        A caller waits as long as turns are given. It gives up when nothing moves for `timeout_s`.
        """
        loop = asyncio.get_running_loop()
        seen, give_up_at = self._turns_given, loop.time() + timeout_s
        while True:
            self.get(client, session)
            lines = self._owned[self._key(client, session)].lines  # each time: lines end while we wait
            line = min(lines, key=lambda line: (line.turn.locked(), line.parked))
            if line.parked and len(lines) < self._max_turns:
                line = self._open(client, session)
            try:
                async with asyncio.timeout(_TURN_PATIENCE_S):
                    await line.turn.acquire()
            except TimeoutError as problem:
                if self._turns_given != seen:
                    seen, give_up_at = self._turns_given, loop.time() + timeout_s
                if loop.time() >= give_up_at:
                    raise self._busy(
                        f"{self._name} is still busy with other calls of this client"
                    ) from problem
                if len(lines) < self._max_turns:
                    self._open(client, session)
            else:
                self._turns_given += 1
                line.link.used_at = loop.time()
                return Turn(line)

    async def until_ready(self, line: Line, timeout_s: float) -> Introduction:
        """Raises UpstreamError; a line that did not come up is ended, and the next request opens another."""
        if line.link.ready is not None:
            return line.link.ready
        line.users += 1
        try:
            return await line.link.until_ready(timeout_s)
        except UpstreamError as error:
            if error.code is not UPSTREAM_STARTING:
                for key in [key for key, _, one in self._each() if one is line]:
                    self._end(key, line)
            raise
        finally:
            line.users -= 1

    def end(self, session_id: str, *, only_idle: bool) -> None:
        for key, session, line in self._each():
            if session.session_id == session_id and (line.is_idle or not only_idle):
                self._end(key, line)

    async def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        await asyncio.gather(*(line.close() for line in self.all()))
        await self._ending.wait()
        if self._shares is not None:
            self._shares.servers.remove(self)
            self._shares = None

    def count(self, principal: str) -> int:
        return sum(session.principal.name == principal for _, session, _ in self._each())

    def idle(self, principal: str | None) -> list[Expendable]:
        """Lines of this principal, or of all, that nothing runs on."""
        return [
            self._expendable(key, line, Need.IDLE)
            for key, session, line in self._each()
            if principal in (None, session.principal.name) and line.is_idle
        ]

    def _expendable(self, key: _Key, line: Line, need: Need) -> Expendable:
        return Expendable(need, line.link.used_at, partial(self._end, key, line))

    def _each(self) -> list[tuple[_Key, Session, Line]]:
        return [(key, owned.session, line) for key, owned in self._owned.items() for line in owned.lines]

    def _open(self, client: Envelope, session: Session) -> Line:
        self._make_room(session.principal.name)
        line = self._open_line(client, session)
        owned = self._owned.setdefault(self._key(client, session), _Owned(session, []))
        owned.session = session
        owned.lines.append(line)
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(self._patience.sweep_s, self._reap)
        return line

    def _make_room(self, principal: str) -> None:
        """What was idle longest makes room. Raises UpstreamError when all are in use."""
        if self._shares is not None and not self._shares.make_room(principal):
            raise self._busy(f"All {self._shares.limit} processes that one principal may have are in use")
        while (count := len(self.all())) >= _MAX_LINES or self.count(principal) >= _MAX_LINES_OF_ONE:
            # Where the principal has too many, somebody else's line is no help.
            idle = self.idle(principal if count < _MAX_LINES else None)
            if not idle:
                raise self._busy(f"{self._name} already serves {count} sessions with their own connection")
            min(idle, key=lambda entry: entry.used_at).end()

    def _reap(self) -> None:
        """Most clients never say goodbye, and each of them may hold a process."""
        loop = asyncio.get_running_loop()
        for key, session, line in self._each():
            if line.is_used:
                line.link.used_at = loop.time()
            elif self._is_over(session, line):
                self._end(key, line)
        self._sweep = loop.call_later(self._patience.sweep_s, self._reap) if self._owned else None

    def _is_over(self, session: Session, line: Line) -> bool:
        """`used_at` is moved on while a call runs: a long one does not count as silence."""
        if session.presence.streams:
            return False
        heard_at = max(session.last_seen_at, session.presence.left_at or 0.0)
        quiet_s = min(time.time() - heard_at, asyncio.get_running_loop().time() - line.link.used_at)
        return quiet_s > (self._patience.grace_s if _has_left(session) else self._patience.idle_s)

    def _end(self, key: _Key, line: Line) -> None:
        owned = self._owned.get(key)
        if owned is None or line not in owned.lines:
            return
        owned.lines.remove(line)
        if not owned.lines:
            del self._owned[key]
        if not self._owned:
            self._on_empty()
        self._ending.start(line.close())

    def _busy(self, text: str) -> UpstreamError:
        hint = 'End some sessions or calls, or set isolation = "shared" for this server'
        return UpstreamError(UPSTREAM_BUSY, text, hint=hint)

    def _key(self, client: Envelope, session: Session) -> _Key:
        declared = client.capabilities if self.by_declaration and client.era is _MODERN else b""
        folder = session.workspace if self._by_folder else None
        return session.principal.name, session.session_id, declared, folder


def _has_left(session: Session) -> bool:
    """Its stream closed, and nothing was heard of it since."""
    presence = session.presence
    return not presence.streams and (presence.left_at or 0.0) >= session.last_seen_at
