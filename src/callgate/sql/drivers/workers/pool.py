"""A pool of workers: N of them, jobs in order of arrival, a watchdog over each.

Rules
1. A job's time counts from the moment a worker takes it; waiting for a worker has the same limit of its own.
2. Time-out and cancellation interrupt the engine. The caller is told by the watchdog's flag (`Stopped`).
3. A cancelled caller does not wait for the worker; the worker comes back to the pool by itself.
4. Some work cannot be interrupted (one long call of a built-in function). A worker that does not come back
   within GRACE_S is abandoned and replaced, so that even a pool of one goes on. MOST_ABANDONED at once, for
   each is a thread at work: beyond that callers wait, and the first of them is served as soon as an
   abandoned worker comes back.

Lives on one event loop.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from callgate.sql.drivers.workers.job import Job, Stopped, StopReason
from callgate.sql.drivers.workers.worker import Interruptible, Worker

Connection = TypeVar("Connection", bound=Interruptible)
Answer = TypeVar("Answer")

# An interrupted statement ends within milliseconds; a second is patience for a loaded machine.
GRACE_S = 1.0
# Of one pool. The guard lets no statement through that is known to need this; sixteen threads are a machine's
# cores, and no more than two pools of the default size.
MOST_ABANDONED = 16


class WorkersBusy(Exception):  # noqa: N818 - the caller words the error
    """No worker became free in time."""


class WorkerPool(Generic[Connection]):
    def __init__(
        self,
        name: str,
        size: int,
        timeout_s: float,
        open_connection: "Callable[[Connection | None], Connection]",
    ) -> None:
        self._name = name
        self._size = size
        self._timeout_s = timeout_s
        self._open_connection = open_connection
        self._opened = 0  # workers that are idle, busy or on their way to a waiting caller
        self._idle: list[Worker[Connection]] = []
        self._busy: dict[Worker[Connection], Job[Connection, Any]] = {}
        self._abandoned: set[Worker[Connection]] = set()
        self._waiting: deque[asyncio.Future[Worker[Connection]]] = deque()
        self._closed = False

    async def run(
        self, work: "Callable[[Connection, Job[Connection, Answer]], Answer]", timeout_s: float | None = None
    ) -> Answer:
        """`timeout_s`: another limit than the pool's for this job."""
        worker = await self._take()
        loop = asyncio.get_running_loop()
        job: Job[Connection, Answer] = Job(work)
        self._busy[worker] = job
        worker.submit(job, lambda: _post(loop, lambda: self._finish(worker, job)))
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        watchdog = loop.call_later(limit_s, self._stop, worker, job, StopReason.TIMEOUT)
        try:
            return await job.answer
        except asyncio.CancelledError:
            self._stop(worker, job, StopReason.CANCELLED)
            raise
        finally:
            watchdog.cancel()

    async def close(self) -> None:
        """Interrupt what runs, end every thread. Abandoned ones are daemons and end with their statement."""
        self._closed = True
        for waiter in self._waiting:
            waiter.cancel()
        for worker, job in list(self._busy.items()):
            self._stop(worker, job, StopReason.CLOSED)
        loop = asyncio.get_running_loop()
        ended: dict[asyncio.Future[None], Worker[Connection]] = {}
        for worker in (*self._idle, *self._busy):
            future: asyncio.Future[None] = loop.create_future()
            ended[future] = worker
            worker.retire(lambda future=future: _post(loop, lambda: future.done() or future.set_result(None)))
        self._idle.clear()
        if ended:
            done, _ = await asyncio.wait(ended, timeout=GRACE_S)
            for future in done:
                ended[future].join()

    async def _take(self) -> Worker[Connection]:
        if self._closed:
            raise Stopped(StopReason.CLOSED)
        if self._idle:
            return self._idle.pop()
        if self._may_open():
            return self._open_worker()
        waiter: asyncio.Future[Worker[Connection]] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await waiter
        except (TimeoutError, asyncio.CancelledError) as error:
            # The worker may have been handed over in the very moment of giving up.
            if waiter.done() and not waiter.cancelled():
                self._hand_on(waiter.result())
            if self._closed:
                raise Stopped(StopReason.CLOSED) from None
            if isinstance(error, TimeoutError):
                raise WorkersBusy from None
            raise
        finally:
            with suppress(ValueError):
                self._waiting.remove(waiter)

    def _may_open(self) -> bool:
        return self._opened < self._size and len(self._abandoned) < MOST_ABANDONED

    def _open_worker(self) -> Worker[Connection]:
        self._opened += 1
        return Worker(f"{self._name}-worker", self._open_connection)

    def _finish(self, worker: Worker[Connection], job: Job[Connection, Any]) -> None:
        """The worker goes back first: a caller who asks again at once finds it, and opens no other."""
        self._busy.pop(worker, None)
        if worker in self._abandoned:
            self._abandoned.discard(worker)  # it was told to retire when it was given up
            self._serve_waiter()  # its place is free again
        else:
            self._hand_on(worker)
        job.deliver()

    def _hand_on(self, worker: Worker[Connection]) -> None:
        if self._closed:
            worker.retire(_nobody_waits)
            return
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(worker)
                return
        self._idle.append(worker)

    def _stop(self, worker: Worker[Connection], job: Job[Connection, Any], reason: StopReason) -> None:
        worker.stop(job, reason)
        if self._busy.get(worker) is job:
            asyncio.get_running_loop().call_later(GRACE_S, self._abandon, worker, job)

    def _abandon(self, worker: Worker[Connection], job: Job[Connection, Any]) -> None:
        if self._closed or self._busy.get(worker) is not job:
            return
        del self._busy[worker]
        self._abandoned.add(worker)
        self._opened -= 1
        worker.retire(_nobody_waits)
        if not job.answer.done():
            job.answer.set_exception(Stopped(job.stop_reason or StopReason.TIMEOUT))
        self._serve_waiter()

    def _serve_waiter(self) -> None:
        if self._waiting and not self._closed and self._may_open():
            self._hand_on(self._open_worker())


def _post(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    """From a worker's thread to the loop; when the loop is gone, so is everyone who waited."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback)


def _nobody_waits() -> None:
    pass
