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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import UPSTREAM_BUSY, UPSTREAM_STARTING
from callgate.model.errors import UpstreamError
from callgate.model.reply import Answer, Asking, Withdrawn
from callgate.model.session import Session
from callgate.upstreams.child.slots import Expendable, Need
from callgate.upstreams.link.handshake import Introduction
from callgate.upstreams.link.line import Line
from callgate.upstreams.link.link import DEFAULT_ANSWER_TIMEOUT_S

# Each is perhaps a process: past this the machine is at risk, not the client.
_MAX_LINES = 100
# Half is left for everybody else, whatever one of them does.
_MAX_LINES_OF_ONE = 50
# Of one client: agents call a few tools at once.
_MAX_TURNS = 4
# Most calls are over by then, and a further process takes longer to start.
_TURN_PATIENCE_S = 0.25
# A server may ask several things at once: what follows a question this soon is of the same call, so nobody
# else may run yet.
_MORE_QUESTIONS_S = 0.05
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
        self._servers: list[OwnLines] = []

    def join(self, server: "OwnLines") -> None:
        self._servers.append(server)

    def leave(self, server: "OwnLines") -> None:
        self._servers.remove(server)

    def make_room(self, principal: str) -> bool:
        """What was idle longest goes. False: all that it may have are in use."""
        while sum(server.count(principal) for server in self._servers) >= self.limit:
            idle = [entry for server in self._servers for entry in server.idle(principal)]
            if not idle:
                return False
            min(idle, key=lambda entry: entry.used_at).end()
        return True


class _Key(NamedTuple):
    principal: str
    session_id: str
    declared: bytes  # by a modern request; a legacy client declared it once
    folder: str | None  # of the client, where that is where its process runs


