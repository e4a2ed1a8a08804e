"""Tasks that end by themselves, kept until then: whoever started them can cancel them, and wait for them."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class TaskSet:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        self.keep(asyncio.create_task(work))

    def keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def wait(self) -> None:
        """Until all have ended."""
        if self._tasks:
            await asyncio.wait(list(self._tasks))
