"""A thread that has the journal reach the disk itself: fdatasync may take long, and no reply waits for it."""

import logging
import threading

from callgate.recorder.journal import JournalWriter

_log = logging.getLogger(__name__)

# What a machine that fails may cost; a process that fails costs nothing that was written.
_EVERY_S = 0.25


class JournalSync:
    def __init__(self, journal: JournalWriter) -> None:
        self._journal = journal
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="journal sync")
        self._thread.start()

    def close(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        told = False
        while not self._stopped.wait(_EVERY_S):
            try:
                self._journal.sync()
            except OSError as problem:
                if not told:
                    _log.error("the journal does not reach the disk: %s", problem.strerror)
                told = True
