"""EngineProcess: one child process with a database in it, as its callers' threads see it.

Owns the process, its pipes and which caller waits for which report. Must not know SQL. Counterpart: `child`.
Everything here blocks and is called from worker threads; `kill` may be called from any.
"""

import itertools
import os
import queue
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from callgate.sql.engines.duckdb.frames import Order, Report, Run, Setup, Unframer, frame, read_report

# A child that takes no order for so long hangs: its pipe is never full otherwise.
_SEND_S = 2.0
_READ_BYTES = 65_536
# What Python and the C library need to start. Nothing else: the gateway's own secrets are in there.
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")

# What a waiting thread is woken with: a report, or None when the process has ended.
Mailbox = queue.SimpleQueue[Report | Callable[[], None] | None]


class EngineGone(Exception):  # noqa: N818 - the caller words the error
    """The process ended, or had to be ended."""


class EngineRetired(Exception):  # noqa: N818 - as above
    """The process takes no more jobs: another one must be started."""


class EngineProcess:
    def __init__(self, setup: Setup) -> None:
        """Raises OSError when the system has no process for us."""
        self._lock = threading.Lock()
        self._send_lock = threading.Lock()
        self._waiting: dict[int, Mailbox] = {}
        self._job_ids = itertools.count(1)
        self._is_gone = False
        self._is_retired = False
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environment["TZ"] = "UTC"  # times with a zone are shown in it wherever the gateway runs
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "callgate.sql.engines.duckdb.driver.child"],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",  # holds no folder busy
            process_group=0,  # Ctrl-C is for the gateway, which ends its children in order
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin_fd = self._process.stdin.fileno()
        self._stdout_fd = self._process.stdout.fileno()
        os.set_blocking(self._stdin_fd, False)
        self._reader = threading.Thread(target=self._read, name="callgate-duckdb-reader", daemon=True)
        self._reader.start()
        self.send(setup)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_gone(self) -> bool:
        return self._is_gone or self._is_retired or self._process.poll() is not None

    def begin(self, run: Callable[[int], Run], mailbox: Mailbox) -> int:
        """Hand over a job; its report, or None, will lie in the mailbox. Raises `EngineRetired`."""
        job_id = next(self._job_ids)
        with self._lock:
            if self._is_gone or self._is_retired:
                raise EngineRetired
            self._waiting[job_id] = mailbox
        self.send(run(job_id))
        return job_id

    def send(self, order: Order) -> None:
        """An error here is also an end of the process, which the mailboxes hear of."""
        left = memoryview(frame(order))
        with self._send_lock:
            while left and not self._is_gone:
                try:
                    left = left[os.write(self._stdin_fd, left) :]
                except BlockingIOError:
                    if not select.select([], [self._stdin_fd], [], _SEND_S)[1]:
                        self.kill()
                        return
                except OSError:
                    return  # it has ended: the reader will find out

    def retire(self) -> None:
        """Take no more jobs, and end with the last one that runs."""
        with self._lock:
            self._is_retired = True
            if self._waiting:
                return
        self.kill()

    def kill(self) -> None:
        """At once. Callers that wait for a report get an error."""
        self._process.kill()

    def close(self) -> None:
        """Kills it and waits for the end. Idempotent."""
        self.kill()
        self._reader.join()

    def _read(self) -> None:
        try:
            self._read_reports()
        finally:  # however reading ended: no caller may wait for ever
            self._end()

    def _read_reports(self) -> None:
        unframer = Unframer()
        while True:
            try:
                data = os.read(self._stdout_fd, _READ_BYTES)
            except OSError:
                return
            if not data:
                return
            for body in unframer.feed(data):
                self._deliver(read_report(body))

    def _end(self) -> None:
        self.kill()  # it closed its pipe and will never answer again
        self._process.wait()
        with self._lock:
            self._is_gone = True
            waiting, self._waiting = self._waiting, {}
        for mailbox in waiting.values():
            mailbox.put(None)
        with self._send_lock, suppress(OSError):
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.stdout.close()

    def _deliver(self, report: Report) -> None:
        with self._lock:
            mailbox = self._waiting.pop(report.job_id, None)
            is_last = self._is_retired and not self._waiting
        if mailbox is not None:
            mailbox.put(report)
        if is_last:
            self.kill()
