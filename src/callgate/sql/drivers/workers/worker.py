"""Worker: one thread that owns one connection. It opens, uses and closes it in that thread alone.

Only `interrupt` crosses threads, and only while the job it is meant for is still the current one: a late
interrupt must not hit the next caller's statement.
"""

import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from callgate.sql.drivers.workers.job import Job, StopReason


class Interruptible(Protocol):
    def interrupt(self) -> None: ...

    def close(self) -> None: ...


Connection = TypeVar("Connection", bound=Interruptible)


class Worker(Generic[Connection]):
    def __init__(self, name: str, open_connection: "Callable[[Connection | None], Connection]") -> None:
        """`open_connection` gets the connection in hand, if any, and returns one for the next job."""
        self._open_connection = open_connection
        # A job and what to call after it; no job is the order to end.
        self._inbox: queue.SimpleQueue[tuple[Job[Connection, Any] | None, Callable[[], None]]] = (
            queue.SimpleQueue()
        )
        self._lock = threading.Lock()
        self._current: Job[Connection, Any] | None = None
        self._connection: Connection | None = None
        # A daemon: a statement that cannot be interrupted must not keep the process from ending.
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job[Connection, Any], when_done: Callable[[], None]) -> None:
        """`when_done` is called in the worker's thread, when the worker is ready for another job."""
        self._inbox.put((job, when_done))

    def stop(self, job: Job[Connection, Any], reason: StopReason) -> None:
        with self._lock:
            if job.stop_reason is None:
                job.stop_reason = reason
            if self._current is job and self._connection is not None:
                self._connection.interrupt()

    def retire(self, when_ended: Callable[[], None]) -> None:
        """End the thread after the current job; returns at once. Only the first `when_ended` is called."""
        self._inbox.put((None, when_ended))

    def join(self) -> None:
        """After `when_ended` was called: the thread is at its last instruction."""
        self._thread.join()

    def _live(self) -> None:
        while True:
            job, when_done = self._inbox.get()
            if job is None:
                break
            self._serve(job)
            # Let go before the next wait: a job holds the caller's rows.
            del job
            when_done()
        if self._connection is not None:
            self._connection.close()
        when_done()

    def _serve(self, job: Job[Connection, Any]) -> None:
        try:
            connection = self._open_connection(self._connection)
        except Exception as error:  # noqa: BLE001 - reaches the caller
            self._connection = None
            job.fail(error)
            return
        with self._lock:
            self._connection = connection
            self._current = job
        try:
            job.run(connection)
        finally:
            with self._lock:
                self._current = None
