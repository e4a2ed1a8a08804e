"""Threads that must run as long as the gateway does: started again when they fail, and known to /healthz.

Owns the loop around each of them and what is said about those that failed. What a thread does is its owner's
business; its owner also asks it to end, by returning.
"""

import logging
import threading
import time
from collections.abc import Callable

_log = logging.getLogger(__name__)

# Between a failure and the next start: a cause that stays must not take a whole core.
_PAUSE_S = 0.5
# A failure is told for this long. Later it is history, and the log has it.
_RECENT_S = 60.0


class Background:
    def __init__(self) -> None:
        self._threads: list[_Watched] = []

    def thread(self, name: str, run: Callable[[], None], *, daemon: bool = False) -> threading.Thread:
        """Started at once. `run` returns when it was asked to end; when it raises, it is called again."""
        watched = _Watched(name, run, daemon)
        self._threads.append(watched)
        watched.thread.start()
        return watched.thread

    def problems(self) -> list[str]:
        """What failed lately, and what ended although nobody asked it to. From any thread."""
        return [text for watched in self._threads if (text := watched.problem()) is not None]


class _Watched:
    def __init__(self, name: str, run: Callable[[], None], daemon: bool) -> None:
        self._name = name
        self._run = run
        self._failures = 0
        self._failed_at = 0.0
        self._last = ""
        self._is_over = False
        self.thread = threading.Thread(target=self._keep_running, name=name, daemon=daemon)

    def problem(self) -> str | None:
        if self._is_over:
            return None
        if not self.thread.is_alive():
            return f"The thread '{self._name}' has ended. Restart the gateway, and please report this"
        if self._failures and time.monotonic() - self._failed_at < _RECENT_S:
            times = "once" if self._failures == 1 else f"{self._failures} times"
            return f"The thread '{self._name}' failed {times} and was started again: {self._last}"
        return None

    def _keep_running(self) -> None:
        while True:
            try:
                self._run()
            except Exception as failure:  # noqa: BLE001 - whatever it was, the thread is needed
                self._last = f"{type(failure).__name__}: {failure}"[:300]
                self._failures += 1
                self._failed_at = time.monotonic()
                if self._failures == 1:
                    _log.exception("The thread '%s' failed and is started again", self._name)
            else:
                self._is_over = True
                return
            time.sleep(_PAUSE_S)
