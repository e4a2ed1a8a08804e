"""The process that starts workers, and starts them again: it serves nothing itself.

It has no thread and no event loop, so that it can fork at any time.

Rules
1. A worker that died is started again at once; one that died young waits, ever longer, and then its share of
   connections goes to the others.
2. The first signal is passed on: workers drain and end. The second one ends them at once.
3. Workers end when the supervisor is gone, however it ended: a pipe tells them.
"""

import gc
import logging
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import msgspec

from callgate.app.reload import reload_signals
from callgate.app.running import forget_running
from callgate.app.worker_parts import WorkerPlace
from callgate.app.workers.worker import WorkerSaid, live
from callgate.app.workers.worker_sockets import WorkerSockets
from callgate.config.load import Loaded
from callgate.model.error_codes import SETUP_STATE_FOLDER
from callgate.model.errors import CallgateError, SetupError, told_by_another
from callgate.model.health import Health

_log = logging.getLogger(__name__)

# A worker that lived this long died of something new.
_GROWN_UP_S = 10.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 15.0
# While a worker is away for longer than this, others take its connections.
_LONG_S = 1.0


@dataclass(slots=True)
class _Worker:
    number: int
    pid: int = 0  # 0: it does not run
    started_mono: float = 0.0
    failures: int = 0  # in a row, each soon after its start
    due_mono: float = 0.0  # when it is started again
    pipe: int = -1  # where it says that it is ready
    heard: bytes = b""
    said: WorkerSaid | None = None