class Turn:
    """The right to run on a line: given up while a person is asked, taken again before the answer goes on."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self._is_held = True
        self._is_parked = False
        self._put: dict[
            int, tuple[Asking, Asking]
        ] = {}  # open ones, by the identity of the server's own question
        self._answers: list[tuple[Asking, Answer]] = []
        self._taking: asyncio.Task[None] | None = None
        self._leaving: asyncio.TimerHandle | None = None

    def ask(self, question: Asking) -> Asking:
        """The question as its call's reader gets it."""
        if self._is_held:
            self._leave_soon()
        put = Asking(question.method, question.params, lambda answer: self._answered(question, answer))
        self._put[id(question)] = (question, put)
        return put

    def take_back(self, withdrawn: Withdrawn) -> Withdrawn:
        """The server's withdrawal, of the question as it was put."""
        _, put = self._put.pop(id(withdrawn.question), (None, withdrawn.question))
        return Withdrawn(put, withdrawn.params)

    def end(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
        self._stay()
        self._let_go(is_parked=False)

    def _park(self) -> None:
        self._leaving = None
        self._let_go(is_parked=True)

    def _leave_soon(self) -> None:
        self._stay()
        self._leaving = asyncio.get_running_loop().call_later(_MORE_QUESTIONS_S, self._park)

    def _stay(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _let_go(self, *, is_parked: bool) -> None:
        self.line.parked += int(is_parked) - int(self._is_parked)
        self._is_parked = is_parked
        if self._is_held:
            self._is_held = False
            self.line.turn.release()

    def _answered(self, question: Asking, answer: Answer) -> None:
        self._put.pop(id(question), None)
        if self._is_held:
            self._stay()
            question.respond(answer)
            return
        self._answers.append((question, answer))
        if self._taking is None:
            self._taking = asyncio.create_task(self._take())

    async def _take(self) -> None:
        await self.line.turn.acquire()
        self._is_held, self._taking = True, None
        self.line.parked -= int(self._is_parked)
        self._is_parked = False
        answers, self._answers = self._answers, []
        for question, answer in answers:
            question.respond(answer)
        if self._put:  # the server asked more while the call was parked
            self._leave_soon()


class OwnLines:
    def __init__(
        self,
        name: str,
        one_each: bool,
        open_line: Callable[[Envelope, Session], Line],
        patience: OwnPatience | None = None,
        on_empty: Callable[[], None] = lambda: None,
        shares: Shares | None = None,
    ) -> None:
        """`on_empty`: the last of them ended. `shares`: of processes, which all servers have together."""
        self._name = name
        self._patience = patience or OwnPatience()
        self._on_empty = on_empty
        self._shares = shares
        if shares is not None:
            shares.join(self)
        self._max_turns = 1 if one_each else _MAX_TURNS
        self._open_line = open_line
        self._lines: dict[_Key, list[Line]] = {}
        self._by_parts = cast(Mapping[tuple[str, str, bytes, str | None], list[Line]], self._lines)
        self._sessions: dict[_Key, Session] = {}
        self._turns_given = 0
        # Of a legacy server: one handshake declares one thing. Modern requests carry it to any line.
        self.by_declaration = True
        self.by_folder = False
        self._sweep: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def all(self) -> list[Line]:
        return [line for lines in self._lines.values() for line in lines]

    def of_session(self, session_id: str) -> list[Line]:
        return [line for key, lines in self._lines.items() if key.session_id == session_id for line in lines]

    def find(self, client: Envelope, session: Session) -> Line | None:
        """The client's line if it has one that is up; none is opened."""
        if not self._lines:
            return None
        # As `_key`, for each call of a client that has its own.
        declared = client.capabilities if self.by_declaration and client.era is _MODERN else b""
        folder = session.workspace if self.by_folder else None
        lines = self._by_parts.get((session.principal.name, session.session_id, declared, folder))
        return lines[0] if lines and lines[0].link.ready is not None else None

    def has(self, client: Envelope, session: Session) -> bool:
        return bool(self._lines) and self._key(client, session) in self._lines

    def expendable(self) -> list[Expendable]:
        """Lines that nothing runs on: the slots of their processes can be given to others."""
        return [
            Expendable(
                Need.CLIENT_LEFT if self._has_left(session) else Need.IDLE,
                line.link.used_at,
                partial(self._end, key, line),
            )
            for key, session in self._sessions.items()
            for line in self._lines[key]
            # One whose process has died holds no slot until it starts again.
            if line.link.is_ready and (line.is_idle or (self._has_left(session) and not line.is_busy))
        ]

    def get(self, client: Envelope, session: Session) -> Line:
        """The client's line, opened if need be. Raises UpstreamError when there are too many."""
        lines = self._lines.get(self._key(client, session))
        line = lines[0] if lines else self._open(client, session)
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
            lines = self._lines[self._key(client, session)]  # looked up each time: lines end while we wait
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
                for key in [key for key, lines in self._lines.items() if line in lines]:
                    self._end(key, line)
            raise
        finally:
            line.users -= 1

    def end(self, session_id: str, *, only_idle: bool) -> None:
        for key in [key for key in self._lines if key.session_id == session_id]:
            for line in list(self._lines[key]):
                if line.is_idle or not only_idle:
                    self._end(key, line)

    async def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        await asyncio.gather(*(line.close() for line in self.all()))
        if self._ending:
            await asyncio.wait(list(self._ending))
        if self._shares is not None:
            self._shares.leave(self)
            self._shares = None

    def _open(self, client: Envelope, session: Session) -> Line:
        key = self._key(client, session)
        self._make_room(key.principal)
        line = self._open_line(client, session)
        self._lines.setdefault(key, []).append(line)
        self._sessions[key] = session
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

    def count(self, principal: str) -> int:
        return sum(len(lines) for key, lines in self._lines.items() if key.principal == principal)

    def idle(self, principal: str | None) -> list[Expendable]:
        """Lines of this principal, or of all, that nothing runs on."""
        return [
            Expendable(Need.IDLE, line.link.used_at, partial(self._end, key, line))
            for key, lines in self._lines.items()
            if principal in (None, key.principal)
            for line in lines
            if line.is_idle
        ]

    def _reap(self) -> None:
        """Most clients never say goodbye, and each of them may hold a process."""
        loop = asyncio.get_running_loop()
        for key, session in list(self._sessions.items()):
            for line in list(self._lines[key]):
                if line.is_used:
                    line.link.used_at = loop.time()
                elif self._is_over(session, line):
                    self._end(key, line)
        self._sweep = loop.call_later(self._patience.sweep_s, self._reap) if self._lines else None

    def _has_left(self, session: Session) -> bool:
        """Its stream closed, and nothing was heard of it since."""
        presence = session.presence
        return not presence.streams and (presence.left_at or 0.0) >= session.last_seen_at

    def _is_over(self, session: Session, line: Line) -> bool:
        """`used_at` is moved on while a call runs: a long one does not count as silence."""
        if session.presence.streams:
            return False
        heard_at = max(session.last_seen_at, session.presence.left_at or 0.0)
        quiet_s = min(time.time() - heard_at, asyncio.get_running_loop().time() - line.link.used_at)
        return quiet_s > (self._patience.grace_s if self._has_left(session) else self._patience.idle_s)

    def _end(self, key: _Key, line: Line) -> None:
        lines = self._lines.get(key, [])
        if line not in lines:
            return
        lines.remove(line)
        if not lines:
            del self._lines[key], self._sessions[key]
        if not self._lines:
            self._on_empty()
        task = asyncio.create_task(line.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _busy(self, text: str) -> UpstreamError:
        hint = 'End some sessions or calls, or set isolation = "shared" for this server'
        return UpstreamError(UPSTREAM_BUSY, text, hint=hint)

    def _key(self, client: Envelope, session: Session) -> _Key:
        declared = client.capabilities if self.by_declaration and client.era is Era.MODERN else b""
        folder = session.workspace if self.by_folder else None
        return _Key(session.principal.name, session.session_id, declared, folder)
