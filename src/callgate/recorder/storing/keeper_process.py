"""The gateway's side of the process that brings its journals into a shared store.

Rules
1. It is started when there is a row to store or somebody reads: a gateway that nobody has called yet does
   without.
2. A process that ended is started again, after ever longer pauses while it dies young. Nothing is lost: rows
   are journalled here, and the store itself says how far each journal is stored.
3. Readers wait for one answer at a time. Who waits for a process that ends, does not start or does not answer
   gets that as an error.
4. Looks at a silent process are counted, not seconds: when the whole machine stood still, nobody is to blame.
"""

import logging
import os
import threading
import time

from callgate.background import Background
from callgate.model.errors import SetupError
from callgate.ports.record_reader import StoreProgress
from callgate.recorder.flush.drain import has_rows
from callgate.recorder.flush.keeping import Flushed, KeptJournals
from callgate.recorder.flush.retention import Retention
from callgate.recorder.folder import journals_in
from callgate.recorder.storing.messages import (
    EndStoring,
    FlushDone,
    FlushNow,
    LogLine,
    NumbersGiven,
    NumbersWanted,
    OthersStored,
    Report,
    StorePlace,
    StoringProgress,
    StoringSettings,
    StoringSetup,
)
from callgate.recorder.storing.storing_process import StoringProcess
from callgate.recorder.trouble import (
    Trouble,
    describe,
    storing_ended,
    storing_silent,
    storing_unstartable,
    waiting_text,
)

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.25  # for a row, while there is no process
_HEAR_S = 1.0
# So many seconds of silence are told, and after so many it is killed.
_SILENT_LOOKS, _HUNG_LOOKS = 15, 120
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _MOST_DOUBLED = 0.2, 15.0, 10
_ROOT = "callgate"  # of our loggers
_OF_DRIVERS = ("PG", "KRB5")  # variables that drivers read
_GROWN_UP_S = 10.0  # a process that lived this long died of something new
_NOTHING_YET = StoringProgress(0.0, 0, 0, 0, 0, None, None, None)


