"""A gateway's own thread that archives closed days, and knows which of them may be deleted from the store."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import date

from callgate.background import Background
from callgate.recorder.archive.archive import Archive
from callgate.recorder.days.record_days import ArchiveSource
from callgate.recorder.trouble import Trouble, attempt, describe

# A day is closed once a day; what could not be archived is tried again.
_EVERY_S = 600.0
# Not together with the start, when everybody wants the processor.
_FIRST_AFTER_S = 30.0


class ArchiveKeeper:
    def __init__(
        self,
        open_archive: Callable[[], Archive],
        source: Callable[[], AbstractAsyncContextManager[ArchiveSource]],
        background: Background,
        first_after_s: float = _FIRST_AFTER_S,
    ) -> None:
        self._open_archive = open_archive
        self._source = source
        self._archived: frozenset[date] = frozenset()
        self._trouble = Trouble()
        self._first_after_s = first_after_s
        self._is_stopping = threading.Event()
        self._lock = threading.Lock()  # over the two below
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = background.thread("record archive", self._run)

    def archived_days(self) -> frozenset[date]:
        """From any thread: their manifests were read back by this process."""
        return self._archived

    def problem(self) -> str | None:
        error = self._trouble.error
        return None if error is None else describe(error)

    def close(self) -> None:
        """What is under way is left: the next one begins that day anew. Blocks for a moment."""
        self._is_stopping.set()
        with self._lock:
            if self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def _run(self) -> None:
        wait_s = self._first_after_s
        while not self._is_stopping.wait(wait_s):
            attempt(self._round, self._trouble)
            wait_s = _EVERY_S

    def _round(self) -> None:
        with suppress(asyncio.CancelledError):
            asyncio.run(self._cancellable_round())

    async def _cancellable_round(self) -> None:
        with self._lock:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        try:
            if not self._is_stopping.is_set():
                await self._add_closed_days()
        finally:
            with self._lock:
                self._loop = self._task = None

    async def _add_closed_days(self) -> None:
        archive = self._open_archive()
        async with self._source() as source:
            closed = await source.closed_days()
            self._archived &= set(closed)
            for day in closed:
                if day not in self._archived and (await archive.add(source, day)).manifest is not None:
                    self._archived |= {day}
