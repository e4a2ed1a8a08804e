"""Tool calls of a source that the relay need not wait for: a task each, which tells a listener the answer.

The task is there because drivers wait in coroutines. It replaces the generators from the HTTP endpoint to
here, which cost more than the statement (`relay.plain_calls`).
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from callgate.model.errors import CallgateError
from callgate.model.exchange import Hop
from callgate.model.reply import Item, Notice, Reply

_Listener = Callable[[Item | CallgateError], None]
# Told instead of an answer, so that `items` is asked, whose error is then seen where bugs become answers.
_FAILED = Notice("notifications/message", b"{}")


class SourceToolCaller:
    """Calls of one tool of a source. Implements `ports.ToolCaller`."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[Hop], Awaitable[bytes]]) -> None:
        """`call`: the raw result of a call. Raises `CallgateError`."""
        self._call = call

    def begin(self, hop: Hop, listener: _Listener) -> "BegunSourceCall":
        return BegunSourceCall(self._call, hop, listener)


class BegunSourceCall:
    """One of them, under way. Implements `ports.BegunCall`."""

    __slots__ = ("_bug", "_listener", "_task")

    def __init__(self, call: Callable[[Hop], Awaitable[bytes]], hop: Hop, listener: _Listener) -> None:
        self._listener = listener
        self._bug: Exception | None = None
        self._task = asyncio.get_running_loop().create_task(self._answer(call, hop))

    async def _answer(self, call: Callable[[Hop], Awaitable[bytes]], hop: Hop) -> None:
        try:
            told: Item | CallgateError = Reply(result=await call(hop))
        except CallgateError as error:
            told = error
        except Exception as error:  # noqa: BLE001 - `items` raises it, for the relay
            self._bug = error
            told = _FAILED
        self._listener(told)

    async def items(self) -> AsyncGenerator[Item]:
        """Only after a bug."""
        assert self._bug is not None
        raise self._bug
        yield  # pyright: ignore[reportUnreachable] - makes it a generator

    def cancel(self) -> None:
        self._task.cancel()
