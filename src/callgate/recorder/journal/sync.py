"""A thread that has the journal reach the disk itself: fdatasync may take long, and no reply waits for it."""

import threading

from callgate.background import Background
from callgate.recorder.journal.journal import JournalWriter
from callgate.recorder.trouble import Trouble, attempt, journal_unsynced

# What a machine that fails may cost; a process that fails costs nothing that was written.
_EVERY_S = 0.25


class JournalSync:
    def __init__(self, journal: JournalWriter, background: Background) -> None:
        self._journal = journal
        self._stopped = threading.Event()
        self.trouble = Trouble()
        self._thread = background.thread("journal sync", self._run)

    def close(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_EVERY_S):
            attempt(self._sync, self.trouble)

    def _sync(self) -> None:
        try:
            self._journal.sync()
        except OSError as problem:
            raise journal_unsynced(problem) from problem
