"""Tool calls of a source that the relay need not wait for: begun in its client's callback, and told of later.

1. A plain read whose driver takes it is answered in the callback of the database's socket (`PlainReader`).
2. Every other call has a task, because drivers wait in coroutines. Either replaces the coroutines from the
   HTTP endpoint to here, which cost more than the statement (`relay.plain_calls`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from callgate.model.errors import CallgateError
from callgate.model.exchange import Hop
from callgate.model.reply import Notice, Reply, Tell
from callgate.ports.upstream import BegunCall, CallListener
from callgate.sql.drivers.driver import BegunRead, StatementResult
from callgate.sql.server.statement_runner import JudgedRequest, StatementRunner

# Told instead of an answer, so that the relay goes on, which sees the error where bugs become answers.
_FAILED = Notice("notifications/message", b"{}")
_NONE = Reply()  # the listener was told


class CallingServer(Protocol):
    """What a call needs of its server."""

    def begin(self, hop: Hop, listener: CallListener) -> BegunCall:
        """A call of one of its tools."""
        ...


class SourceToolCaller:
    """Calls of one tool of a source. Implements `ports.ToolCaller`."""

    __slots__ = ("begin",)

    def __init__(self, server: CallingServer) -> None:
        self.begin = server.begin


class BegunSourceCall:
    """One of them, with a task. Implements `ports.BegunCall`."""

    __slots__ = ("_listener", "_task")

    def __init__(self, listener: CallListener) -> None:
        self._listener = listener
        self._task: asyncio.Task[Reply] | None = None

    def answer(self, answer: Callable[[], Awaitable[bytes]]) -> None:
        """`answer`: the raw result of the call. Raises `CallgateError`. Not called if `cancel` is first."""
        self._task = asyncio.get_running_loop().create_task(self._tell(answer))

    async def _tell(self, answer: Callable[[], Awaitable[bytes]]) -> Reply:
        listener = self._listener
        try:
            reply = Reply(result=await answer())
        except CallgateError as error:
            listener(error)
            return _NONE
        except Exception:
            listener(_FAILED)
            raise
        listener(reply)
        return reply

    async def go_on(self, tell: Tell) -> Reply:
        """Raises the bug, after one."""
        assert self._task is not None
        return await self._task

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


class BegunPlainRead(BegunSourceCall):
    """One of them, and no task until there is something to wait for."""

    __slots__ = ("_hop", "_read", "_request", "_runner", "_under_way")

    def __init__(
        self,
        runner: StatementRunner,
        request: JudgedRequest,
        hop: Hop,
        listener: CallListener,
        under_way: "set[BegunPlainRead]",
    ) -> None:
        """`under_way`: it is among them until it is over."""
        self._listener = listener
        self._task = None
        self._runner, self._request, self._hop = runner, request, hop
        self._under_way = under_way
        self._read: BegunRead | None = None

    def begin(self) -> bool:
        """False: nothing has happened."""
        self._read = self._runner.begin(self._request, self._hop, self._told)
        if self._read is None:
            return False
        self._under_way.add(self)
        return True

    def cancel(self) -> None:
        self._under_way.discard(self)
        if self._read is not None:
            self._read.cancel()  # also where its task has not begun to wait for it
        super().cancel()

    def _told(self, result: StatementResult | None) -> None:
        if result is not None:
            reply = None
            with suppress(Exception):  # a bug: its task comes to the same end, and has a border for it
                reply = Reply(result=self._runner.told(self._request, (result,), self._hop))
            if reply is not None:
                self._under_way.discard(self)
                self._listener(reply)
                return
        self.answer(self._rest)

    async def _rest(self) -> bytes:
        assert self._read is not None
        try:
            return await self._runner.answer_of(self._request, self._read.rest(), self._hop)
        finally:
            self._under_way.discard(self)
