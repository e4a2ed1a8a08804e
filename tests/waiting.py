"""Waiting for something to become so. The deadline is only against a hang: nothing is measured by it."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

DEADLINE_S = 60.0
_PAUSE_S = 0.02

T = TypeVar("T")


@overload
async def until(is_so: Callable[[], Awaitable[T]], deadline_s: float = DEADLINE_S) -> T: ...
@overload
async def until(is_so: Callable[[], T], deadline_s: float = DEADLINE_S) -> T: ...
async def until(is_so: Callable[[], Any], deadline_s: float = DEADLINE_S) -> Any:
    """The first true value, of a function or a coroutine function."""
    async with asyncio.timeout(deadline_s):
        while True:
            value = is_so()
            if inspect.isawaitable(value):
                value = await value
            if value:
                return value
            await asyncio.sleep(_PAUSE_S)


def until_now(is_so: Callable[[], T], deadline_s: float = DEADLINE_S) -> T:
    """The same, for tests without a loop."""
    deadline = time.monotonic() + deadline_s
    while not (value := is_so()):
        assert time.monotonic() < deadline, "it did not become so"
        time.sleep(_PAUSE_S)
    return value
