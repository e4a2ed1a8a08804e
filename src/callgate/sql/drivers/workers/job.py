"""Job: one piece of blocking work for a worker thread, and the flag that says why it was told to stop.

Rules
1. `stop_reason` is set before the engine is interrupted: it alone says why a job ended early. The engine's
   error is not asked (a killed statement may end with a normal row on other engines).
2. The answer is delivered on the event loop, once; a caller that has stopped waiting gets none.
"""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import Generic, TypeVar

Connection = TypeVar("Connection")
Answer = TypeVar("Answer")


class StopReason(StrEnum):
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    CLOSED = "closed"


class Stopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """The job was told to stop, and did."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Job(Generic[Connection, Answer]):
    def __init__(self, work: "Callable[[Connection, Job[Connection, Answer]], Answer]") -> None:
        self._work = work
        self._ending: Callable[[], None] | None = None
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.stop_reason: StopReason | None = None

    def is_stopped(self) -> bool:
        return self.stop_reason is not None

    def run(self, connection: Connection) -> None:
        """In the worker's thread: do the work and keep what came of it."""
        if self.stop_reason is not None:
            self.fail(Stopped(self.stop_reason))
            return
        try:
            answer = self._work(connection, self)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller must hear of it
            self.fail(error)
        else:
            self._ending = lambda: self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        """In the worker's thread."""
        told = Stopped(self.stop_reason) if self.stop_reason is not None else error
        self._ending = lambda: self.answer.set_exception(told)

    def deliver(self) -> None:
        """On the event loop, after `run` or `fail`: tell the caller, if he still waits."""
        if self._ending is not None and not self.answer.done():
            self._ending()
