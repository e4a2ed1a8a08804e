"""Lane: a worker's way to the child process. It has the shape of a connection, so that the pool of workers,
its watchdog and its queue serve DuckDB as they serve SQLite.
"""

import queue
import time
from collections.abc import Callable

from callgate.sql.engines.duckdb.driver.engine_process import EngineGone, EngineProcess, Mailbox
from callgate.sql.engines.duckdb.frames import Attached, Report, Run, StatementOrder, Stop

# What an interrupt does not end within this is one long call into a built-in function: only killing the
# process ends that. Below the pool's own patience (drivers.workers.pool.GRACE_S): the worker comes back.
_KILL_AFTER_S = 0.5


class Lane:
    def __init__(self, process: EngineProcess) -> None:
        self._process = process
        self._mailbox: Mailbox = queue.SimpleQueue()

    @property
    def is_gone(self) -> bool:
        return self._process.is_gone

    def move_to(self, process: EngineProcess) -> None:
        self._process = process

    def run(
        self,
        statements: tuple[StatementOrder, ...],
        is_stopped: Callable[[], bool],
        attached: Attached | None = None,
    ) -> Report:
        """In the worker's thread. Raises `EngineGone` when the process ends before it reports.

        And `EngineRetired` when it takes no more jobs: nothing has run then.
        """
        # A new one each time: a late interrupt or report is for the job it was meant for.
        mailbox: Mailbox = queue.SimpleQueue()
        self._mailbox = mailbox
        if is_stopped():  # before there was a mailbox to be told in
            self.interrupt()
        job_id = self._process.begin(lambda job_id: Run(job_id, statements, attached), mailbox)
        kill_at: float | None = None
        while True:
            try:
                heard = mailbox.get(timeout=None if kill_at is None else max(kill_at - time.monotonic(), 0))
            except queue.Empty:
                self._process.kill()
                kill_at = None
                continue
            if heard is None:
                raise EngineGone
            if not callable(heard):
                return heard
            self._process.send(Stop(job_id))
            kill_at = time.monotonic() + _KILL_AFTER_S

    def interrupt(self) -> None:
        """From any thread, and without waiting: the worker itself tells the child."""
        self._mailbox.put(_interrupted)

    def retire_process(self) -> None:
        """Others' jobs come to their end; the next one gets a new process."""
        self._process.retire()

    def close(self) -> None:
        """The process belongs to the driver."""


def _interrupted() -> None:
    """What the mailbox says when somebody wants the job to end."""