class KeeperProcess:
    """Implements `StoreKeeper`."""

    def __init__(
        self,
        kept: KeptJournals,
        place: StorePlace,
        retention: Retention,
        background: Background,
    ) -> None:
        """`retention`: may change while we run, as may what `kept` has room for."""
        assert kept.room is not None
        self._kept = kept
        self._room = kept.room
        self._place = place
        self._retention = retention
        self._lock = threading.Lock()  # over the next four
        self._process: StoringProcess | None = None
        self._waiting: list[Flushed] = []
        self._asked: list[Flushed] = []  # that wait for the answer of the process
        self._is_asked = False
        self._wake = threading.Event()
        self._is_closing = self._is_last_try = self._is_over = False
        self._trouble = Trouble()  # of the process, not of the store
        self._told = _NOTHING_YET
        self._told_mono = self._started_mono = time.monotonic()
        self._before = (0, 0)  # batches and rows that earlier processes stored
        self._settings: StoringSettings | None = None  # as the process has them
        self._silent_looks = self._failures = 0
        self._due_mono = 0.0
        self._holds_numbers = False
        self._thread = background.thread("record store", self._run)

    @property
    def error(self) -> SetupError | None:
        if self._trouble.error is not None:
            return self._trouble.error
        return None if self._told.error is None else self._told.error.error()

    @property
    def pid(self) -> int | None:
        process = self._process
        return None if process is None else process.pid

    def flush(self, flushed: Flushed) -> None:
        with self._lock:
            self._waiting.append(flushed)
        self._ask()
        self._wake.set()

    def problem(self) -> str | None:
        if (error := self.error) is None:
            return self._told.thread_problem
        since_s = self._told.since_s if self._trouble.error is None else self._trouble.since_s
        return f"{describe(error)}. {waiting_text(since_s, self._room.used_bytes, self._room.max_bytes)}"

    def progress(self) -> StoreProgress:
        told, waiting_bytes = self._told, self._room.used_bytes
        return StoreProgress(
            told.lag_s + time.monotonic() - self._told_mono if waiting_bytes else 0.0,
            waiting_bytes,
            self._before[0] + told.batches,
            self._before[1] + told.rows,
            self.error is not None,
        )

    def close(self) -> None:
        with self._lock:
            self._is_closing = True
            if self._process is not None:
                self._process.send(EndStoring())
        self._wake.set()
        self._thread.join()

    # ---- any thread

    def _ask(self) -> None:
        """One answer is for all that wait when it is asked for."""
        with self._lock:
            if self._process is None or self._is_asked or not self._waiting:
                return
            self._asked, self._waiting, self._is_asked = self._waiting, [], True
            self._process.send(FlushNow())

    # ---- the thread

    def _run(self) -> None:
        while not self._is_over:
            process = self._process
            if process is None:
                self._wake.wait(_LOOK_EVERY_S)
                self._wake.clear()
                self._start_if_due()
            else:
                self._hear(process)
        self._answer(self.error)

    def _start_if_due(self) -> None:
        try:
            is_wanted = bool(self._waiting) or has_rows(journals_in(self._kept.folder))
            if self._is_closing and (self._is_last_try or not is_wanted):
                self._is_over = True  # what is journalled is stored after the next start
            elif is_wanted and (self._is_closing or time.monotonic() >= self._due_mono):
                self._is_last_try = self._is_closing
                self._start()
            elif self._trouble.error is not None:
                self._answer(self._trouble.error)
            else:
                self._told_mono = time.monotonic()  # nothing waits
        except OSError as problem:  # no process, or no descriptor for a look
            self._failed(storing_unstartable(problem))

    def _start(self) -> None:
        self._settings, self._silent_looks = self._settings_now(), 0
        self._started_mono = time.monotonic()
        process = StoringProcess(
            StoringSetup(
                str(self._kept.folder),
                self._kept.own_writer,
                self._place,
                self._kept.numbers is not None,
                logging.getLogger(_ROOT).getEffectiveLevel(),
                {name: value for name, value in os.environ.items() if name.startswith(_OF_DRIVERS)},
                self._settings,
            )
        )
        with self._lock:
            self._process, self._is_asked = process, False
            if self._is_closing:
                process.send(EndStoring())
        self._ask()

    def _hear(self, process: StoringProcess) -> None:
        reports = process.receive(_HEAR_S)
        if reports is None:
            self._end(process)
            return
        if not reports:
            self._heard_nothing(process)
            return
        self._silent_looks = 0
        try:
            for report in reports:
                self._take(report, process)
        except Exception:  # an answer may be lost that somebody waits for
            process.kill()
            raise
        settings = self._settings_now()
        if settings != self._settings:
            self._settings = settings
            process.send(settings)

    def _settings_now(self) -> StoringSettings:
        retention = self._retention
        archived = retention.archived_days
        return StoringSettings(
            retention.keep_s,
            retention.max_size_bytes,
            retention.keep_bodies_s,
            None if archived is None else frozenset(archived()),
            self._room.max_bytes,
        )

    def _take(self, report: Report, process: StoringProcess) -> None:
        match report:
            case StoringProgress():
                self._told, self._told_mono = report, time.monotonic()
                self._room.measure(report.waiting_bytes)
                if report.rounds or not self._failures:
                    self._trouble.note(None)
            case FlushDone(told):
                error = None if told is None else told.error()
                with self._lock:
                    asked, self._asked, self._is_asked = self._asked, [], False
                _tell(asked, error)
                self._ask()
            case LogLine(name, level, text):
                logging.getLogger(name).log(level, "%s", text)
            case NumbersWanted(count):
                assert self._kept.numbers is not None
                process.send(NumbersGiven(*self._kept.numbers.take(count)))
                self._holds_numbers = True
            case OthersStored(group):
                assert self._kept.numbers is not None
                self._holds_numbers = False
                self._kept.numbers.tell(group)

    def _heard_nothing(self, process: StoringProcess) -> None:
        self._silent_looks += 1
        if self._silent_looks >= _SILENT_LOOKS:
            self._trouble.note(storing_silent(process.pid))
            self._answer(self._trouble.error)
            if self._is_closing or self._silent_looks >= _HUNG_LOOKS:
                process.kill()

    def _end(self, process: StoringProcess) -> None:
        status = process.ended()
        if self._holds_numbers and self._kept.numbers is not None:
            self._holds_numbers = False
            self._kept.numbers.tell(None)
        with self._lock:
            self._process = None
        told, self._told = self._told, _NOTHING_YET
        self._before = (self._before[0] + told.batches, self._before[1] + told.rows)
        if self._is_closing and status == 0:
            self._told = told
            self._is_over = True
        else:
            self._failed(storing_ended(process.pid, status))

    def _failed(self, error: SetupError) -> None:
        if time.monotonic() - self._started_mono >= _GROWN_UP_S:
            self._failures = 0
        self._due_mono = time.monotonic() + pause_s(self._failures)
        self._failures += 1
        self._trouble.note(error)
        self._answer(error)

    def _answer(self, error: SetupError | None) -> None:
        """Those who wait get it now, whatever the process does."""
        with self._lock:
            waiting = self._asked + self._waiting
            self._asked, self._waiting = [], []
        _tell(waiting, error)


def pause_s(failures: int) -> float:
    """Before the next start, after so many failures in a row."""
    return min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(failures, _MOST_DOUBLED))


def _tell(flushes: list[Flushed], error: SetupError | None) -> None:
    for flushed in flushes:
        try:
            flushed(error)
        except Exception:  # noqa: BLE001 - one that fails must not keep the others waiting for ever
            _log.exception("Those that waited for the store could not be notified")