class Supervisor:
    def __init__(
        self,
        loaded: Loaded,
        listening: WorkerSockets,
        lead: WorkerPlace,
        on_ready: Callable[[list[Health]], None],
    ) -> None:
        """`lead`: the place of the first worker. `on_ready`: called once, when all are there, with the health
        of its servers."""
        self._loaded = loaded
        self._listening = listening
        self._on_ready = on_ready
        lifeline, self._life = os.pipe()  # nobody writes: it ends with us
        self._place = replace(lead, lifeline=lifeline)
        self._workers = [_Worker(number) for number in range(lead.count)]
        self._signals: list[int] = []
        self._reloads = reload_signals()
        self._stopped_by: int | None = None
        self.killed_by: int | None = None  # the second signal
        self._is_announced = False
        self._events = selectors.DefaultSelector()
        self._woken, self._wakes = os.pipe()
        for fd in (self._woken, self._wakes):
            os.set_blocking(fd, False)
        self._events.register(self._woken, selectors.EVENT_READ)

    def run(self) -> int:
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM, *self._reloads):
            signal.signal(number, lambda number, _: self._signals.append(number))
        signal.signal(signal.SIGCHLD, lambda number, _: None)  # it wakes us
        gc.collect()
        gc.freeze()  # or each worker's first collection would copy all that is shared
        try:
            self._start(self._workers[0])
            while any(worker.pid for worker in self._workers) or self._stopped_by is None:
                self._turn()
        finally:
            self._end()
        assert self._stopped_by is not None
        return self._stopped_by

    def _turn(self) -> None:
        for key, _ in self._events.select(self._pause_s()):
            if key.fileobj == self._woken:
                with suppress(BlockingIOError):
                    os.read(self._woken, 4096)
            else:
                self._hear(key.data)
        while self._signals:
            self._pass_on(self._signals.pop(0))
        self._reap()
        if self._stopped_by is None:
            self._start_due()

    def _pause_s(self) -> float | None:
        due = [worker.due_mono for worker in self._workers if not worker.pid and worker.due_mono]
        return max(0.0, min(due) - time.monotonic()) if due and self._stopped_by is None else None

    # ---- starting

    def _start_due(self) -> None:
        for worker in self._workers:
            if not worker.pid and worker.due_mono and worker.due_mono <= time.monotonic():
                try:
                    self._start(worker)
                except OSError as problem:  # no process or descriptor to be had
                    worker.due_mono = time.monotonic() + _LONG_S
                    _log.error("Worker %d cannot be started: %s", worker.number, problem)

    def _start(self, worker: _Worker) -> None:
        self._listening.open(worker.number)
        pid, (reads, writes) = -1, os.pipe()
        place = replace(self._place, number=worker.number, listening=self._listening.of(worker.number))
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            pid = os.fork()
        except OSError:
            os.close(reads)
            raise
        finally:
            if pid != 0:
                os.close(writes)
        if pid == 0:
            try:
                os.close(reads)
                self._become(place, writes)
            finally:
                os._exit(1)
        worker.pid, worker.pipe, worker.started_mono = pid, reads, time.monotonic()
        worker.said, worker.heard, worker.due_mono = None, b"", 0.0
        self._events.register(reads, selectors.EVENT_READ, worker)

    def _become(self, place: WorkerPlace, ready: int) -> None:
        """In the new process; does not return."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, *self._reloads):
            signal.signal(number, signal.SIG_DFL)
        self._events.close()
        for fd in (self._life, self._woken, self._wakes, *(one.pipe for one in self._workers)):
            if fd >= 0:
                os.close(fd)
        self._listening.keep_only(place.number)
        live(self._loaded, place, ready)

    def _hear(self, worker: _Worker) -> None:
        data = os.read(worker.pipe, 1 << 20)
        worker.heard += data
        if data:
            return
        self._close_pipe(worker)
        if worker.heard:
            worker.said = msgspec.json.decode(worker.heard, type=WorkerSaid)
        if worker.said is not None and not worker.said.code:
            self._note_ready(worker)

    def _note_ready(self, worker: _Worker) -> None:
        if self._is_announced:
            _log.info("Worker %d is started again (pid %d)", worker.number, worker.pid)
            return
        if worker.number == 0:
            for other in self._workers[1:]:
                if not other.pid and self._stopped_by is None:
                    self._start(other)
        if all(one.said is not None for one in self._workers):
            self._is_announced = True
            first = self._workers[0].said
            assert first is not None
            self._on_ready(first.health)

    def _close_pipe(self, worker: _Worker) -> None:
        if worker.pipe >= 0:
            self._events.unregister(worker.pipe)
            os.close(worker.pipe)
            worker.pipe = -1

    # ---- ending

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for worker in self._workers:
                if worker.pid == pid:
                    self._note_end(worker, os.waitstatus_to_exitcode(status))

    def _note_end(self, worker: _Worker, code: int) -> None:
        while worker.pipe >= 0:  # what it said last
            self._hear(worker)
        said, worker.pid, worker.said = worker.said, 0, None
        for left in self._place.sockets.glob(f"{worker.number}.*"):
            left.unlink(missing_ok=True)
        if self._stopped_by is not None:
            return
        if not self._is_announced:
            raise _not_started(worker.number, said, code)
        is_grown_up = time.monotonic() - worker.started_mono > _GROWN_UP_S
        worker.failures = 0 if is_grown_up else worker.failures + 1
        pause_s = (
            min(_FIRST_PAUSE_S * 2 ** (worker.failures - 1), _LONGEST_PAUSE_S) if worker.failures else 0.0
        )
        worker.due_mono = time.monotonic() + pause_s
        why = f"{said.message}. {said.hint}" if said is not None and said.code else _ended(code)
        _log.error("Worker %d ended: %s. It is started again in %.1f s", worker.number, why, pause_s)
        if pause_s > _LONG_S:
            self._listening.shut(worker.number)

    def _pass_on(self, number: int) -> None:
        if number in self._reloads:
            self._send(number)
            return
        is_second, self._stopped_by = self._stopped_by is not None, self._stopped_by or number
        self._listening.close()  # workers have theirs; what they close is closed
        self._send(signal.SIGKILL if is_second else number)
        if is_second:
            self.killed_by = number

    def _send(self, number: int) -> None:
        for worker in self._workers:
            if worker.pid:
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, number)

    def _end(self) -> None:
        """Also when a worker could not start: the others end too."""
        self._listening.close()
        if self._stopped_by is None:
            self._send(signal.SIGTERM)
        for worker in self._workers:
            while worker.pid:
                with suppress(InterruptedError):
                    os.waitpid(worker.pid, 0)
                    worker.pid = 0
        forget_running(self._place.state, os.getpid())
        gc.unfreeze()


def _not_started(number: int, said: WorkerSaid | None, code: int) -> CallgateError:
    if said is not None and said.code:
        return told_by_another(said.code, said.message, said.hint)
    return SetupError(
        SETUP_STATE_FOLDER,
        f"Worker {number} ended while it started: {_ended(code)}",
        hint="The log above says more",
    )


def _ended(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
